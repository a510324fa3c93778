"""What lists share: for each currency and kind of account a table whose rows are streamed, with sums at its end.

Not here: which rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, LiteralString, NamedTuple

from ops.reports.building import Request
from ops.reports.definitions.common import empty, keys_of, of_key, parameters, section
from ops.reports.model import Cell, Column, Kind, Row, Section, Weight
from projections.reading import Reading


class Listing(NamedTuple):
    """`keys`: a query of (currency, test); `rows`: of a key's rows, by %(of)s and %(test)s; `cells`: what is printed.

    Columns named in `summed` have a total.
    """

    name: str
    title: str
    columns: Sequence[Column]
    keys: LiteralString
    rows: LiteralString
    cells: Callable[[Sequence[Any]], Sequence[Cell]]
    summed: frozenset[str] = frozenset()
    note: str | None = None


def sections(
    reading: Reading, request: Request, listing: Listing, asked: dict[str, object] | None = None
) -> tuple[Section, ...]:
    """A table for each key; one that says that nothing happened where there is none.  `asked`: the parameters."""
    asked = asked or parameters(request)
    keys = keys_of((currency, test) for currency, test in reading.rows(listing.keys, asked))
    found = tuple(
        section(
            request.words, listing.name, listing.title, key, listing.columns,
            lambda key=key: _rows(reading, request, listing, of_key(asked, key)), listing.note,  # type: ignore[misc]
        )
        for key in keys
    )  # fmt: skip
    return found or (empty(request.words, listing.name, listing.title, listing.columns),)


def plain(reading: Reading, request: Request, listing: Listing) -> Section:
    """One table, of no currency."""
    return section(
        request.words, listing.name, listing.title, None, listing.columns,
        lambda: _rows(reading, request, listing, parameters(request)), listing.note,
    )  # fmt: skip


def _rows(reading: Reading, request: Request, listing: Listing, asked: dict[str, object]) -> Iterator[Row]:
    sums: dict[int, int] = {
        place: 0 for place, column in enumerate(listing.columns) if column.name in listing.summed
    }
    nothing = True
    for found in reading.stream(listing.rows, asked):
        cells = tuple(listing.cells(found))
        for place in sums:
            number = cells[place]
            sums[place] += number if isinstance(number, int) else 0
        nothing = False
        yield Row(cells)
    if sums and not nothing:
        yield Row(tuple(_total(request, listing, sums, place) for place in range(len(listing.columns))), Weight.TOTAL)


def _total(request: Request, listing: Listing, sums: dict[int, int], place: int) -> Cell:
    first = next((n for n, column in enumerate(listing.columns) if column.kind is Kind.TEXT), 0)
    return request.words("Total") if place == first and place not in sums else sums.get(place)
