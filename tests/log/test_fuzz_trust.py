"""Whatever bytes a trust file has: nothing but TrustError, and what is read makes sense and reads back the same."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.log.checkpoint import COSIGNATURE, LARGEST_SIZE, LOG, NoteError, VerifierKey
from domain.log.trust import PinnedKey, Trust, TrustError
from tests.log.mutations import mutated
from tests.log.signers import ALPHA, HOUSE, HOUSE_NEXT, RECEIPTS, TRUST

TRUSTS = [
    TRUST,
    replace(TRUST, witnesses_needed=2),
    replace(TRUST, log_keys=(PinnedKey(HOUSE.key, 0, 1274), PinnedKey(HOUSE_NEXT.key, 1275)), witness_keys=()),
]
GOOD = [trust.to_json() for trust in TRUSTS]
KEYS = [each.key.to_text().encode() for each in (HOUSE, HOUSE_NEXT, RECEIPTS, ALPHA)]
PIECES = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"-1", b"1e3", b"null", b'"last_size": 3,', b"\\ud800", *KEYS]


def read(data: bytes) -> Trust | None:
    """The trust in these bytes; anything but TrustError falls through and fails."""
    try:
        return Trust.from_json(data)
    except TrustError as error:
        assert "\n" not in str(error)
        return None


def require_sense(trust: Trust) -> None:
    """All that the page promises of a file that is taken."""
    assert trust.log_keys
    assert all(pin.key.name == trust.origin for pin in trust.log_keys)
    for pinned, kind in ((trust.log_keys, LOG), (trust.receipt_keys, LOG), (trust.witness_keys, COSIGNATURE)):
        for pin in pinned:
            assert pin.key.type == kind
            last = LARGEST_SIZE if pin.last_size is None else pin.last_size
            assert 0 <= pin.first_size <= last <= LARGEST_SIZE
    assert 0 <= trust.witnesses_needed <= len({pin.key.public_key for pin in trust.witness_keys})
    assert Trust.from_json(trust.to_json()) == trust


def test_the_good_ones_are_read() -> None:
    assert [read(data) for data in GOOD] == TRUSTS


@settings(max_examples=120, deadline=None)
@given(mutated(GOOD, PIECES))
def test_a_changed_file_is_refused_or_makes_sense(data: bytes) -> None:
    """Sizes and needs may be changed into others; a key may not: its text holds its own check."""
    trust = read(data)

    if trust is not None:
        require_sense(trust)
        keys = [pin.key.to_text().encode() for pin in (*trust.log_keys, *trust.receipt_keys, *trust.witness_keys)]
        assert all(key in KEYS or key in b"".join(GOOD) for key in keys)


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join))
@example(b"[" * 100_000)
@example(b'{"a":' * 50_000)
@example(b"1" * 10_000)
def test_bytes_at_random_are_no_trust(data: bytes) -> None:
    assert read(data) is None


@settings(max_examples=80, deadline=None)
@given(mutated(KEYS, [b"+", b"=", b"A", b" ", b"\n", *KEYS]))
def test_a_changed_key_is_refused(data: bytes) -> None:
    """But for one that is one of the others again."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        key = VerifierKey.from_text(text)
    except NoteError:
        return
    assert data in KEYS and key.to_text() == text
