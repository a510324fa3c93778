"""Fields of requests: each takes exactly what the OpenAPI document says, and nothing that only looks like it.

marshmallow's own whole number turns 100.5 and "5" into integers; its strict one refuses 500.0, which is a whole number
in JSON.  Ours takes 5 and 5.0.

Not here: what an amount may be at a table (`domain`), the fields of replies (`shapes`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from marshmallow import Schema, ValidationError, fields, validate

from domain.account import LARGEST_BALANCE
from domain.money import LARGEST_POT, LARGEST_STAKE
from domain.record import LARGEST_INTEGER, is_record_text
from ops.api.strict_json import NumberText

NAME: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
CURRENCY: Final = "[A-Z]{3}"
ROUND: Final = "[0-9a-f]{32}"
RULESET: Final = "[a-z0-9-]{1,64}@[1-9][0-9]{0,8}"
KEY: Final = "[0-9a-f]{16}"
TILE: Final = r"[0-7]/(x[0-9]{3}/){0,5}[0-9]{3}(\.p/[1-9][0-9]{0,2})?"
"""What a tile's path has behind tile/ (C2SP tlog-tiles)."""

RECORD_TEXT: Final = "record-text"
"""The `format` of text that stands in a record: composed (NFC), not blank, no control or formatting characters."""


class Whole(fields.Field[int]):
    """A whole number from `least` to `most`: 5 and 5.0, never "5", 5.5, 5e0 or true.  `but`: one number that is not."""

    def __init__(self, least: int, most: int, *, but: int | None = None, **kwargs: Any) -> None:
        limits = {"type": "integer", "minimum": least, "maximum": most}
        shape = limits if but is None else limits | {"not": {"const": but}}
        super().__init__(**kwargs, metadata=shape | kwargs.pop("metadata", {}))
        self._least, self._most, self._but = least, most, but

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> int:
        number = _plain(value)
        if number is None or not self._least <= number <= self._most:
            raise ValidationError(f"Must be a whole number from {self._least} to {self._most}.")
        if number == self._but:
            raise ValidationError(f"Must not be {number}.")
        return number


def _plain(value: object) -> int | None:
    if type(value) is int:
        return value
    if isinstance(value, NumberText) and _WHOLE_FLOAT.fullmatch(value.text):
        return int(value.text.split(".")[0])
    return None


_WHOLE_FLOAT: Final = re.compile(r"-?(0|[1-9][0-9]{0,19})\.0{1,20}")


def money(**kwargs: Any) -> Whole:
    """An amount that comes in or goes out at the cashier's."""
    return Whole(1, LARGEST_BALANCE, **kwargs)


def signed_money(**kwargs: Any) -> Whole:
    """An amount given (above zero) or taken."""
    return Whole(-LARGEST_BALANCE, LARGEST_BALANCE, but=0, **kwargs)


def stake(least: int = 1, **kwargs: Any) -> Whole:
    """A stake or a table's limit."""
    return Whole(least, LARGEST_STAKE, **kwargs)


def pot(least: int = 0, **kwargs: Any) -> Whole:
    """An amount as large as a jackpot may be."""
    return Whole(least, LARGEST_POT, **kwargs)


def place(**kwargs: Any) -> Whole:
    """The place of an event in its stream, from 0."""
    return Whole(0, LARGEST_INTEGER, **kwargs)


class Flag(fields.Field[bool]):
    """true or false, nothing that could be taken for one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(metadata={"type": "boolean"}, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("Must be true or false.")
        return value


class Pattern(fields.Field[str]):
    """Text that matches a pattern as a whole."""

    def __init__(self, pattern: str, words: str, **kwargs: Any) -> None:
        super().__init__(metadata={"type": "string", "pattern": f"^{pattern}$"}, **kwargs)
        self._pattern, self._words = re.compile(pattern, re.ASCII), words

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> str:
        if not isinstance(value, str) or not self._pattern.fullmatch(value):
            raise ValidationError(self._words)
        return value


def name(**kwargs: Any) -> Pattern:
    """A player, a table or a jackpot."""
    return Pattern(NAME, "Must be 1 to 64 of A-Z a-z 0-9 . _ - and begin with a letter or a digit.", **kwargs)


def currency(**kwargs: Any) -> Pattern:
    """A code of ISO 4217."""
    return Pattern(CURRENCY, "Must be a currency code of three capital letters.", **kwargs)


def round_id(**kwargs: Any) -> Pattern:
    """A round's id."""
    return Pattern(ROUND, "Must be a round's id: 32 lower-case hex digits.", **kwargs)


def ruleset(**kwargs: Any) -> Pattern:
    """A ruleset version."""
    return Pattern(RULESET, "Must be a ruleset version, as russian-poker@1.", **kwargs)


def octets(least: int, most: int, **kwargs: Any) -> Pattern:
    """Bytes in lower-case hex."""
    counted = f"{{{least},{most}}}" if least != most else f"{{{least}}}"
    words = f"Must be {least} to {most} bytes in lower-case hex." if least != most else f"Must be {least} bytes in hex."
    return Pattern(f"([0-9a-f]{{2}}){counted}", words, **kwargs)


class RecordText(fields.Field[str]):
    """A sentence for the record."""

    def __init__(self, longest: int = 1000, **kwargs: Any) -> None:
        shape = {"type": "string", "minLength": 1, "maxLength": longest, "format": RECORD_TEXT}
        super().__init__(metadata=shape, **kwargs)
        self._longest = longest

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> str:
        if not is_record_text(value) or len(value) > self._longest or _has_control(value):
            words = f"Must be text in its composed (NFC) form, not blank, of 1 to {self._longest} characters"
            raise ValidationError(f"{words}, none of them for control or formatting.")
        return str(value)


def _has_control(text: str) -> bool:
    """Control and formatting characters make a list show something else than it holds."""
    return any(unicodedata.category(character) in ("Cc", "Cf") for character in text)


def one_of(*values: str, **kwargs: Any) -> fields.String:
    """One of these words."""
    words = f"Must be one of {', '.join(values)}."
    return fields.String(validate=validate.OneOf(values, error=words), **kwargs)


class Nothing(Schema):
    """A body that says all there is to say by being there: {}."""


# -- queries


class QueryWhole(Whole):
    """A whole number in a query: decimal digits."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> int:
        number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else None
        return super()._deserialize(number, attr, data, **kwargs)


_DIGITS: Final = re.compile("0|[1-9][0-9]{0,15}", re.ASCII)


class QueryFlag(Flag):
    """true or false in a query."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> bool:
        return super()._deserialize({"true": True, "false": False}.get(value), attr, data, **kwargs)


def limit() -> QueryWhole:
    """How many items a page has."""
    return QueryWhole(1, 200, load_default=50)
