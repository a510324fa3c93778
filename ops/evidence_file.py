"""Gather what proves one round: its stored events and all that stands beside it, each with its place in the log.

What is gathered is judged by `replay`: by `dealproof verify ROUND` at once, or by somebody else from a file
(docs/formats/evidence.md).  Nothing is left out because it looks wrong.

Not here: the file's shape (`replay.evidence_file`), reading tiles (`ops.log.store`), who may have a file (`ops.cli`).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

import msgspec

from domain import table as t
from domain import wager as w
from domain.access import access_stream
from domain.account import account_stream
from domain.log.checkpoint import Checkpoint, NoteError, Opened, open_checkpoint, parse_note
from domain.log.merkle import Nodes, consistency_proof, inclusion_proof
from domain.log.trust import Trust
from domain.record import BodyError
from domain.round import events as e
from domain.round.codec import read
from domain.table import table_stream
from ops.journal import Journal
from ops.log.ed25519 import check_signature
from ops.log.store import LogStore
from ops.postings import BEHIND, PostingsReader
from ops.rulesets import known_rulesets
from replay.evidence import by_digest
from replay.evidence_file import FORMAT, Earlier, EvidenceFile, Level, StoredEvent
from replay.logged import Entry, LogEvidence, Logged, Unlogged, Untrusted
from replay.postings import Postings


class Gathered(NamedTuple):
    """A round as the journal has it, with positions: the round's own bodies, its postings, and every event of them."""

    stream: str
    bodies: list[bytes]
    postings: Postings | None
    placed: list[tuple[int, bytes]]
    """Position and body of every event, in the order of positions."""


class LevelError(ValueError):
    """Evidence that can't be made for whom it is asked; one line."""


def gather(journal: Journal, stream: str, level: Level = Level.REGULATOR, player: str | None = None) -> Gathered:
    """Everything that a file of this level holds.  Raises LevelError for a player who has no box in the round."""
    found = list(PostingsReader(journal).read_rounds(stream, stream))
    bodies, postings = (found[0][1], found[0][2]) if found else ([], None)
    events = _events(bodies)
    players, opened = {event.player for event in events if isinstance(event, e.BoxPlaced)}, _opening(events)
    if level is Level.PLAYER and player not in players:
        names = ", ".join(sorted(players)) or "nobody"
        raise LevelError(f"--player: {player} has no box in this round; there is {names}")
    round_id = stream.removeprefix("round:")
    streams = [stream, w.receipt_stream(round_id)]
    if level is Level.REGULATOR:
        streams.append(access_stream(round_id))
    if level is Level.PLAYER and postings is not None and player is not None:
        postings = _of_player(postings, opened, player)
    reader = _Reader(journal)
    placed = dict(reader.streams(streams))
    if opened is not None:
        placed |= dict(reader.table(opened.table, stream))
    placed |= dict(reader.postings(postings))
    return Gathered(stream, bodies, postings, sorted(placed.items()))


def newest_checkpoint(store: LogStore, trust: Trust) -> Opened | Unlogged | Untrusted:
    """The newest checkpoint with as many cosignatures as the trust wants, if this trust's keys have signed it."""
    data = store.best(trust.witnesses_needed) if trust.witnesses_needed else store.checkpoint()
    if data is not None and not trust.witnesses_needed:
        data = _with_cosignatures(store, data)
    if data is None:
        kind = "checkpoint with the cosignatures that are wanted" if trust.witnesses_needed else "checkpoint"
        return Unlogged(f"the log has no {kind} yet")
    try:
        return open_checkpoint(data, trust, check_signature)
    except NoteError as error:
        return Untrusted(f"{store.folder}: {error}")


def _with_cosignatures(store: LogStore, data: bytes) -> bytes:
    """The note as witnesses have signed it, if they have signed this very one."""
    with suppress(NoteError):
        note = parse_note(data)
        signed = store.cosigned(Checkpoint.from_body(note.body).size)
        if signed is not None and signed.body == note.body:
            return signed.to_bytes()
    return data


def best_checkpoint(store: LogStore, trust: Trust, gathered: Gathered) -> Opened | Unlogged | Untrusted:
    """Of the checkpoints that hold all of a round the one that most witnesses have cosigned; else the newest one."""
    last = max((position for position, _ in gathered.placed), default=0)
    for wanted in range(len(trust.witness_keys), trust.witnesses_needed, -1):
        opened = newest_checkpoint(store, replace(trust, witnesses_needed=wanted))
        if isinstance(opened, Opened) and opened.checkpoint.size >= last:
            return opened
    return newest_checkpoint(store, trust)


def log_evidence(gathered: Gathered, store: LogStore, trust: Trust) -> LogEvidence:
    """What this installation's log has of a round.  Raises StoreError."""
    return logged(gathered, newest_checkpoint(store, trust), store.nodes)


def logged(
    gathered: Gathered, opened: Opened | Unlogged | Untrusted, nodes_of: Callable[[int], Nodes]
) -> LogEvidence:
    """What the log has of a round at a checkpoint.  `nodes_of`: the tree of so many leaves; raises what it raises."""
    if not isinstance(opened, Opened):
        return opened
    size = opened.checkpoint.size
    nodes = nodes_of(size)
    entries = [
        Entry(position, body, inclusion_proof(position - 1, size, nodes) if position <= size else None)
        for position, body in gathered.placed
    ]
    return Logged(opened, entries, dict(_earlier(gathered, size, nodes)))


def make_file(
    journal: Journal,
    gathered: Gathered,
    log: LogEvidence,
    level: Level,
    player: str | None,
    *,
    made_at: str,
    software: str,
) -> EvidenceFile:
    """The file.  A checkpoint that the house's own keys have not signed is left out, like one that there is not."""
    proofs = {entry.position: entry.proof for entry in log.entries} if isinstance(log, Logged) else {}
    events = [
        StoredEvent(body.decode(errors="replace"), position, _texts(proofs.get(position)))
        for position, body in gathered.placed
    ]
    earlier = log.earlier if isinstance(log, Logged) else {}
    return EvidenceFile(
        checkpoint=log.opened.note.to_bytes().decode() if isinstance(log, Logged) else None,
        earlier=[Earlier(_texts(earlier[size]) or [], size) for size in sorted(earlier)],
        events=events,
        format=FORMAT,
        level=level,
        made_at=made_at,
        player=player,
        round=gathered.stream.removeprefix("round:"),
        ruleset=_document(journal, gathered.bodies),
        software=software,
    )


# -- parts of it


def _earlier(gathered: Gathered, size: int, nodes: Nodes) -> Iterable[tuple[int, list[bytes]]]:
    """A consistency proof for each size that a wager of the round names."""
    records = [w.CODEC.read(body) for _, body in gathered.placed if b'"wagers-accepted.v1"' in body]
    named = {record.data.checkpoint_size for record in records if not isinstance(record, BodyError)}
    for earlier in sorted(named):
        if 0 < earlier <= size:
            yield earlier, consistency_proof(earlier, size, nodes)


def _of_player(postings: Postings, opened: e.RoundOpened | None, player: str) -> Postings:
    own = "" if opened is None else account_stream(opened.currency, player)
    kept = {name: rows for name, rows in postings.streams.items() if name == own or name.startswith("jackpot:")}
    return Postings(postings.table, kept, frozenset({player}))


def _document(journal: Journal, bodies: Sequence[bytes]) -> msgspec.Raw:
    opened = _opening(_events(bodies))
    ruleset = None if opened is None else by_digest(known_rulesets(journal)).get(opened.ruleset_digest)
    document = None if ruleset is None else ruleset.document
    return msgspec.Raw(msgspec.json.encode(document, order="sorted"))


def _events(bodies: Iterable[bytes]) -> list[e.RoundEvent]:
    records = [read(body) for body in bodies]
    return [record.data for record in records if not isinstance(record, BodyError)]


def _opening(events: Iterable[e.RoundEvent]) -> e.RoundOpened | None:
    return next((event for event in events if isinstance(event, e.RoundOpened)), None)


def _texts(proof: Sequence[bytes] | None) -> list[str] | None:
    return None if proof is None else [b64encode(value).decode() for value in proof]


class _Reader:
    """Positions and bodies, out of the journal."""

    def __init__(self, journal: Journal) -> None:
        self._rows = journal.application.recorder.datastore.rows

    def streams(self, names: Sequence[str]) -> Iterable[tuple[int, bytes]]:
        """Every event of these streams."""
        return [(position, body) for position, body in self._rows(_STREAMS, (list(names),))]

    def table(self, table: str, stream: str) -> Iterable[tuple[int, bytes]]:
        """The event that numbers the round and the one that has the settings it was opened under."""
        mention = f'"round":"{stream.removeprefix("round:")}"'.encode()
        name = table_stream(table)
        for position, body in self._rows(_NUMBERED, (stream, BEHIND, name, mention)):
            yield position, body
            record = t.CODEC.read(body)
            if not isinstance(record, BodyError):
                yield from self._places([(name, record.data.after.settings)])

    def postings(self, postings: Postings | None) -> Iterable[tuple[int, bytes]]:
        """The events that the postings are made of."""
        rows = {} if postings is None else postings.streams
        return self._places([(name, seq) for name, own in rows.items() for seq, _ in own])

    def _places(self, places: Sequence[tuple[str, int]]) -> list[tuple[int, bytes]]:
        names, seqs = [name for name, _ in places], [seq for _, seq in places]
        return [(position, body) for position, body in self._rows(_PLACES, (names, seqs))]


_STREAMS: Final = """
select notification_id, state from dealproof.events where originator_id = any (%b::text[]) order by notification_id
"""

_NUMBERED: Final = """
with opening as (
    select min(notification_id) as position from dealproof.events where originator_id = %b
)
select event.notification_id, event.state from dealproof.events as event, opening
where event.notification_id between opening.position and opening.position + %b
and event.originator_id = %b and position(%b::bytea in event.state) > 0
"""

_PLACES: Final = """
select event.notification_id, event.state
from unnest(%b::text[], %b::bigint[]) as wanted (stream, seq)
join dealproof.events as event on event.originator_id = wanted.stream and event.originator_version = wanted.seq
"""
