"""Whom a verifier believes: the log's origin, pinned keys with the sizes they hold for, how many witnesses it wants.

Format: docs/formats/trust.md.  It is the verifier's own configuration: nothing in it comes from the house.

Not here: what the keys have signed (`checkpoint`, `receipt`), the file (`ops.log.trusting`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import msgspec

from domain.log.checkpoint import COSIGNATURE, KEY_SIZE, LARGEST_SIZE, LOG, NoteError, VerifierKey
from domain.strict_json import StrictJsonError, read_tagged

FORMAT: Final = "dp1/trust"
LARGEST_FILE: Final = 1024 * 1024


class TrustError(ValueError):
    """A trust file that can't be used; one line that names the field and the reason."""


class PinnedKey(NamedTuple):
    """A key and the sizes of checkpoints that it may sign: a retired or compromised one holds up to `last_size`."""

    key: VerifierKey
    first_size: int = 0
    last_size: int | None = None

    def holds(self, size: int) -> bool:
        """Whether the key may sign a checkpoint of this size."""
        return self.first_size <= size and (self.last_size is None or size <= self.last_size)

    def sizes(self) -> str:
        """The sizes in words."""
        until = "" if self.last_size is None else f" to {self.last_size}"
        return f"{self.first_size}{until or ' and more'} events"


@dataclass(frozen=True)
class Trust:
    """What one verifier believes of one log."""

    origin: str
    log_keys: tuple[PinnedKey, ...]
    witness_keys: tuple[PinnedKey, ...]
    receipt_keys: tuple[PinnedKey, ...]
    witnesses_needed: int = 0

    def to_json(self) -> bytes:
        """The file, made to be read and edited."""
        text = _File(
            format=FORMAT,
            log_keys=_written(self.log_keys),
            origin=self.origin,
            receipt_keys=_written(self.receipt_keys),
            witness_keys=_written(self.witness_keys),
            witnesses_needed=self.witnesses_needed,
        )
        return msgspec.json.format(msgspec.json.encode(text), indent=1) + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """The trust in a file.  Raises TrustError."""
        if len(data) > LARGEST_FILE:
            raise TrustError(f"{len(data)} bytes are more than {LARGEST_FILE}")
        try:
            file = read_tagged(data, FORMAT, _FILE)
        except StrictJsonError as error:
            raise TrustError(str(error)) from None
        trust = cls(
            origin=file.origin,
            log_keys=_read("log_keys", file.log_keys, LOG),
            witness_keys=_read("witness_keys", file.witness_keys, COSIGNATURE),
            receipt_keys=_read("receipt_keys", file.receipt_keys, LOG),
            witnesses_needed=file.witnesses_needed,
        )
        _require_sense(trust)
        return trust


class _Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    first_size: int = 0
    last_size: int | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    log_keys: list[_Key]
    origin: str
    receipt_keys: list[_Key]
    witness_keys: list[_Key]
    witnesses_needed: int


_FILE: Final = msgspec.json.Decoder(_File)


def _written(pinned: tuple[PinnedKey, ...]) -> list[_Key]:
    return [_Key(pin.key.to_text(), pin.first_size, pin.last_size) for pin in pinned]


def _read(field: str, keys: list[_Key], kind: int) -> tuple[PinnedKey, ...]:
    pinned = []
    for place, each in enumerate(keys):
        where = f"{field}[{place}]"
        try:
            key = VerifierKey.from_text(each.key)
        except NoteError as error:
            raise TrustError(f"{where}: {error}") from None
        if key.type != kind:
            raise TrustError(f"{where}: is of type {key.type}, not {kind}")
        last = LARGEST_SIZE if each.last_size is None else each.last_size
        if not 0 <= each.first_size <= last <= LARGEST_SIZE:
            raise TrustError(f"{where}: its sizes go from {each.first_size} to {each.last_size}")
        pinned.append(PinnedKey(key, each.first_size, each.last_size))
    return tuple(pinned)


def _require_sense(trust: Trust) -> None:
    try:
        VerifierKey(trust.origin, LOG, bytes(KEY_SIZE))
    except NoteError as error:
        raise TrustError(f"origin: {error}") from None
    if not trust.log_keys:
        raise TrustError("log_keys: at least one is needed")
    for place, pin in enumerate(trust.log_keys):
        if pin.key.name != trust.origin:
            raise TrustError(f"log_keys[{place}]: is named {pin.key.name}, not as the origin {trust.origin}")
    witnesses = len({pin.key.public_key for pin in trust.witness_keys})
    if not 0 <= trust.witnesses_needed <= witnesses:
        raise TrustError(f"witnesses_needed: {trust.witnesses_needed} of {witnesses} witnesses")
