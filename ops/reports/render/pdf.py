"""A report as a PDF for people: A4 across, headings on every page, page n of m, charts drawn in.

A PDF is laid out in memory, so it has a limit; longer tables are for CSV or Parquet.

Not here: other forms, signing (`ops.reports.signing`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from html import escape
from typing import Any, BinaryIO, Final

import weasyprint
from weasyprint.urls import URLFetcher

from ops.reports.building import ReportError
from ops.reports.model import Chart, Identity, Report, Section
from ops.reports.render.cells import for_people, frame_lines, heading, identity_words, to_the_right, visible
from ops.reports.render.chart import svg
from ops.reports.words import Words

MOST_CELLS: Final = 30_000
"""Of all tables together: 5,000 rows of six columns are a hundred pages, laid out in a minute and half a gigabyte."""

SIZES: Final = tuple(
    [("A4", room, size) for room, size in ((273, 8.0), (273, 7.0), (273, 6.0))]
    + [("A3", room, size) for room, size in ((396, 7.0), (396, 6.0), (396, 5.0))]
)
"""Paper, its width between the margins in mm, and the size of letters in pt: a table takes the first that has room."""

LETTER: Final = 0.72
"""Width of a bold letter or digit in parts of the size of letters; no text of the length is wider."""

PADDING: Final = 2.8
"""Of a cell on both sides together, in mm."""

LONG_WORD: Final = 12
"""A word of more letters may be broken."""

KEPT_TOGETHER: Final = 20
"""A table of no more rows stands on one page."""

_EPOCH: Final = "SOURCE_DATE_EPOCH"

STYLE: Final = """
@page { size: A4 landscape; margin: 13mm 12mm 15mm;
  @bottom-left { content: string(title) " \\B7  " string(under); font: 6.5pt "DejaVu Sans"; color: #666; }
  @bottom-right { content: "PAGES"; font: 6.5pt "DejaVu Sans"; color: #666; white-space: nowrap; } }
@page A3 { size: A3 landscape; } .A3 { page: A3; }
body { font: 8pt/1.35 "DejaVu Sans"; color: #1a1a1a; }
h1 { font-size: 17pt; line-height: 1.15; margin: 0; string-set: title content(); }
.under { font-size: 9.5pt; color: #444; margin: 0.5mm 0 3mm; string-set: under content(); }
h2 { font-size: 10.5pt; margin: 6mm 0 1.2mm; break-after: avoid; }
.note { margin: 0 0 1.5mm; color: #555; max-width: 200mm; break-after: avoid; }
table { border-collapse: collapse; width: 100%; }
.frame { border-top: 0.3mm solid #1f3a5f; border-bottom: 0.3mm solid #1f3a5f; font-size: 7.5pt; }
.frame td { padding: 0.35mm 0; vertical-align: top; overflow-wrap: anywhere; }
.frame tr:first-child td { padding-top: 1.2mm; } .frame tr:last-child td { padding-bottom: 1.2mm; }
.frame td:first-child { color: #666; width: 42mm; }
.again { font-family: "DejaVu Sans Mono"; font-size: 7pt; }
tr { break-inside: avoid; }
.rows th { text-align: left; vertical-align: bottom; color: #1f3a5f; border-bottom: 0.3mm solid #1f3a5f; }
.rows th, .rows td { padding: 0.75mm 1.4mm; }
.rows td { vertical-align: top; border-bottom: 0.1mm solid #dcdcdc; }
.rows .number { text-align: right; font-variant-numeric: tabular-nums; }
.rows td.number { white-space: nowrap; }
.subtotal td { font-weight: bold; background: #f3f5f8; }
.total td { font-weight: bold; background: #e4eaf2; border-top: 0.3mm solid #1f3a5f; }
.subtotal, .total { break-before: avoid; }
.loud td { background: #c00000; color: white; font-weight: bold; }
.nothing { color: #666; font-style: italic; }
.whole { break-inside: avoid; }
.chart { margin-top: 5mm; } .chart svg { max-width: 100%; max-height: 140mm; }
"""


def write(report: Report, out: BinaryIO, words: Words) -> None:
    """Raises ReportError where the tables are too long for paper."""
    page = "".join(_html(report, words))
    document = weasyprint.HTML(string=page, url_fetcher=LoadNothing())
    told = hashlib.sha256(page.encode()).digest()[:16]
    made = datetime.fromisoformat(report.frame.generated_at)
    with _fonts_dated(made):
        data = document.write_pdf(pdf_identifier=told, finisher=_dated(made))
    out.write(data)


class LoadNothing(URLFetcher):  # type: ignore[misc]  # WeasyPrint has no types
    """A report loads nothing from elsewhere."""

    def fetch(self, url: str, headers: object = None) -> Any:
        raise weasyprint.urls.FatalURLFetchingError(f"a report loads nothing from elsewhere: {url}")


@contextmanager
def _fonts_dated(made: datetime) -> Iterator[None]:
    """fontTools dates the fonts that it puts in by this variable (reproducible-builds.org), else by the clock."""
    kept = os.environ.get(_EPOCH)
    os.environ[_EPOCH] = str(int(made.timestamp()))
    try:
        yield
    finally:
        if kept is None:
            del os.environ[_EPOCH]
        else:
            os.environ[_EPOCH] = kept


def _dated(made: datetime) -> Callable[[Any, Any], None]:
    """The file says when the report was made, not when it was printed."""

    def finish(document: Any, pdf: Any) -> None:
        stamp = f"(D:{made:%Y%m%d%H%M%S}Z)".encode()
        pdf.info["CreationDate"] = pdf.info["ModDate"] = stamp

    return finish


def _html(report: Report, words: Words) -> Iterator[str]:
    frame = report.frame
    yield f'<html lang="{frame.language}"><head><meta charset="utf-8"><title>{_text(frame.title)}</title>'
    yield f'<meta name="author" content="{_text(frame.operator)}">'
    yield f'<meta name="generator" content="{_text(frame.software)}"><style>{_style(words)}</style></head><body>'
    yield from _frame(report, words)
    for chart in report.charts:
        yield _chart(chart)
    room = MOST_CELLS
    for section in report.sections:
        parts, room = _section(section, report, words, room)
        yield parts
    yield _identities(report.identities(), words)
    yield "</body></html>"


def _style(words: Words) -> str:
    """With the number of the page in the reader's language."""
    return STYLE.replace("PAGES", words("page {page} of {pages}", page='" counter(page) "', pages='" counter(pages) "'))


def _frame(report: Report, words: Words) -> Iterator[str]:
    lines = list(frame_lines(report.frame, words))
    said = {name: value for name, _, value in lines}
    yield f"<h1>{_text(report.frame.title)}</h1>"
    yield f'<p class="under">{_text(said["period"])} \N{MIDDLE DOT} {_text(said["operator"])}</p><table class="frame">'
    for name, label, value in lines:
        mark = ' class="again"' if name in ("again", "checkpoint") else ""
        yield f"<tr><td>{_text(label)}</td><td{mark}>{_text(value)}</td></tr>"
    yield "</table>"


def _chart(chart: Chart) -> str:
    return f'<div class="whole chart">{svg(chart)}</div>'


def _section(section: Section, report: Report, words: Words, room: int) -> tuple[str, int]:
    """A table, and how many cells may still come."""
    rows = []
    for row in section.rows():
        room -= len(row.cells)
        if room < 0:
            raise ReportError(f"--format pdf: more than {MOST_CELLS:,} cells, too long for paper; take csv or parquet")
        cells = zip(row.cells, section.columns, strict=True)
        rows.append((row.weight.value, [for_people(*each, section, report.frame, words) for each in cells]))
    note = "" if section.note is None else f'<p class="note">{_text(section.note)}</p>'
    head = f"<h2>{_text(heading(section))}</h2>{note}"
    if not rows:
        return f'{head}<p class="nothing">{_text(words("No Activity"))}</p>', room
    titles = [(column.title, to_the_right(column)) for column in section.columns]
    return _table(section.name, head, titles, rows), room


def _table(name: str, head: str, titles: Sequence[tuple[str, bool]], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """`titles`: with whether figures stand below them; `rows`: each with its class."""
    paper, size = _fitting(name, titles, [cells for _, cells in rows])
    classes = [' class="number"' if right else "" for _, right in titles]
    heads = "".join(f"<th{c}>{_breakable(title)}</th>" for c, (title, _) in zip(classes, titles, strict=True))
    body = "".join(f'<tr class="{weight}">{_cells(classes, cells)}</tr>' for weight, cells in rows)
    whole = " whole" if len(rows) <= KEPT_TOGETHER else ""
    table = f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="{paper}{whole}">{head}<table class="rows" style="font-size: {size}pt">{table}</table></div>'


def _cells(classes: Sequence[str], cells: Sequence[str]) -> str:
    return "".join(
        f"<td{kind}>{_text(cell) if kind else _breakable(cell)}</td>"
        for kind, cell in zip(classes, cells, strict=True)
    )


def _fitting(
    name: str, titles: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]
) -> tuple[str, float]:
    """Paper and size of letters with room for every column's longest piece.  Raises ReportError where none has."""
    longest = [
        max(_piece(title, False), *(_piece(cells[place], right) for cells in rows))
        for place, (title, right) in enumerate(titles)
    ]
    for paper, room, size in SIZES:
        if sum(longest) * LETTER * size * 25.4 / 72 + len(titles) * PADDING <= room:
            return paper, size
    raise ReportError(f"--format pdf: table {name} is too wide for paper; take xlsx, csv or parquet")


def _piece(text: str, whole: bool) -> int:
    """How many letters stand in one line at least."""
    return len(text) if whole else min(LONG_WORD, max(map(len, text.split(" "))))


def _breakable(text: str) -> str:
    """A text whose long words may be broken, without a sign where they are."""
    return " ".join(_text(word) if len(word) <= LONG_WORD else _broken(word) for word in visible(text).split(" "))


def _broken(word: str) -> str:
    half = LONG_WORD // 2
    return "<wbr>".join(escape(word[place : place + half]) for place in range(0, len(word), half))


def _identities(identities: list[Identity], words: Words) -> str:
    head = f"<h2>{_text(words('Identities'))}</h2>"
    if not identities:
        return f'{head}<p class="nothing">{_text(words("No Activity"))}</p>'
    titles = [(words("Identity"), False), *((words(each), True) for each in ("left", "right", "residual"))]
    rows = [("loud" if each.residual else "", [each.sentence, *identity_words(each, words)]) for each in identities]
    return _table("identities", head, titles, rows)


def _text(text: str) -> str:
    return escape(visible(text))
