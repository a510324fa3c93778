"""What a report is, whatever it is printed as: a frame, tables of typed cells, the identities it satisfies, charts.

All texts in it are final: in the reader's language, for his eyes.  Money is whole minor units; a table has one
currency, so nothing is ever added up across two.  Rows are made while they are printed, so a report of a million rows
takes no more memory than one of ten; identities are asked for after the last row.

Not here: what a report says (`ops.reports.definitions`), how it is printed (`ops.reports.render`), languages (`words`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

Cell = str | int | Fraction | None
"""A value of a column's kind; None is nothing to say, printed as an empty cell."""


class Kind(StrEnum):
    """What a column holds."""

    TEXT = "text"        # str
    COUNT = "count"      # int
    MONEY = "money"      # int, minor units of the table's currency; whose gain is above zero each report says
    RATIO = "ratio"      # Fraction, exact; printed as a percentage with four decimals, rounded half to even
    TIME = "time"        # str as in the record, 2026-12-01T05:10:36.123Z; printed in the period's time zone
    POSITION = "position"  # int, a place in the journal; never grouped in thousands


class Weight(StrEnum):
    """What a row is."""

    DETAIL = "detail"
    SUBTOTAL = "subtotal"
    TOTAL = "total"


@dataclass(frozen=True)
class Column:
    """`name`: for machines, snake_case and the same in every language; `title`: for people."""

    name: str
    title: str
    kind: Kind


@dataclass(frozen=True)
class Row:
    cells: tuple[Cell, ...]
    weight: Weight = Weight.DETAIL


@dataclass(frozen=True)
class Section:
    """A table.  `name`: for machines; `currency`: an ISO 4217 code, None where no column is money.

    `rows` may be asked for once.  No rows is "No Activity".
    """

    name: str
    title: str
    currency: str | None
    columns: tuple[Column, ...]
    rows: Callable[[], Iterable[Row]]
    note: str | None = None
    """A sentence or two below the title, for what a reader must know of the numbers."""


@dataclass(frozen=True)
class Identity:
    """Two numbers that are the same if the report is right.  `currency` None: they are counts."""

    sentence: str
    left: int
    right: int
    currency: str | None = None

    @property
    def residual(self) -> int:
        """What is left over; 0 in a report that is right."""
        return self.left - self.right


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification with its data in it; `name` for a file."""

    name: str
    title: str
    specification: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """The newest signed checkpoint of the log: its size in events, and its root in hex."""

    size: int
    root: str


@dataclass(frozen=True)
class Frame:
    """What every report says of itself.

    `name`: the report's; `definition`: the version of its definition, as "gaming-revenue 1"; `begin` and `end`: times
    as in the record, the end not included; `zone`: an IANA name; `generated_at`: as in the record; `position`: the last
    event that is counted; `filters`: in words; `again`: the command that makes the same bytes again.
    """

    name: str
    title: str
    operator: str
    software: str
    definition: str
    begin: str
    end: str
    zone: str
    generated_at: str
    position: int
    checkpoint: Checkpoint | None
    filters: tuple[str, ...]
    again: str
    language: str


@dataclass(frozen=True)
class Report:
    frame: Frame
    sections: tuple[Section, ...]
    identities: Callable[[], list[Identity]]
    """Asked for after every section's rows were read."""
    charts: tuple[Chart, ...] = ()
