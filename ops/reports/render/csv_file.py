"""A report as CSV (RFC 4180): one row a line, what kind of row it is in the first column.

UTF-8 with a byte order mark, by which spreadsheets know Cyrillic.  A text that a spreadsheet would take for a formula
gets an apostrophe in front, as OWASP has it, and so does one that begins with an apostrophe: a program that takes one
off each text has it as it was.

Not here: other forms.
"""

from __future__ import annotations

import codecs
import csv
import unicodedata
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from ops.reports.model import Cell, Identity, Kind, Report, Section
from ops.reports.render.cells import for_machines, frame_lines
from ops.reports.words import Words, plain_money

_BEGINNINGS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


def write(report: Report, out: BinaryIO, words: Words) -> None:
    """Lines end in CR LF."""
    out.write(b"\xef\xbb\xbf")
    csv.writer(codecs.getwriter("utf-8")(out), lineterminator="\r\n").writerows(_rows(report, words))


def _rows(report: Report, words: Words) -> Iterator[Sequence[str]]:
    frame = report.frame
    yield "frame", "title", harmless(frame.title)
    for name, _, value in frame_lines(frame, words):
        plain = {"period": f"{frame.begin}/{frame.end}", "generated_at": frame.generated_at}.get(name, value)
        yield "frame", name, harmless(plain)
    yield "frame", "page", "1/1"
    for section in report.sections:
        yield from _section(section, words)
    for identity in report.identities():
        yield _identity(identity, words)


def _section(section: Section, words: Words) -> Iterator[Sequence[str]]:
    currency = section.currency or ""
    yield "section", section.name, currency, harmless(section.title)
    if section.note is not None:
        yield "note", section.name, currency, harmless(section.note)
    yield "columns", section.name, currency, *(column.name for column in section.columns)
    nothing = True
    for row in section.rows():
        nothing = False
        cells = (
            _cell(cell, column.kind, for_machines(cell, column, section))
            for cell, column in zip(row.cells, section.columns, strict=True)
        )
        yield row.weight.value, section.name, currency, *cells
    if nothing:
        yield "nothing", section.name, currency, words("No Activity")


def _cell(cell: Cell, kind: Kind, text: str) -> str:
    return harmless(text) if isinstance(cell, str) and kind is Kind.TEXT else text


def _identity(identity: Identity, words: Words) -> Sequence[str]:
    currency = identity.currency
    numbers = (identity.left, identity.right, identity.residual)
    amounts = [str(n) if currency is None else plain_money(n, currency) for n in numbers]
    loud = [words("NOT ZERO")] if identity.residual else []
    return "identity", harmless(identity.sentence), currency or "", *amounts, *loud


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula, in whatever width its first sign is written, spaces before it or
    not.
    """
    plain = unicodedata.normalize("NFKC", (text.lstrip(" \ufeff\N{NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}") or text)[:1])
    return f"'{text}" if plain.startswith(_BEGINNINGS) else text
