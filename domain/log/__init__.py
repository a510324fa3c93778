"""The transparency log: what outlives us is proved from it.  Format: docs/formats/log.md.

`merkle` is the tree and its proofs, `tiles` the files that the tree is published in, `checkpoint` the signed size and
root, `trust` the keys that a verifier pins, `receipt` what a player takes home.

Not here: files, keys, clocks and the network (`ops.log`), holding a round against the log (`replay.checks.log`).
"""
