"""The projections there are, by name.

Not here: what each answers (its own module).
"""

from __future__ import annotations

from typing import Final

from projections.balances import Balances
from projections.cash import Cash
from projections.combinations import Combinations
from projections.commitments import Commitments
from projections.exceptions import Exceptions
from projections.jackpots import Jackpots
from projections.performance import Performance
from projections.players import Players
from projections.projection import Projection
from projections.rounds import Rounds
from projections.verdicts import Verdicts

PROJECTIONS: Final[dict[str, type[Projection]]] = {
    kind.NAME: kind
    for kind in (
        Balances, Rounds, Performance, Combinations, Cash, Jackpots, Commitments, Exceptions, Verdicts, Players,
    )
}  # fmt: skip

VERSIONS: Final[dict[str, int]] = {name: kind.VERSION for name, kind in PROJECTIONS.items()}
"""Of their definitions."""
