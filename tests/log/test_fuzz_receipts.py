"""Whatever text comes in: nothing but ReceiptError, and what is believed is a token that the receipt key has signed."""

from __future__ import annotations

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.log.receipt import Receipt, ReceiptError, open_receipt, receipt_token
from ops.log.ed25519 import check_signature
from tests.log.mutations import mutated
from tests.log.signers import ORIGIN, RECEIPTS, STRANGER, TRUST
from tests.log.test_receipt import RECEIPT, encoded, signed

RECEIPTS_GIVEN = [
    RECEIPT,
    msgspec.structs.replace(RECEIPT, box=2, stake=10_000, position=10),
    msgspec.structs.replace(RECEIPT, player="игрок-1", round="0" * 32),
]
GOOD = [receipt_token(receipt, RECEIPTS.key, RECEIPTS.sign).encode() for receipt in RECEIPTS_GIVEN]
FORGED = [receipt_token(receipt, STRANGER.key, STRANGER.sign).encode() for receipt in RECEIPTS_GIVEN]
PARTS = [part for token in GOOD for part in token.split(b".")]
PIECES = [b".", b"=", b"\n", b"dpr1.", b"A", b"-_", b"+/", "é".encode(), *PARTS]
BODY = msgspec.json.encode(RECEIPT, order="sorted")
JSON_PIECES = [b"{", b"}", b",", b":", b'"', b" ", b"1e9", b"-", b"\\u0000", b'"box":2,', b"null", ORIGIN.encode()]


def believed(token: str) -> Receipt | None:
    """What is made of a token; anything but ReceiptError falls through and fails."""
    try:
        return open_receipt(token, TRUST, check_signature)
    except ReceiptError as error:
        assert "\n" not in str(error)
        return None


def test_the_good_ones_are_believed_and_the_forged_ones_are_not() -> None:
    assert [believed(token.decode()) for token in GOOD] == RECEIPTS_GIVEN
    assert [believed(token.decode()) for token in FORGED] == [None] * len(FORGED)


@settings(max_examples=120, deadline=None)
@given(mutated([*GOOD, *FORGED], PIECES))
def test_a_changed_token_is_refused(data: bytes) -> None:
    """There is no way back to a token but to one of those that were given."""
    token = data.decode("utf-8", "surrogateescape")

    found = believed(token)

    assert found is None or (data in GOOD and found == RECEIPTS_GIVEN[GOOD.index(data)])


def test_every_bit_of_a_token_counts() -> None:
    data = GOOD[0]
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        assert believed(changed.decode("latin-1")) is None


def test_the_body_of_one_with_the_signature_of_another_is_refused() -> None:
    for one in GOOD:
        for other in GOOD:
            if one != other:
                assert believed(b".".join([*one.split(b".")[:2], other.split(b".")[2]]).decode()) is None


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=200) | st.text("dpr1.AZaz09-_=", max_size=200).map("dpr1.".__add__))
@example("dpr1." + "A" * 4000 + ".AA")
def test_text_at_random_is_no_receipt(token: str) -> None:
    assert believed(token) is None


@settings(max_examples=120, deadline=None)
@given(mutated([BODY], JSON_PIECES))
def test_a_signed_body_is_read_in_one_spelling_only(body: bytes) -> None:
    """Even the receipt key can't make a receipt that two readers read in two ways."""
    token = signed(body)

    found = believed(token)

    if found is not None:
        assert receipt_token(found, RECEIPTS.key, RECEIPTS.sign) == token
        assert encoded(body) == token.split(".")[1]
