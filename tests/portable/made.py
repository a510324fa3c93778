"""Values and bytes to hold the two decoders against each other: events of any kind, JSON of any shape, and damage.

Not here: the laws (`test_msgspec_stand_in`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from domain.codec import Codec
from domain.record import CHAIN_START
from tests.portable.answers import CODECS

TEXTS: Final = st.text(max_size=12) | st.sampled_from(["", 'a"b\\c\n', "é\x7f\u2028😀", "\x00\x1f", "2c", "round:00"])
NUMBERS: Final = (
    st.integers(-(2**70), 2**70) | st.integers(-5, 2000) | st.sampled_from([2**53, 2**63, 2**64, -(2**63) - 1])
)


def plain(atoms: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of JSON, of any shape."""
    return st.recursive(
        st.none() | st.booleans() | NUMBERS | atoms,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
        max_leaves=12,
    )


@cache
def of_type(kind: Any) -> st.SearchStrategy[Any]:
    """Values of any type that an event has."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return st.one_of([of_type(part) for part in get_args(kind)])
    if origin is list:
        return st.lists(of_type(get_args(kind)[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(TEXTS, of_type(get_args(kind)[1]), max_size=3)
    if kind in SIMPLE:
        return SIMPLE[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    assert issubclass(kind, msgspec.Struct), kind
    hints = get_type_hints(kind)
    return st.builds(kind, **{name: of_type(hints[name]) for name in kind.__struct_fields__})


SIMPLE: Final[dict[Any, st.SearchStrategy[Any]]] = {
    str: TEXTS,
    int: NUMBERS,
    bool: st.booleans(),
    NoneType: st.none(),
    Any: plain(TEXTS),
}

TIMES: Final = st.sampled_from(["2026-12-01T09:00:00.000Z", "2026-12-01T24:00:00.000Z", ""])


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, bytes]:
    """A kind of stream, and the canonical body of an event of it, as `domain.codec` writes it."""
    name = draw(st.sampled_from(sorted(CODECS)))
    codec: Codec[Any] = CODECS[name]
    kind: Any = codec.types[draw(st.sampled_from(sorted(codec.types)))]
    event = draw(of_type(kind))
    return name, codec.encode(event, at=draw(TIMES), prev=CHAIN_START, seq=draw(NUMBERS), stream=draw(TEXTS))


PLAIN: Final = plain(TEXTS | st.text(st.characters(codec=None), max_size=3))
"""Without fractions, which no record has."""
FRACTIONS: Final = plain(TEXTS | st.floats())


@st.composite
def json_texts(draw: st.DrawFn) -> bytes:
    """JSON of any shape, spelled in several ways; NaN and halves of characters come along, which JSON has not."""
    separators = draw(st.sampled_from([(",", ":"), (" ,\n", "\t: "), (", ", ": ")]))
    return json.dumps(draw(FRACTIONS), ensure_ascii=draw(st.booleans()), separators=separators).encode()


PIECES: Final[Sequence[bytes]] = [
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\n", b"\x00", b"\x0b", b"\x1f", b"\x7f", b"\x80", b"\xff",
    b"\xc3\xa9", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"0", b"-", b"+", b".", b"1", b"e",
    b"E", b"-0", b"1.0", b"1e2", b"1e400", b"-1e400", b"1e-400", b"00", b"1.", b".1", b"1e", b"18446744073709551616",
    b"9" * 4301, b"true", b"false", b"null", b"NaN", b"Infinity", b"tru", b"nulL", b'""', b"[]", b"{}", b'"a":1,',
    b'"type":"x",', b'"seq":1,', b'"data":{},', b"\\u0041", b"\\u00e9", b"\\ud83d\\ude00", b"\\ud83d", b"\\ude00",
    b"\\ud83d\\u0041", b"\\uD83D\\uDE00", b"\\u12g4", b"\\u12", b"\\x", b"\\/", b"\\n", b"//", b"'", b"[[[[", b"]]]]",
    b"[" * 2000, b"[" * 2000 + b"]" * 2000,
]  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes with up to three changes: a byte, a piece put in or over others, a part cut, doubled or moved."""
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, len(whole)))
        last = min(len(whole), first + draw(st.integers(0, 40)))
        before, part, behind = whole[:first], whole[first:last], whole[last:]
        piece = draw(st.sampled_from(PIECES) | st.binary(min_size=1, max_size=2))
        place = draw(st.integers(0, len(whole)))
        changes = [
            before + behind, before, before + piece + behind, before + piece + part + behind,
            before + part + part + behind, whole[:place] + part + whole[place:], before + part.swapcase() + behind,
            piece + whole, whole + piece,
        ]  # fmt: skip
        whole = draw(st.sampled_from(changes))
    return whole
