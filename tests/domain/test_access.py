"""Events of keys and looks: stored in one spelling, in the form of every other event.

Not here: who is let in (`tests.ops.test_requests_admitted`).
"""

from __future__ import annotations

import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from domain.access import (
    ACCESS_CODEC,
    DATA_KEYS,
    KEY_CODEC,
    KEY_STREAMS,
    DataKeyRotated,
    Hidden,
    HiddenRead,
    KeyCreated,
    KeyRevoked,
    Role,
    is_person,
    key_stream,
    same_person,
)
from domain.codec import Codec, Event
from domain.record import BodyError, read_envelope

AT = "2026-11-30T12:00:00.000Z"
HASH = "0" * 64
EVENTS: dict[type[Event], tuple[str, Codec[Event]]] = {
    KeyCreated: ("key-created.v1", KEY_CODEC),      # type: ignore[dict-item] # a codec of two kinds, tried with both
    KeyRevoked: ("key-revoked.v1", KEY_CODEC),      # type: ignore[dict-item] # likewise
    HiddenRead: ("hidden-information-read.v1", ACCESS_CODEC),   # type: ignore[dict-item] # likewise
    DataKeyRotated: ("data-key-rotated.v1", ACCESS_CODEC),      # type: ignore[dict-item] # likewise
}
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
ANY = st.one_of([st.builds(kind, by=TEXT) for kind in EVENTS])


@given(event=ANY)
def test_a_body_is_canonical_and_says_the_event_again(event: Event) -> None:
    """Whatever the texts: the bytes are those of RFC 8785, and nothing is lost."""
    name, codec = EVENTS[type(event)]
    body = codec.encode(event, at=AT, prev=HASH, seq=0, stream="key:0123456789abcdef")

    assert rfc8785.dumps(json.loads(body)) == body
    assert read_envelope(body).type == name
    assert codec.decode(body).data == event


@pytest.mark.parametrize("kind", EVENTS)
def test_the_fields_stand_in_the_order_of_the_alphabet(kind: type[Event]) -> None:
    assert list(kind.__struct_fields__) == sorted(kind.__struct_fields__)


def test_a_keys_last_event_holds_all_there_is_to_know_of_it() -> None:
    assert set(KeyCreated.__struct_fields__) <= set(KeyRevoked.__struct_fields__)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"cashier"', b'"croupier"'),
        (b'"cashier"', b'"CASHIER"'),
        (b'"cashier"', b"null"),
        (b'"label":"",', b""),
        (b'"label":""', b'"label":"","secret":"00"'),
        (b"key-created.v1", b"key-created.v2"),
        (b"key-created.v1", b"hidden-information-read.v1"),
    ],
)
def test_a_body_with_another_role_name_or_field_is_refused(old: bytes, new: bytes) -> None:
    created = KeyCreated(by="ann", label="", person="bob", role=Role.CASHIER, secret_sha256=HASH)
    body = KEY_CODEC.encode(created, at=AT, prev=HASH, seq=0, stream=key_stream("0123456789abcdef"))
    assert body.count(old) == 1

    with pytest.raises(BodyError):
        KEY_CODEC.decode(body.replace(old, new))


def test_what_may_be_looked_at_and_in_which_role_are_closed_lists() -> None:
    """They are stored, so none is renamed."""
    assert [role.value for role in Role] == [
        "game-server", "cashier", "back-office", "dispute-officer", "regulator", "key-custodian"]
    assert [what.value for what in Hidden] == ["seed", "deck", "record"]


def test_streams_of_keys_lie_together_and_apart_from_others() -> None:
    first, last = KEY_STREAMS

    assert first < key_stream("0" * 16) < key_stream("f" * 16) < last
    assert not any(first <= other <= last for other in (DATA_KEYS, "jackpot:1", "round:1", "table:1", "account:EUR:1"))


@pytest.mark.parametrize("text", ["Anna", "Анна Петрова", "game server 1", "O'Neil", "李 雷"])
def test_a_person_has_a_plain_name(text: str) -> None:
    assert is_person(text)


@pytest.mark.parametrize(
    "text", ["", " Anna", "Anna ", "Anna  B", "An\u202ena", "An\nna", "An\u200bna", "x" * 101, "e\u0301"]
)
def test_a_name_that_would_look_like_another_is_none(text: str) -> None:
    """Spaces at its ends, invisible characters, decomposed letters."""
    assert not is_person(text)


@pytest.mark.parametrize("other", ["anna b", "ANNA B", " Anna B", "AnnaB", "\uff21nna B"])
def test_one_person_is_one_however_the_name_is_spelled(other: str) -> None:
    assert same_person("Anna B", other)
    assert not same_person("Anna B", "Anna C")
