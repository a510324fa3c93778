"""Checkpoints as signed notes: the size and root of the log's tree, signed by the log and cosigned by witnesses.

Source: docs/formats/checkpoint.md; C2SP signed-note, tlog-checkpoint, tlog-cosignature.  A note is

    <origin>\n<size>\n<base64 root>\n
    \n
    — <name> <base64(key id || signature)>\n   …

What may be believed (origin, keys, how many witnesses) comes from the reader's own trust, never from the note.

Not here: the trust itself (`trust`), the tree (`merkle`), signing and checking signatures: both come in as functions.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from domain.log.merkle import EMPTY_ROOT, HASH_SIZE

if TYPE_CHECKING:
    from domain.log.trust import PinnedKey, Trust

SignatureCheck = Callable[[bytes, bytes, bytes], bool]
"""(public key of 32 bytes, message, signature of 64) -> whether it is a good Ed25519 signature; never raises."""

Sign = Callable[[bytes], bytes]

LOG: Final = 0x01
COSIGNATURE: Final = 0x04
KEY_SIZE: Final = 32
KEY_ID_SIZE: Final = 4
SIGNATURE_SIZE: Final = 64
LARGEST_SIZE: Final = 2**63 - 1
LARGEST_NOTE: Final = 64 * 1024
MOST_SIGNATURES: Final = 100
LATEST_TIME: Final = 253_402_300_799
"""Of a cosignature, in Unix seconds: the last one of the year 9999."""


class NoteError(ValueError):
    """A note or a key that is malformed, or a note that this trust does not believe; one line with the reason."""


@dataclass(frozen=True)
class VerifierKey:
    """Whose signature it is: a name, what the key is for (1 log and receipts, 4 witness), its 32 public bytes."""

    name: str
    type: int
    public_key: bytes

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise NoteError(f"key: the name {self.name[:80]!r} is not 1 to 200 visible ASCII characters without '+'")
        if self.type not in (LOG, COSIGNATURE):
            raise NoteError(f"key: type {self.type} is neither {LOG} (log) nor {COSIGNATURE} (witness)")
        if len(self.public_key) != KEY_SIZE:
            raise NoteError(f"key: {len(self.public_key)} bytes instead of {KEY_SIZE}")

    @property
    def key_id(self) -> bytes:
        """The four bytes by which a signature names its key."""
        return sha256(self.name.encode() + b"\n" + bytes([self.type]) + self.public_key).digest()[:KEY_ID_SIZE]

    def to_text(self) -> str:
        """`<name>+<key id in hex>+<base64 of type and key>`."""
        return f"{self.name}+{self.key_id.hex()}+{b64encode(bytes([self.type]) + self.public_key).decode()}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The reverse of `to_text`.  Raises NoteError."""
        name, _, rest = text.partition("+")
        key_id, _, encoded = rest.partition("+")
        raw = _base64(encoded)
        if raw is None or len(raw) != 1 + KEY_SIZE:
            raise NoteError(f"key: {text[:80]!r} is not <name>+<8 hex digits>+<base64 of 33 bytes>")
        key = cls(name, raw[0], raw[1:])
        if key.public_key[:-1] + bytes([key.public_key[-1] & 0x7F]) in _SMALL_ORDER:
            raise NoteError("key: is one of the few under which anybody can sign (a point of small order)")
        if key_id != key.key_id.hex():
            raise NoteError(f"key: its id is {key.key_id.hex()}, not {key_id[:20]!r}")
        return key


class Checkpoint(NamedTuple):
    """The tree of the log `origin` at `size` leaves has this root (32 bytes)."""

    origin: str
    size: int
    root: bytes

    def body(self) -> bytes:
        """The bytes that are signed."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n".encode()

    @classmethod
    def from_body(cls, body: bytes) -> Self:
        """The reverse of `body`; a body with further lines is refused.  Raises NoteError."""
        lines = _text(body).split("\n")
        if len(lines) != 4 or lines[3]:
            raise NoteError(f"checkpoint: has {len(lines) - 1} lines, not the three of origin, size and root")
        origin, digits, encoded = lines[:3]
        if not _NAME.fullmatch(origin):
            raise NoteError("checkpoint: the origin is not 1 to 200 visible ASCII characters without '+'")
        if not _SIZE.fullmatch(digits) or int(digits) > LARGEST_SIZE:
            raise NoteError(f"checkpoint: the size {digits[:40]!r} is not a whole number from 0 to 2^63 - 1")
        root = _base64(encoded)
        if root is None:
            raise NoteError("checkpoint: the root is not base64")
        if len(root) != HASH_SIZE:
            raise NoteError(f"checkpoint: the root has {len(root)} bytes instead of {HASH_SIZE}")
        if digits == "0" and root != EMPTY_ROOT:
            raise NoteError("checkpoint: the root is not that of a log without events")
        return cls(origin, int(digits), root)


class Signature(NamedTuple):
    """A line of a note: a key's name and id, and what stands behind the id (for a witness the time before it)."""

    name: str
    key_id: bytes
    value: bytes

    def to_line(self) -> str:
        """The line, with its line feed."""
        return f"— {self.name} {b64encode(self.key_id + self.value).decode()}\n"


class Note(NamedTuple):
    """A body (its last byte a line feed) and its signatures."""

    body: bytes
    signatures: tuple[Signature, ...]

    def to_bytes(self) -> bytes:
        """The note as it is sent and stored."""
        return self.body + b"\n" + "".join(signature.to_line() for signature in self.signatures).encode()


class Cosigned(NamedTuple):
    """A witness has seen this checkpoint, at this time (Unix seconds, by its clock)."""

    witness: str
    time: int


class Opened(NamedTuple):
    """A checkpoint that the trust believes, the witnesses of it that the trust knows, and the note it came in."""

    checkpoint: Checkpoint
    cosigned: tuple[Cosigned, ...]
    note: Note


def open_checkpoint(data: bytes, trust: Trust, check: SignatureCheck) -> Opened:
    """The checkpoint in a note, if the trust believes it.  Raises NoteError with the reason.

    Lines of keys that are not pinned are left aside.  A pinned key's bad signature is an error, whatever else is good.
    """
    note = parse_note(data)
    checkpoint = Checkpoint.from_body(note.body)
    if checkpoint.origin != trust.origin:
        raise NoteError(f"checkpoint: is of the log {checkpoint.origin}, not of {trust.origin}")
    signers = list(_signers(note, checkpoint.size, trust.log_keys, check))
    if not signers:
        raise NoteError(f"checkpoint: no signature of a pinned key of {trust.origin}")
    cosigned = {key.public_key: seen for key, seen in _witnesses(note, checkpoint.size, trust.witness_keys, check)}
    if len(cosigned) < trust.witnesses_needed:
        needed = trust.witnesses_needed
        raise NoteError(f"checkpoint: {len(cosigned)} of the {needed} cosignatures that are wanted are there")
    return Opened(checkpoint, tuple(cosigned.values()), note)


def signed_by_log(checkpoint: Checkpoint, key: VerifierKey, sign: Sign) -> Note:
    """The log's own note."""
    body = checkpoint.body()
    return Note(body, (Signature(key.name, key.key_id, sign(body)),))


def cosignature(body: bytes, time: int, key: VerifierKey, sign: Sign) -> Signature:
    """A witness's line for a note's body; `time` in Unix seconds.  Raises NoteError for one that no clock has."""
    if not 0 <= time <= LATEST_TIME:
        raise NoteError(f"cosignature: {time} seconds are not a time from 1970 to the year 9999")
    return Signature(key.name, key.key_id, time.to_bytes(8, "big") + sign(_cosigned_message(body, time)))


def parse_note(data: bytes) -> Note:
    """A note's bytes as body and signatures.  Raises NoteError for anything that `Note.to_bytes` would not give."""
    if len(data) > LARGEST_NOTE:
        raise NoteError(f"note: {len(data)} bytes are more than {LARGEST_NOTE}")
    text = _text(data)
    body, gap, lines = text.rpartition("\n\n")
    if not gap or not body:
        raise NoteError("note: has no empty line between its body and its signatures")
    if not lines.endswith("\n"):
        raise NoteError("note: is cut off: its last line has no end")
    signatures = [_signature(line) for line in lines[:-1].split("\n")]
    if len(signatures) > MOST_SIGNATURES:
        raise NoteError(f"note: {len(signatures)} signatures are more than {MOST_SIGNATURES}")
    if len({(each.name, each.key_id) for each in signatures}) < len(signatures):
        raise NoteError("note: a key has signed twice")
    return Note(f"{body}\n".encode(), tuple(signatures))


# -- parts


def _signers(
    note: Note, size: int, pinned: tuple[PinnedKey, ...], check: SignatureCheck
) -> Iterator[tuple[VerifierKey, bytes]]:
    for key, value in _of_pinned(note, size, pinned):
        if len(value) != SIGNATURE_SIZE or not check(key.public_key, note.body, value):
            raise NoteError(f"note: the signature of {key.name} is not good")
        yield key, value


def _witnesses(
    note: Note, size: int, pinned: tuple[PinnedKey, ...], check: SignatureCheck
) -> Iterator[tuple[VerifierKey, Cosigned]]:
    for key, value in _of_pinned(note, size, pinned):
        time, signature = int.from_bytes(value[:8], "big"), value[8:]
        message = _cosigned_message(note.body, time)
        if len(signature) != SIGNATURE_SIZE or not check(key.public_key, message, signature):
            raise NoteError(f"note: the cosignature of {key.name} is not good")
        if time > LATEST_TIME:
            raise NoteError(f"note: the cosignature of {key.name} is of {time} seconds, after the year 9999")
        yield key, Cosigned(key.name, time)


def _of_pinned(note: Note, size: int, pinned: tuple[PinnedKey, ...]) -> Iterator[tuple[VerifierKey, bytes]]:
    """The signatures that name a pinned key.  Raises NoteError for a key that may not sign at this size."""
    for signature in note.signatures:
        named = [pin for pin in pinned if (pin.key.name, pin.key.key_id) == (signature.name, signature.key_id)]
        if not named:
            continue
        holding = [pin for pin in named if pin.holds(size)]
        if not holding:
            ranges = ", ".join(pin.sizes() for pin in named)
            raise NoteError(f"note: the key of {signature.name} is pinned for {ranges}, not for {size} events")
        yield holding[0].key, signature.value


def _cosigned_message(body: bytes, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n".encode() + body


def _signature(line: str) -> Signature:
    match = _LINE.fullmatch(line)
    raw = None if match is None else _base64(match[2])
    if match is None or raw is None or len(raw) <= KEY_ID_SIZE:
        raise NoteError(f"note: {line[:60]!r} is no signature line")
    return Signature(match[1], raw[:KEY_ID_SIZE], raw[KEY_ID_SIZE:])


def _text(data: bytes) -> str:
    """UTF-8 without control characters but the line feed."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise NoteError(f"note: not UTF-8 text at byte {error.start}") from None
    found = _CONTROL.search(text)
    if found:
        raise NoteError(f"note: a control character ({found[0]!r}); lines end with a line feed alone")
    return text


def _base64(text: str) -> bytes | None:
    """The bytes of base64 in its one spelling."""
    try:
        raw = b64decode(text, validate=True)
    except (Base64Error, ValueError):
        return None
    return raw if b64encode(raw).decode() == text else None


# RFC 8032 lets a signature be good under points of order 1, 2, 4 and 8, and some are good without any secret.  By their
# second coordinate y, without the sign bit: 0, 1, -1, the two of order 8; then p and p + 1, which are read as 0 and 1.
_SMALL_ORDER: Final = frozenset(
    bytes.fromhex(y)
    for y in (
        f"{0:064}", f"01{0:062}", f"ec{'ff' * 30}7f", f"ed{'ff' * 30}7f", f"ee{'ff' * 30}7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
)  # fmt: skip

_NAME: Final = re.compile(r"[!-*,-~]{1,200}", re.ASCII)
_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_LINE: Final = re.compile(r"— ([!-*,-~]{1,200}) ([A-Za-z0-9+/=]+)")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")
