"""Signed notes: what is believed, and everything that is refused, each with its reason."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from domain.log.checkpoint import (
    COSIGNATURE,
    LARGEST_NOTE,
    LARGEST_SIZE,
    LATEST_TIME,
    LOG,
    MOST_SIGNATURES,
    Checkpoint,
    Cosigned,
    Note,
    NoteError,
    Signature,
    VerifierKey,
    cosignature,
    open_checkpoint,
    parse_note,
    signed_by_log,
)
from domain.log.merkle import EMPTY_ROOT
from domain.log.trust import PinnedKey, Trust
from ops.log.ed25519 import check_signature
from ops.portable.ed25519 import ZERO, decoded, doubled, encoded
from tests.log.signers import (
    ALPHA,
    BETA,
    CHECKPOINT,
    HOUSE,
    HOUSE_NEXT,
    ORIGIN,
    STRANGER,
    TIME,
    TRUST,
    Signer,
    note,
)

ROOT = b64encode(CHECKPOINT.root).decode()
GOOD = note().to_bytes()


def opened(data: bytes, trust: Trust = TRUST) -> Checkpoint:
    return open_checkpoint(data, trust, check_signature).checkpoint


def refused(data: bytes, reason: str, trust: Trust = TRUST) -> None:
    """Not believed, for this reason, in one line."""
    with pytest.raises(NoteError, match=re.escape(reason)) as caught:
        open_checkpoint(data, trust, check_signature)
    assert "\n" not in str(caught.value)


def signed_body(body: bytes) -> bytes:
    """Whatever body, signed by the log: the signature is never what is wrong with it."""
    return Note(body, (Signature(ORIGIN, HOUSE.key.key_id, HOUSE.sign(body)),)).to_bytes()


# -- known answers


def test_the_example_of_the_inventors_of_signed_notes() -> None:
    """The key and the note in the documentation of Go's golang.org/x/mod/sumdb/note."""
    key = VerifierKey.from_text("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    text = (
        "If you think cryptography is the answer to your problem,\n"
        "then you don't know what your problem is.\n"
        "\n"
        "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
    )

    found = parse_note(text.encode())

    [signature] = found.signatures
    assert (signature.name, signature.key_id) == (key.name, key.key_id)
    assert check_signature(key.public_key, found.body, signature.value)
    assert found.to_bytes() == text.encode()


def test_the_key_of_the_go_checksum_database() -> None:
    """Its id is computed from name, type and key."""
    text = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"

    assert VerifierKey.from_text(text).to_text() == text


PAGE = (Path(__file__).parents[2] / "docs/formats/checkpoint.md").read_text("utf-8")


def example(name: str) -> str:
    match = re.search(rf"^<!-- example: {name} -->\n```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1]


def test_the_example_of_the_page() -> None:
    """Read from docs/formats/checkpoint.md: believed with the keys there, and made again from their seeds."""
    keys = dict(line.split() for line in example("keys").splitlines())
    house, witness = (VerifierKey.from_text(keys[name]) for name in ("log", "witness"))
    trust = Trust(ORIGIN, (PinnedKey(house),), (PinnedKey(witness),), (), witnesses_needed=1)
    text = example("note").encode()

    found = open_checkpoint(text, trust, check_signature)

    root = bytes.fromhex("4ae191939f548d9934740b88dea2c5cb89bb8870fc4505cd79dec6bbfaaee9cb")  # docs/formats/log.md
    assert found.checkpoint == Checkpoint(ORIGIN, 7, root)
    assert found.cosigned == (Cosigned(ALPHA.key.name, TIME),)
    assert (house, witness) == (HOUSE.key, ALPHA.key)
    assert note(found.checkpoint, ALPHA).to_bytes() == text


# -- what is believed


def test_a_note_of_the_log_is_opened() -> None:
    found = open_checkpoint(GOOD, TRUST, check_signature)

    assert (found.checkpoint, found.cosigned, found.note) == (CHECKPOINT, (), note())


def test_a_cosignature_is_over_its_time_and_the_body() -> None:
    """C2SP tlog-cosignature: eight bytes of time, then the signature over a line of text before the body."""
    line = cosignature(CHECKPOINT.body(), TIME, ALPHA.key, ALPHA.sign)

    message = b"cosignature/v1\ntime 1796300000\n" + CHECKPOINT.body()
    assert line.value == TIME.to_bytes(8, "big") + ALPHA.sign(message)
    assert line.key_id == sha256(b"alpha.example/w\n\x04" + ALPHA.key.public_key).digest()[:4]


def test_witnesses_are_named_with_their_times() -> None:
    data = note(CHECKPOINT, ALPHA, BETA).to_bytes()

    found = open_checkpoint(data, replace(TRUST, witnesses_needed=2), check_signature)

    assert found.cosigned == (Cosigned("alpha.example/w", TIME), Cosigned("beta.example/w", TIME))


@pytest.mark.parametrize("size", [1, 9, 2**53, LARGEST_SIZE])
def test_a_size_from_one_to_the_largest_is_read_back(size: int) -> None:
    checkpoint = Checkpoint(ORIGIN, size, CHECKPOINT.root)

    assert opened(note(checkpoint).to_bytes()) == checkpoint


def test_an_empty_log_has_the_root_of_nothing() -> None:
    empty = Checkpoint(ORIGIN, 0, EMPTY_ROOT)

    assert opened(note(empty).to_bytes()) == empty
    refused(signed_body(Checkpoint(ORIGIN, 0, bytes(32)).body()), "the root is not that of a log without events")


def test_lines_of_unknown_keys_are_left_aside() -> None:
    """A stranger's line, another key under the log's name, and one under a witness's."""
    others = (Signer(31, ORIGIN, LOG), Signer(32, "alpha.example/w", COSIGNATURE), STRANGER)
    lines = tuple(Signature(each.key.name, each.key.key_id, bytes(64)) for each in others)
    data = Note(note().body, (*lines, *note().signatures)).to_bytes()

    found = open_checkpoint(data, TRUST, check_signature)

    assert (found.checkpoint, found.cosigned) == (CHECKPOINT, ())


def test_a_line_with_the_id_of_one_key_and_the_name_of_another_is_left_aside() -> None:
    """Name and id together are the key: neither alone is."""
    good = note().signatures[0]
    for line in (good._replace(name="alpha.example/w"), good._replace(key_id=bytes(4))):
        refused(Note(note().body, (line,)).to_bytes(), f"no signature of a pinned key of {ORIGIN}")


def test_the_largest_number_of_signatures_is_accepted_and_one_more_refused() -> None:
    lines = [Signature(f"w{number}", bytes(4), bytes(72)) for number in range(MOST_SIGNATURES)]
    body, own = note()

    assert opened(Note(body, (*lines[:-1], *own)).to_bytes()) == CHECKPOINT
    refused(Note(body, (*lines, *own)).to_bytes(), "101 signatures are more than 100")


# -- keys and sizes


def test_after_a_change_of_keys_each_holds_for_its_own_sizes() -> None:
    trust = replace(TRUST, log_keys=(PinnedKey(HOUSE.key, 0, 1274), PinnedKey(HOUSE_NEXT.key, 1275)))
    later = CHECKPOINT._replace(size=1275)

    assert opened(note().to_bytes(), trust) == CHECKPOINT
    assert opened(note(later, by=HOUSE_NEXT).to_bytes(), trust) == later
    refused(note(later).to_bytes(), "the key of casino.example/log is pinned for 0 to 1274 events, not for 1275", trust)
    early = "the key of casino.example/log is pinned for 1275 and more events, not for 1274 events"
    refused(note(by=HOUSE_NEXT).to_bytes(), early, trust)


def test_a_witness_outside_of_its_sizes_is_named_with_them() -> None:
    trust = replace(TRUST, witness_keys=(PinnedKey(ALPHA.key, 5, 10), PinnedKey(ALPHA.key, 20, 30)))
    data = note(CHECKPOINT, ALPHA).to_bytes()

    reason = "the key of alpha.example/w is pinned for 5 to 10 events, 20 to 30 events, not for 1274 events"
    refused(data, reason, trust)


def test_a_key_pinned_for_two_ranges_holds_in_both() -> None:
    trust = replace(TRUST, log_keys=(PinnedKey(HOUSE.key, 5, 10), PinnedKey(HOUSE.key, 1000, 2000)))

    assert opened(GOOD, trust) == CHECKPOINT


# -- witnesses that are needed


@pytest.mark.parametrize(
    ("witnesses", "needed", "there"),
    [((), 1, 0), ((ALPHA,), 2, 1), ((STRANGER,), 1, 0), ((ALPHA, STRANGER), 2, 1)],
    ids=["none", "one of two", "a stranger", "one and a stranger"],
)
def test_fewer_witnesses_than_needed_are_refused(witnesses: tuple[Signer, ...], needed: int, there: int) -> None:
    reason = f"{there} of the {needed} cosignatures that are wanted are there"

    refused(note(CHECKPOINT, *witnesses).to_bytes(), reason, replace(TRUST, witnesses_needed=needed))


def test_a_key_counts_once_however_often_it_is_pinned() -> None:
    """Twice under one name, or under two names."""
    twice = replace(TRUST, witness_keys=(PinnedKey(ALPHA.key), PinnedKey(ALPHA.key)), witnesses_needed=2)
    refused(note(CHECKPOINT, ALPHA).to_bytes(), "1 of the 2 cosignatures", twice)

    other = Signer(11, "other-name.example/w", COSIGNATURE)
    named = replace(TRUST, witness_keys=(PinnedKey(ALPHA.key), PinnedKey(other.key)), witnesses_needed=2)
    refused(note(CHECKPOINT, ALPHA, other).to_bytes(), "1 of the 2 cosignatures", named)


def test_the_logs_own_signature_is_no_cosignature() -> None:
    """Not even where somebody has pinned the log's key as a witness: type and message are others."""
    as_witness = VerifierKey(ORIGIN, COSIGNATURE, HOUSE.key.public_key)
    trust = replace(TRUST, witness_keys=(PinnedKey(as_witness),), witnesses_needed=1)

    refused(GOOD, "0 of the 1 cosignatures", trust)


# -- bad signatures


def test_a_bad_signature_of_a_pinned_key_is_an_error_whatever_else_is_good() -> None:
    """It is not left aside as a stranger's is."""
    trust = replace(TRUST, log_keys=(PinnedKey(HOUSE.key), PinnedKey(HOUSE_NEXT.key)))
    good = note()
    bad = Signature(ORIGIN, HOUSE_NEXT.key.key_id, bytes(64))

    data = Note(good.body, (*good.signatures, bad)).to_bytes()
    refused(data, "the signature of casino.example/log is not good", trust)


@pytest.mark.parametrize("size", [1, 63, 65, 72])
def test_a_log_signature_of_another_length_is_not_good(size: int) -> None:
    value = (HOUSE.sign(CHECKPOINT.body()) + bytes(8))[:size]
    line = Signature(ORIGIN, HOUSE.key.key_id, value)

    refused(Note(CHECKPOINT.body(), (line,)).to_bytes(), "the signature of casino.example/log is not good")


BODY = CHECKPOINT.body()
TIMED = TIME.to_bytes(8, "big")
COSIGNING = b"cosignature/v1\ntime 1796300000\n"


@pytest.mark.parametrize(
    "value",
    [
        ALPHA.sign(COSIGNING + BODY),
        b"\0" * 7,
        TIMED,
        TIMED + ALPHA.sign(BODY),
        (TIME + 1).to_bytes(8, "big") + ALPHA.sign(COSIGNING + BODY),
        TIMED + BETA.sign(COSIGNING + BODY),
        TIMED + ALPHA.sign(COSIGNING + BODY) + b"\0",
    ],
    ids=["no time", "half a time", "time alone", "body alone", "another time", "another key", "a byte more"],
)
def test_a_cosignature_over_something_else_is_not_good(value: bytes) -> None:
    line = Signature("alpha.example/w", ALPHA.key.key_id, value)

    refused(Note(BODY, (*note().signatures, line)).to_bytes(), "the cosignature of alpha.example/w is not good")


def test_a_cosignature_after_the_year_9999_is_refused() -> None:
    """It is signed, but no clock says so, and nobody could print it."""
    time = LATEST_TIME + 1
    value = time.to_bytes(8, "big") + ALPHA.sign(f"cosignature/v1\ntime {time}\n".encode() + BODY)
    line = Signature("alpha.example/w", ALPHA.key.key_id, value)

    refused(Note(BODY, (*note().signatures, line)).to_bytes(), "253402300800 seconds, after the year 9999")
    for never in (time, -1):
        with pytest.raises(NoteError, match=f"cosignature: {never} seconds"):
            cosignature(BODY, never, ALPHA.key, ALPHA.sign)
    assert opened(note(CHECKPOINT, ALPHA, time=LATEST_TIME).to_bytes()) == CHECKPOINT


# -- bodies that the log's key has signed, and are none


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"other.example/log\n7\n{ROOT}\n", "is of the log other.example/log, not of casino.example/log"),
        (f"\n7\n{ROOT}\n", "the origin is not 1 to 200 visible ASCII"),
        (f"casino example\n7\n{ROOT}\n", "the origin is not 1 to 200 visible ASCII"),
        (f"casino+example\n7\n{ROOT}\n", "the origin is not 1 to 200 visible ASCII"),
        (f"{'c' * 201}\n7\n{ROOT}\n", "the origin is not 1 to 200 visible ASCII"),
        (f"казино\n7\n{ROOT}\n", "the origin is not 1 to 200 visible ASCII"),
        (f"{ORIGIN}\n07\n{ROOT}\n", "the size '07'"),
        (f"{ORIGIN}\n00\n{ROOT}\n", "the size '00'"),
        (f"{ORIGIN}\n+7\n{ROOT}\n", "the size '+7'"),
        (f"{ORIGIN}\n-7\n{ROOT}\n", "the size '-7'"),
        (f"{ORIGIN}\n7.0\n{ROOT}\n", "the size '7.0'"),
        (f"{ORIGIN}\n0x7\n{ROOT}\n", "the size '0x7'"),
        (f"{ORIGIN}\n1_000\n{ROOT}\n", "the size '1_000'"),
        (f"{ORIGIN}\n 7\n{ROOT}\n", "the size ' 7'"),
        (f"{ORIGIN}\n٧\n{ROOT}\n", "the size '٧'"),
        (f"{ORIGIN}\n\n{ROOT}\n", "the size ''"),
        (f"{ORIGIN}\n{2**63}\n{ROOT}\n", f"the size '{2**63}'"),
        (f"{ORIGIN}\n{'9' * 5000}\n{ROOT}\n", f"the size '{'9' * 40}' is not a whole number"),
        (f"{ORIGIN}\n7\n{ROOT[:-1]}\n", "the root is not base64"),
        (f"{ORIGIN}\n7\n{ROOT}=\n", "the root is not base64"),
        (f"{ORIGIN}\n7\n{ROOT[:-2]}9=\n", "the root is not base64"),
        (f"{ORIGIN}\n7\n {ROOT}\n", "the root is not base64"),
        (f"{ORIGIN}\n7\n{'_' * 43}=\n", "the root is not base64"),
        (f"{ORIGIN}\n7\n\n", "the root has 0 bytes instead of 32"),
        (f"{ORIGIN}\n7\n{b64encode(bytes(12)).decode()}\n", "the root has 12 bytes instead of 32"),
        (f"{ORIGIN}\n7\n{b64encode(bytes(33)).decode()}\n", "the root has 33 bytes instead of 32"),
        (f"{ORIGIN}\n7\n", "has 2 lines, not the three"),
        (f"{ORIGIN}\n7\n{ROOT}\nan extension\n", "has 4 lines, not the three of origin, size and root"),
        (f"{ORIGIN}\n7\n{ROOT}\n\n", "has 4 lines, not the three"),
    ],
    ids=lambda value: ascii(value)[:40],
)  # fmt: skip
def test_a_signed_body_that_is_no_checkpoint(body: str, reason: str) -> None:
    """The log's signature is good in each; nothing is read into the body all the same."""
    refused(signed_body(body.encode()), reason)


def test_the_second_spelling_of_a_root_differs_in_bits_that_nobody_sees() -> None:
    """So that the case above is what it says: the last digit of base64 has two bits that are thrown away."""
    assert b64decode(f"{ROOT[:-2]}9=") == b64decode(ROOT)
    assert f"{ROOT[:-2]}9=" != ROOT


# -- what is no note


SIGNATURE_LINE = GOOD.decode().split("\n\n")[1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no empty line"),
        (b"\n", "no empty line"),
        (b"\n\n", "no empty line"),
        (b"<html>404</html>", "no empty line"),
        (CHECKPOINT.body(), "no empty line"),
        (CHECKPOINT.body() + b"\n", "is cut off"),
        (CHECKPOINT.body() + SIGNATURE_LINE.encode(), "no empty line"),
        (GOOD[:-1], "is cut off: its last line has no end"),
        (GOOD[:-9], "is cut off: its last line has no end"),
        (GOOD + b"\n", "is cut off"),
        (GOOD + b"more", "is cut off"),
        (GOOD + b"more\n", "'more' is no signature line"),
        (GOOD.replace(b"\n", b"\r\n"), "a control character ('\\r'); lines end with a line feed alone"),
        (GOOD.replace(b"\n", b"\r"), "a control character ('\\r')"),
        (b"\xef\xbb\xbf" + GOOD, "the origin is not 1 to 200 visible ASCII"),
        (b"\xff" + GOOD, "not UTF-8 text at byte 0"),
        (GOOD.decode().encode("utf-16"), "not UTF-8 text at byte 0"),
        (GOOD.replace(b"1274", b"12\x0074"), "a control character ('\\x00')"),
        (GOOD.replace(b"1274", b"12\t74"), "a control character ('\\t')"),
        (GOOD.replace(b"1274", "12\u202874".encode()), "a control character ('\\u2028')"),
        (GOOD.replace(b"1274", "12\x8574".encode()), "a control character ('\\x85')"),
        (GOOD.replace("— ".encode(), b"- "), "is no signature line"),
        (GOOD.replace("— ".encode(), "—".encode()), "is no signature line"),
        (GOOD.replace("— ".encode(), "—  ".encode()), "is no signature line"),
        (GOOD[:-1] + b" \n", "is no signature line"),
        (GOOD[:-3] + b"\n", "is no signature line"),
        (CHECKPOINT.body() + b"\n" + f"— {ORIGIN} {b64encode(bytes(4)).decode()}\n".encode(), "is no signature line"),
        (CHECKPOINT.body() + b"\n" + f"— {ORIGIN} \n".encode(), "is no signature line"),
        (CHECKPOINT.body() + b"\n" + "— a+b AAAAAAAA\n".encode(), "is no signature line"),
        (GOOD + SIGNATURE_LINE.encode(), "a key has signed twice"),
        (b"x" * (LARGEST_NOTE + 1), "65537 bytes are more than 65536"),
        (b"\n" * 10_000_000, "10000000 bytes are more than 65536"),
    ],
    ids=lambda value: ascii(value)[:40],
)  # fmt: skip
def test_bytes_that_are_no_note(data: bytes, reason: str) -> None:
    refused(data, reason)


def test_two_lines_of_one_key_are_refused_even_where_they_differ() -> None:
    """A witness that has signed twice, at two times: which one would count?"""
    good = note(CHECKPOINT, ALPHA)
    again = cosignature(good.body, TIME + 1, ALPHA.key, ALPHA.sign)

    refused(Note(good.body, (*good.signatures, again)).to_bytes(), "a key has signed twice")


def test_a_signature_line_in_another_spelling_is_refused() -> None:
    """Base64 with the bits set that are thrown away: the same bytes, another line."""
    line = note().signatures[0]._replace(value=bytes(62))  # 66 bytes with the id need no padding, 67 two
    text = Note(note().body, (line._replace(value=bytes(63)),)).to_bytes().decode()
    assert text.endswith("A==\n")

    with pytest.raises(NoteError, match="is no signature line"):
        parse_note(text.replace("A==\n", "B==\n").encode())


# -- keys as text


KEY_TEXT = ALPHA.key.to_text()


def test_a_key_is_read_back_from_its_text() -> None:
    for signer in (HOUSE, ALPHA):
        assert VerifierKey.from_text(signer.key.to_text()) == signer.key


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not <name>+<8 hex digits>+<base64 of 33 bytes>"),
        ("alpha.example/w", "is not <name>+<8 hex digits>"),
        (KEY_TEXT[:-1], "is not <name>+<8 hex digits>"),
        (KEY_TEXT + "\n", "is not <name>+<8 hex digits>"),
        (KEY_TEXT.replace("alpha", "al+pha"), "is not <name>+<8 hex digits>"),
        (KEY_TEXT.replace("alpha", "alphb"), "key: its id is"),
        (KEY_TEXT.replace("alpha", "al pha"), "the name 'al pha.example/w' is not"),
        (KEY_TEXT.replace("alpha.example/w", ""), "the name '' is not"),
        (KEY_TEXT.replace(ALPHA.key.key_id.hex(), ALPHA.key.key_id.hex().upper()), "key: its id is"),
        (KEY_TEXT.replace(ALPHA.key.key_id.hex(), "00000000"), "key: its id is"),
        (f"x+00000000+{b64encode(bytes(33)).decode()}", "type 0 is neither 1 (log) nor 4 (witness)"),
        (f"x+00000000+{b64encode(bytes([2, *range(32)])).decode()}", "type 2 is neither"),
        (f"x+00000000+{b64encode(bytes([1, *range(31)])).decode()}", "is not <name>+<8 hex digits>"),
    ],
    ids=lambda value: ascii(value)[:40],
)  # fmt: skip
def test_a_text_that_is_no_key(text: str, reason: str) -> None:
    with pytest.raises(NoteError, match=re.escape(reason)):
        VerifierKey.from_text(text)


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(NoteError, match="key: 31 bytes instead of 32"):
        VerifierKey("x", LOG, bytes(31))


ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
Q = 2**255 - 19


@pytest.mark.parametrize("y", [0, 1, Q - 1, ORDER_8, Q - ORDER_8, Q, Q + 1], ids=hex)
@pytest.mark.parametrize("sign", [0, 1])
def test_a_key_under_which_anybody_can_sign_is_refused(y: int, sign: int) -> None:
    """A point of small order; whoever pins it would believe everybody."""
    weak = VerifierKey("weak.example", LOG, (y | sign << 255).to_bytes(32, "little"))

    with pytest.raises(NoteError, match="under which anybody can sign"):
        VerifierKey.from_text(weak.to_text())


def test_the_refused_keys_are_all_the_points_of_small_order() -> None:
    """Eight of them, by the plain arithmetic of RFC 8032; other spellings are no points, or these."""
    ys = [0, 1, Q - 1, ORDER_8, Q - ORDER_8]
    points = [decoded((y | sign << 255).to_bytes(32, "little")) for y in ys for sign in (0, 1)]
    found = {encoded(point) for point in points if point is not None}

    assert len(found) == 8
    assert all(encoded(doubled(doubled(doubled(point)))) == encoded(ZERO) for point in points if point is not None)


def test_under_such_a_key_a_signature_needs_no_secret() -> None:
    """So that the refusal above is not idle: 64 zeros are good for one message in four."""
    good = sum(check_signature(bytes(32), bytes([number]), bytes(64)) for number in range(200))

    assert 20 < good < 80


def test_what_the_log_signs_is_the_body() -> None:
    made = signed_by_log(CHECKPOINT, HOUSE.key, HOUSE.sign)

    assert made.signatures == (Signature(ORIGIN, HOUSE.key.key_id, HOUSE.sign(f"{ORIGIN}\n1274\n{ROOT}\n".encode())),)
