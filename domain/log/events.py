"""The log's keys as facts: which key signs what from which size on, which was retired, which fell into wrong hands.

Stream `log:keys`, one for the whole site.  A size is the number of events that a checkpoint names; a key's signatures
count for checkpoints from `first_size` to `last_size`, both included.  These events tell everybody who reads the
journal; a verifier believes his own trust file alone (docs/formats/trust.md), which a person changes.

Not here: the keys themselves (`ops.log.keys`), what a verifier pins (`trust`).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar, Final

from domain.codec import Codec, Event
from domain.log.checkpoint import COSIGNATURE, LOG, NoteError, VerifierKey
from domain.log.trust import PinnedKey
from domain.record import LARGEST_INTEGER, is_record_text

LOG_KEYS: Final = "log:keys"
"""The stream."""


class KeyUse(StrEnum):
    """What a key signs: checkpoints, cosignatures on them, or players' receipts."""

    LOG = "log"
    WITNESS = "witness"
    RECEIPT = "receipt"


class LogKeyError(ValueError):
    """A key can't be added or ended so; one line that names the field and the reason."""


class LogKeyAdded(Event, frozen=True, gc=False):
    """The key signs from now on.  `key` is the verifier's key as C2SP text."""

    NAME: ClassVar[str] = "log-key-added.v1"

    by: str
    first_size: int
    key: str
    reason: str
    use: KeyUse


class LogKeyRetired(Event, frozen=True, gc=False):
    """The key signs nothing above `last_size`; what it signed before stays good."""

    NAME: ClassVar[str] = "log-key-retired.v1"

    by: str
    key: str
    last_size: int
    reason: str


class LogKeyCompromised(Event, frozen=True, gc=False):
    """Somebody else may sign with the key; only what it signed up to `last_size` is believed."""

    NAME: ClassVar[str] = "log-key-compromised.v1"

    by: str
    key: str
    last_size: int
    reason: str


LogKeyEvent = LogKeyAdded | LogKeyRetired | LogKeyCompromised
CODEC: Final[Codec[LogKeyEvent]] = Codec((LogKeyAdded, LogKeyRetired, LogKeyCompromised))


def keys_of(events: Iterable[LogKeyEvent], use: KeyUse) -> tuple[PinnedKey, ...]:
    """The keys of one use with their sizes, in the order in which they were added.  Raises LogKeyError.

    The lowest end that was named for a key counts: a retired key may turn out to have been stolen before.
    """
    found: dict[str, PinnedKey] = {}
    for event in events:
        if isinstance(event, LogKeyAdded):
            if event.use is use:
                found[event.key] = PinnedKey(read_key(event.key), event.first_size)
        elif event.key in found:
            pinned = found[event.key]
            ends = [event.last_size] if pinned.last_size is None else [event.last_size, pinned.last_size]
            found[event.key] = pinned._replace(last_size=min(ends))
    return tuple(found.values())


def add(
    events: Iterable[LogKeyEvent], *, origin: str, use: KeyUse, key: str, first_size: int, by: str, reason: str
) -> LogKeyAdded:
    """A key that was not known before.  Raises LogKeyError."""
    verifier = read_key(key)
    _require_use(verifier, use, origin)
    _require_size("first size", first_size, 0)
    _require_text(by, reason)
    if any(event.key == key for event in events):
        raise LogKeyError("key: was added before; a key is added once")
    return LogKeyAdded(by=by, first_size=first_size, key=key, reason=reason, use=use)


def retire(
    events: Iterable[LogKeyEvent], *, key: str, last_size: int, by: str, reason: str
) -> LogKeyRetired:
    """The orderly end of a key that has none yet.  Raises LogKeyError."""
    pinned = _known(events, key)
    _require_size("last size", last_size, pinned.first_size)
    _require_text(by, reason)
    if pinned.last_size is not None:
        raise LogKeyError(f"key: has ended at size {pinned.last_size} already")
    return LogKeyRetired(by=by, key=key, last_size=last_size, reason=reason)


def compromise(
    events: Iterable[LogKeyEvent], *, key: str, last_size: int, by: str, reason: str
) -> LogKeyCompromised:
    """The end of a key that somebody else may have, now or earlier than it was retired.  Raises LogKeyError."""
    pinned = _known(events, key)
    # Nothing at all may be left to believe, which is the end before its first size.
    _require_size("last size", last_size, max(0, pinned.first_size - 1))
    _require_text(by, reason)
    if pinned.last_size is not None and last_size > pinned.last_size:
        raise LogKeyError(f"last size: the key has ended at size {pinned.last_size}; it can't come to life again")
    return LogKeyCompromised(by=by, key=key, last_size=last_size, reason=reason)


def read_key(text: str) -> VerifierKey:
    """A verifier's key.  Raises LogKeyError."""
    try:
        return VerifierKey.from_text(text)
    except NoteError as error:
        raise LogKeyError(f"key: {error}") from None


def receipt_key_name(origin: str) -> str:
    """The name under which the receipts of a log are signed."""
    return f"{origin}/receipts"


def _known(events: Iterable[LogKeyEvent], key: str) -> PinnedKey:
    events = list(events)
    for use in KeyUse:
        for pinned in keys_of(events, use):
            if pinned.key.to_text() == key:
                return pinned
    raise LogKeyError("key: was never added")


def _require_use(key: VerifierKey, use: KeyUse, origin: str) -> None:
    wanted = {KeyUse.LOG: origin, KeyUse.RECEIPT: receipt_key_name(origin)}.get(use, key.name)
    if key.name != wanted:
        raise LogKeyError(f"key: its name is {key.name}, that of a {use} key of this log is {wanted}")
    kind = COSIGNATURE if use is KeyUse.WITNESS else LOG
    if key.type != kind:
        raise LogKeyError(f"key: is of type {key.type}, a {use} key is of type {kind}")


def _require_size(field: str, size: int, least: int) -> None:
    if not least <= size <= LARGEST_INTEGER:
        raise LogKeyError(f"{field}: must be a whole number from {least} to {LARGEST_INTEGER}")


def _require_text(by: str, reason: str) -> None:
    for field, text in (("by", by), ("reason", reason)):
        if not is_record_text(text):
            raise LogKeyError(f"{field}: must be text in Unicode form NFC, not blank, of at most 1,000 characters")
