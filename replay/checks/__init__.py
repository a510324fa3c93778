"""One question a file, all of the same shape: `check(evidence) -> Check`.  A check never raises and never stops others.

The ladder is in the order of docs/formats/verdict.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from replay.checks import bytes_, chain, commitment, deck, legality, order, payout
from replay.evidence import Evidence
from replay.verdict import Check

LADDER: Final[tuple[Callable[[Evidence], Check], ...]] = (
    bytes_.check,
    chain.check,
    order.check,
    commitment.check,
    deck.check,
    legality.check,
    payout.check,
)
