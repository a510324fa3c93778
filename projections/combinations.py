"""Which combinations were dealt, how often?  The dealer's, the boxes' when they were settled, the bonus's first five.

Table: `combination`, in blocks and quarters as `performance` has them; closed rounds only.  Rebuild: dealproof project
rebuild combinations.

Not here: how often they should come, single rounds (`rounds`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Final

from domain.codec import Event
from projections.ended import KEPT, OpenRounds, ended
from projections.feed import Fact
from projections.projection import Handler, Projection, block_of, quarter_of
from projections.store import Table, columns

COMBINATION: Final = Table(
    "combination",
    columns("block int, quarter time, table_name text, ruleset text, hand text, combination text, count int"),
    ("block", "quarter", "table_name", "ruleset", "hand", "combination"),
)


class Combinations(Projection):
    NAME: ClassVar[str] = "combinations"
    VERSION: ClassVar[int] = 1
    QUESTION: ClassVar[str] = "Which combinations were dealt, how often?"
    TABLES: ClassVar[tuple[Table, ...]] = (COMBINATION,)

    def __init__(self) -> None:
        self._open = OpenRounds()
        self._counts: Counter[tuple[object, ...]] = Counter()

    def handlers(self) -> Mapping[type[Event], Handler]:
        return dict.fromkeys(KEPT, self._round)

    def forget(self) -> None:
        self._open.forget()
        self._counts.clear()

    def write(self) -> None:
        self.store.sum_up("combination", [(*key, count) for key, count in self._counts.items()])
        self._counts.clear()

    def _round(self, fact: Fact) -> None:
        facts = self._open.take(self.store, fact)
        if facts is None:
            return
        whole = ended(facts)
        place = block_of(whole.ended_position), quarter_of(whole.ended_at), whole.opened.table, whole.opened.ruleset
        for (hand, combination), count in whole.combinations.items():
            self._counts[(*place, hand, combination)] += count
