"""What can be looked up: balances, histories, reports, each computed from the journal and rebuilt from it at will.

None is here yet.  Not here, ever: judging whether an event is true (`replay`), writing events (`ops.journal`).
"""
