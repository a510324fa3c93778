"""What can be looked up: balances, histories, reports, each one computed from the journal and dropped and rebuilt at will.

None is here yet.  Not here, ever: judging whether an event is true (`replay`), writing events (`ops.journal`).
"""
