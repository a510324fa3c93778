"""What the definitions share: parameters of their queries, columns, totals, sections of one currency.

Not here: what a report says (its own module).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

from ops.reports.building import Request
from ops.reports.model import Cell, Column, Kind, Row, Section, Weight
from ops.reports.words import Words
from projections.projection import BLOCK

Key = tuple[str, bool]
"""A currency, and whether it is of test accounts: what a section is made for."""


def parameters(request: Request) -> dict[str, object]:
    """For %(begin)s, %(end)s, %(position)s, the filters, and the block in which the position lies."""
    block = request.position // BLOCK
    return {
        "begin": request.period.begin, "end": request.period.end, "position": request.position, "block": block,
        "block_begin": block * BLOCK, **request.filters._asdict(),
    }  # fmt: skip


class Columns:
    """Columns with their titles in a language."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def text(self, name: str, title: str) -> Column:
        return Column(name, self._words(title), Kind.TEXT)

    def count(self, name: str, title: str) -> Column:
        return Column(name, self._words(title), Kind.COUNT)

    def money(self, name: str, title: str) -> Column:
        return Column(name, self._words(title), Kind.MONEY)

    def ratio(self, name: str, title: str) -> Column:
        return Column(name, self._words(title), Kind.RATIO)

    def time(self, name: str, title: str) -> Column:
        return Column(name, self._words(title), Kind.TIME)

    def position(self, name: str, title: str) -> Column:
        return Column(name, self._words(title), Kind.POSITION)


def at(moment: datetime | None) -> str | None:
    """A time out of the database, as the record writes it."""
    if moment is None:
        return None
    plain = moment.astimezone(UTC)
    return f"{plain:%Y-%m-%dT%H:%M:%S}.{plain.microsecond // 1000:03d}Z"


def who(words: Words, key: Key) -> str:
    """A currency, and whose, for a sentence."""
    currency, test = key
    return words("test accounts, {currency}", currency=currency) if test else currency


def of_key(parameters: dict[str, object], key: Key) -> dict[str, object]:
    """The parameters of a query about one currency and kind of account: %(of)s and %(test)s."""
    return {**parameters, "of": key[0], "test": key[1]}


def section(
    words: Words, name: str, title: str, key: Key | None, columns: Sequence[Column],
    rows: Callable[[], Iterable[Row]], note: str | None = None,
) -> Section:  # fmt: skip
    """A table of one currency; one of test accounts says so in its title and its name."""
    currency, test = key or (None, False)
    said = words("{title} (test accounts)", title=words(title)) if test else words(title)
    return Section(
        f"{name}-test" if test else name, said, currency, tuple(columns), rows, None if note is None else words(note)
    )


def keys_of(found: Iterable[Key]) -> list[Key]:
    """Real accounts first, then those of tests, each by currency."""
    return sorted(set(found), key=lambda key: (key[1], key[0]))


def ratio(part: int, whole: int) -> Fraction | None:
    """Nothing where there is nothing to divide by."""
    return Fraction(part, whole) if whole else None


def added(rows: Iterable[Sequence[int]], width: int) -> list[int]:
    """The sums of columns."""
    sums = [0] * width
    for row in rows:
        for column, number in enumerate(row):
            sums[column] += number
    return sums


def with_totals(
    rows: Sequence[tuple[tuple[str, ...], Sequence[int]]],
    cells: Callable[[Sequence[int]], Sequence[Cell]],
    total: str,
    subtotal: str | None = None,
) -> Iterator[Row]:
    """Rows of labels and sums, with a subtotal behind each first label that has several rows, and the total.

    `cells`: what is printed of sums.  `total` and `subtotal`: the words in the first column; {} is the first label.
    """
    if not rows:
        return
    width, labels = len(rows[0][1]), len(rows[0][0])
    group: list[Sequence[int]] = []
    for number, (label, sums) in enumerate(rows):
        yield Row((*label, *cells(sums)))
        group.append(sums)
        last = number + 1 == len(rows) or rows[number + 1][0][0] != label[0]
        if last:
            if subtotal is not None and len(group) > 1:
                head = (subtotal.format(label[0]), *[None] * (labels - 1))
                yield Row((*head, *cells(added(group, width))), Weight.SUBTOTAL)
            group = []
    everything = added((sums for _, sums in rows), width)
    yield Row((total, *[None] * (labels - 1), *cells(everything)), Weight.TOTAL)


NOTHING: Final[tuple[Row, ...]] = ()


def empty(words: Words, name: str, title: str, columns: Sequence[Column]) -> Section:
    """A table in which nothing happened."""
    return section(words, name, title, None, columns, lambda: NOTHING)
