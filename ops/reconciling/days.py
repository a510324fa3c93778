"""The manifests of closed days against the rounds that are remembered: table by table, sums over the day's positions.

Not here: whether a manifest is true to the journal (`replay.day`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from domain.day import DayClosed, TableDay
from ops.reconciling.held import Check, Line, Values, same_rows
from projections.feed import Fact
from projections.reading import Reading
from replay.verdict import Discrepancy

_COLUMNS: Final = ("closed", "voided", "staked", "returned", "jackpot_contributed", "jackpot_won")


class Days(Check):
    PROJECTION: ClassVar[str] = "rounds"

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._position = reading.projections[self.PROJECTION].position
        self._days = 0
        self._manifests: dict[str, list[int]] = {}
        self._rounds: dict[str, list[int]] = {}

    def take(self, fact: Fact) -> Iterator[Discrepancy]:
        """A manifest says what the rounds of its range came to."""
        closed: Any = fact.event
        if not isinstance(closed, DayClosed):
            return
        self._days += 1
        rows: list[Any] = [
            ((table, currency), *map(int, rest))
            for table, currency, *rest in self._reading.rows(_OF_A_DAY, (closed.events.first, closed.events.last))
        ]
        wanted: dict[Any, Values] = {
            (row.table, row.currency): _values(row) for row in closed.tables if row.closed or row.voided
        }
        for row in closed.tables:
            _add(self._manifests, row.currency, _values(row))
        for place, *rest in rows:
            _add(self._rounds, place[1], tuple(rest))
        yield from same_rows("round", f"sums of day {closed.day},", _COLUMNS, rows, wanted)

    def finish(self) -> Iterator[Discrepancy]:
        """Nothing is left over: a day that is not closed has no manifest yet."""
        yield from ()

    def lines(self) -> list[Line]:
        """All closed days together, by currency."""
        nothing = [0] * len(_COLUMNS)
        return [
            Line(currency, f"closed days: {words}", self._manifests.get(currency, nothing)[nth],
                 self._rounds.get(currency, nothing)[nth], nth > 1)
            for currency in sorted({*self._manifests, *self._rounds})
            for nth, words in enumerate(("rounds closed", "rounds voided", "staked", "returned"))
        ]  # fmt: skip


def _values(row: TableDay) -> tuple[int, ...]:
    return row.closed, row.voided, row.staked, row.returned, row.jackpot_contributed, row.jackpot_won


def _add(kept: dict[str, list[int]], currency: str, values: tuple[int, ...]) -> None:
    row = kept.setdefault(currency, [0] * len(_COLUMNS))
    for nth, value in enumerate(values):
        row[nth] += value


_OF_A_DAY: Final = """
select table_name, currency, count(*) filter (where closed), count(*) filter (where not closed),
    coalesce(sum(staked) filter (where closed), 0), coalesce(sum(returned) filter (where closed), 0),
    coalesce(sum(jackpot_contributed) filter (where closed), 0), coalesce(sum(jackpot_won) filter (where closed), 0)
from (select *, ending = 'closed' as closed from {round}) as round
where ended_position between %s and %s group by table_name, currency
"""
