"""A recorded verification: stored in one spelling, and as its page says.

Not here: how one comes about (`tests.ops.test_recorded_verifications`).
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from domain.codec import Event
from domain.record import read_envelope
from domain.streams import DECODERS
from domain.verification import CODEC, VERIFICATION, Finding, RoundsVerified

AT = "2026-11-30T12:00:00.000Z"
HASH = "0" * 64
PAGE = Path(__file__).parents[2] / "docs/formats/verification.md"
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
COUNT = st.integers(0, 2**53 - 1)
FINDING = st.builds(Finding, TEXT, st.none() | TEXT, TEXT, TEXT, TEXT, TEXT)
ANY = st.builds(
    RoundsVerified, TEXT, COUNT, st.lists(FINDING, max_size=3), COUNT, COUNT, COUNT, TEXT, TEXT, COUNT, COUNT,
    st.booleans(),
)  # fmt: skip


@given(event=ANY)
def test_a_body_is_canonical_and_says_the_event_again(event: RoundsVerified) -> None:
    body = CODEC.encode(event, at=AT, prev=HASH, seq=0, stream=VERIFICATION)

    assert rfc8785.dumps(json.loads(body)) == body
    assert read_envelope(body).type == "rounds-verified.v1"
    assert DECODERS["verification"](body).data == event


def test_the_example_of_the_page_is_a_body() -> None:
    body = PAGE.read_text().partition("<!-- example: verification -->\n```\n")[2].partition("\n```")[0].encode()
    record = CODEC.decode(body)

    assert CODEC.encode(record.data, at=record.at, prev=record.prev, seq=0, stream=VERIFICATION) == body
    verified: Event = record.data
    assert isinstance(verified, RoundsVerified)
    assert verified.rounds == verified.verified + verified.not_checkable + verified.discrepancies


@pytest.mark.parametrize("kind", [RoundsVerified, Finding])
def test_the_page_names_every_key_in_the_order_of_the_bytes(kind: type[msgspec.Struct]) -> None:
    rows = [line[3 : line.index("`", 3)] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    fields = list(kind.__struct_fields__)

    assert fields == sorted(fields)
    assert fields == [row for row in rows if row in fields]
