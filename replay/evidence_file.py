"""One round in one file: read it, and verify it from pinned keys alone.  Format: docs/formats/evidence.md.

A file is what somebody else has written.  What can't be read is an EvidenceError; what can be read and is not as it
should be is a discrepancy of the rung that it belongs to.  The file brings no keys and no tree size of its own: both
come from the reader's trust and from the checkpoint that its keys have signed.

Not here: making a file (`ops.evidence_file`), the rungs (`checks`).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from typing import Final

import msgspec

from domain import table as t
from domain.account import is_name
from domain.log.checkpoint import NoteError, Opened, SignatureCheck, open_checkpoint
from domain.log.trust import Trust
from domain.record import BodyError
from domain.round import events as e
from domain.round.codec import read
from domain.ruleset import Ruleset, RulesetError, load_ruleset
from domain.rulesets import released_rulesets
from domain.strict_json import StrictJsonError, read_tagged
from replay.evidence import by_digest
from replay.logged import Entry, LogEvidence, Logged, Unlogged, Untrusted
from replay.postings import Postings, Row, Table
from replay.verdict import Verdict
from replay.verify_round import verify_round

FORMAT: Final = "dp1/evidence"
LARGEST_FILE: Final = 64 * 1024 * 1024
"""Bytes.  A round with all its postings takes a few hundred thousand."""


class EvidenceError(ValueError):
    """Bytes that are no evidence file that this program reads; one line that names the field and the reason."""


class Level(StrEnum):
    """For whom a file is made, and so whose accounts are in it."""

    PLAYER = "player"
    ADR = "adr"
    REGULATOR = "regulator"


class StoredEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stored body as text, its position in the journal (from 1), and its inclusion proof, null behind the log."""

    body: str
    position: int
    proof: list[str] | None


class Earlier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A consistency proof from the tree of a former size to that of the file's checkpoint."""

    proof: list[str]
    size: int


class EvidenceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written; its fields, as those of every object in it, stand in the order of the alphabet."""

    checkpoint: str | None
    earlier: list[Earlier]
    events: list[StoredEvent]
    format: str
    level: Level
    made_at: str
    player: str | None
    round: str
    ruleset: msgspec.Raw
    software: str

    def to_bytes(self) -> bytes:
        """The file: one line of canonical JSON and a line feed."""
        return _ENCODER.encode(self) + b"\n"


def read_evidence(data: bytes) -> EvidenceFile:
    """A file's bytes as values.  Raises EvidenceError for anything that is none."""
    if len(data) > LARGEST_FILE:
        raise EvidenceError(f"evidence: {len(data)} bytes are more than the {LARGEST_FILE} that a file may have")
    try:
        file = read_tagged(data, FORMAT, _FILE)
    except StrictJsonError as error:
        raise EvidenceError(f"evidence: {error}") from None
    _require_sense(file)
    return file


def verify_evidence(file: EvidenceFile, trust: Trust, check: SignatureCheck) -> Verdict:
    """Every rung of the ladder, from what the file holds and what the reader trusts.

    Without the log it proves nothing, so the rung `log` counts.  Raises EvidenceError where a proof is no base64.
    """
    found = _Streams(file)
    players = {event.player for event in found.own if isinstance(event, e.BoxPlaced)}
    if file.player is not None and file.player not in players:
        raise EvidenceError(f"evidence: player: {file.player!r} has no box in this round")
    logged = _logged(file, trust, check)
    verdict = verify_round(found.stream, found.bodies, by_digest(_rulesets(file)), found.postings, logged)
    return replace(verdict, needs_log=True)


def open_file_checkpoint(file: EvidenceFile, trust: Trust, check: SignatureCheck) -> Opened | Unlogged | Untrusted:
    """The file's checkpoint, or why there is none that the trust's keys have signed."""
    if file.checkpoint is None:
        return Unlogged("the file has no checkpoint of a log")
    try:
        return open_checkpoint(file.checkpoint.encode(), trust, check)
    except NoteError as error:
        return Untrusted(str(error))


def ruleset_of(file: EvidenceFile) -> Ruleset | None:
    """The ruleset that the file brings along; whether it is the round's, its digest tells.  Raises EvidenceError."""
    if bytes(file.ruleset) == b"null":
        return None
    try:
        return load_ruleset(bytes(file.ruleset))
    except RulesetError as error:
        raise EvidenceError(f"evidence: ruleset: {error}") from None


def base64_hashes(texts: Sequence[str], field: str) -> list[bytes]:
    """The hashes of a proof.  Raises EvidenceError for text that is no base64."""
    try:
        hashes = [b64decode(text, validate=True) for text in texts]
    except (Base64Error, ValueError):
        raise EvidenceError(f"evidence: {field}: not base64") from None
    if [b64encode(value).decode() for value in hashes] != list(texts):
        raise EvidenceError(f"evidence: {field}: not base64 as it is written")
    return hashes


# -- what a file says


class _Streams:
    """The file's events, stream by stream."""

    def __init__(self, file: EvidenceFile) -> None:
        self._file = file
        self.stream = f"round:{file.round}"
        self._rows: dict[str, list[Row]] = {}
        for event in file.events:
            body = event.body.encode()
            stream, seq = _place(body, self.stream)
            self._rows.setdefault(stream, []).append((seq, body))

    @property
    def bodies(self) -> list[bytes]:
        """The round's own, as they stand in the file."""
        return [body for _, body in self._rows.get(self.stream, ())]

    @cached_property
    def own(self) -> list[e.RoundEvent]:
        """The round's events that can be read."""
        records = [read(body) for body in self.bodies]
        return [record.data for record in records if not isinstance(record, BodyError)]

    @cached_property
    def postings(self) -> Postings | None:
        """What the file has of accounts, jackpots and the table; None where it has nothing of the kind."""
        posted = {name: rows for name, rows in self._rows.items() if name.startswith(("account:", "jackpot:"))}
        table = self._table()
        if table is None and not posted:
            return None
        players = None if self._file.player is None else frozenset({self._file.player})
        return Postings(table, posted, players)

    def _table(self) -> Table | None:
        """What the round's table had set, from the events of the table that are here."""
        opened = next((event for event in self.own if isinstance(event, e.RoundOpened)), None)
        if opened is None:
            return None
        events = self._read(t.table_stream(opened.table))
        settings = {seq: event.settings for seq, event in events if isinstance(event, t.TableOpened | t.TableChanged)}
        for _, event in events:
            if isinstance(event, t.RoundNumbered) and event.round == self._file.round:
                chosen = settings.get(event.after.settings)
                return None if chosen is None else Table(chosen, event.after.number)
        return Table(settings[max(settings)], None) if settings else None

    def _read(self, stream: str) -> list[tuple[int, t.TableEvent]]:
        records = [(seq, t.CODEC.read(body)) for seq, body in self._rows.get(stream, ())]
        return [(seq, record.data) for seq, record in records if not isinstance(record, BodyError)]


def _place(body: bytes, otherwise: str) -> tuple[str, int]:
    """Stream and seq that a body claims; one that can't be read counts as the round's, where it is named."""
    try:
        frame = _FRAME.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return otherwise, -1
    return frame.stream, frame.seq


def _logged(file: EvidenceFile, trust: Trust, check: SignatureCheck) -> LogEvidence:
    entries = [
        Entry(event.position, event.body.encode(), _proof(event.proof, f"events[{place}].proof"))
        for place, event in enumerate(file.events)
    ]
    earlier = {
        each.size: base64_hashes(each.proof, f"earlier[{place}].proof") for place, each in enumerate(file.earlier)
    }
    opened = open_file_checkpoint(file, trust, check)
    return Logged(opened, entries, earlier) if isinstance(opened, Opened) else opened


def _proof(texts: list[str] | None, field: str) -> list[bytes] | None:
    return None if texts is None else base64_hashes(texts, field)


def _rulesets(file: EvidenceFile) -> list[Ruleset]:
    """The released ones, and the one that the file has: a round is held against the one that its digest names."""
    own = ruleset_of(file)
    return [*released_rulesets().values(), *([] if own is None else [own])]


def _require_sense(file: EvidenceFile) -> None:
    if len(file.round) != 32 or not set(file.round) <= set("0123456789abcdef"):
        raise EvidenceError(f"evidence: round: {file.round[:80]!r} is not 32 lower-case hex digits")
    if (file.level is Level.PLAYER) != (file.player is not None):
        raise EvidenceError("evidence: player: is named at the level player, and at no other")
    if file.player is not None and not is_name(file.player):
        raise EvidenceError(f"evidence: player: {file.player[:80]!r} is no player's name")
    if any(event.position < 1 for event in file.events):
        raise EvidenceError("evidence: events: a position counts from 1")
    sizes = [each.size for each in file.earlier]
    if sizes != sorted(set(sizes)) or any(size < 0 for size in sizes):
        raise EvidenceError("evidence: earlier: sizes are whole numbers in rising order, each once")


class _Frame(msgspec.Struct):
    seq: int
    stream: str


_FILE: Final = msgspec.json.Decoder(EvidenceFile)
_FRAME: Final = msgspec.json.Decoder(_Frame)
_ENCODER: Final = msgspec.json.Encoder(order="sorted")
