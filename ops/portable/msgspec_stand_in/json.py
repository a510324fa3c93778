"""`msgspec.json`: decoders and encoders of JSON.

Not here: what a decoder reads (`shapes`) and an encoder writes (`plain`).
"""

from __future__ import annotations

from collections.abc import Iterable
from json import dumps, loads
from typing import Any, Generic, TypeVar, cast

from .plain import written
from .shapes import shape_of, value_of, values_of

T = TypeVar("T")
Data = bytes | bytearray | memoryview | str


class Decoder(Generic[T]):
    """Reads JSON of one type.  Raises DecodeError for what is no JSON, ValidationError for another type."""

    def __init__(self, type: Any = Any) -> None:
        self._type = type
        shape_of(type)  # an impossible type is found at once

    def decode(self, data: Data) -> T:
        """The value in the data."""
        return cast(T, value_of(shape_of(self._type), _octets(data)))

    def decode_lines(self, data: Data) -> list[T]:
        """The values in the data, one behind the other."""
        return values_of(shape_of(self._type), _octets(data))


class Encoder:
    """Writes JSON without white space; `order` "sorted" puts keys and fields in the order of their characters."""

    def __init__(self, *, order: str | None = None) -> None:
        self._in_order = _is_sorted(order)

    def encode(self, value: object) -> bytes:
        """The value as JSON.  Raises TypeError for what has no place in it, UnicodeEncodeError for half a character."""
        return written(value, self._in_order)

    def encode_lines(self, values: Iterable[object]) -> bytes:
        """The values as JSON, a line feed behind each."""
        return b"".join(written(value, self._in_order) + b"\n" for value in values)


def decode(data: Data, *, type: Any = Any) -> Any:
    """The value in the data."""
    return value_of(shape_of(type), _octets(data))


def encode(value: object, *, order: str | None = None) -> bytes:
    """The value as JSON."""
    return written(value, _is_sorted(order))


def format(data: Data, *, indent: int = 2) -> bytes:
    """The same JSON with a member or an item a line; texts stand in their plain spelling."""
    return dumps(loads(_octets(data)), ensure_ascii=False, indent=indent).encode()


def _is_sorted(order: str | None) -> bool:
    if order not in (None, "sorted"):
        raise TypeError(f"order {order!r} is not in use")
    return order == "sorted"


def _octets(data: Data) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)
