"""The receipt for a wager: a short signed token that a player keeps, and anybody can check offline.

Format: docs/formats/receipt.md: `dpr1.<base64url of canonical JSON>.<base64url of key id and signature>`.  Signed is
`"dp1/receipt\\0"` and the JSON.

Not here: when one is issued (`ops.receipts`), holding it against a record (`replay.receipts`).
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from typing import Final

import msgspec

from domain.log.checkpoint import KEY_ID_SIZE, SIGNATURE_SIZE, Sign, SignatureCheck, VerifierKey
from domain.log.trust import Trust
from domain.record import LARGEST_INTEGER, is_record_text
from domain.strict_json import one_line

TAG: Final = "dpr1"
LABEL: Final = b"dp1/receipt\0"
LONGEST: Final = 4096


class ReceiptError(ValueError):
    """Text that is no receipt, or none that the pinned keys have signed; one line with the reason."""


class Receipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the house has signed: `stake` (ante, bonus, BET; minor units) on a box, at this position in the journal.

    `commitment`, `ruleset_digest` and `checkpoint_root` are 64 hex digits, `round` 32.
    """

    box: int
    checkpoint_root: str
    checkpoint_size: int
    commitment: str
    origin: str
    player: str
    position: int
    round: str
    ruleset_digest: str
    stake: int


def receipt_token(receipt: Receipt, key: VerifierKey, sign: Sign) -> str:
    """The token; the same receipt under the same key is the same token."""
    body = _ENCODER.encode(receipt)
    return f"{TAG}.{_to_text(body)}.{_to_text(key.key_id + sign(LABEL + body))}"


def open_receipt(token: str, trust: Trust, check: SignatureCheck) -> Receipt:
    """The receipt in a token, if a pinned key has signed it.  Raises ReceiptError with the reason."""
    if len(token) > LONGEST:
        raise ReceiptError(f"receipt: {len(token)} characters are more than {LONGEST}")
    parts = token.split(".")
    if len(parts) != 3 or parts[0] != TAG:
        raise ReceiptError(f"receipt: is not {TAG}.<body>.<signature>")
    body, signed = _to_bytes("body", parts[1]), _to_bytes("signature", parts[2])
    receipt = _read(body)
    if receipt.origin != trust.origin:
        raise ReceiptError(f"receipt: is of {receipt.origin[:80]!r}, not of {trust.origin}")
    _require_signed(receipt, body, signed, trust, check)
    return receipt


def _require_signed(receipt: Receipt, body: bytes, signed: bytes, trust: Trust, check: SignatureCheck) -> None:
    key_id, signature = signed[:KEY_ID_SIZE], signed[KEY_ID_SIZE:]
    if len(signature) != SIGNATURE_SIZE:
        raise ReceiptError(f"receipt: its signature has {len(signature)} bytes instead of {SIGNATURE_SIZE}")
    pinned = [pin for pin in trust.receipt_keys if pin.key.key_id == key_id]
    if not pinned:
        raise ReceiptError(f"receipt: signed by the key {key_id.hex()}, which is not pinned")
    holding = [pin for pin in pinned if pin.holds(receipt.checkpoint_size)]
    if not holding:
        ranges = ", ".join(pin.sizes() for pin in pinned)
        raise ReceiptError(f"receipt: its key is pinned for {ranges}, not for {receipt.checkpoint_size} events")
    if not check(holding[0].key.public_key, LABEL + body, signature):
        raise ReceiptError("receipt: its signature is not good")


def _read(body: bytes) -> Receipt:
    try:
        receipt = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReceiptError(f"receipt: {one_line(error)}") from None
    if _ENCODER.encode(receipt) != body:
        raise ReceiptError("receipt: its JSON is not canonical")
    for field, digits in (("checkpoint_root", 64), ("commitment", 64), ("ruleset_digest", 64), ("round", 32)):
        if not re.fullmatch(f"[0-9a-f]{{{digits}}}", getattr(receipt, field)):
            raise ReceiptError(f"receipt: {field}: is not {digits} lower-case hex digits")
    for field, least in (("box", 1), ("checkpoint_size", 1), ("position", 1), ("stake", 0)):
        if not least <= getattr(receipt, field) <= LARGEST_INTEGER:
            raise ReceiptError(f"receipt: {field}: {getattr(receipt, field)} is not from {least} to 2^53 - 1")
    if not is_record_text(receipt.player):
        raise ReceiptError("receipt: player: is blank, not NFC or longer than 1,000 characters")
    return receipt


def _to_text(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def _to_bytes(part: str, text: str) -> bytes:
    """Base64url without padding, in its one spelling."""
    try:
        value = urlsafe_b64decode(text + "=" * (-len(text) % 4)) if _BASE64URL.fullmatch(text) else None
    except (Base64Error, ValueError):
        value = None
    if value is None or _to_text(value) != text:
        raise ReceiptError(f"receipt: its {part} is not base64url")
    return value


_BASE64URL: Final = re.compile("[A-Za-z0-9_-]+", re.ASCII)
_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_DECODER: Final = msgspec.json.Decoder(Receipt)
