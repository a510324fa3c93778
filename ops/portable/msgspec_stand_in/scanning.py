"""JSON by its grammar (RFC 8259): where a value ends, what a text or a number says.

A function takes the bytes and a place in them, and gives what it read and the place behind it.  All raise DecodeError
for what is no JSON; one that meets values in values raises RecursionError where they are nested too deeply.

Not here: which values are wanted (`shapes`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from json import loads
from typing import Final

from .errors import DecodeError, Misfit

LONGEST_NUMBER: Final = 4300
"""Characters of a whole number; Python reads no longer ones either."""

DEEPEST: Final = 990
"""Values in values that are skipped."""

_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_TEXT: Final = re.compile(
    rb'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    rb'|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})[^"\\\x00-\x1f]*)*"'
)
"""A text with its quotes.  A surrogate stands only before its other half."""
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?(?![0-9.eE])")
_WORDS: Final = {ord("t"): (b"true", True), ord("f"): (b"false", False), ord("n"): (b"null", None)}
_CLOSING: Final = {b"{": b"}", b"[": b"]"}
DIGITS: Final = frozenset(b"-0123456789")


def space(data: bytes, at: int) -> int:
    """The place of the next sign that is no white space."""
    match = _SPACE.match(data, at)
    assert match is not None
    return match.end()


def malformed(data: bytes, at: int, reason: str = "invalid character") -> DecodeError:
    """The error for what stands at a place and may not."""
    if at >= len(data):
        return DecodeError("Input data was truncated")
    return DecodeError(f"JSON is malformed: {reason} (byte {at})")


def text_end(data: bytes, at: int, reason: str = "invalid character") -> int:
    """Behind a text.  Its bytes need not be UTF-8: nobody looks at the texts that are skipped."""
    match = _TEXT.match(data, at)
    if match is None:
        raise malformed(data, at, reason)
    return match.end()


def text(quoted: bytes) -> str:
    """What a text says.  Raises DecodeError unless it is UTF-8."""
    try:
        said = quoted.decode()
    except UnicodeDecodeError:
        raise DecodeError("Invalid UTF-8 encoded string") from None
    return str(loads(said)) if "\\" in said else said[1:-1]


def number(data: bytes, at: int) -> tuple[int | float, int]:
    """A number: whole unless it has a fraction or an exponent."""
    match = _NUMBER.match(data, at)
    if match is None:
        raise malformed(data, at, "invalid number")
    if match[1] is None and match[2] is None:
        if len(match[0]) > LONGEST_NUMBER:
            raise Misfit("Integer value out of range")
        return int(match[0]), match.end()
    value = float(match[0])
    if value in (float("inf"), float("-inf")):
        raise Misfit("Number out of range")
    return value, match.end()


def word(data: bytes, at: int) -> tuple[bool | None, int]:
    """true, false or null."""
    spelled, value = _WORDS[data[at]]
    if not data.startswith(spelled, at):
        raise malformed(data, at)
    return value, at + len(spelled)


def members(data: bytes, at: int, member: Callable[[bytes, int], int]) -> int:
    """Walk the object at a place.  `member` gets each key in quotes and the place of its value, and says the end."""
    at = space(data, at + 1)
    if data[at : at + 1] == b"}":
        return at + 1
    while True:
        key = data[at : text_end(data, at, "object keys must be strings")]
        at = space(data, member(key, _value_place(data, at, b"}")))
        if data[at : at + 1] == b"}":
            return at + 1
        if data[at : at + 1] != b",":
            raise malformed(data, at, "expected ',' or '}'")
        at = space(data, at + 1)


def items(data: bytes, at: int, item: Callable[[int], int]) -> int:
    """Walk the array at a place.  `item` gets the place of each value and says its end."""
    at = space(data, at + 1)
    if data[at : at + 1] == b"]":
        return at + 1
    while True:
        at = space(data, item(at))
        if data[at : at + 1] == b"]":
            return at + 1
        if data[at : at + 1] != b",":
            raise malformed(data, at, "expected ',' or ']'")
        at = space(data, at + 1)


def skipped(data: bytes, at: int) -> int:
    """Behind any value.  Without recursion, so that it goes about as deep as msgspec does."""
    closing: list[bytes] = []
    while True:
        end = _CLOSING.get(data[at : at + 1])
        at = _simple_end(data, at) if end is None else space(data, at + 1)
        if end is not None and data[at : at + 1] != end:
            closing.append(end)
            if len(closing) > DEEPEST:
                raise RecursionError("values are nested too deeply")
            at = _value_place(data, at, end)
            continue
        at += end is not None
        while closing and data[space(data, at) : space(data, at) + 1] == closing[-1]:
            at = space(data, at) + 1
            closing.pop()
        if not closing:
            return at
        at = space(data, at)
        if data[at : at + 1] != b",":
            raise malformed(data, at, f"expected ',' or '{closing[-1].decode()}'")
        at = _value_place(data, space(data, at + 1), closing[-1])


def _value_place(data: bytes, at: int, end: bytes) -> int:
    """Where the next value begins: in an object behind its key."""
    if end == b"]":
        return at
    at = space(data, text_end(data, at, "object keys must be strings"))
    if data[at : at + 1] != b":":
        raise malformed(data, at, "expected ':'")
    return space(data, at + 1)


def _simple_end(data: bytes, at: int) -> int:
    """Behind a text, a number or a word."""
    sign = data[at] if at < len(data) else None
    if sign == ord('"'):
        return text_end(data, at)
    if sign in _WORDS:
        return word(data, at)[1]
    match = _NUMBER.match(data, at)
    if match is None:
        raise malformed(data, at)
    return match.end()
