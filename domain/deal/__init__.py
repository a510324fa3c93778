"""The deal: from a server seed to a deck anybody can recompute.  Format: docs/formats/deal.md.

`drbg` makes words out of a seed, `shuffle` makes a deck out of words,
`commitment` makes the promise that stands before the first stake.

Not here: where seeds come from and how they are kept (`ops.keys`), what a card
is called (`domain.cards`), who gets which card (`domain.round`).
"""
