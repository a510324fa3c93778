"""Receipt tokens: what is believed, and everything that is refused, each with its reason."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.log.receipt import LABEL, LONGEST, Receipt, ReceiptError, open_receipt, receipt_token
from domain.log.trust import PinnedKey, Trust
from domain.record import LARGEST_INTEGER, is_record_text
from ops.log.ed25519 import check_signature
from tests.log.signers import ALPHA, HOUSE, HOUSE_NEXT, ORIGIN, RECEIPTS, TRUST, Signer

RECEIPT = Receipt(
    box=1,
    checkpoint_root="4ae191939f548d9934740b88dea2c5cb89bb8870fc4505cd79dec6bbfaaee9cb",
    checkpoint_size=7,
    commitment="256d585afbc7d47e8ed0d51e5603963432941485b7156027243da388713603a3",
    origin=ORIGIN,
    player="player-7",
    position=9,
    round="018f6a3e7c117b2a9d0e2f6b1c9a4d55",
    ruleset_digest="bf654cfe11a33f692a2e37b3eb558debc1ba64a6ba4c84a98b20efef719acab5",
    stake=110,
)
GOOD = receipt_token(RECEIPT, RECEIPTS.key, RECEIPTS.sign)
PAGE = (Path(__file__).parents[2] / "docs/formats/receipt.md").read_text("utf-8")


def refused(token: str, reason: str, trust: Trust = TRUST) -> None:
    """Not believed, for this reason, in one line."""
    with pytest.raises(ReceiptError, match=re.escape(reason)) as caught:
        open_receipt(token, trust, check_signature)
    assert "\n" not in str(caught.value)


def encoded(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def signed(body: bytes, signer: Signer = RECEIPTS, label: bytes = LABEL) -> str:
    """A token for whatever body, with a signature that is good."""
    return f"dpr1.{encoded(body)}.{encoded(signer.key.key_id + signer.sign(label + body))}"


def example(name: str) -> str:
    match = re.search(rf"^<!-- example: {name} -->\n```\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1]


def test_the_example_of_the_page() -> None:
    """Read from docs/formats/receipt.md."""
    assert example("key") == RECEIPTS.key.to_text()
    assert example("token") == GOOD
    assert example("token") == signed(example("json").encode())
    assert open_receipt(example("token"), TRUST, check_signature) == RECEIPT


TEXTS = st.text(min_size=1, max_size=40).filter(is_record_text)


def hexes(size: int) -> st.SearchStrategy[str]:
    return st.binary(min_size=size, max_size=size).map(bytes.hex)


@settings(max_examples=80, deadline=None)
@given(
    st.builds(
        Receipt,
        box=st.integers(1, LARGEST_INTEGER),
        checkpoint_root=hexes(32),
        checkpoint_size=st.integers(1, LARGEST_INTEGER),
        commitment=hexes(32),
        origin=st.just(ORIGIN),
        player=TEXTS,
        position=st.integers(1, LARGEST_INTEGER),
        round=hexes(16),
        ruleset_digest=hexes(32),
        stake=st.integers(0, LARGEST_INTEGER),
    )
)
def test_any_receipt_is_opened_as_it_was_given(receipt: Receipt) -> None:
    """And its bytes are those of another encoder of RFC 8785."""
    token = receipt_token(receipt, RECEIPTS.key, RECEIPTS.sign)

    assert open_receipt(token, TRUST, check_signature) == receipt
    assert token.split(".")[1] == encoded(rfc8785.dumps(msgspec.to_builtins(receipt)))


def test_the_same_receipt_is_the_same_token() -> None:
    assert receipt_token(RECEIPT, RECEIPTS.key, RECEIPTS.sign) == GOOD


# -- whose it is


def test_a_receipt_of_another_log_is_refused() -> None:
    other = msgspec.structs.replace(RECEIPT, origin="other.example/log")

    refused(receipt_token(other, RECEIPTS.key, RECEIPTS.sign), "is of 'other.example/log', not of casino.example/log")


@pytest.mark.parametrize("signer", [HOUSE, ALPHA, HOUSE_NEXT], ids=["the log's key", "a witness's", "a stranger's"])
def test_only_a_receipt_key_signs_receipts(signer: Signer) -> None:
    token = receipt_token(RECEIPT, signer.key, signer.sign)

    refused(token, f"signed by the key {signer.key.key_id.hex()}, which is not pinned")


def test_a_receipt_key_holds_for_its_sizes() -> None:
    """Held against the size of the checkpoint that the receipt names: the box was sold then."""
    good = replace(TRUST, receipt_keys=(PinnedKey(RECEIPTS.key, 100), PinnedKey(RECEIPTS.key, 7, 7)))
    ended = replace(TRUST, receipt_keys=(PinnedKey(RECEIPTS.key, 0, 6),))

    assert open_receipt(GOOD, good, check_signature) == RECEIPT
    refused(GOOD, "its key is pinned for 0 to 6 events, not for 7 events", ended)


def test_what_the_key_signed_for_another_purpose_is_no_receipt() -> None:
    """The label is signed too."""
    body = example("json").encode()
    for label in (b"", b"dp1/receipt", b"dp1/commit\0"):
        refused(signed(body, label=label), "its signature is not good")


# -- tokens


BODY, SIGNATURE = GOOD.split(".")[1:]


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "is not dpr1.<body>.<signature>"),
        ("dpr1", "is not dpr1.<body>.<signature>"),
        (f"dpr1.{BODY}", "is not dpr1.<body>.<signature>"),
        (f"dpr2.{BODY}.{SIGNATURE}", "is not dpr1.<body>.<signature>"),
        (f"DPR1.{BODY}.{SIGNATURE}", "is not dpr1.<body>.<signature>"),
        (f"{GOOD}.", "is not dpr1.<body>.<signature>"),
        (f" {GOOD}", "is not dpr1.<body>.<signature>"),
        (f"{GOOD}\n", "its signature is not base64url"),
        (f"{GOOD}=", "its signature is not base64url"),
        (f"{GOOD} ", "its signature is not base64url"),
        (f"dpr1..{SIGNATURE}", "its body is not base64url"),
        (f"dpr1.{BODY}.", "its signature is not base64url"),
        (f"dpr1.{BODY}=.{SIGNATURE}", "its body is not base64url"),
        (f"dpr1.+{BODY}.{SIGNATURE}", "its body is not base64url"),
        (f"dpr1.ä{BODY}.{SIGNATURE}", "its body is not base64url"),
        (f"dpr1.\ud800{BODY}.{SIGNATURE}", "its body is not base64url"),
        (f"dpr1.A.{SIGNATURE}", "its body is not base64url"),
        (f"dpr1.{BODY}.{SIGNATURE[:-1]}", "its signature has 63 bytes instead of 64"),
        (f"dpr1.{BODY}.{SIGNATURE[:-2]}", "its signature is not base64url"),
        (f"dpr1.{BODY}.{SIGNATURE}AAAA", "its signature has 67 bytes instead of 64"),
        (f"dpr1.{BODY}.AAAA", "its signature has 0 bytes instead of 64"),
        (f"dpr1.{BODY[:-4]}.{SIGNATURE}", "receipt: "),
        (f"dpr1.{'A' * LONGEST}.{SIGNATURE}", f"characters are more than {LONGEST}"),
        ("." * 10_000_000, f"10000000 characters are more than {LONGEST}"),
        (f"dpr1.{BODY}.{encoded(RECEIPTS.key.key_id + bytes(64))}", "its signature is not good"),
        (f"dpr1.{BODY}.{encoded(bytes(68))}", "signed by the key 00000000, which is not pinned"),
    ],
    ids=lambda value: ascii(value)[:30] + ascii(value)[-10:],
)
def test_a_text_that_is_no_receipt(token: str, reason: str) -> None:
    refused(token, reason)


def test_base64url_in_its_second_spelling_is_refused() -> None:
    """68 bytes leave two bits of the last digit over; 8 and A differ in nothing else."""
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    place = digits.index(GOOD[-1])

    others = [GOOD[:-1] + digits[place ^ bits] for bits in (1, 2, 3)]

    for token in others:
        refused(token, "its signature is not base64url")


# -- bodies that the receipt key has signed, and are none


def changed(**fields: object) -> Callable[[dict[str, Any]], object]:
    return lambda body: body.update(fields)


CASES: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("no box", lambda body: body.pop("box"), "missing required field `box`"),
    ("more", changed(table="t"), "unknown field `table`"),
    ("text for a number", changed(stake="110"), "got `str` - at `$.stake`"),
    ("a half", changed(stake=1.5), "got `float` - at `$.stake`"),
    ("true", changed(box=True), "got `bool` - at `$.box`"),
    ("null", changed(player=None), "got `null` - at `$.player`"),
    ("box 0", changed(box=0), "box: 0 is not from 1 to 2^53 - 1"),
    ("position 0", changed(position=0), "position: 0 is not from 1"),
    ("size 0", changed(checkpoint_size=0), "checkpoint_size: 0 is not from 1"),
    ("negative stake", changed(stake=-1), "stake: -1 is not from 0"),
    ("stake beyond", changed(stake=2**53), f"stake: {2**53} is not from 0 to 2^53 - 1"),
    ("round too short", changed(round="018f"), "round: is not 32 lower-case hex digits"),
    ("upper case", changed(commitment=RECEIPT.commitment.upper()), "commitment: is not 64 lower-case hex digits"),
    ("a line feed", changed(checkpoint_root=RECEIPT.checkpoint_root[:-1] + "\n"), "checkpoint_root: is not 64"),
    ("other digits", changed(ruleset_digest="٧" * 64), "ruleset_digest: is not 64"),
    ("nobody", changed(player=" "), "player: is blank"),
    ("not NFC", changed(player="e\u0301"), "player: is blank, not NFC"),
    ("long name", changed(player="p" * 1001), "player: is blank, not NFC or longer than 1,000"),
]


@pytest.mark.parametrize(("change", "reason"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_signed_body_with_a_wrong_value(change: Callable[[dict[str, Any]], object], reason: str) -> None:
    body = json.loads(example("json"))

    change(body)

    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    refused(signed(text.encode()), reason)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (example("json").replace(",", ", "), "its JSON is not canonical"),
        (example("json") + "\n", "its JSON is not canonical"),
        (example("json").replace('"box":1', '"box":2,"box":1'), "its JSON is not canonical"),
        (example("json").replace('"box":1', '"box":1.0'), "got `float` - at `$.box`"),
        (example("json").replace('"box":1,', "").replace("}", ',"box":1}'), "its JSON is not canonical"),
        (example("json").replace("player-7", "player\\u002d7"), "its JSON is not canonical"),
        (example("json").replace("player-7", "\\ud800"), "receipt: "),
        (example("json").replace("110", "1" * 5000)[:3000], "receipt: "),
        ("[" * 3000, "receipt: "),
        ("", "base64url"),
        ("null", "got `null`"),
        ("[]", "got `array`"),
    ],
    ids=lambda value: ascii(value)[-20:],
)
def test_a_signed_body_in_another_spelling(body: str, reason: str) -> None:
    refused(signed(body.encode()), reason)


def test_a_signed_body_that_is_no_text() -> None:
    refused(signed(example("json").encode().replace(b"player-7", b"player\xff7")), "receipt: ")
