"""The stand-in of msgspec takes, refuses and writes what msgspec does, as far as domain and replay use it.

Each question is asked in this process, where msgspec is the real one, and in one that has nothing but the archive.

Not here: the archive as a command (`test_archive`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ops.portable import msgspec_stand_in
from tests.golden.files import GOLDEN, TAMPERED, golden_rounds
from tests.portable.answers import ASKED, answer
from tests.portable.made import PLAIN, bodies, damaged, json_texts
from tests.portable.other import Other

GOLDEN_FILES = sorted(GOLDEN.glob("*.jsonl"))
SCENARIOS = [
    json.dumps(json.loads(line)["scenario"]).encode()
    for path in sorted((Path(__file__).parents[1] / "vectors" / "scenarios").glob("*.jsonl"))
    for line in path.read_bytes().splitlines()
]
DOCUMENTS = [path.read_bytes() for path in sorted(Path(__file__).parents[2].glob("domain/rulesets/*.json"))]
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def agreed(other: Other, question: str, data: bytes) -> str:
    """The answer that both give."""
    ours, theirs = answer(question, data), other.answer(question, data)
    assert theirs == ours, (question, data[:2000])
    return ours


# -- verdicts


@pytest.mark.parametrize("path", [*TAMPERED.glob("*.json")], ids=lambda path: path.stem)
def test_a_tampered_round_gets_the_same_verdict(other: Other, path: Path) -> None:
    """Every rung, event, field and value; by the ladder too."""
    assert '"verdict": "verified"' not in agreed(other, "verdict", path.read_bytes())


@pytest.mark.parametrize("path", GOLDEN_FILES, ids=lambda path: path.stem)
def test_a_golden_round_gets_the_same_verdict(other: Other, path: Path) -> None:
    """One in twenty of them."""
    for line in path.read_bytes().splitlines()[::20]:
        assert "verified" in agreed(other, "verdict", line)


@pytest.mark.slow
@pytest.mark.parametrize("path", GOLDEN_FILES, ids=lambda path: path.stem)
def test_every_golden_round_gets_the_same_verdict(other: Other, path: Path) -> None:
    """All of them."""
    for line in path.read_bytes().splitlines():
        agreed(other, "verdict", line)


@settings(unhurried, max_examples=60)
@given(data=st.data())
def test_a_damaged_round_gets_the_same_verdict(other: Other, data: st.DataObject) -> None:
    """One body of a golden round with changed bytes."""
    path = data.draw(st.sampled_from(GOLDEN_FILES))
    stream, whole = data.draw(st.sampled_from(golden_rounds(path.stem)))
    place = data.draw(st.integers(0, len(whole) - 1))
    body = data.draw(damaged(whole[place])).decode("utf-8", "replace")
    texts = [body if at == place else each.decode() for at, each in enumerate(whole)]

    agreed(other, "verdict", json.dumps({"stream": stream, "bodies": texts}).encode())


# -- single values


@settings(unhurried, max_examples=250)
@given(body=bodies())
def test_every_event_reads_and_writes_alike(other: Other, body: tuple[str, bytes]) -> None:
    """Its body as it stands: both read the same event and write the same bytes again."""
    name, data = body
    said = agreed(other, f"{name} event", data)

    assert repr(data) in said


@settings(unhurried, max_examples=300)
@given(body=bodies(), data=st.data())
def test_a_damaged_event_is_taken_or_refused_alike(other: Other, body: tuple[str, bytes], data: st.DataObject) -> None:
    """By its own codec, by the codec of a whole stream, by those that look at the frame alone."""
    name, whole = body
    broken = data.draw(damaged(whole))

    for question in (f"{name} event", "envelope", "frame", "canonical"):
        agreed(other, question, broken)
    agreed(other, "lines", broken + b"\n" + whole)


@settings(unhurried, max_examples=300)
@given(whole=json_texts(), data=st.data())
def test_any_json_and_what_is_almost_json_is_read_alike(other: Other, whole: bytes, data: st.DataObject) -> None:
    """As plain values, as a frame with unknown fields, as canonical bytes."""
    broken = data.draw(st.just(whole) | damaged(whole))

    for question in ("anything", "canonical"):
        agreed(other, question, broken)
    agreed(other, "frame", b'{"seq":1,"x":' + broken + b',"stream":"a"}')
    agreed(other, "envelope", _ENVELOPE % broken)


_ENVELOPE = b'{"at":"2026-12-01T09:00:00.000Z","data":%s,"prev":"","seq":1,"stream":"a","type":"b","v":1}'


@settings(unhurried, max_examples=150)
@given(data=st.data())
def test_documents_are_read_alike(other: Other, data: st.DataObject) -> None:
    """Rulesets and scenarios, whole and damaged."""
    question, documents = data.draw(st.sampled_from([("ruleset document", DOCUMENTS), ("scenario", SCENARIOS)]))
    whole = data.draw(st.sampled_from(documents))

    text = data.draw(st.just(whole) | damaged(whole))
    agreed(other, question, text)
    agreed(other, f"{question} read", text)


@pytest.mark.parametrize("question", sorted(ASKED))
@pytest.mark.parametrize(
    "data", [b"", b" ", b"null", b"{}", b"[]", b'"', b"\xff", b"{}x", b"[" * 100_000, b'{"a":' * 5_000]
)
def test_what_is_nothing_is_refused_alike(other: Other, question: str, data: bytes) -> None:
    """By every reader that there is."""
    agreed(other, question, data)


# -- in one process


class Colour(StrEnum):
    RED = "red"


def described(package: Any) -> dict[str, Any]:
    """The same types, made with msgspec or with the stand-in."""
    inner = package.defstruct("Inner", [("a", int), ("b", str | None)], frozen=True, forbid_unknown_fields=True)
    loose = package.defstruct("Loose", [("a", int), ("raw", package.Raw)])
    one = package.defstruct("One", [("x", int)], tag_field="type", tag="one", forbid_unknown_fields=True)
    two = package.defstruct("Two", [("x", inner)], tag_field="type", tag="two")
    limited = Annotated[int, package.Meta(ge=0, le=100)]
    return {
        "inner": inner, "loose": loose, "one": one, "tagged": one | two, "limited": limited,
        "unset": limited | package.UnsetType | None, "colour": Colour | None, "pair": tuple[int, bool],
        "list": list[inner],  # type: ignore[valid-type]  # it is one
        "tuple": tuple[int, ...], "dict": dict[str, int], "text": str, "whole": int, "truth": bool, "null": None,
    }  # fmt: skip


REAL, OURS = described(msgspec), described(msgspec_stand_in)
SAMPLES: Sequence[bytes] = [
    b'{"a":1,"b":null}', b'{"b":"x","a":1}', b'{"a":1,"a":2,"b":"y"}', b'{"a":1,"raw": [1, {"b" :2}] ,"z":[]}',
    b'{"type":"one","x":1}', b'{"x":{"a":1,"b":null},"type":"two","y":0}',
    b'{"type":"two","type":"two","x":{"a":1,"b":""}}',
    b'[{"a":1,"b":"c"}]', b"[1,true]", b"[1,2,3]", b'{"k":1,"l":2}', b'"red"', b'"blue"', b'"\\u0072ed"',
    b"0", b"100", b"101", b"-1", b"-0", b"1.0", b"true", b"null",
]  # fmt: skip


@settings(deadline=None, max_examples=800)
@given(kind=st.sampled_from(sorted(REAL)), data=st.data())
def test_every_kind_of_type_reads_alike(kind: str, data: st.DataObject) -> None:
    """Value and error; where it refuses JSON that is well-formed, nearly always the words too."""
    whole = data.draw(st.sampled_from(SAMPLES) | json_texts())
    text = data.draw(st.just(whole) | damaged(whole))

    real, ours = told(msgspec, REAL[kind], text), told(msgspec_stand_in, OURS[kind], text)

    assert ours.split(":")[0] == real.split(":")[0]
    if not any(word in real for word in ("JSON", "truncated", "got `float`", "out of range")):
        assert ours == real


def told(package: Any, kind: Any, data: bytes) -> str:
    """The value, or the error with its words."""
    try:
        value = package.json.Decoder(kind).decode(data)
    except RecursionError:
        return "DecodeError: nested JSON"
    except package.DecodeError as error:
        return f"DecodeError: {error}"
    if isinstance(value, package.Struct) and "raw" in value.__struct_fields__:
        return f"{value.a} {bytes(value.raw)!r}"
    return repr(value)


@settings(deadline=None, max_examples=300)
@given(value=PLAIN)
def test_values_are_written_alike(value: Any) -> None:
    """Texts and whole numbers, in the order given and in that of the keys; halves of characters are refused."""
    for order in (None, "sorted"):
        assert written(msgspec, value, order) == written(msgspec_stand_in, value, order)


def written(package: Any, value: Any, order: str | None) -> object:
    try:
        return package.json.Encoder(order=order).encode(value)
    except UnicodeEncodeError:
        return "half a character"
