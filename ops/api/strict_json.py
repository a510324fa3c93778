"""The JSON of a request: what the parsers let pass and money must not.

A doubled key, NaN, a number with an exponent, a lone surrogate, a tower of brackets: each is refused in words.  Numbers
that are not plainly whole keep the text they were written in, so that the money field can take 5.0 and refuse 1e2.

Not here: which fields a body has (`fields` and the resources), stored documents (`domain.strict_json`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

DEEPEST: Final = 20
"""Brackets within brackets; no body of ours needs more than four."""

LONGEST_NUMBER: Final = 20
"""Characters; a longer whole number is beyond every amount, and Python takes its time with it."""


class BadJson(ValueError):
    """The body is not JSON as we take it; one line."""


@dataclass(frozen=True, slots=True)
class NumberText:
    """A number as it was written, where that is not a short whole number."""

    text: str


def parse(body: bytes) -> object:
    """The value of a JSON text in UTF-8.  Raises BadJson."""
    try:
        text = body.decode()
        value = json.loads(
            text, object_pairs_hook=_distinct, parse_constant=_no_number, parse_float=NumberText, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        raise BadJson(f"The body is no JSON: {error.msg} at line {error.lineno} column {error.colno}.") from None
    except UnicodeDecodeError as error:
        raise BadJson(f"The body is no UTF-8 at byte {error.start}.") from None
    except RecursionError:
        raise BadJson(_TOO_DEEP) from None
    _require_shallow(value, DEEPEST)
    if "\\u" in text:
        _require_text(value)
    return value


_TOO_DEEP: Final = f"The body is nested more than {DEEPEST} deep."


def _whole(text: str) -> int | NumberText:
    return int(text) if len(text) <= LONGEST_NUMBER else NumberText(text)


def _no_number(name: str) -> object:
    raise BadJson(f"The body is no JSON: {name} is not a number there.")


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        doubled = next(key for key in keys if keys.count(key) > 1)
        raise BadJson(f"The key {json.dumps(doubled)} stands twice in one object.")
    return found


def _parts(value: object) -> list[object]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []


def _require_shallow(value: object, levels: int) -> None:
    parts = _parts(value)
    if not isinstance(value, dict | list):
        return
    if levels == 0:
        raise BadJson(_TOO_DEEP)
    for part in parts:
        _require_shallow(part, levels - 1)


def _require_text(value: object) -> None:
    """An escape can spell half a character, which no record and no reply can hold."""
    texts = [value] if isinstance(value, str) else [*value] if isinstance(value, dict) else []
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadJson(f"The body has half a surrogate pair in {json.dumps(text)[:80]}.") from None
    for part in _parts(value):
        _require_text(part)
