"""Events to bytes and back: nothing is lost, and the bytes are the ones of RFC 8785.

Not here: bodies that are broken on purpose (`tests/replay`).
"""

from __future__ import annotations

import json

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.record import LARGEST_INTEGER, BodyError, canonical_json, leaf_hash, read_envelope
from domain.round import events as e
from domain.round.codec import append_to, decode, encode
from tests.round.events_by_hand import ANY_EVENT, INTEGERS, TEXT
from tests.round.simulated import AT, all_rulesets, simulated

# `encode` asks for a frame of ASCII without quotes and backslashes; the data of an event may hold any text.
PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"\\'), max_size=40)
ANY = st.sampled_from(list(ANY_EVENT)).flatmap(lambda kind: ANY_EVENT[kind])


@given(event=ANY, at=PLAIN, prev=PLAIN, stream=PLAIN, seq=INTEGERS)
@settings(max_examples=400, deadline=None)
def test_a_decoded_body_is_the_event_that_was_encoded(
    event: e.RoundEvent, at: str, prev: str, stream: str, seq: int
) -> None:
    """Whatever stands in the fields; and encoding the record again gives the same bytes."""
    body = encode(event, at=at, prev=prev, seq=seq, stream=stream)
    record = decode(body)

    assert record.data == event
    assert (record.at, record.prev, record.stream, record.seq, record.v) == (at, prev, stream, seq, 1)
    assert encode(record.data, at=record.at, prev=record.prev, seq=record.seq, stream=record.stream) == body


@given(event=ANY, stream=PLAIN)
@settings(max_examples=400, deadline=None)
def test_a_body_is_canonical(event: e.RoundEvent, stream: str) -> None:
    """RFC 8785 over all kinds of events: sorted keys, no spaces, its spelling of every character."""
    body = encode(event, at=AT, prev="0" * 64, seq=0, stream=stream)

    assert rfc8785.dumps(json.loads(body)) == body
    assert read_envelope(body).type == event.NAME


@pytest.mark.parametrize("kind", e.ROUND_EVENTS, ids=lambda kind: kind.NAME)
def test_every_kind_of_event_has_its_own_stored_name(kind: type[e.RoundEvent]) -> None:
    """Lower-case words with a version; the class's own words, and nobody else's."""
    assert [other.NAME for other in e.ROUND_EVENTS].count(kind.NAME) == 1
    words = "".join(word.capitalize() for word in kind.NAME.split(".")[0].split("-"))
    assert (words, kind.NAME.split(".")[1]) == (kind.__name__, "v1")


PROFILE = st.recursive(
    st.none() | st.booleans() | INTEGERS | TEXT,
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.characters(max_codepoint=127), max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(PROFILE)
@settings(max_examples=500, deadline=None)
def test_canonical_json_is_rfc_8785_in_our_profile(value: object) -> None:
    """ASCII keys, whole numbers, any text; control characters and quotes among it."""
    assert canonical_json(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


OUTSIDE = [
    ({"a": [1.0]}, "$.a[0]"),
    ({"a": {"é": 1}}, "$.a"),
    ([LARGEST_INTEGER + 1], "$[0]"),
    ([-LARGEST_INTEGER - 1], "$[0]"),
    ({"a": b"bytes"}, "$.a"),
    ({1: 2}, "$"),
    (float("nan"), "$"),
]


@pytest.mark.parametrize(("value", "where"), OUTSIDE, ids=[repr(o[0]) for o in OUTSIDE])
def test_what_has_no_place_in_a_record_is_refused_with_its_place(value: object, where: str) -> None:
    """Floats, large numbers, keys that are not ASCII text."""
    with pytest.raises(BodyError) as caught:
        canonical_json(value)
    assert str(caught.value).startswith(f"{where}:")


@given(st.sampled_from(sorted(all_rulesets())), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_a_stream_is_one_chain_however_it_was_appended(name: str, seed: int) -> None:
    """Append by append or all at once: the same bodies, dense from 0, each linked to the one before."""
    whole = simulated(name, seed)
    records = []
    head = None
    for append in whole.appends:
        records += append_to(whole.stream, head, append, AT)
        head = (records[-1].seq, leaf_hash(records[-1].body))

    assert records == whole.records()
    assert [record.seq for record in records] == list(range(len(records)))
    links = [json.loads(record.body)["prev"] for record in records]
    assert links == ["0" * 64, *(leaf_hash(record.body) for record in records[:-1])]
    assert [decode(record.body).data for record in records] == whole.events
