"""JSON that comes from outside: what the parsers let pass and money must not.

RFC 8259 section 4 leaves a doubled key to the reader; every common parser silently keeps the last one.  Here it is an
error that names the key.  NaN and Infinity, which are no JSON, are refused by the same pass.

Not here: the types of the fields (each reader has its own).
"""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec

T = TypeVar("T")


class StrictJsonError(ValueError):
    """Text that is no JSON, or JSON with a doubled key or a number that JSON doesn't have."""


def require_strict_json(text: str | bytes) -> None:
    """Raise StrictJsonError unless the text is JSON whose objects have distinct keys."""
    try:
        if isinstance(text, str):
            text.encode()
        value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_NoNumber)
        _distinct([("the value", value)])
    except json.JSONDecodeError as error:
        raise StrictJsonError(f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise StrictJsonError(f"not UTF-8 text at byte {error.start}") from None
    except UnicodeEncodeError as error:
        raise StrictJsonError(f"not text that UTF-8 can hold at character {error.start}") from None
    except StrictJsonError:
        raise
    except ValueError:  # Python turns no text of more than 4,300 digits into a whole number
        raise StrictJsonError("a number has too many digits") from None
    except RecursionError:
        raise StrictJsonError("not JSON: nested too deeply") from None


def read_tagged(data: bytes, tag: str, decoder: msgspec.json.Decoder[T]) -> T:
    """A file of ours that says in `format` what it is.  Raises StrictJsonError, with the reason on one line."""
    try:
        require_strict_json(data)
        told = _TAGGED.decode(data).format
        if told == tag:
            return decoder.decode(data)
    except (StrictJsonError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StrictJsonError(one_line(error)) from None
    raise StrictJsonError(f"format: {told[:80]!r} is not {tag!r}, which is what this program reads")


def one_line(error: Exception) -> str:
    """What a decoder says: it quotes a field that it doesn't know, line feeds and all."""
    return " ".join(str(error).split())[:300]


class _Tagged(msgspec.Struct):
    format: str


_TAGGED = msgspec.json.Decoder(_Tagged)


class _NoNumber(str):
    """NaN, Infinity or -Infinity, in the place where it stood."""


def _distinct(pairs: list[tuple[str, object]]) -> None:
    keys = {key for key, _ in pairs}
    if len(keys) != len(pairs):
        doubled = next(key for key in keys if sum(key == other for other, _ in pairs) > 1)
        raise StrictJsonError(f"the key {doubled!r} stands twice in one object")
    for key, value in pairs:
        for item in value if type(value) is list else (value,):
            if type(item) is _NoNumber:
                raise StrictJsonError(f"{key}: {item} is not a number in JSON")
