"""The keys that a site signs its log with, and the facts about them in the journal.

Log key and receipt key are made on first use, together with the trust file that says so to this site's own commands:
a person changes that file from then on, never a program.

    key      file               name               signs
    log      keys/log.key       <origin>           checkpoints
    receipt  keys/receipt.key   <origin>/receipts  players' receipts

Not here: how a key signs (`ops.log.signing`), what is signed (`domain.log.checkpoint`, `domain.log.receipt`), changing
keys by hand (docs/runbooks/log.md).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.log import events as e
from domain.log.checkpoint import LOG, NoteError, VerifierKey
from domain.log.trust import PinnedKey, Trust, TrustError
from domain.record import BodyError
from ops.commands import Command, carry_out_one
from ops.journal import EnvelopeMismatch, Journal
from ops.keys import KeyFileError, make_key_folder, make_once
from ops.log.signing import FileSigningKey, SigningKey
from ops.log.store import LogDamaged
from ops.log.trusting import read_trust
from ops.settings import Settings

LOCAL_ORIGIN: Final = "dealproof.local"
"""What the name of a log begins with that nobody has named."""

FIRST_USE: Final = "first use"
"""The reason that stands in the record of the first keys."""

# -- the site's own keys


@dataclass(frozen=True)
class SiteKeys:
    """The log's name, the keys that sign under it, and what the site's own trust file says."""

    origin: str
    log: SigningKey
    receipt: SigningKey
    trust: Trust


def make_keys(settings: Settings, origin: str | None = None) -> SiteKeys:
    """The site's keys and trust, made on first use.  `origin`: the log's name, else a random one.

    Raises TrustError where the log has another name or the trust file lacks a key, KeyFileError where a key file that
    was in use is missing.
    """
    if not settings.trust_file.exists():
        _make(settings, origin or f"{LOCAL_ORIGIN}/{secrets.token_hex(8)}")
    return site_keys(settings, origin)


def site_keys(settings: Settings, origin: str | None = None) -> SiteKeys:
    """The keys of a site that has them.  Raises TrustError, KeyFileError."""
    trust = read_trust(settings.trust_file)
    if origin not in (None, trust.origin):
        raise TrustError(f"origin: this log is {trust.origin} and keeps its name (trust file {settings.trust_file})")
    log = _present_key(settings.log_key_file, trust.origin)
    receipt = _present_key(settings.receipt_key_file, e.receipt_key_name(trust.origin))
    for key, file, pinned in (
        (log, settings.log_key_file, trust.log_keys), (receipt, settings.receipt_key_file, trust.receipt_keys),
    ):  # fmt: skip
        if key.verifier not in [known.key for known in pinned]:
            lacking = f"trust file {settings.trust_file}: lacks the key {key.verifier.to_text()}"
            raise TrustError(f"{lacking} of key file {file}; add it, or restore the key file")
    return SiteKeys(trust.origin, log, receipt, trust)


def _make(settings: Settings, origin: str) -> None:
    """Make keys and trust file.  A crash before the last write leaves keys that nothing was signed with."""
    checkpoint = settings.log_folder / "checkpoint"
    if checkpoint.exists():
        raise TrustError(f"trust file {settings.trust_file}: is missing, but {checkpoint} exists; restore it")
    try:
        VerifierKey(e.receipt_key_name(origin), LOG, bytes(32))
    except NoteError as error:
        raise TrustError(f"origin: {error}") from None
    log, receipt = (file_key(settings, use, origin) for use in (e.KeyUse.LOG, e.KeyUse.RECEIPT))
    trust = Trust(
        origin=origin, log_keys=(PinnedKey(log.verifier),), witness_keys=(), receipt_keys=(PinnedKey(receipt.verifier),)
    )
    settings.trust_file.parent.mkdir(parents=True, exist_ok=True)
    make_once(settings.trust_file, trust.to_json(), 0o644)


def file_key(settings: Settings, use: e.KeyUse, origin: str) -> FileSigningKey:
    """The key of the log or of its receipts, made where it is missing.  Raises KeyFileError."""
    path, name = settings.log_key_file, origin
    if use is e.KeyUse.RECEIPT:
        path, name = settings.receipt_key_file, e.receipt_key_name(origin)
    make_key_folder(path)
    return FileSigningKey(path, name)


def _present_key(path: Path, name: str) -> FileSigningKey:
    """A key file that must be there: with a new one nobody would believe what it signs."""
    if not path.exists():
        raise KeyFileError(f"key file {path}: is missing; restore it from its backup, or see `dealproof log keys add`")
    return FileSigningKey(path, name)


# -- facts in the journal


def read_key_events(journal: Journal) -> list[e.LogKeyEvent]:
    """All that happened to the log's keys.  Raises LogDamaged where the record can't be read."""
    try:
        return [e.CODEC.decode(stored.record.body).data for stored in journal.read_stream(e.LOG_KEYS)]
    except (BodyError, EnvelopeMismatch) as error:
        raise LogDamaged(f"stream {e.LOG_KEYS}: {error}") from None


def record_first_keys(journal: Journal, keys: SiteKeys, by: str) -> None:
    """The keys of first use are facts; where there is a key of that use already, it stays as it is."""
    for use, key in ((e.KeyUse.LOG, keys.log), (e.KeyUse.RECEIPT, keys.receipt)):
        events, text = read_key_events(journal), key.verifier.to_text()
        if e.keys_of(events, use):
            continue
        event = e.add(events, origin=keys.origin, use=use, key=text, first_size=0, by=by, reason=FIRST_USE)
        # A crash right after this leaves the other key to be recorded by the next start.
        _record(journal, Command(f"log key {text}", text.encode(), by), event)


def _record(journal: Journal, command: Command, event: e.LogKeyEvent) -> None:
    carry_out_one(journal, command, e.CODEC, e.LOG_KEYS, lambda _: event)


def change_keys(journal: Journal, by: str, decide: Callable[[list[e.LogKeyEvent]], e.LogKeyEvent]) -> e.LogKeyEvent:
    """Record what somebody decided of a key, from all that happened to keys before.  Raises LogKeyError."""
    name = f"log keys {secrets.token_hex(16)}"
    made: list[e.LogKeyEvent] = []

    def decided(_: object) -> e.LogKeyEvent:
        made.append(decide(read_key_events(journal)))
        return made[-1]

    # A crash right after this leaves the fact recorded; `dealproof log keys list` shows it.
    carry_out_one(journal, Command(name, name.encode(), by), e.CODEC, e.LOG_KEYS, decided)
    return made[-1]
