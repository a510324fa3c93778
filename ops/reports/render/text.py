"""A report as text for a terminal: columns never cut, whatever the width.

Columns are as wide as the widest cell of a thousand rows; a table of more begins anew there, with its headings.

Not here: other forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import BinaryIO, Final

from ops.reports.model import Identity, Report, Row, Section, Weight
from ops.reports.render.cells import for_people, frame_lines, heading, identity_words, to_the_right, visible
from ops.reports.words import Words

ROWS_AT_ONCE: Final = 1000


def write(report: Report, out: BinaryIO, words: Words) -> None:
    """UTF-8, lines that end in a line feed."""
    for line in _lines(report, words):
        out.write(line.rstrip().encode() + b"\n")


def _lines(report: Report, words: Words) -> Iterator[str]:
    frame = report.frame
    yield visible(frame.title)
    yield "=" * len(visible(frame.title))
    labels = [(label, value) for _, label, value in frame_lines(frame, words)]
    width = max(len(label) for label, _ in labels)
    for label, value in labels:
        yield f"{label.ljust(width)}  {visible(value)}"
    for section in report.sections:
        yield ""
        yield from _section(section, report, words)
    yield ""
    yield from _identities(report.identities(), words)
    yield ""
    yield words("page {page} of {pages}", page=1, pages=1)


def _section(section: Section, report: Report, words: Words) -> Iterator[str]:
    yield heading(section)
    yield "-" * len(heading(section))
    if section.note is not None:
        yield visible(section.note)
    rows, any_rows = iter(section.rows()), False
    while some := list(islice(rows, ROWS_AT_ONCE)):
        any_rows = True
        yield from _table(section, some, report, words)
    if not any_rows:
        yield words("No Activity")


def _table(section: Section, rows: Sequence[Row], report: Report, words: Words) -> Iterator[str]:
    columns, frame = section.columns, report.frame
    cells = [
        [for_people(cell, column, section, frame, words) for cell, column in zip(row.cells, columns, strict=True)]
        for row in rows
    ]
    right = [to_the_right(column) for column in columns]
    ruled = [row.weight is not Weight.DETAIL for row in rows]
    return _columns([column.title for column in columns], cells, right, ruled)


def _identities(identities: list[Identity], words: Words) -> Iterator[str]:
    yield words("Identities")
    yield "-" * len(words("Identities"))
    titles = [words(title) for title in ("Identity", "left", "right", "residual")]
    cells = [[visible(each.sentence), *identity_words(each, words)] for each in identities]
    if cells:
        yield from _columns(titles, cells, [False, True, True, True], [False] * len(cells))
    else:
        yield words("No Activity")


def _columns(
    titles: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool], ruled: Sequence[bool]
) -> Iterator[str]:
    """Rows below their titles, each column as wide as its widest cell; `ruled`: rows with a rule above."""
    heads = [visible(title) for title in titles]
    widths = [max(len(head), *(len(line[n]) for line in cells)) for n, head in enumerate(heads)]
    yield _line(heads, widths, right)
    for line, rule in zip(cells, ruled, strict=True):
        if rule:
            yield _line(["-" * width for width in widths], widths, right)
        yield _line(line, widths, right)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return "  ".join(
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    )
