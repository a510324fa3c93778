"""Types as readers of JSON: for each kind of value that a type takes, what reads it.

A kind is told by its first sign, so a union is the readers of its parts side by side.  Strict, as msgspec is: a whole
number is no bool and no float, 1.0 is no whole number, a text is no number.

Not here: the grammar (`scanning`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Final, NamedTuple, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import DecodeError, Misfit
from .scanning import DIGITS, items, malformed, members, number, skipped, space, text, text_end, word
from .structs import Raw, Struct, StructMeta, UnsetType, fill

Read = Callable[[bytes, int], tuple[Any, int]]
"""(data, place of the value's first sign) -> (value, place behind it)."""


class Meta(NamedTuple):
    """Limits of a whole number, both included."""

    ge: int | None = None
    le: int | None = None


class Shape:
    """What may stand in a place: the first signs of the values, each with what reads it, and the words for them."""

    def __init__(self, words: str, readers: Mapping[int, Read]) -> None:
        self.words = words
        self.readers = readers

    def read(self, data: bytes, at: int) -> tuple[Any, int]:
        """The value that begins at a place."""
        read = self.readers.get(data[at]) if at < len(data) else None
        if read is not None:
            return read(data, at)
        kind = _kind(data, at)
        raise Misfit(f"Expected `{self.words}`, got `{kind}`")


@cache
def shape_of(kind: Any) -> Shape:
    """The shape of a type.  Raises TypeError for a type that is not in use here."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _union(get_args(kind))
    if origin is Annotated:
        base, meta = get_args(kind)
        return _limited(base, meta)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enumeration(kind)
    if origin in (list, tuple, dict):
        return _collection(origin, get_args(kind))
    struct = kind if origin is None else origin
    if _is_struct(struct):
        return Shape("object", {ord("{"): _StructReader(struct, get_args(kind)).read})
    raise TypeError(f"{kind!r} is not a type that this stand-in of msgspec reads")


# -- plain values


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = text_end(data, at)
    return text(data[at:end]), end


def _whole(data: bytes, at: int) -> tuple[int, int]:
    value, end = number(data, at)
    if isinstance(value, float):
        raise Misfit("Expected `int`, got `float`")
    return value, end


def _raw(data: bytes, at: int) -> tuple[Raw, int]:
    end = skipped(data, at)
    return Raw(data[at:end]), end


def _anything(data: bytes, at: int) -> tuple[Any, int]:
    return _SIMPLE[object].read(data, at)


def _array(item: Read, data: bytes, at: int) -> tuple[list[Any], int]:
    found: list[Any] = []

    def take(place: int) -> int:
        try:
            value, end = item(data, place)
        except Misfit as misfit:
            misfit.steps.append(f"[{len(found)}]")
            raise
        found.append(value)
        return end

    return found, items(data, at, take)


def _object(item: Read, data: bytes, at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}

    def take(key: bytes, place: int) -> int:
        name = text(key)
        try:
            found[name], end = item(data, place)
        except Misfit as misfit:
            misfit.steps.append("[...]")
            raise
        return end

    return found, members(data, at, take)


_QUOTE: Final = ord('"')
_WHOLE: Final = Shape("int", dict.fromkeys(DIGITS, _whole))
_NULL: Final = Shape("null", {ord("n"): word})
_OBJECT: Final = Shape(
    "any",
    {
        _QUOTE: _text,
        ord("{"): partial(_object, _anything),
        ord("["): partial(_array, _anything),
        **dict.fromkeys(b"tfn", word),
        **dict.fromkeys(DIGITS, number),
    },
)
_SIMPLE: Final[dict[Any, Shape]] = {
    object: _OBJECT,
    Any: _OBJECT,
    str: Shape("str", {_QUOTE: _text}),
    int: _WHOLE,
    bool: Shape("bool", dict.fromkeys(b"tf", word)),
    None: _NULL,
    NoneType: _NULL,
    UnsetType: Shape("", {}),
    Raw: Shape("raw", dict.fromkeys(_OBJECT.readers, _raw)),
}


# -- types made of others


def _limited(base: Any, meta: Meta) -> Shape:
    if base is not int:
        raise TypeError(f"{base!r} with limits is not a type that this stand-in of msgspec reads")

    def read(data: bytes, at: int) -> tuple[int, int]:
        value, end = _whole(data, at)
        if meta.ge is not None and value < meta.ge:
            raise Misfit(f"Expected `int` >= {meta.ge}")
        if meta.le is not None and value > meta.le:
            raise Misfit(f"Expected `int` <= {meta.le}")
        return value, end

    return Shape("int", dict.fromkeys(DIGITS, read))


def _enumeration(kind: type[Enum]) -> Shape:
    values = {each.value: each for each in kind}
    if not all(isinstance(value, str) for value in values):
        raise TypeError(f"{kind!r} is no enumeration of texts")

    def read(data: bytes, at: int) -> tuple[Enum, int]:
        value, end = _text(data, at)
        if value not in values:
            raise Misfit(f"Invalid enum value {value!r}")
        return values[value], end

    return Shape("str", {_QUOTE: read})


def _collection(origin: type, arguments: tuple[Any, ...]) -> Shape:
    if origin is dict:
        if arguments[0] is not str:
            raise TypeError("keys are texts")
        return Shape("object", {ord("{"): partial(_object, shape_of(arguments[1]).read)})
    if origin is list:
        return Shape("array", {ord("["): partial(_array, shape_of(arguments[0]).read)})
    if arguments[-1:] == (...,):
        item = shape_of(arguments[0]).read
        return Shape("array", {ord("["): lambda data, at: _as_tuple(_array(item, data, at))})
    return Shape("array", {ord("["): partial(_places, [shape_of(each).read for each in arguments])})


def _as_tuple(found: tuple[list[Any], int]) -> tuple[tuple[Any, ...], int]:
    return tuple(found[0]), found[1]


def _places(readers: Sequence[Read], data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    """An array of a given length, each place of its own type."""
    places = iter(readers)

    def item(data: bytes, place: int) -> tuple[Any, int]:
        read = next(places, None)
        if read is None:
            raise Misfit(f"Expected `array` of length {len(readers)}")
        return read(data, place)

    found, end = _array(item, data, at)
    if len(found) != len(readers):
        raise Misfit(f"Expected `array` of length {len(readers)}")
    return tuple(found), end


def _union(parts: Sequence[Any]) -> Shape:
    if Raw in parts:
        raise TypeError("Raw is a type of its own")  # msgspec takes `Raw | None` for None
    structs = [part for part in parts if _is_struct(part)]
    if len(structs) > 1:
        shapes = [Shape("object", {ord("{"): _TaggedReader(structs).read})]
        shapes += [shape_of(part) for part in parts if part not in structs]
    else:
        shapes = [shape_of(part) for part in parts]
    readers: dict[int, Read] = {}
    for shape in shapes:
        if readers.keys() & shape.readers.keys():
            raise TypeError("two parts of a union begin with the same sign")
        readers |= shape.readers
    # null stands last in the words, as with msgspec
    words = sorted((shape.words for shape in shapes if shape.words), key="null".__eq__)
    return Shape(" | ".join(words), readers)


# -- structs


def _is_struct(kind: object) -> TypeGuard[type[Struct]]:
    return isinstance(kind, StructMeta)


class _StructReader:
    """Reads one struct."""

    def __init__(self, struct: type[Struct], arguments: Sequence[Any] = ()) -> None:
        self._struct = struct
        self._config = struct.__struct_config__
        variables: Sequence[TypeVar] = getattr(struct, "__parameters__", ())
        given = dict(zip(variables, arguments, strict=True))
        hints = get_type_hints(struct, include_extras=True)
        self._fields = {
            field: shape_of(given.get(hints[field], hints[field])).read for field in struct.__struct_fields__
        }

    def read(self, data: bytes, at: int) -> tuple[Struct, int]:
        """The struct at a place; of a field that stands twice the last value counts."""
        found: dict[str, Any] = {}

        def take(key: bytes, place: int) -> int:
            field = _name(key)
            if field is None or field not in self._fields:
                return self._other(key, data, place)
            try:
                found[field], end = self._fields[field](data, place)
            except Misfit as misfit:
                misfit.steps.append(f".{field}")
                raise
            return end

        end = members(data, at, take)
        for field in self._fields:
            if field not in found and field not in self._struct.__struct_defaults__:
                raise Misfit(f"Object missing required field `{field}`")
        struct = object.__new__(self._struct)
        fill(struct, found)
        return struct, end

    def _other(self, key: bytes, data: bytes, at: int) -> int:
        """A member that is no field: the tag, which must be the struct's own wherever it stands, or unknown."""
        field = _name(key)
        if field is not None and field == self._config.tag_field:
            tag, end = _tag(data, at, field)
            if tag != self._config.tag:
                raise _wrong_tag(tag, field)
            return end
        if self._config.forbid_unknown_fields:
            raise Misfit(f"Object contains unknown field `{text(key)}`")
        return skipped(data, at)


class _TaggedReader:
    """Reads one of several structs, which the tag tells."""

    def __init__(self, structs: Sequence[type[Struct]]) -> None:
        configs = [struct.__struct_config__ for struct in structs]
        fields = {config.tag_field for config in configs}
        if len(fields) != 1 or None in fields or len({config.tag for config in configs}) < len(structs):
            raise TypeError("structs in a union have one tag field and a tag of their own each")
        (field,) = fields
        self._field = str(field)
        self._readers = {struct.__struct_config__.tag: _StructReader(struct).read for struct in structs}

    def read(self, data: bytes, at: int) -> tuple[Struct, int]:
        """The struct at a place."""
        tag = self._first_tag(data, at)
        if tag not in self._readers:
            raise _wrong_tag(tag, self._field)
        return self._readers[tag](data, at)

    def _first_tag(self, data: bytes, at: int) -> str:
        tags: list[str] = []

        def look(key: bytes, place: int) -> int:
            if tags or _name(key) != self._field:
                return skipped(data, place)
            tag, end = _tag(data, place, self._field)
            tags.append(tag)
            return end

        members(data, at, look)
        if not tags:
            raise Misfit(f"Object missing required field `{self._field}`")
        return tags[0]


def _name(key: bytes) -> str | None:
    """What a key says; None if it is not UTF-8 and so no field's name."""
    try:
        return text(key)
    except DecodeError:
        return None


def _tag(data: bytes, at: int, field: str) -> tuple[str, int]:
    if data[at : at + 1] == b'"':
        return _text(data, at)
    skipped(data, at)
    misfit = Misfit("Expected `str`")
    misfit.steps.append(f".{field}")
    raise misfit


def _wrong_tag(tag: str, field: str) -> Misfit:
    misfit = Misfit(f"Invalid value {tag!r}")
    misfit.steps.append(f".{field}")
    return misfit


_KINDS: Final = {
    _QUOTE: "str", ord("{"): "object", ord("["): "array", ord("t"): "bool", ord("f"): "bool", ord("n"): "null",
}  # fmt: skip


def _kind(data: bytes, at: int) -> str:
    """The word for the value at a place.  Raises DecodeError if none begins there."""
    if at >= len(data) or data[at] not in _OBJECT.readers:
        raise malformed(data, at)
    if data[at] in DIGITS:
        return "int" if isinstance(number(data, at)[0], int) else "float"
    return _KINDS[data[at]]


def value_of(shape: Shape, data: bytes) -> Any:
    """The one value that the data hold.  Raises DecodeError, ValidationError, RecursionError."""
    try:
        value, end = shape.read(data, space(data, 0))
    except Misfit as misfit:
        raise misfit.as_validation_error() from None
    end = space(data, end)
    if end != len(data):
        raise malformed(data, end, "trailing characters")
    return value


def values_of(shape: Shape, data: bytes) -> list[Any]:
    """Values one behind the other, white space between them or not.  Raises as `value_of`."""
    values: list[Any] = []
    at = space(data, 0)
    while at < len(data):
        try:
            value, end = shape.read(data, at)
        except Misfit as misfit:
            misfit.steps.append(f"[{len(values)}]")
            raise misfit.as_validation_error() from None
        values.append(value)
        at = space(data, end)
    return values
