"""Whatever bytes come in: nothing but NoteError, and what is believed is byte for byte what pinned keys have signed."""

from __future__ import annotations

import random
from base64 import b64encode
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.log.checkpoint import Checkpoint, Cosigned, Note, NoteError, Opened, Signature, open_checkpoint, parse_note
from domain.log.trust import PinnedKey
from ops.log.ed25519 import check_signature
from tests.log.mutations import mutated
from tests.log.signers import ALPHA, BETA, HOUSE, HOUSE_NEXT, ORIGIN, STRANGER, TRUST, note

TRUSTS = [
    TRUST,
    replace(TRUST, witnesses_needed=1),
    replace(TRUST, witnesses_needed=2),
    replace(TRUST, log_keys=(PinnedKey(HOUSE.key, 0, 20), PinnedKey(HOUSE_NEXT.key, 21))),
]
CHECKPOINTS = [Checkpoint(ORIGIN, size, bytes([size]) * 32) for size in (1, 12, 120, 121)]
NOTES = [
    note(checkpoint, *witnesses, by=signer, time=1_796_300_000 + number)
    for number, checkpoint in enumerate(CHECKPOINTS)
    for signer in (HOUSE, HOUSE_NEXT)
    for witnesses in ((), (ALPHA,), (ALPHA, BETA), (STRANGER, BETA))
]
GOOD = [each.to_bytes() for each in NOTES]
SIGNED = {(each.body, line) for each in NOTES for line in each.signatures}
"""All that was ever signed: a line is worth something under its own body alone."""

PIECES = [
    b"\n", b"\n\n", b"\r\n", b"0", b"1", b"12", b"=", b"+", b" ", b"\xe2\x80\x94 ", b"\xe2\x80\x94 x AAAAAAA=\n", b"\0",
    b"\xff", ORIGIN.encode(), b"extension\n", b64encode(bytes(32)), b64encode(bytes([12]) * 32), "é".encode(),
]  # fmt: skip


def believed(data: bytes, which: int) -> Opened | None:
    """What one of the trusts makes of these bytes; anything but NoteError falls through and fails."""
    try:
        return open_checkpoint(data, TRUSTS[which], check_signature)
    except NoteError as error:
        assert "\n" not in str(error)
        return None


def require_signed(found: Opened, data: bytes, which: int) -> None:
    """Nothing in it that a pinned key has not signed."""
    trust = TRUSTS[which]
    assert found.note.to_bytes() == data
    assert found.note.body == found.checkpoint.body()
    own = {pin.key.key_id for pin in trust.log_keys if pin.holds(found.checkpoint.size)}
    lines = [line for line in found.note.signatures if (found.note.body, line) in SIGNED]
    assert [line for line in lines if line.name == ORIGIN and line.key_id in own]
    witnesses = {pin.key.key_id for pin in trust.witness_keys}
    seen = [Cosigned(line.name, int.from_bytes(line.value[:8], "big")) for line in lines if line.key_id in witnesses]
    assert list(found.cosigned) == seen
    assert len(seen) >= trust.witnesses_needed


def test_the_good_ones_are_believed() -> None:
    """Or the tests below would accept nothing, and prove nothing."""
    found = [[believed(data, which) for data in GOOD] for which in range(len(TRUSTS))]

    assert [sum(each is not None for each in row) for row in found] == [16, 12, 4, 16]
    for which, row in enumerate(found):
        for data, opened in zip(GOOD, row, strict=True):
            if opened is not None:
                require_signed(opened, data, which)


@settings(max_examples=120, deadline=None)
@given(mutated(GOOD, PIECES), st.sampled_from(range(len(TRUSTS))))
def test_a_changed_note_is_refused_or_says_what_was_signed(data: bytes, which: int) -> None:
    """A line that was taken out, or a stranger's put in, leaves a note that is true."""
    found = believed(data, which)

    if found is not None:
        require_signed(found, data, which)


def test_every_bit_of_a_note_counts() -> None:
    """All single flips of one note with a witness, under a trust that wants him."""
    data = note(CHECKPOINTS[1], ALPHA).to_bytes()

    accepted = []
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        if believed(bytes(changed), 1) is not None:
            accepted.append(bit)

    assert accepted == []


def test_every_shorter_note_is_refused_or_ends_with_a_line() -> None:
    """Cut anywhere; only behind the log's own line is it a note again, without its witness."""
    data = note(CHECKPOINTS[1], ALPHA).to_bytes()

    ends = [end for end in range(len(data)) if believed(data[:end], 0) is not None]

    assert ends == [len(note(CHECKPOINTS[1]).to_bytes())]


def test_lines_of_one_checkpoint_under_the_body_of_another_are_refused() -> None:
    """Every pair of the good ones, body from the one and signatures from the other."""
    for one in NOTES:
        for other in NOTES:
            if one.body != other.body:
                assert believed(Note(one.body, other.signatures).to_bytes(), 0) is None


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=400) | st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join))
@example(b"\n" * 65536)
@example(b"\xe2\x80\x94 " * 20000)
@example(b"a\n\n" + b"\xe2\x80\x94 a AAAAAAA=\n" * 3000)
def test_bytes_at_random_are_no_note(data: bytes) -> None:
    assert believed(data, 0) is None


@settings(max_examples=80, deadline=None)
@given(mutated(GOOD, PIECES))
def test_what_is_parsed_is_written_back_byte_for_byte(data: bytes) -> None:
    """Signed or not: a note has one spelling."""
    try:
        found = parse_note(data)
    except NoteError:
        return
    assert found.to_bytes() == data


def test_signatures_at_random_are_refused() -> None:
    """Under the right name and key id."""
    chance = random.Random(1)
    for _ in range(200):
        line = Signature(ORIGIN, HOUSE.key.key_id, chance.randbytes(64))
        assert believed(Note(NOTES[0].body, (line,)).to_bytes(), 0) is None
