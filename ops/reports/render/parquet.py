"""A report as a Parquet file: all tables below each other; what isn't a row stands in the file's metadata, as JSON.

Columns of one name are one column; `section`, `currency`, `weight` and `row` say where a row belongs.  Money, counts
and positions are 64-bit integers (minor units), ratios percentages as decimals, times milliseconds in UTC.

Not here: other forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any, BinaryIO, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from domain.currency import EXPONENTS
from ops.reports.building import ReportError
from ops.reports.model import Cell, Identity, Kind, Report, Section
from ops.reports.words import Words, plain_ratio

ROWS_AT_ONCE: Final = 10_000

_PLACE: Final = {"section": pa.string(), "currency": pa.string(), "weight": pa.string(), "row": pa.int64()}
_TYPES: Final = {
    Kind.TEXT: pa.string(), Kind.COUNT: pa.int64(), Kind.MONEY: pa.int64(), Kind.RATIO: pa.decimal128(38, 4),
    Kind.TIME: pa.timestamp("ms", "UTC"), Kind.POSITION: pa.int64(),
}  # fmt: skip


def write(report: Report, out: BinaryIO, words: Words) -> None:
    """zstd, row groups of ten thousand.  Raises ReportError where a number has more than 64 bits."""
    schema = _schema(report)
    with pq.ParquetWriter(out, schema, compression="zstd", compression_level=1, store_schema=False) as file:
        sections = [_write_section(file, schema, section, words) for section in report.sections]
        identities = [_identity(each) for each in report.identities()]
        told = {"frame": report.frame, "sections": sections, "identities": identities}
        file.add_key_value_metadata({name: msgspec.json.encode(value) for name, value in told.items()})


def _write_section(file: Any, schema: Any, section: Section, words: Words) -> dict[str, object]:
    """Write its rows; what is to be told of it besides."""
    rows, number = _rows(section), 0
    while some := list(islice(rows, ROWS_AT_ONCE)):
        number += len(some)
        try:
            file.write_table(pa.Table.from_pylist(some, schema))
        except (pa.ArrowInvalid, OverflowError) as error:
            raise ReportError(f"--format parquet: table {section.name}: {error}; take csv or json") from None
    return {
        "name": section.name, "title": section.title, "note": section.note, "currency": section.currency,
        "exponent": None if section.currency is None else EXPONENTS[section.currency],
        "columns": [{"name": each.name, "title": each.title, "kind": each.kind} for each in section.columns],
        "rows": number, "nothing": None if number else words("No Activity"),
    }  # fmt: skip


def _schema(report: Report) -> Any:
    fields: dict[str, Any] = dict(_PLACE)
    for section in report.sections:
        for column in section.columns:
            kind = _TYPES[column.kind]
            if column.name in _PLACE or fields.setdefault(column.name, kind) != kind:
                raise ValueError(f"column {column.name} of {section.name}: is another one already")
    return pa.schema(list(fields.items()))


def _rows(section: Section) -> Iterator[dict[str, object]]:
    for number, row in enumerate(section.rows(), 1):
        cells = {column.name: _cell(cell, column.kind) for cell, column in zip(row.cells, section.columns, strict=True)}
        head = {"section": section.name, "currency": section.currency, "weight": row.weight.value, "row": number}
        yield {**head, **cells}


def _cell(cell: Cell, kind: Kind) -> object:
    if isinstance(cell, Fraction):
        return Decimal(plain_ratio(cell))
    return datetime.fromisoformat(cell) if kind is Kind.TIME and isinstance(cell, str) else cell


def _identity(each: Identity) -> dict[str, object]:
    return {
        "sentence": each.sentence, "currency": each.currency, "left": each.left, "right": each.right,
        "residual": each.residual,
    }  # fmt: skip
