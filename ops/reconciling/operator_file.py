"""Read an operator's CSV file by its mapping, line by line, in constant memory.

A line that can't be read is never left out: all are read first, then the first bad ones are named together.

Not here: what a mapping is (`mapping`), comparing (`matching`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from domain.account import LARGEST_BALANCE
from domain.currency import EXPONENTS
from ops.reconciling.mapping import MONEY, TYPES, Mapping, ReconcileError, What

MOST_BAD: Final = 10
"""Lines that are named in an error."""

_SPACES: Final = str.maketrans(dict.fromkeys("\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}", " "))


class Entry(NamedTuple):
    """A line: its number, what it is of, and what it says of it.

    `round`: its id, or table/number; `reference`, `type`: of a movement at the desk; `values`: of a round, as
    Mapping.values has them; `amount`: what the player got, in minor units.
    """

    line: int
    currency: str | None
    player: str | None
    round: str | None
    reference: str | None
    type: str | None
    amount: int
    values: tuple[str | int | None, ...]


class _Bad(Exception):
    """A line that can't be read; why."""


def read_entries(path: Path, mapping: Mapping) -> Iterator[Entry]:
    """The lines of a file.  Raises ReconcileError at the end if some can't be read, OSError."""
    bad: list[str] = []
    count = 0
    for line, cells in _lines(path, mapping):
        try:
            entry = _entry(line, cells, mapping)
        except _Bad as error:
            count += 1
            if count <= MOST_BAD:
                bad.append(f"line {line}: {error}")
        else:
            yield entry
    if bad:
        more = f"; and {count - MOST_BAD:,} more lines" if count > MOST_BAD else ""
        raise ReconcileError(f"{path}: {'; '.join(bad)}{more}")


def _lines(path: Path, mapping: Mapping) -> Iterator[tuple[int, dict[str, str]]]:
    """Each line as our name -> its cell.  Raises ReconcileError for a file that is no such table."""
    encoding = "utf-8-sig" if mapping.encoding.lower().replace("_", "-") in ("utf-8", "utf8") else mapping.encoding
    try:
        with path.open(encoding=encoding, newline="") as file:
            reader = csv.reader(file, delimiter=mapping.delimiter, strict=True)
            places = _places(path, next(reader, []), mapping)
            width = max(places.values()) + 1
            for cells in reader:
                if any(cells):
                    short = len(cells) < width
                    yield reader.line_num, {} if short else {name: cells[at].strip() for name, at in places.items()}
    except UnicodeDecodeError as error:
        raise ReconcileError(f"{path}: is not {mapping.encoding} at byte {error.start}; name its encoding") from None
    except UnicodeError as error:
        raise ReconcileError(f"{path}: is not {mapping.encoding}: {error}") from None
    except LookupError:
        raise ReconcileError(f"{path}: encoding: there is none called {mapping.encoding!r}") from None
    except csv.Error as error:
        raise ReconcileError(f"{path}: line {reader.line_num}: is no CSV: {error}") from None


def _places(path: Path, heads: list[str], mapping: Mapping) -> dict[str, int]:
    plain = [head.strip() for head in heads]
    for name, column in mapping.columns.items():
        if plain.count(column) != 1:
            how = "no column" if column not in plain else "more than one column"
            raise ReconcileError(f"{path}: columns.{name}: there is {how} {column!r}; there are {', '.join(plain)}")
    return {name: plain.index(column) for name, column in mapping.columns.items()}


def _entry(line: int, cells: dict[str, str], mapping: Mapping) -> Entry:
    if not cells:
        raise _Bad("has fewer cells than the heading")
    currency = cells.get("currency") or mapping.currency
    if currency is not None and currency not in EXPONENTS:
        raise _Bad(f"currency: {currency!r} is none")
    if currency is None and not mapping.minor:
        raise _Bad("currency: is empty")
    round_, player = _round(cells, mapping), cells.get("player")
    if player == "":
        raise _Bad("player: is empty")
    if mapping.what is What.ROUNDS:
        if round_ is None:
            raise _Bad("round: is empty")
        values = tuple(_value(name, cells[name], currency, mapping) for name in mapping.values)
        return Entry(line, currency, player, round_, None, None, 0, values)
    reference = (cells.get("reference") or None) if round_ is None else None
    if round_ is None and reference is None:
        raise _Bad("has neither a round nor a reference")
    kind = None if reference is None or "type" not in mapping.columns else _type(cells["type"], mapping)
    return Entry(line, currency, player, round_, reference, kind, _gain(cells, currency, mapping), ())


def _round(cells: dict[str, str], mapping: Mapping) -> str | None:
    if mapping.by_number:
        table, number = cells["table"], cells["number"]
        if not table and not number:
            return None
        if not (table and number.isascii() and number.isdigit()):
            raise _Bad(f"number: {number!r} of table {table!r} names no round")
        return f"{table}/{int(number)}"
    text = cells.get("round")
    if not text:
        return None
    plain = text.replace("-", "").lower()
    if not re.fullmatch("[0-9a-f]{32}", plain):
        raise _Bad(f"round: {text!r} is no id of a round (32 hex digits); rounds can be named by table and number too")
    return plain


def _type(text: str, mapping: Mapping) -> str:
    if text not in mapping.types:
        raise _Bad(f"type: {text!r} is not among the mapping's types")
    return TYPES[mapping.types[text]]


def _gain(cells: dict[str, str], currency: str | None, mapping: Mapping) -> int:
    """What the player got."""
    if "amount" in mapping.columns:
        amount = _amount("amount", cells["amount"], currency, mapping)
        return -amount if mapping.house_gains else amount
    debit, credit = (_amount(name, cells[name] or "0", currency, mapping) for name in ("debit", "credit"))
    if debit < 0 or credit < 0:
        raise _Bad(f"{'debit' if debit < 0 else 'credit'}: is negative")
    return debit - credit if mapping.house_gains else credit - debit


def _value(name: str, text: str, currency: str | None, mapping: Mapping) -> str | int | None:
    if name in MONEY:
        amount = _amount(name, text, currency, mapping)
        return -amount if name == "net" and mapping.house_gains else amount
    if name == "boxes":
        if not (text.isascii() and text.isdigit()):
            raise _Bad(f"boxes: {text!r} is no count")
        return int(text)
    if name == "ending":
        text = mapping.endings.get(text, text)
        if text not in ("closed", "voided"):
            raise _Bad(f"ending: {text!r} is not among the mapping's endings")
    return currency if name == "currency" else text


def _amount(name: str, text: str, currency: str | None, mapping: Mapping) -> int:
    """An amount in minor units, exactly as it is written."""
    places = 0 if mapping.minor or currency is None else EXPONENTS[currency]
    plain = text.translate(_SPACES).replace("\N{MINUS SIGN}", "-")
    plain = plain.replace(mapping.thousands, "") if mapping.thousands else plain
    decimals = f"({re.escape(mapping.decimal)}([0-9]{{1,{places}}})0*)?" if places else ""
    match = re.fullmatch(f"([+-]?)([0-9]{{1,16}}){decimals}", plain)
    if match is None:
        unit = "whole minor units" if mapping.minor else f"an amount in {currency} with {places} places"
        raise _Bad(f"{name}: {text!r} is not {unit}")
    part = (match.group(4) or "") if places else ""
    amount = int(match.group(2) + part.ljust(places, "0"))
    if amount > LARGEST_BALANCE:
        raise _Bad(f"{name}: {text!r} is more than any balance")
    return -amount if match.group(1) == "-" else amount
