"""A report as one JSON object, written as it is read: money in minor units, ratios as two whole numbers.

Not here: other forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import BinaryIO

import msgspec

from domain.currency import EXPONENTS
from ops.reports.model import Cell, Report, Section
from ops.reports.words import Words, plain_ratio


def write(report: Report, out: BinaryIO, words: Words) -> None:
    """UTF-8, one row a line."""
    for part in _parts(report, words):
        out.write(part)


def _parts(report: Report, words: Words) -> Iterator[bytes]:
    yield b'{"frame":' + _encoded(report.frame) + b',\n"sections":['
    for number, section in enumerate(report.sections):
        yield b",\n" if number else b"\n"
        yield from _section(section, words)
    identities = [
        {
            "sentence": each.sentence, "currency": each.currency, "left": each.left, "right": each.right,
            "residual": each.residual,
        }
        for each in report.identities()
    ]  # fmt: skip
    yield b'],\n"identities":' + _encoded(identities)
    charts = [{"name": each.name, "title": each.title, "specification": each.specification} for each in report.charts]
    yield b',\n"charts":' + _encoded(charts) + b"}\n"


def _section(section: Section, words: Words) -> Iterator[bytes]:
    head = {
        "name": section.name, "title": section.title, "note": section.note, "currency": section.currency,
        "exponent": None if section.currency is None else EXPONENTS[section.currency],
        "columns": [{"name": each.name, "title": each.title, "kind": each.kind} for each in section.columns],
    }  # fmt: skip
    yield _encoded(head)[:-1] + b',"rows":['
    number = 0
    for number, row in enumerate(section.rows(), 1):
        cells = [_cell(cell) for cell in row.cells]
        yield (b",\n" if number > 1 else b"\n") + _encoded({"weight": row.weight, "cells": cells})
    yield b"]}" if number else b'],"nothing":' + _encoded(words("No Activity")) + b"}"


def _cell(cell: Cell) -> object:
    if isinstance(cell, Fraction):
        return {"numerator": cell.numerator, "denominator": cell.denominator, "percent": plain_ratio(cell)}
    return cell


def _encoded(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=_beyond)


def _beyond(value: object) -> object:
    raise TypeError(f"{value!r} has no place in a report")
