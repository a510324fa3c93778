"""A casino played from one seed, with faults between any two of its writes.

    python -m tests.simulation 17            one seed, with its story
    python -m tests.simulation --seeds 1000  many, until one fails

    faults    what can go wrong with a journal's calls, and a PostgreSQL that may be killed
    world     the casino's evening: who does what, and what is expected of every answer
    checks    what must be true of the journal afterwards
"""
