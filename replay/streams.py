"""Is every stream whole, whatever it holds?  Canonical bytes, one chain, dense `seq`, columns that say what bodies say.

For streams of rounds, keys, rulesets, looks, and of kinds that nobody knows; of keys and rulesets also whether each
event may follow the one before it.  Fed in the order of positions; in memory are the heads of streams, of rounds only
those that are open.  Sources: docs/formats/event-record.md, accounts.md (activation).

Not here: accounts, jackpots and tables (`replay.accounts` makes their bytes anew), what a round's facts mean
(`verify_round`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from domain import activation as v
from domain import day, doctor, verification, wager
from domain.access import ACCESS_CODEC, KEY_CODEC, KeyCreated, KeyRevoked
from domain.codec import Codec, Event
from domain.log import events as log_keys
from domain.record import (
    CHAIN_START,
    FORMAT_VERSION,
    TIME_PATTERN,
    BodyError,
    Record,
    canonical_json,
    is_record_text,
    leaf_hash,
    read_envelope,
)  # fmt: skip
from domain.round import codec as rounds
from domain.round.events import SeedRevealed
from domain.wager import receipt_stream
from replay.books import differences
from replay.verdict import Discrepancy

Wrong = tuple[str, object, object]
"""A field, what is recorded, what it should be."""


@dataclass(slots=True)
class _Head:
    """A stream's last event: its seq and leaf hash, and the event itself where the next one depends on it."""

    seq: int = -1
    leaf: str = CHAIN_START
    event: Any = None


@dataclass(slots=True)
class _Frame:
    """What a body says of itself."""

    prev: str
    seq: int
    stream: str
    type: str
    v: int


class Streams:
    """The heads of all streams that have no books."""

    def __init__(self) -> None:
        self.open_rounds: set[str] = set()
        """Streams of rounds whose seed is not revealed yet."""
        self._heads: dict[str, _Head] = {}

    def take_round(self, record: Record, read: rounds.EventRecord | BodyError) -> Iterator[Discrepancy]:
        """The next event of a round; `read` is its body, read."""
        stream, seq = record.stream, record.seq
        if seq == 0:
            self.open_rounds.add(stream)
        elif stream not in self._heads:
            words = "0: a round's first event comes first, and none after its seed"
            yield Discrepancy(seq, record.type, "seq", seq, words, stream)
            return
        yield from self._chained(record, _round_frame(record, read))
        if record.type == SeedRevealed.NAME:
            self.open_rounds.discard(stream)
            # A million rounds that are over take no memory.
            self._heads.pop(stream, None)
            self._heads.pop(receipt_stream(stream.removeprefix("round:")), None)

    def take_other(self, record: Record, kind: str) -> Iterator[Discrepancy]:
        """The next event of any other stream; `kind` is the first part of the stream's name."""
        before = self._heads.get(record.stream)
        event, head = None, None if before is None else before.event
        frame = _frame(record)
        yield from self._chained(record, frame)
        codec = _KINDS.get(kind)
        if isinstance(frame, BodyError) or codec is None:
            return
        read = codec.read(record.body)
        if isinstance(read, BodyError):
            words = f"an event of a {kind} stream"
            yield Discrepancy(record.seq, record.type, "body", str(read), words, record.stream)
            return
        event = read.data
        for field, recorded, wanted in _lawful(record.stream, head, event):
            yield Discrepancy(record.seq, event.NAME, field, recorded, wanted, record.stream)
        if kind not in _FREE:
            self._heads[record.stream].event = event

    def _chained(self, record: Record, frame: _Frame | BodyError) -> Iterator[Discrepancy]:
        head = self._heads.setdefault(record.stream, _Head())
        wrong: list[Wrong] = [("seq", record.seq, head.seq + 1)]
        if isinstance(frame, BodyError):
            wrong.append(("body", str(frame), "a canonical event body"))
        else:
            wrong += [
                ("prev", frame.prev, head.leaf), ("seq", frame.seq, record.seq), ("v", frame.v, FORMAT_VERSION),
                ("stream", frame.stream, record.stream), ("topic", record.type, frame.type),
            ]  # fmt: skip
        for field, recorded, wanted in wrong:
            if recorded != wanted:
                yield Discrepancy(record.seq, record.type, field, recorded, wanted, record.stream)
        head.seq, head.leaf = record.seq, leaf_hash(record.body)


# -- what a body says of itself


def _round_frame(record: Record, read: rounds.EventRecord | BodyError) -> _Frame | BodyError:
    """Writing the event again is the quick way to see that its bytes are canonical."""
    if isinstance(read, BodyError):
        return read
    try:
        again = rounds.encode(read.data, at=read.at, prev=read.prev, seq=read.seq, stream=read.stream)
    except (OverflowError, UnicodeEncodeError):
        again = b""
    if again == record.body and TIME_PATTERN.fullmatch(read.at):
        return _Frame(read.prev, read.seq, read.stream, read.data.NAME, read.v)
    return _frame(record)


def _frame(record: Record) -> _Frame | BodyError:
    try:
        read = read_envelope(record.body)
    except BodyError as error:
        return error
    except (OverflowError, UnicodeEncodeError) as error:
        return BodyError(f"not an event body: {error}")
    return _Frame(read.prev, read.seq, read.stream, read.type, read.v)


# -- keys and rulesets


def _lawful(stream: str, head: Any, event: Event) -> Iterator[Wrong]:
    """Whether an event may follow the one before it in its stream (None: it is the first)."""
    if not is_record_text(getattr(event, "by", "nobody needed")):
        yield "by", getattr(event, "by", None), "who did it"
    if isinstance(event, KeyCreated | KeyRevoked):
        yield from _lawful_key(head, event)
    elif isinstance(event, v.RulesetPublished):
        yield from _lawful_document(stream, head, event)
    elif isinstance(event, v.ActivationProposed | v.RulesetActivated):
        decide = v.propose if isinstance(event, v.ActivationProposed) else v.approve
        name = stream.partition(":")[2]
        yield from differences(event, decide(head, name=name, by=event.by, reason=event.reason))


def _lawful_key(head: Any, event: KeyCreated | KeyRevoked) -> Iterator[Wrong]:
    """A key is created, then revoked at most once; a revocation changes nothing of what the key is."""
    if isinstance(head, KeyRevoked):
        yield "event", event.NAME, "nothing: the key is revoked already"
    elif isinstance(head, KeyCreated) is isinstance(event, KeyCreated):
        yield "event", event.NAME, KeyCreated.NAME if head is None else KeyRevoked.NAME
    if isinstance(head, KeyCreated | KeyRevoked):
        for field in ("label", "person", "role", "secret_sha256"):
            if getattr(event, field) != getattr(head, field):
                yield field, getattr(event, field), getattr(head, field)


def _lawful_document(stream: str, head: Any, event: v.RulesetPublished) -> Iterator[Wrong]:
    """Published once, with its own digest, in the stream of its name."""
    if head is not None:
        yield "event", event.NAME, "nothing: the ruleset is published already"
    digest = _digest(event)
    if event.digest != digest:
        yield "digest", event.digest, digest
    name = f"{event.document.get('id')}@{event.document.get('version')}"
    if stream != f"ruleset:{name}":
        yield "document", name, stream.partition(":")[2]


def _digest(event: v.RulesetPublished) -> str:
    try:
        return sha256(canonical_json(event.document)).hexdigest()
    except BodyError as error:
        return str(error)


_KINDS: Final[dict[str, Codec[Any]]] = {
    "access": ACCESS_CODEC, "days": day.CODEC, "doctor": doctor.CODEC, "key": KEY_CODEC, "log": log_keys.CODEC,
    "receipt": wager.CODEC, "ruleset": v.CODEC, "verification": verification.CODEC,
}  # fmt: skip

_FREE: Final = ("access", "days", "doctor", "log", "receipt", "verification")
"""Kinds of streams in which an event follows from nothing before it."""
