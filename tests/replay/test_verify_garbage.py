"""Whatever the bodies of a round are, the verifier answers with a verdict that can be written as JSON.

Not here: forgeries of well-formed events (`test_verify_rewrites`).
"""

from __future__ import annotations

import json
from time import process_time

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.record import BodyError, read_envelope
from domain.rulesets import released_rulesets
from replay.evidence import by_digest
from replay.verdict import Status, Verdict
from replay.verify_round import verify_round
from tests.golden.files import canonical, chained, golden_rounds, opened_up

RULESETS = by_digest(released_rulesets().values())
STREAM, BODIES = min(golden_rounds("russian-poker@1"), key=lambda golden: abs(len(golden.bodies) - 11))
VOID = next(golden for golden in golden_rounds("multibox-russian-poker@1") if b'"refunds":[{' in golden.bodies[-2])

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=5)
    | st.sampled_from(("5h", "Xx", "player", "house", "open")),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=5), children, max_size=4),
    max_leaves=8,
)


def verdict_of(bodies: list[bytes], stream: str = STREAM) -> Verdict:
    """The verdict, and that it can be written."""
    verdict = verify_round(stream, bodies, RULESETS)
    assert msgspec.json.encode(verdict.as_json())
    return verdict


@given(bodies=st.lists(st.binary(max_size=60), max_size=5))
@example(bodies=[])
@example(bodies=[b""])
@example(bodies=[b"null", b"[]", b"{}", b'""', b"0"])
@settings(max_examples=300, deadline=None)
def test_random_bytes_are_a_discrepancy(bodies: list[bytes]) -> None:
    """No bytes at all included."""
    assert verdict_of(bodies).status is Status.DISCREPANCY


@given(
    seq=st.integers(0, len(BODIES) - 1), start=st.integers(0, 400), size=st.integers(0, 30), new=st.binary(max_size=8)
)
@settings(max_examples=400, deadline=None)
def test_random_bytes_in_a_body_are_a_discrepancy(seq: int, start: int, size: int, new: bytes) -> None:
    """Some bytes of a body replaced by others."""
    body = BODIES[seq][:start] + new + BODIES[seq][start + size :]

    verdict = verdict_of([*BODIES[:seq], body, *BODIES[seq + 1 :]])

    assert (verdict.status is Status.VERIFIED) == (body == BODIES[seq])


@given(data=st.data())
@settings(max_examples=600, deadline=None)
def test_any_json_in_a_field_is_no_crash(data: st.DataObject) -> None:
    """A field of the frame or of an event with any value, all hashes recomputed."""
    plain = opened_up(BODIES)
    body = plain[data.draw(st.integers(0, len(plain) - 1))]
    place = data.draw(st.sampled_from((body, body["data"])))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(JSON_VALUES)

    verdict_of(chained(plain))
    verdict_of(list(map(canonical, plain)))


@pytest.mark.parametrize(
    "body",
    (
        b'{"at":1e400,"data":{},"prev":"","seq":0,"stream":"","type":"round-closed.v1","v":1}',
        BODIES[0].replace(b'"table":"', b'"table":"\\ud800'),
        BODIES[0].replace(b'"table":"', b'"table":"\\ud800\\u0041'),
        BODIES[0].replace(b'"table":"', b'"table":"\xed\xa0\x80'),
        BODIES[0].replace(b'"table":"', b'"table":"\xff'),
        BODIES[0].replace(b'"table":"', b'"table":"\xef\xbb\xbf'),
        BODIES[0].replace(b'"number":', b'"number":' + b"9" * 5000),
        BODIES[0].replace(b'"number":', b'"number":-'),
        BODIES[0].replace(b'"number":', b'"number":0'),
        BODIES[0].replace(b'"number":', b'"number":NaN,"x":'),
        b"\xef\xbb\xbf" + BODIES[0],
        BODIES[0] + b"\0",
        BODIES[0].decode().encode("utf-16"),
    ),
)
def test_a_body_that_is_no_event_is_a_discrepancy(body: bytes) -> None:
    """In the place of the first event, of one in the middle and of the last."""
    for seq in (0, len(BODIES) // 2, len(BODIES) - 1):
        assert verdict_of([*BODIES[:seq], body, *BODIES[seq + 1 :]]).status is Status.DISCREPANCY


@pytest.mark.parametrize(
    "stream", ("", "round:", "round:" + "0" * 31, "round:" + "G" * 32, "table:1", "ro\nund", "\udcff", "раунд")
)
def test_a_stream_that_is_no_rounds_is_a_discrepancy(stream: str) -> None:
    """With the bodies of a round, and with bodies that say the same name where that can be written."""
    assert verify_round(stream, BODIES, RULESETS).status is Status.DISCREPANCY
    if stream.isprintable():
        forged = chained([body | {"stream": stream} for body in opened_up(BODIES)])
        assert verify_round(stream, forged, RULESETS).status is Status.DISCREPANCY


def test_ten_thousand_events_are_judged_within_seconds() -> None:
    """A record blown up by doubled events costs time in proportion, not its square."""
    plain = opened_up(BODIES)
    shown = next(seq for seq, body in enumerate(plain) if body["type"] == "hand-shown.v1")
    forged = chained([*plain[:shown], *[plain[shown], plain[shown + 1]] * 5000, *plain[shown:]])

    start = process_time()
    assert verdict_of(forged).status is Status.DISCREPANCY
    assert process_time() - start < 20


def test_a_refund_list_of_any_kind_is_no_crash() -> None:
    """A void's refunds: none, of a box that is not there, doubled, negative."""
    for refunds in ([], [{"amount": 5, "box": 99}], [{"amount": -5, "box": -1}] * 3):
        plain = opened_up(VOID.bodies)
        plain[-2]["data"]["refunds"] = refunds

        verdict = verdict_of(chained(plain), VOID.stream)

        first = verdict.first_discrepancy
        assert first is not None
        assert (first[0].name, first[1].field) == ("payout", "refunds")


def test_a_verdict_is_plain_values() -> None:
    """Any JSON library can write it, not msgspec alone."""
    plain = opened_up(VOID.bodies)
    plain[-2]["data"]["refunds"] = []

    assert json.dumps(verdict_of(chained(plain), VOID.stream).as_json())


@pytest.mark.parametrize("levels", [60, 70, 400, 995, 1_000, 5_000])
@pytest.mark.parametrize("signs", ["[]", '{"a":}'])
def test_a_body_nested_deeply_is_no_event_and_no_crash(levels: int, signs: str) -> None:
    """However deep a reader's stack is."""
    opening, closing = (signs[:-1], signs[-1])
    nested = (opening * levels + "1" + closing * levels).encode()
    body = BODIES[1].replace(b'"box":1', b'"box":' + nested)
    assert body != BODIES[1]

    assert verdict_of([BODIES[0], body, *BODIES[2:]]).status is Status.DISCREPANCY
    with pytest.raises(BodyError):
        read_envelope(body if levels > 64 else body[:-1])
