"""A report as a PDF for people: A4 across, headings on every page, page n of m, charts drawn in.

A PDF is laid out in memory, so it has a limit; longer tables are for CSV or Parquet.

Not here: other forms, signing (`ops.reports.signing`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from html import escape
from typing import Any, BinaryIO, Final

import weasyprint
from weasyprint.urls import URLFetcher

from ops.reports.building import ReportError
from ops.reports.model import Chart, Identity, Report, Row, Section, Weight
from ops.reports.render.cells import for_people, frame_lines, heading, identity_words, to_the_right, visible
from ops.reports.render.chart import svg as svg
from ops.reports.words import Words

MOST_ROWS: Final = 5_000
"""Of all tables together: some two hundred pages."""

MANY_COLUMNS: Final = 11
"""A table of more is printed smaller."""

STYLE: Final = """
@page { size: A4 landscape; margin: 13mm 12mm 15mm;
  @bottom-left { content: string(title) " \\B7  " string(under); font: 6.5pt "DejaVu Sans"; color: #666; }
  @bottom-right { content: "PAGES"; font: 6.5pt "DejaVu Sans"; color: #666; white-space: nowrap; } }
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
.rows td { vertical-align: top; border-bottom: 0.1mm solid #dcdcdc; overflow-wrap: anywhere; }
.rows tr > :first-child { padding-left: 0.6mm; } .rows tr > :last-child { padding-right: 0.6mm; }
.rows .number { text-align: right; font-variant-numeric: tabular-nums; }
.rows td.number, .rows td.time { white-space: nowrap; overflow-wrap: normal; }
.small { font-size: 6.5pt; } .small th, .small td { padding: 0.6mm 0.9mm; }
.subtotal td { font-weight: bold; background: #f3f5f8; }
.total td { font-weight: bold; background: #e4eaf2; border-top: 0.3mm solid #1f3a5f; }
.subtotal, .total { break-before: avoid; }
.loud td { background: #c00000; color: white; font-weight: bold; }
.nothing { color: #666; font-style: italic; }
.chart { break-inside: avoid; } .chart svg { max-width: 100%; max-height: 140mm; }
"""


def write(report: Report, out: BinaryIO, words: Words) -> None:
    """Raises ReportError where the tables are too long for paper."""
    page = "".join(_html(report, words))
    document = weasyprint.HTML(string=page, url_fetcher=_Nothing())
    told = hashlib.sha256(page.encode()).digest()[:16]
    out.write(document.write_pdf(pdf_identifier=told, finisher=_same_each_time(report)))


class _Nothing(URLFetcher):  # type: ignore[misc]  # WeasyPrint has no types
    """A report loads nothing from elsewhere."""

    def fetch(self, url: str, headers: object = None) -> Any:
        raise weasyprint.urls.FatalURLFetchingError(f"a report loads nothing from elsewhere: {url}")


def _same_each_time(report: Report) -> Callable[[Any, Any], None]:
    """The file says when the report was made, not when it was printed."""
    made = datetime.fromisoformat(report.frame.generated_at)

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
    room = MOST_ROWS
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
    return f'<div class="chart"><h2>{_text(chart.title)}</h2>{svg(chart)}</div>'


def _section(section: Section, report: Report, words: Words, room: int) -> tuple[str, int]:
    """A table, and how many rows may still come."""
    rows = []
    for row in section.rows():
        room -= 1
        if room < 0:
            raise ReportError(f"--format pdf: more than {MOST_ROWS:,} rows, too long for paper; take csv or parquet")
        rows.append(_row(row, section, report, words))
    note = "" if section.note is None else f'<p class="note">{_text(section.note)}</p>'
    head = f"<h2>{_text(heading(section))}</h2>{note}"
    if not rows:
        return f'{head}<p class="nothing">{_text(words("No Activity"))}</p>', room
    titles = [(column.title, to_the_right(column)) for column in section.columns]
    return head + _table(titles, rows), room


def _row(row: Row, section: Section, report: Report, words: Words) -> str:
    weight = "" if row.weight is Weight.DETAIL else f' class="{row.weight.value}"'
    cells = "".join(
        f"<td{_class(column.kind.value, to_the_right(column))}>"
        f"{escape(for_people(cell, column, section, report.frame, words))}</td>"
        for cell, column in zip(row.cells, section.columns, strict=True)
    )
    return f"<tr{weight}>{cells}</tr>"


def _class(kind: str, right: bool) -> str:
    return ' class="number"' if right else ' class="time"' if kind == "time" else ""


def _table(titles: Sequence[tuple[str, bool]], rows: Sequence[str]) -> str:
    heads = "".join(f"<th{_class('', right)}>{_text(title)}</th>" for title, right in titles)
    small = " small" if len(titles) > MANY_COLUMNS else ""
    return f'<table class="rows{small}"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _identities(identities: list[Identity], words: Words) -> str:
    head = f"<h2>{_text(words('Identities'))}</h2>"
    if not identities:
        return f'{head}<p class="nothing">{_text(words("No Activity"))}</p>'
    titles = [(words("Identity"), False), *((words(each), True) for each in ("left", "right", "residual"))]
    return head + _table(titles, [_identity(each, words) for each in identities])


def _identity(identity: Identity, words: Words) -> str:
    numbers = "".join(f'<td class="number">{_text(text)}</td>' for text in identity_words(identity, words))
    return f"<tr{' class=loud' if identity.residual else ''}><td>{_text(identity.sentence)}</td>{numbers}</tr>"


def _text(text: str) -> str:
    return escape(visible(text))
