"""A report as a spreadsheet: a sheet for the frame, one a table, one for the identities.

Texts are written as texts: nothing becomes a formula, a link or a number.  Money is written as its number with as many
decimals as its currency has: a spreadsheet keeps fifteen digits, so an amount of more is written as text, exactly.
What a sheet can't hold is an error, never cut.

Not here: other forms.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, BinaryIO, Final

import xlsxwriter
from xlsxwriter.exceptions import FileCreateError

from domain.currency import EXPONENTS
from ops.reports.building import ReportError
from ops.reports.model import Cell, Column, Identity, Kind, Report, Row, Section, Weight
from ops.reports.render.cells import for_machines, for_people, frame_lines, heading, identity_words, visible
from ops.reports.words import Words

MOST_ROWS: Final = 1_048_576
MOST_CHARACTERS: Final = 32_767
"""Of a sheet, and of a cell: the format's own limits."""

EXACT_DIGITS: Final = 15

_OPTIONS: Final = {
    "constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False,
}  # fmt: skip


def write(report: Report, out: BinaryIO, words: Words) -> None:
    """Raises ReportError where a table has more rows than a sheet, or a text more characters than a cell."""
    # Rows wait in files of their own until all are known; they go with the folder, however this ends.
    with tempfile.TemporaryDirectory() as folder:
        sink = _Sink(out)
        book = xlsxwriter.Workbook(sink, {**_OPTIONS, "tmpdir": folder})
        try:
            _fill(book, report, words)
            book.close()
        except FileCreateError as error:
            raise error.args[0] from None  # the OSError inside
        finally:
            # Or a book that failed, and its zip file, would be finished when they are collected.
            book.fileclosed = sink.ended = True


class _Sink:
    """A file that, once it has `ended`, takes everything and keeps nothing."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self.ended = out, False

    def write(self, data: bytes) -> int:
        return len(data) if self.ended else self._out.write(data)

    def seek(self, place: int) -> int:
        return 0 if self.ended else self._out.seek(place)

    def tell(self) -> int:
        return 0 if self.ended else self._out.tell()

    def flush(self) -> None:
        if not self.ended:
            self._out.flush()


def _fill(book: Any, report: Report, words: Words) -> None:
    frame = report.frame
    made = datetime.fromisoformat(frame.generated_at).replace(tzinfo=None)
    named = {"title": visible(frame.title), "author": visible(frame.operator), "comments": visible(frame.again)}
    book.set_properties({**named, "created": made})
    book.use_zip64()
    _Book(book, report, words).fill()


class _Book:
    """A workbook that is being written: where every cell is known by its sheet, row and column."""

    def __init__(self, book: Any, report: Report, words: Words) -> None:
        self._book, self._report, self._words = book, report, words
        self._formats: dict[tuple[str, Weight], Any] = {}
        self._title = book.add_format({"bold": True, "font_size": 14})
        self._head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom"})
        self._loud = book.add_format({"bold": True, "bg_color": "#c00000", "font_color": "white"})

    def fill(self) -> None:
        self._frame()
        for number, section in enumerate(self._report.sections, 1):
            self._section(number, section)
        self._identities(self._report.identities())

    def _sheet(self, name: str) -> Any:
        """A sheet that prints across, as wide as the page, with its number at the foot."""
        sheet = self._book.add_worksheet(name)
        sheet.set_landscape()
        sheet.set_paper(9)  # A4
        sheet.fit_to_pages(1, 0)
        sheet.set_footer(f"&L&A&R{self._words('page {page} of {pages}', page='&P', pages='&N')}")
        return sheet

    def _frame(self) -> None:
        sheet = self._sheet(self._words("Report"))
        sheet.set_column(0, 0, 26)
        sheet.set_column(1, 1, 110)
        _text(sheet, 0, 0, self._report.frame.title, self._title)
        for row, (_, label, value) in enumerate(frame_lines(self._report.frame, self._words), 2):
            _text(sheet, row, 0, label)
            _text(sheet, row, 1, value)

    def _section(self, number: int, section: Section) -> None:
        sheet = self._sheet(_sheet_name(number, section))
        for place, column in enumerate(section.columns):
            sheet.set_column(place, place, _WIDTHS.get(column.kind, 16))
        _text(sheet, 0, 0, heading(section), self._title)
        _text(sheet, 1, 0, section.note or "")
        self._headings(sheet, 2, [column.title for column in section.columns])
        place = 2
        for place, row in enumerate(section.rows(), 3):
            if place >= MOST_ROWS:
                text = f"table {section.name} has more than {MOST_ROWS - 3:,} rows; take csv or parquet"
                raise ReportError(f"--format xlsx: {text}")
            self._row(sheet, place, row, section)
        if place == 2:
            _text(sheet, 3, 0, self._words("No Activity"))

    def _headings(self, sheet: Any, row: int, titles: Sequence[str]) -> None:
        """They stay in sight, and stand on each printed page."""
        sheet.freeze_panes(row + 1, 0)
        sheet.repeat_rows(row)
        for place, title in enumerate(titles):
            _text(sheet, row, place, title, self._head)

    def _row(self, sheet: Any, place: int, row: Row, section: Section) -> None:
        for number, (cell, column) in enumerate(zip(row.cells, section.columns, strict=True)):
            look = self._look(_pattern(column, section), row.weight)
            if isinstance(cell, str) or (isinstance(cell, int) and len(str(abs(cell))) > EXACT_DIGITS):
                text = for_people(cell, column, section, self._report.frame, self._words)
                _text(sheet, place, number, text, look)
            elif cell is not None:
                sheet.write_number(place, number, _number(cell, column, section), look)
            elif row.weight is not Weight.DETAIL:
                sheet.write_blank(place, number, None, look)

    def _look(self, pattern: str, weight: Weight) -> Any:
        """A format, made once."""
        if (pattern, weight) not in self._formats:
            self._formats[pattern, weight] = self._book.add_format({"num_format": pattern, **_WEIGHTS[weight]})
        return self._formats[pattern, weight]

    def _identities(self, identities: list[Identity]) -> None:
        words = self._words
        sheet = self._sheet(words("Identities"))
        sheet.set_column(0, 0, 80)
        sheet.set_column(1, 3, 22)
        self._headings(sheet, 0, [words(title) for title in ("Identity", "left", "right", "residual")])
        for row, identity in enumerate(identities, 1):
            for place, text in enumerate((identity.sentence, *identity_words(identity, words))):
                _text(sheet, row, place, text, self._loud if identity.residual else None)
        if not identities:
            _text(sheet, 1, 0, words("No Activity"))


_WIDTHS: Final = {Kind.TEXT: 24, Kind.TIME: 31, Kind.COUNT: 12, Kind.POSITION: 12, Kind.RATIO: 12}
_WEIGHTS: Final[dict[Weight, dict[str, object]]] = {
    Weight.DETAIL: {}, Weight.SUBTOTAL: {"bold": True, "bg_color": "#f3f5f8"},
    Weight.TOTAL: {"bold": True, "bg_color": "#e4eaf2", "top": 1},
}  # fmt: skip


def _text(sheet: Any, row: int, place: int, text: str, look: Any = None) -> None:
    shown = visible(text)
    if len(shown) > MOST_CHARACTERS:
        raise ReportError(f"--format xlsx: a cell takes {MOST_CHARACTERS:,} characters, not {len(shown):,}; take csv")
    sheet.write_string(row, place, shown, look)


def _pattern(column: Column, section: Section) -> str:
    """A spreadsheet's format for numbers; it puts in the signs of its reader's language."""
    if column.kind is Kind.MONEY:
        digits = 0 if section.currency is None else EXPONENTS[section.currency]
        return "#,##0" + ("." + "0" * digits if digits else "")
    return {Kind.COUNT: "#,##0", Kind.POSITION: "0", Kind.RATIO: "0.0000%"}.get(column.kind, "@")


def _number(cell: Cell, column: Column, section: Section) -> float | int:
    """The double that is nearest to the decimal; a decimal of fifteen digits is shown as just that."""
    if isinstance(cell, Fraction):
        return round(cell * 1_000_000) / 1_000_000  # as in the other forms
    return float(for_machines(cell, column, section))


def _sheet_name(number: int, section: Section) -> str:
    """At most 31 characters, none of []:*?/\\, each only once."""
    plain = re.sub(r"[\[\]:*?/\\']", " ", visible(f"{number} {section.currency or ''} {section.title}"))
    return " ".join(plain.split())[:31].rstrip()
