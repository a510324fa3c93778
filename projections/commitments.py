"""Which decks did the house commit to, and what became of each?  Open, revealed, or voided and revealed.

Table: `commitment`, one row a round.  Rebuild: dealproof project rebuild commitments.

Not here: whether a seed is the one that was committed to (`replay`), the rounds themselves (`rounds`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from domain.codec import Event
from domain.round import events as e
from projections.feed import Fact
from projections.projection import Handler, Projection
from projections.store import Table, columns

COMMITMENT: Final = Table(
    "commitment",
    columns(
        "round text, table_name text, number int, commitment text, opened_position int, opened_at time, boxes int,"
        "state text, ended_position int?, revealed_position int?, revealed_at time?"
    ),
    ("round",),
    ("(opened_position)", "(table_name, number)", "(state) where state = 'open'"),
)


_BOXES, _STATE, _ENDED, _REVEALED, _REVEALED_AT = 6, 7, 8, 9, 10


class Commitments(Projection):
    NAME: ClassVar[str] = "commitments"
    VERSION: ClassVar[int] = 1
    QUESTION: ClassVar[str] = "Which decks did the house commit to, and what became of each?"
    TABLES: ClassVar[tuple[Table, ...]] = (COMMITMENT,)

    def __init__(self) -> None:
        self._changed: dict[str, list[object]] = {}

    def handlers(self) -> Mapping[type[Event], Handler]:
        return {
            e.RoundOpened: self._opened, e.BoxPlaced: self._placed, e.RoundClosed: self._ended,
            e.RoundVoided: self._voided, e.SeedRevealed: self._revealed,
        }  # fmt: skip

    def forget(self) -> None:
        self._changed.clear()

    def write(self) -> None:
        self.store.replace("commitment", list(self._changed.values()))
        self._changed.clear()

    def _opened(self, fact: Fact) -> None:
        opened: e.RoundOpened = fact.event
        round_id = fact.stream.removeprefix("round:")
        self._changed[fact.stream] = [
            round_id, opened.table, opened.number, opened.commitment, fact.position, fact.at, 0, "open", None, None,
            None,
        ]  # fmt: skip

    def _placed(self, fact: Fact) -> None:
        row = self._row(fact)
        row[_BOXES] = row[_BOXES] + 1  # type: ignore[operator]  # a number in this column

    def _ended(self, fact: Fact) -> None:
        self._row(fact)[_ENDED] = fact.position

    def _voided(self, fact: Fact) -> None:
        row = self._row(fact)
        row[_ENDED], row[_STATE] = fact.position, "voided"

    def _revealed(self, fact: Fact) -> None:
        row = self._row(fact)
        row[_REVEALED], row[_REVEALED_AT] = fact.position, fact.at
        if row[_STATE] == "open":
            row[_STATE] = "revealed"

    def _row(self, fact: Fact) -> list[object]:
        row = self._changed.get(fact.stream)
        if row is None:
            [found] = self.store.rows(_ROW, (fact.stream.removeprefix("round:"),))
            row = self._changed[fact.stream] = list(found)
        return row


# Times as text, as those that come from facts are.
_ROW: Final = """
select round, table_name, number, commitment, opened_position, opened_at::text, boxes, state, ended_position,
    revealed_position, revealed_at::text
from {commitment} where round = %s
"""
