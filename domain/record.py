"""The canonical bytes of an event, and the chain that ties the events of one stream together.

Source: docs/formats/event-record.md (tag `dp1`), RFC 8785 (JCS), RFC 6962 section 2.1 for the leaf hash.

A stored body is `{"at","data","prev","seq","stream","type","v"}` in JCS.  In our profile (ASCII keys, whole numbers
below 2^53, no floats, NFC text) sorted keys without spaces are the JCS bytes; a property test holds this against
`rfc8785`.

Not here: what the events mean (`round.events`), where they are kept (`ops.journal`).
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

FORMAT_VERSION: Final = 1
"""`v` of every body: the format `dp1`."""

CHAIN_START: Final = "0" * 64
"""`prev` of a stream's first event."""

LARGEST_INTEGER: Final = 2**53 - 1

DEEPEST: Final = 64
"""Levels of lists and objects in a body: far more than any event has, far less than a reader's stack."""


class Record(NamedTuple):
    """One event as it is stored: stream, place in the stream from 0, stored name, canonical body."""

    stream: str
    seq: int
    type: str
    body: bytes


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What every stored body has around its data, whatever the event."""

    at: str
    data: msgspec.Raw
    prev: str
    seq: int
    stream: str
    type: str
    v: int


class BodyError(ValueError):
    """Bytes that are no canonical event body; the message says what and where."""


def leaf_hash(body: bytes) -> str:
    """Hex of H(0x00 || body): the chain link, and the leaf of the Merkle tree."""
    return sha256(b"\0" + body).hexdigest()


def canonical_json(value: object) -> bytes:
    """JCS bytes of plain values in our profile.  Raises BodyError for a float, a large integer, a key beyond ASCII."""
    _require_profile(value, "$")
    return msgspec.json.encode(value, order="sorted")


def read_envelope(body: bytes) -> Envelope:
    """Decode the frame of a body and check that its bytes are canonical.  Raises BodyError."""
    try:
        envelope = _ENVELOPE.decode(body)
        plain = _PLAIN.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BodyError(f"not an event body: {error}") from None
    # A doubled key, white space, another order or another spelling of a number all come out different.
    if canonical_json(plain) != body:
        raise BodyError("not canonical: encoding its values again gives other bytes")
    if not TIME_PATTERN.fullmatch(envelope.at):
        raise BodyError(f"at: {envelope.at!r} is not a time as 2026-01-31T23:59:59.999Z")
    return envelope


def is_record_text(value: object) -> bool:
    """Whether a value is text that a record holds in one spelling: UTF-8, NFC, not blank, at most 1,000 characters."""
    if not isinstance(value, str) or not value.strip() or len(value) > 1000:
        return False
    return value.isascii() or (unicodedata.is_normalized("NFC", value) and not _SURROGATES.search(value))


_SURROGATES: Final = re.compile("[\ud800-\udfff]")
TIME_PATTERN: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z", re.ASCII
)

_ENVELOPE: Final = msgspec.json.Decoder(Envelope)
_PLAIN: Final[msgspec.json.Decoder[object]] = msgspec.json.Decoder(object)


def _require_profile(value: object, where: str, level: int = 0) -> None:
    if level > DEEPEST:
        raise BodyError(f"nested more than {DEEPEST} levels deep")
    if isinstance(value, dict):
        for key, item in value.items():
            if not (isinstance(key, str) and key.isascii()):
                raise BodyError(f"{where}: the key {key!r} is not ASCII text")
            _require_profile(item, f"{where}.{key}", level + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _require_profile(item, f"{where}[{index}]", level + 1)
    elif isinstance(value, float) or not isinstance(value, str | int | bool | None):
        raise BodyError(f"{where}: {value!r} has no place in a record (whole numbers, text, lists, objects only)")
    elif isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        raise BodyError(f"{where}: {value} is beyond 2^53 - 1")
