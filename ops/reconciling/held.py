"""What reconciling says, and how rows of a table are held against the journal in one pass, in constant memory.

Both sides come in the order of positions, so the two are walked side by side.  As everywhere `recorded` is what stands
in the table, `recomputed` what the journal says.

Not here: which rows there must be (`books`, `rounds`, `jackpots`, `commitments`, `desk`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, LiteralString, NamedTuple

from projections.feed import Fact
from projections.reading import Reading
from replay.verdict import Discrepancy

Values = tuple[object, ...]


class Line(NamedTuple):
    """A number by two ways.  `currency` None: of no currency; `money`: minor units of it, else a count."""

    currency: str | None
    what: str
    journal: int
    projection: int
    money: bool

    @property
    def residual(self) -> int:
        """What is left over; 0 where all is well."""
        return self.journal - self.projection


class Check(ABC):
    """One projection held against the journal; it is told every fact up to where the projection stands."""

    PROJECTION: ClassVar[str]

    @abstractmethod
    def __init__(self, reading: Reading) -> None: ...

    @abstractmethod
    def take(self, fact: Fact) -> Iterator[Discrepancy]:
        """What the tables should say of this fact and don't."""

    @abstractmethod
    def finish(self) -> Iterator[Discrepancy]:
        """What the tables say beyond the last fact, and what they should say of now and don't."""

    @abstractmethod
    def lines(self) -> list[Line]:
        """The sums, when all facts are taken."""


class Held:
    """Rows of a table in the order of their positions; a row is its position and then the columns."""

    def __init__(self, table: str, columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
        self._table, self._columns, self._rows = table, columns, rows
        self._next = next(rows, None)

    def expect(self, position: int, values: Values) -> Iterator[Discrepancy]:
        """The journal says that there is a row of this position, and what is in it."""
        yield from self._before(position)
        row = self._next
        if row is None or row[0] != position:
            yield missing(self._table, f"position {position}")
            return
        self._next = next(self._rows, None)
        if row[1:] != values:
            yield from differing(self._table, f"position {position}", self._columns, row[1:], values)

    def rest(self) -> Iterator[Discrepancy]:
        """Rows that the journal says nothing of."""
        yield from self._before(None)

    def _before(self, position: int | None) -> Iterator[Discrepancy]:
        while self._next is not None and (position is None or self._next[0] < position):
            yield extra(self._table, f"position {self._next[0]}")
            self._next = next(self._rows, None)


def same_rows(
    table: str, word: str, columns: Sequence[str], recorded: Iterable[tuple[Any, ...]], wanted: Mapping[Any, Values]
) -> Iterator[Discrepancy]:
    """Rows of now, by the key that stands first in them; `word` says what the key is."""
    left = dict(wanted)
    for key, *values in recorded:
        expected, row = left.pop(key, None), f"{word} {_spelled(key)}"
        if expected is None:
            yield extra(table, row)
        elif tuple(values) != expected:
            yield from differing(table, row, columns, values, expected)
    for key in sorted(left):
        yield missing(table, f"{word} {_spelled(key)}")


def _spelled(key: object) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def differing(
    table: str, row: str, columns: Sequence[str], recorded: Sequence[object], wanted: Sequence[object]
) -> Iterator[Discrepancy]:
    """One finding a column."""
    for column, is_, should in zip(columns, recorded, wanted, strict=True):
        if is_ != should:
            yield Discrepancy(None, row, column, plain(is_), plain(should), named(table))


def missing(table: str, row: str) -> Discrepancy:
    """A row that the journal demands."""
    return Discrepancy(None, row, "row", "missing", "there", named(table))


def extra(table: str, row: str) -> Discrepancy:
    """A row that the journal knows nothing of."""
    return Discrepancy(None, row, "row", "there", "missing", named(table))


def named(table: str) -> str:
    """A projection's table as findings call it."""
    return f"projections.{table}"


def moment(at: str | None) -> datetime | None:
    """A time of the record as the database gives it."""
    return None if at is None else datetime.fromisoformat(at)


def plain(value: object) -> object:
    """A value for people and JSON: times as the record has them."""
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def sums(reading: Reading, query: LiteralString) -> dict[str, tuple[int, ...]]:
    """Whole numbers by the currency that stands first."""
    return {currency: tuple(int(number or 0) for number in rest) for currency, *rest in reading.rows(query)}
