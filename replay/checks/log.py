"""Is each event in the signed log, where the journal says, and was the house bound before it took a wager?

Source: docs/formats/log.md, RFC 6962 sections 2.1.1 and 2.1.2.  The tree's size and root come from a checkpoint that a
pinned key has signed.  Then: each body is a leaf of that tree, at its position; no position is named twice; a stream's
events lie in its order; each wager names a root that the log had, behind the commitment and before the wager.

Not here: opening the checkpoint (`domain.log.checkpoint`), that nothing is missing from a day (`replay.day`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from domain import wager as w
from domain.codec import EventRecord
from domain.log.merkle import ProofError, leaf_hash, verify_consistency, verify_inclusion
from domain.record import BodyError, read_envelope
from domain.round import events as e
from replay.evidence import Evidence
from replay.logged import Entry, LogEvidence, Logged, Unlogged, Untrusted
from replay.verdict import NO_LOG, Check, CheckName, Discrepancy, Status

Place = tuple[str, int]
"""Stream and seq of an event."""


def check(evidence: Evidence, logged: LogEvidence | None) -> Check:
    """Every event of the round and of what stands beside it, held against the checkpoint."""
    if logged is None:
        return NO_LOG
    if isinstance(logged, Unlogged):
        return Check(CheckName.LOG, Status.NOT_CHECKABLE, reason=logged.reason)
    if isinstance(logged, Untrusted):
        words = "a checkpoint that the pinned keys have signed"
        return Check(CheckName.LOG, Status.DISCREPANCY, (Discrepancy(None, None, "checkpoint", logged.reason, words),))
    found = _Placed(evidence, logged)
    discrepancies = tuple(found.discrepancies())
    behind = sum(entry.position > logged.opened.checkpoint.size for entry in logged.entries)
    reason = f"{behind} events lie behind the checkpoint" if behind else None
    if discrepancies:
        return Check(CheckName.LOG, Status.DISCREPANCY, discrepancies, reason)
    if behind:
        return Check(CheckName.LOG, Status.NOT_CHECKABLE, reason=reason)
    return Check(CheckName.LOG, Status.VERIFIED, reason=found.unordered)


class _Placed:
    """The entries by stream and seq."""

    def __init__(self, evidence: Evidence, logged: Logged) -> None:
        self._evidence = evidence
        self._logged = logged
        self._at: dict[Place, Entry] = {}
        self.unordered: str | None = None
        """Why nothing is said of the order of commitment and wagers."""

    def discrepancies(self) -> Iterator[Discrepancy]:
        """All of them: entry by entry, then what is missing, then the wagers."""
        yield from self._entries()
        yield from self._own_events()
        yield from self._wagers()

    # -- inclusion

    def _entries(self) -> Iterator[Discrepancy]:
        taken: dict[int, Place] = {}
        last: dict[str, tuple[int, int]] = {}
        for entry in sorted(self._logged.entries, key=lambda entry: entry.position):
            place, kind = _named(entry.body)
            yield from self._included(entry, place, kind)
            if entry.position in taken:
                other = " ".join(map(str, taken[entry.position]))
                yield self._finding(place, kind, "position", entry.position, f"a place of its own, not that of {other}")
            taken[entry.position] = place
            stream, seq = place
            before = last.get(stream)
            if before is not None and seq <= before[1]:
                yield self._finding(place, kind, "position", entry.position, f"before position {before[0]}")
            last[stream] = entry.position, seq
            self._at[place] = entry

    def _included(self, entry: Entry, place: Place, kind: str | None) -> Iterator[Discrepancy]:
        size, root = self._logged.opened.checkpoint.size, self._logged.opened.checkpoint.root
        if entry.position > size:
            return
        if entry.proof is None:
            yield self._finding(place, kind, "inclusion", "no proof", f"a proof for {size} leaves")
            return
        try:
            verify_inclusion(entry.position - 1, size, leaf_hash(entry.body), entry.proof, root)
        except ProofError as error:
            yield self._finding(place, kind, "inclusion", str(error), f"leaf {entry.position - 1} of {size}")

    def _own_events(self) -> Iterator[Discrepancy]:
        """The round's own bodies are the entries of its stream, all of them."""
        stream = self._evidence.stream
        for seq, body in enumerate(self._evidence.bodies):
            entry = self._at.get((stream, seq))
            if entry is None:
                yield self._finding((stream, seq), None, "inclusion", "no entry", "a place in the log")
            elif entry.body != body:
                yield self._finding((stream, seq), None, "inclusion", "another body", "the round's own")

    # -- order of commitment, checkpoint and wager

    def _wagers(self) -> Iterator[Discrepancy]:
        accepted = list(self._accepted())
        named = {wager.seq for _, record in accepted for wager in record.data.wagers}
        placed = {
            seq: record.data
            for seq, record in self._evidence.placed
            if isinstance(record.data, e.BoxPlaced)
        }
        for size in sorted(self._logged.earlier.keys() - {record.data.checkpoint_size for _, record in accepted}):
            stream, words = w.receipt_stream(self._round_id), f"the wagers that name the checkpoint of {size} events"
            yield self._finding((stream, 0), w.WagersAccepted.NAME, "event", "missing", words)
        if not accepted:
            if placed:
                self.unordered = _UNORDERED
            return
        for place, record in accepted:
            yield from self._accepted_after_commitment(place, record.data)
            for wager in record.data.wagers:
                yield from self._as_placed(place, wager, placed.get(wager.seq))
        for seq in sorted(placed.keys() - named):
            stream = w.receipt_stream(self._round_id)
            yield self._finding((stream, 0), w.WagersAccepted.NAME, "wagers", "missing", f"the wager of event {seq}")

    def _accepted(self) -> Iterator[tuple[Place, EventRecord[w.WagersAccepted]]]:
        stream = w.receipt_stream(self._round_id)
        for place, entry in sorted(self._at.items()):
            if place[0] != stream:
                continue
            record = w.CODEC.read(entry.body)
            if not isinstance(record, BodyError):
                yield place, record

    def _accepted_after_commitment(self, place: Place, event: w.WagersAccepted) -> Iterator[Discrepancy]:
        kind, size = event.NAME, event.checkpoint_size
        if event.round != self._round_id:
            yield self._finding(place, kind, "round", event.round, self._round_id)
        committed = self._at.get((self._evidence.stream, 0))
        if committed is not None and committed.position > size:
            words = f"{committed.position} or more: the commitment in it"
            yield self._finding(place, kind, "checkpoint_size", size, words)
        for wager in event.wagers:
            entry = self._at.get((self._evidence.stream, wager.seq))
            if entry is not None and entry.position <= size:
                yield self._finding(place, kind, "checkpoint_size", size, f"below {entry.position}: before the wager")
        yield from self._earlier_root(place, event)

    def _earlier_root(self, place: Place, event: w.WagersAccepted) -> Iterator[Discrepancy]:
        """The checkpoint that was named is a former state of the log that is signed now."""
        now, size = self._logged.opened.checkpoint, event.checkpoint_size
        if size > now.size:
            return  # the wager lies behind the checkpoint too, which is said already
        proof = self._logged.earlier.get(size)
        if proof is None:
            words = f"a proof from {size} to {now.size} leaves"
            yield self._finding(place, event.NAME, "checkpoint_root", "no proof", words)
            return
        try:
            verify_consistency(size, now.size, bytes.fromhex(event.checkpoint_root), now.root, proof)
        except ValueError as error:
            wanted = f"the log's root at {size} leaves ({error})"
            yield self._finding(place, event.NAME, "checkpoint_root", event.checkpoint_root, wanted)

    def _as_placed(self, place: Place, wager: w.Wager, placed: e.BoxPlaced | None) -> Iterator[Discrepancy]:
        kind = w.WagersAccepted.NAME
        if placed is None:
            yield self._finding(place, kind, "wagers", f"event {wager.seq}", "a box-placed.v1 of the round")
            return
        wanted = {"box": placed.box, "player": placed.player, "stake": placed.ante + placed.bet + placed.bonus}
        for field, value in wanted.items():
            if getattr(wager, field) != value:
                yield self._finding(place, kind, f"wagers.{field}", getattr(wager, field), value)

    @property
    def _round_id(self) -> str:
        return self._evidence.stream.removeprefix("round:")

    def _finding(
        self, place: Place, kind: str | None, field: str, recorded: object, recomputed: object
    ) -> Discrepancy:
        stream, seq = place
        return Discrepancy(seq, kind, field, recorded, recomputed, None if stream == self._evidence.stream else stream)


_UNORDERED: Final = "no event names a checkpoint for the wagers, as where no log was kept when they were taken"


def _named(body: bytes) -> tuple[Place, str | None]:
    """Where a body says that it stands."""
    try:
        envelope = read_envelope(body)
    except BodyError:
        return ("", -1), None
    return (envelope.stream, envelope.seq), envelope.type

