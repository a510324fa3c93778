"""The commitments to decks against the journal: which there are, and what became of each.

Not here: whether a seed is the one that was committed to (`replay.checks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from domain.round import events as e
from ops.reconciling.held import Check, Held, Line, Values, moment, same_rows
from projections.feed import Fact
from projections.reading import Reading
from replay.verdict import Discrepancy

_BOXES, _STATE, _ENDED = 6, 7, 8


class Commitments(Check):
    PROJECTION: ClassVar[str] = "commitments"

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._held = Held("commitment", _COLUMNS, reading.stream(_REVEALED))
        self._open: dict[str, list[Any]] = {}
        """Rows whose seed is not revealed yet, by stream."""
        self._opened = 0
        self._states = {"open": 0, "revealed": 0, "voided": 0}

    def take(self, fact: Fact) -> Iterator[Discrepancy]:
        """A row is held when its seed is revealed: nothing of it changes after that."""
        event: Any = fact.event
        if isinstance(event, e.RoundOpened):
            self._opened += 1
            self._states["open"] += 1
            self._open[fact.stream] = [
                fact.stream.removeprefix("round:"), event.table, event.number, event.commitment, fact.position,
                moment(fact.at), 0, "open", None,
            ]  # fmt: skip
            return
        row = self._open.get(fact.stream)
        if row is None:
            return
        if isinstance(event, e.BoxPlaced):
            row[_BOXES] += 1
        elif isinstance(event, e.RoundClosed | e.RoundVoided):
            row[_ENDED] = fact.position
            if isinstance(event, e.RoundVoided):
                self._becomes(row, "voided")
        elif isinstance(event, e.SeedRevealed):
            if row[_STATE] == "open":
                self._becomes(row, "revealed")
            del self._open[fact.stream]
            yield from self._held.expect(fact.position, (*row, moment(fact.at)))

    def _becomes(self, row: list[Any], state: str) -> None:
        self._states[row[_STATE]] -= 1
        self._states[state] += 1
        row[_STATE] = state

    def finish(self) -> Iterator[Discrepancy]:
        """Commitments that are open now, and the list of rounds that the journal keeps itself."""
        yield from self._held.rest()
        wanted: dict[str, Values] = {row[0]: (*row[1:], None) for row in self._open.values()}
        yield from same_rows("commitment", "round", _COLUMNS[1:], self._reading.rows(_NOT_REVEALED), wanted)

    def lines(self) -> list[Line]:
        """Counts, of no currency."""
        kept = dict(self._reading.rows(_STATES))
        found = [Line(None, "commitments", self._opened, sum(kept.values()), False)]
        for state, count in self._states.items():
            found.append(Line(None, f"commitments {state}", count, kept.get(state, 0), False))
        return found


_COLUMNS: Final = (
    "round", "table_name", "number", "commitment", "opened_position", "opened_at", "boxes", "state", "ended_position",
    "revealed_at",
)  # fmt: skip

_REVEALED: Final = """
select revealed_position, round, table_name, number, commitment, opened_position, opened_at, boxes, state,
    ended_position, revealed_at
from {commitment} where revealed_position is not null order by revealed_position
"""

_NOT_REVEALED: Final = """
select round, table_name, number, commitment, opened_position, opened_at, boxes, state, ended_position, revealed_at
from {commitment} where revealed_position is null
"""

_STATES: Final = "select state, count(*) from {commitment} group by state"
