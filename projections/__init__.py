"""What can be looked up: balances, histories, sums, each computed from the journal and rebuilt from it at will.

Not here, ever: judging whether an event is true (`replay`), writing events (`ops.journal`), reports (`ops.reports`).
"""
