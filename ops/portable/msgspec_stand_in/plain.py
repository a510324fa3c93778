"""Values as JSON writes them, and as plain lists and dictionaries.

Not here: reading (`shapes`).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from enum import Enum
from json.encoder import encode_basestring
from typing import Any

from .shapes import shape_of, value_of
from .structs import UNSET, Raw, Struct


def to_builtins(value: Any) -> Any:
    """The same in text, numbers, lists, tuples and dictionaries.  Raises TypeError for what has no place in JSON."""
    if isinstance(value, Enum):
        return to_builtins(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, Struct):
        return {name: to_builtins(item) for name, item in _members(value)}
    if isinstance(value, Mapping):
        return {to_builtins(key): to_builtins(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(to_builtins(item) for item in value)
    if isinstance(value, list | set | frozenset):
        return [to_builtins(item) for item in value]
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def convert(value: object, type: Any) -> Any:
    """Plain values as a type, strictly.  Raises ValidationError."""
    return value_of(shape_of(type), written(value, in_order=False))


def written(value: Any, in_order: bool) -> bytes:
    """A value as JSON without white space."""
    return b"".join(_pieces(value, in_order))


def _pieces(value: Any, in_order: bool) -> Iterator[bytes]:
    if isinstance(value, Raw):
        yield value
    elif isinstance(value, Struct):
        yield from _object(_members(value), in_order)
    elif isinstance(value, Mapping):
        yield from _object(((_key(key), item) for key, item in value.items()), in_order)
    elif isinstance(value, list | tuple | set | frozenset):
        for place, item in enumerate(value):
            yield b"," if place else b"["
            yield from _pieces(item, in_order)
        yield b"]" if value else b"[]"
    else:
        yield _atom(to_builtins(value))


def _object(members: Iterator[tuple[str, Any]], in_order: bool) -> Iterator[bytes]:
    sign = b"{"
    for name, item in sorted(members, key=_first) if in_order else members:
        yield sign + _atom(name) + b":"
        yield from _pieces(item, in_order)
        sign = b","
    yield b"}" if sign == b"," else b"{}"


def _members(struct: Struct) -> Iterator[tuple[str, Any]]:
    """Tag and fields of a struct; what was left out is left out."""
    config = struct.__struct_config__
    if config.tag_field is not None:
        yield config.tag_field, config.tag
    for field in struct.__struct_fields__:
        value = getattr(struct, field)
        if value is not UNSET:
            yield field, value


def _first(member: tuple[str, Any]) -> str:
    return member[0]


def _key(key: object) -> str:
    key = to_builtins(key)
    if not isinstance(key, str):
        raise TypeError("Only dicts with str keys are supported")
    return key


def _atom(value: str | bool | float | None) -> bytes:
    """A text, a number or a word."""
    if isinstance(value, str):
        return encode_basestring(value).encode()
    if value is None or isinstance(value, bool):
        return {None: b"null", True: b"true", False: b"false"}[value]
    return repr(value).encode()
