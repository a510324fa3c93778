"""JSON that comes from outside: what the parsers let pass and money must not.

RFC 8259 section 4 leaves a doubled key to the reader; every common parser silently keeps the last one.  Here it is an
error that names the key.  NaN and Infinity, which are no JSON, are refused by the same pass.

Not here: the types of the fields (each reader has its own).
"""

from __future__ import annotations

import json
from typing import NoReturn


class StrictJsonError(ValueError):
    """Text that is no JSON, or JSON with a doubled key or a number that JSON doesn't have."""


def require_strict_json(text: str | bytes) -> None:
    """Raise StrictJsonError unless the text is JSON whose objects have distinct keys."""
    try:
        json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise StrictJsonError(f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise StrictJsonError(f"not UTF-8 text at byte {error.start}") from None
    except RecursionError:
        raise StrictJsonError("not JSON: nested too deeply") from None


def _distinct(pairs: list[tuple[str, object]]) -> None:
    keys = {key for key, _ in pairs}
    if len(keys) != len(pairs):
        doubled = next(key for key in keys if sum(key == other for other, _ in pairs) > 1)
        raise StrictJsonError(f"the key {doubled!r} stands twice in one object")


def _refuse_constant(name: str) -> NoReturn:
    raise StrictJsonError(f"{name} is not a number in JSON")
