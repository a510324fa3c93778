"""A report as of one position and as of a later one: what differs, and which append did it.

Whatever the report is, it can be made as of the end of any append between the two; so a change is explained by the one
append across which it comes about.  Appends between two that give the same report are passed over: what happened
there is nothing to the report, or had undone itself by their end.

Not here: making reports (`making`), printing (`ops.reports.render.comparison`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, NamedTuple

from domain.streams import DECODERS
from ops.reports.building import Definition, ReportError, Request
from ops.reports.model import Cell, Column, Kind, Section, Weight
from projections.reading import Reading

MOST_STEPS: Final = 1000
"""Appends that are explained one by one; what comes after them is told together."""

LABELS: Final = 5
"""Texts of a row that it is called by."""

Positions = tuple[int, int]
"""The first and the last of some events."""


class Change(NamedTuple):
    """A cell that differs; `row`: the texts of its row.  None: the row is not there, or the cell is empty."""

    section: Section
    column: Column
    row: str
    weight: Weight
    before: Cell
    after: Cell


class Told(NamedTuple):
    """An event of an append; `by` and `reason` where it has them."""

    position: int
    at: str
    stream: str
    name: str
    by: str | None
    reason: str | None


@dataclass(frozen=True)
class Step:
    """Events that changed the report.  `whole`: they are one append; else the rest behind the last one told alone."""

    positions: Positions
    events: list[Told]
    changes: list[Change]
    whole: bool = True


Rows = dict[tuple[object, ...], tuple[Section, Weight, tuple[Cell, ...]]]


class Comparison:
    """One report at many positions.  `request` is that of the earlier one; `later` a position behind it."""

    def __init__(self, reading: Reading, definition: Definition, request: Request, later: int) -> None:
        self._reading, self._definition, self._request = reading, definition, request
        self._earlier, self._later = request.position, later
        self._digests: dict[int, bytes] = {}

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return self._digest(self._earlier) == self._digest(self._later)

    def changes(self) -> list[Change]:
        """All that differs between the two."""
        return self._between(self._earlier, self._later)

    def steps(self) -> Iterator[Step]:
        """The appends that did it, in order."""
        ends = [self._earlier, *(row[0] for row in self._reading.rows(_ENDS, (self._earlier, self._later)))]
        if ends[-1] != self._later:
            ends.append(self._later)
        found, last = 0, self._earlier
        for before, after in self._steps(ends, 0, len(ends) - 1):
            if found == MOST_STEPS:
                rest = last + 1, self._later
                yield Step(rest, [], self._between(last, self._later), whole=False)
                return
            yield Step((before + 1, after), self._events(before, after), self._between(before, after))
            found, last = found + 1, after

    def _steps(self, ends: list[int], low: int, high: int) -> Iterator[Positions]:
        if low == high or self._digest(ends[low]) == self._digest(ends[high]):
            return
        if high - low == 1:
            yield ends[low], ends[high]
            return
        middle = (low + high) // 2
        yield from self._steps(ends, low, middle)
        yield from self._steps(ends, middle, high)

    # -- the report at a position

    def _sections(self, position: int) -> tuple[Section, ...]:
        request = self._request
        asked = Request(
            request.name, request.period, request.filters, position, request.words, request.large_win
        )
        return self._definition.build(self._reading, asked).sections

    def _digest(self, position: int) -> bytes:
        known = self._digests.get(position)
        if known is None:
            hashed = sha256()
            for section in self._sections(position):
                hashed.update(repr((section.name, section.currency)).encode())
                for row in section.rows():
                    hashed.update(repr(row).encode())
            known = self._digests[position] = hashed.digest()
        return known

    def _rows(self, position: int) -> Rows:
        found: Rows = {}
        for section in self._sections(position):
            seen: Counter[tuple[object, ...]] = Counter()
            for row in section.rows():
                key = (section.name, section.currency, row.weight, *_key(section, row.cells))
                seen[key] += 1
                found[*key, seen[key]] = section, row.weight, row.cells
        return found

    def _between(self, before: int, after: int) -> list[Change]:
        """Row by row, cell by cell; rows that are gone come last."""
        old, new = self._rows(before), self._rows(after)
        changes: list[Change] = []
        for key, (section, weight, cells) in new.items():
            was = old.pop(key, None)
            changes += _changes(section, weight, None if was is None else was[2], cells)
        for section, weight, cells in old.values():
            changes += _changes(section, weight, cells, None)
        return changes

    def _events(self, before: int, after: int) -> list[Told]:
        return [_told(*row) for row in self._reading.rows(_EVENTS, (before, after))]


def _key(section: Section, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """What a row is known by: its place in the journal where it has one, else its texts."""
    kinds = [column.kind for column in section.columns]
    if Kind.POSITION in kinds:
        place = cells[kinds.index(Kind.POSITION)]
        if place is not None:
            return (place,)
    return tuple(cell for cell, kind in zip(cells, kinds, strict=True) if kind is Kind.TEXT)


def _changes(
    section: Section, weight: Weight, before: tuple[Cell, ...] | None, after: tuple[Cell, ...] | None
) -> Iterator[Change]:
    nothing = (None,) * len(section.columns)
    old, new = before or nothing, after or nothing
    texts = [str(cell) for cell, column in zip(after or old, section.columns, strict=True)
             if column.kind in (Kind.TEXT, Kind.POSITION) and cell is not None]  # fmt: skip
    for column, was, is_ in zip(section.columns, old, new, strict=True):
        if was != is_:
            yield Change(section, column, " / ".join(texts[:LABELS]), weight, was, is_)


def _told(position: int, stream: str, name: str, body: bytes) -> Told:
    record = DECODERS[stream.partition(":")[0]](body)
    event: Any = record.data
    by = getattr(event, "by", None)
    return Told(position, record.at, stream, name, None if by is None else str(by), getattr(event, "reason", None))


def require_earlier(as_of: int | None, later: int) -> int:
    """The earlier position.  Raises ReportError where there is none, or it is not earlier."""
    if as_of is None:
        raise ReportError("--compare-with: goes with --as-of, the position of the earlier report")
    if as_of >= later:
        raise ReportError(f"--compare-with: {later} does not lie behind --as-of {as_of}")
    return as_of


_ENDS: Final = """
select first_position + event_count - 1 as last from dealproof.commands
where first_position + event_count - 1 > %s and first_position + event_count - 1 <= %s order by last
"""

_EVENTS: Final = """
select notification_id, originator_id, topic, state from dealproof.events
where notification_id > %s and notification_id <= %s order by notification_id
"""
