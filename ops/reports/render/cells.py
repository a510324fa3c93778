"""What all forms share: cells as text, and the frame and the identities as lines.

Not here: how a form puts them on its page.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from fractions import Fraction

from ops.reports.model import Cell, Column, Frame, Identity, Kind, Section
from ops.reports.words import Words, plain_money, plain_ratio


def for_people(cell: Cell, column: Column, section: Section, frame: Frame, words: Words) -> str:
    """A cell as a reader of the language wants it."""
    if cell is None:
        return ""
    if isinstance(cell, Fraction):
        return words.ratio(cell)
    if isinstance(cell, str):
        return words.time(cell, frame.zone) if column.kind is Kind.TIME else visible(cell)
    if column.kind is Kind.MONEY:
        return words.money(cell, _currency(section))
    return str(cell) if column.kind is Kind.POSITION else words.count(cell)


def for_machines(cell: Cell, column: Column, section: Section) -> str:
    """A cell without anything of a language: 1234.50, 97.1234, 2026-12-01T05:10:36.123Z."""
    if cell is None:
        return ""
    if isinstance(cell, Fraction):
        return plain_ratio(cell)
    if isinstance(cell, str):
        return cell
    return plain_money(cell, _currency(section)) if column.kind is Kind.MONEY else str(cell)


def heading(section: Section) -> str:
    """A table's title with its currency, on one line."""
    return visible(section.title if section.currency is None else f"{section.title}, {section.currency}")


def to_the_right(column: Column) -> bool:
    """Whether a column's cells are figures, which stand below each other by their last digits."""
    return column.kind not in (Kind.TEXT, Kind.TIME)


def _currency(section: Section) -> str:
    if section.currency is None:
        raise ValueError(f"section {section.name}: an amount without a currency")
    return section.currency


def frame_lines(frame: Frame, words: Words) -> Iterator[tuple[str, str, str]]:
    """(name for machines, label, value) of everything that a report says of itself."""
    yield "operator", words("Operator"), frame.operator
    yield "software", words("Software"), frame.software
    yield "definition", words("Definition"), frame.definition
    begin, end = words.quarter(frame.begin, frame.zone), words.quarter(frame.end, frame.zone)
    yield "period", words("Period"), words("{begin} to {end}, the end not included", begin=begin, end=end)
    yield "zone", words("Time zone"), frame.zone
    yield "generated_at", words("Generated at"), words.time(frame.generated_at, frame.zone)
    yield "position", words("Journal position"), str(frame.position)
    point = frame.checkpoint
    covered = words("none over this position") if point is None else f"{point.size} {point.root}"
    yield "checkpoint", words("Log (size, root)"), covered
    yield "filters", words("Filters"), " ".join(frame.filters)
    yield "again", words("The same again"), frame.again


def identity_words(identity: Identity, words: Words) -> tuple[str, str, str]:
    """Left, right and residual of an identity; a residual that is not 0 says so."""
    currency = identity.currency
    left, right, rest = (
        words.count(number) if currency is None else words.money(number, currency)
        for number in (identity.left, identity.right, identity.residual)
    )
    return left, right, f"{rest} {words('NOT ZERO')}" if identity.residual else rest


def visible(text: str) -> str:
    """A text on one line, in which a control or formatting character, or one that XML can't have, is spelled out."""
    if text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if _hidden(c) else c for c in text)


def _hidden(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") or ord(c) & 0xFFFE == 0xFFFE
