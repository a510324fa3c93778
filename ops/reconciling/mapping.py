"""What the columns of an operator's file mean, as he declares it in a TOML file (docs/formats/reconcile.md).

Not here: reading the file itself (`operator_file`).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from marshmallow import Schema, ValidationError, fields, validate

from domain import account as a
from domain.currency import EXPONENTS


class ReconcileError(ValueError):
    """A file can't be held against the journal; one line that names the place and the reason."""


class What(StrEnum):
    """What a line of the file is."""

    WALLET = "wallet"  # a movement of a player's money
    ROUNDS = "rounds"  # a round that has ended, or a player's part in it


@dataclass(frozen=True)
class Mapping:
    """`columns`: our name -> the file's; `types` and `endings`: the file's words -> ours.

    `house_gains`: a positive amount is the house's gain; `minor`: amounts are whole minor units.
    """

    what: What
    columns: dict[str, str]
    currency: str | None
    delimiter: str
    encoding: str
    decimal: str
    thousands: str
    minor: bool
    house_gains: bool
    tests: bool
    types: dict[str, str]
    endings: dict[str, str]

    @property
    def by_number(self) -> bool:
        """Whether rounds are named by table and number."""
        return "number" in self.columns

    @property
    def values(self) -> tuple[str, ...]:
        """Which columns of rounds are compared, in our order."""
        return tuple(name for name in ROUND_VALUES if name in self.columns)


MONEY: Final = ("staked", "returned", "net", "jackpot_contributed", "jackpot_won")
ROUND_VALUES: Final = ("currency", "ending", "ruleset", "boxes", *MONEY)
_OF_PLAYERS: Final = ("currency", "ending", "staked", "returned", "net")
"""What is kept of one player's part in a round."""

TYPES: Final = {
    "deposit": a.FundsDeposited.NAME, "withdrawal": a.FundsWithdrawn.NAME, "adjustment": a.FundsAdjusted.NAME,
    "reversal": a.FundsReversed.NAME,
}  # fmt: skip

COLUMNS: Final = {
    What.WALLET: (
        "player", "currency", "amount", "debit", "credit", "reference", "round", "table", "number", "type",
    ),
    What.ROUNDS: ("round", "table", "number", "player", *ROUND_VALUES),
}  # fmt: skip

_WORDS: Final[dict[str, Any]] = {"keys": fields.String(validate=validate.Length(min=1))}


class _Declared(Schema):
    what = fields.String(required=True, validate=validate.OneOf([str(each) for each in What]))
    columns = fields.Dict(required=True, **_WORDS, values=fields.String(validate=validate.Length(min=1)))
    currency = fields.String(load_default=None, validate=validate.OneOf(sorted(EXPONENTS), error="Is no currency."))
    delimiter = fields.String(load_default=",", validate=validate.OneOf([",", ";", "\t", "|"]))
    encoding = fields.String(load_default="utf-8")
    decimal = fields.String(load_default=".", validate=validate.OneOf([".", ","]))
    thousands = fields.String(load_default="", validate=validate.OneOf(["", ",", ".", " ", "'"]))
    unit = fields.String(load_default="major", validate=validate.OneOf(["major", "minor"]))
    gain_of = fields.String(load_default="player", validate=validate.OneOf(["player", "house"]))
    test_accounts = fields.String(load_default="included", validate=validate.OneOf(["included", "left-out"]))
    types = fields.Dict(load_default=dict, **_WORDS, values=fields.String(validate=validate.OneOf(list(TYPES))))
    endings = fields.Dict(
        load_default=dict, **_WORDS, values=fields.String(validate=validate.OneOf(["closed", "voided"]))
    )


def read_mapping(path: Path) -> Mapping:
    """Raises ReconcileError, OSError."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        declared = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ReconcileError(f"{path}: is no TOML file: {error}") from None
    try:
        loaded: dict[str, Any] = _Declared().load(declared)
    except ValidationError as error:
        messages: Any = error.messages
        raise ReconcileError(f"{path}: {_first(messages)}") from None
    mapping = Mapping(
        what=What(loaded["what"]), columns=loaded["columns"], currency=loaded["currency"],
        delimiter=loaded["delimiter"], encoding=loaded["encoding"], decimal=loaded["decimal"],
        thousands=loaded["thousands"], minor=loaded["unit"] == "minor", house_gains=loaded["gain_of"] == "house",
        tests=loaded["test_accounts"] == "included", types=loaded["types"], endings=loaded["endings"],
    )  # fmt: skip
    for reason in _wrong(mapping):
        raise ReconcileError(f"{path}: {reason}")
    return mapping


def _first(messages: dict[str, Any], path: str = "") -> str:
    """The first message of a tree of them, with the name of its field."""
    for name, inner in messages.items():
        field = f"{path}.{name}" if path else str(name)
        if isinstance(inner, dict):
            return _first(inner, field.removesuffix(".value").removesuffix(".key"))
        return f"{field.removesuffix('.value').removesuffix('.key')}: {inner[0]}"
    return "is wrong"


def _wrong(mapping: Mapping) -> list[str]:
    """What can't be, though each entry by itself could."""
    columns, what = mapping.columns, mapping.what
    found = [f"columns.{name}: is no column of {what}; there are {', '.join(COLUMNS[what])}"
             for name in columns if name not in COLUMNS[what]]  # fmt: skip
    if mapping.decimal == mapping.thousands:
        found.append("thousands: is the decimal sign")
    if ("table" in columns) != ("number" in columns):
        found.append("columns: table and number go together")
    if "round" in columns and "number" in columns:
        found.append("columns: name rounds by round or by table and number, not by both")
    found += _wrong_wallet(columns, mapping) if what is What.WALLET else _wrong_rounds(columns)
    needs_currency = not mapping.minor or what is What.WALLET
    if needs_currency and "currency" not in columns and mapping.currency is None:
        found.append("currency: name it, or the column that has it (columns.currency)")
    return found


def _wrong_wallet(columns: dict[str, str], mapping: Mapping) -> list[str]:
    found = []
    if "player" not in columns:
        found.append("columns.player: is missing")
    both = {"debit", "credit"} & columns.keys()
    if ("amount" in columns) == bool(both) or len(both) == 1:
        found.append("columns: needs either amount, or debit and credit")
    if not {"reference", "round", "number"} & columns.keys():
        found.append("columns: needs round (or table and number) for play, reference for the cashier's desk, or both")
    if "type" in columns and not mapping.types:
        found.append("types: say which word of the column is a deposit, withdrawal, adjustment or reversal")
    if "type" in columns and "reference" not in columns:
        found.append("columns.type: is of movements at the desk, which need a reference")
    return found


def _wrong_rounds(columns: dict[str, str]) -> list[str]:
    found = []
    if not {"round", "number"} & columns.keys():
        found.append("columns: needs round, or table and number")
    if not set(ROUND_VALUES) & columns.keys():
        found.append(f"columns: has nothing to compare: one of {', '.join(ROUND_VALUES)}")
    if "player" in columns:
        found += [f"columns.{name}: is not kept for each player of a round"
                  for name in ROUND_VALUES if name in columns and name not in _OF_PLAYERS]  # fmt: skip
    return found
