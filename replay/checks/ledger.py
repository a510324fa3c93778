"""Do the accounts show just what the round moved?  Source: docs/formats/accounts.md; clauses 3.7, 5.3, 7.3 and 10.2.

What the round's own facts move is counted again (`domain.ledger`), every account and jackpot event about the round is
made anew from that and from the event before it in its stream, and held against the stored bytes.  Findings name the
stream that they are in.

Not here: whether the facts are right (`payout` and below), the accounts' own history (`replay.accounts`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from domain import account as a
from domain import jackpot as j
from domain.account import AccountState
from domain.codec import Codec, EventRecord
from domain.ledger import Entry, Move
from domain.record import CHAIN_START, TIME_PATTERN, BodyError, leaf_hash
from domain.round import events as e
from domain.round.refusals import Refusal
from replay.books import ENTRY_OF, account_again, differences, jackpot_again, restarted
from replay.evidence import Evidence
from replay.postings import Facts, Postings, Row, Table
from replay.verdict import NO_LEDGER, Check, CheckName, Discrepancy, Status


def check(evidence: Evidence, postings: Postings | None) -> Check:
    """Every posting of the round, none missing, doubled, added or moved."""
    if postings is None:
        return NO_LEDGER
    # The table is all there is to say that accounts are kept: an entry without one is not to be here.
    if postings.table is None and not postings.streams:
        return Check(CheckName.LEDGER, Status.NOT_CHECKABLE, reason="the round's table keeps no accounts")
    facts = Facts(evidence, postings)
    found = tuple(_findings(facts, postings))
    reason = None if postings.players is None else f"the account of {', '.join(sorted(postings.players))} only"
    return Check(CheckName.LEDGER, Status.DISCREPANCY if found else Status.VERIFIED, found, reason)


def _findings(facts: Facts, postings: Postings) -> Iterator[Discrepancy]:
    if postings.table is not None:
        yield from _table(facts, postings.table)
    for stream in sorted({*postings.streams, *facts.accounts, *facts.jackpots}):
        rows = postings.streams.get(stream, ())
        if stream.startswith("jackpot:"):
            yield from _JackpotWalk(facts, stream).findings(rows)
        elif stream not in facts.accounts or not _is_as_made_anew(facts, stream, rows):
            yield from _AccountWalk(facts, stream).findings(rows)


def _is_as_made_anew(facts: Facts, stream: str, rows: Sequence[Row]) -> bool:
    """The quick way: whether an account's bodies are just the bytes that come out when they are posted again.

    Nothing is found out here: where a byte differs, the walk says what it is.
    """
    if len(rows) < 2 or rows[-1][0] - rows[0][0] != len(rows) - 1:
        return False
    bodies = [body for _, body in rows]
    try:
        records = a.CODEC.decode_stream(b"\n".join(bodies) + b"\n")
        posted = _posted_again(facts, stream, records)
    except (msgspec.DecodeError, ValueError):
        return False
    if posted is None:
        return False
    prev = leaf_hash(bodies[0])
    for record, event, (seq, body) in zip(records[1:], posted, rows[1:], strict=True):
        if a.CODEC.encode(event, at=record.at, prev=prev, seq=seq, stream=stream) != body:
            return False
        prev = leaf_hash(body)
    return True


def _posted_again(
    facts: Facts, stream: str, records: Sequence[EventRecord[a.AccountEvent]]
) -> list[a.AccountEvent] | None:
    """The events behind the first one as they should be; None where the quick way doesn't see through."""
    player, before, posted = facts.accounts[stream], records[0].data.after, list[a.AccountEvent]()
    own = deque([move for move in facts.moved if move.player == player])
    round_id, at, ended = facts.round_id, facts.at, facts.ended
    first_seq = records[0].seq + 1
    while len(posted) < len(records) - 1:
        record = records[len(posted) + 1]
        seq, event = first_seq + len(posted), record.data
        if getattr(event, "round", None) != round_id:
            again = account_again(stream, before, seq, event, None)
            if isinstance(again, Refusal) or TIME_PATTERN.fullmatch(record.at) is None:
                return None
            posted.append(again)
        else:
            # One append posts all that its facts move; where two share a moment, the walk tells them apart.
            moved = list[Move]()
            while own and at[own[0].seq] == record.at:
                moved.append(own.popleft())
            ending = ended[0] if ended is not None and record.at == at[ended[1]] else None
            if not moved and ending is None:
                return None
            reserved = _reserved(facts, player, moved, event)
            posted += a.post(
                before, seq, facts.round, moved, reserved=reserved, ending=ending, from_bank=facts.from_bank
            )
        before = posted[-1].after
    last = posted[-1]
    # Another round's end may be the last to mention ours, among what is in play beside it.
    is_whole = not own and (ended is None or (isinstance(last, a.RoundFinished) and last.round == round_id))
    return posted if is_whole and len(posted) == len(records) - 1 else None


def _reserved(facts: Facts, player: str, moved: Sequence[Move], event: a.AccountEvent) -> int:
    if facts.owed is None or not moved:
        return 0
    playing = event.after.playing(facts.round_id)
    return facts.reserved(player, moved[-1].seq, 0 if playing is None else playing.reserved)


def _table(facts: Facts, table: Table) -> Iterator[Discrepancy]:
    """Rule 3.3: a round is played under what its table had set when it was opened."""
    opened = facts.evidence.opened
    if opened is None:
        return
    stream = f"table:{opened.table}"
    if table.number is None:
        yield Discrepancy(None, "round-numbered.v1", "event", "missing", f"number {opened.number}", stream)
    elif table.number != opened.number:
        yield Discrepancy(0, opened.NAME, "number", opened.number, table.number)
    for field in ("currency", "limits", "ruleset"):
        recorded, wanted = getattr(opened, field), getattr(table.settings, field)
        if recorded != wanted:
            yield Discrepancy(0, opened.NAME, field, recorded, wanted)


# -- walking a stream


class _Walk:
    """A stream's events one after the other, each made anew from the one before and held against its bytes."""

    codec: Codec[Any]

    def __init__(self, facts: Facts, stream: str) -> None:
        self.facts = facts
        self.stream = stream
        self.before: Any = None
        self.last: Row | None = None

    def findings(self, rows: Sequence[Row]) -> Iterator[Discrepancy]:
        """All that is wrong with the events about the round, and those that are missing."""
        raise NotImplementedError

    def judged(self, row: Row, record: EventRecord[Any]) -> Iterator[Discrepancy]:
        """What is wrong with one event that could be read."""
        raise NotImplementedError

    def findings_of(self, row: Row, record: EventRecord[Any] | BodyError) -> Iterator[Discrepancy]:
        """What is wrong with one event.  The walk goes on from what is recorded: a forgery is named where it is."""
        if isinstance(record, BodyError):
            yield Discrepancy(row[0], None, "body", str(record), "a canonical event body", self.stream)
            self.before = None
        else:
            yield from self.judged(row, record)
            self.before = record.data.after
        self.last = row

    def held(self, row: Row, record: EventRecord[Any], expected: Any, at: str) -> Iterator[Discrepancy]:
        """The stored bytes against those of the expected event."""
        seq, body = row
        prev = CHAIN_START if self.last is None else leaf_hash(self.last[1])
        wanted_seq = seq if self.last is None else self.last[0] + 1
        if type(expected) is type(record.data) and TIME_PATTERN.fullmatch(at):
            again = self.codec.encode(expected, at=at, prev=prev, seq=wanted_seq, stream=self.stream)
            if again == body and seq == wanted_seq:
                return
        name = record.data.NAME
        found = list(differences(record.data, expected))
        frame = (
            ("at", record.at, at if TIME_PATTERN.fullmatch(at) else "a time as 2026-01-31T23:59:59.999Z"),
            ("prev", record.prev, prev), ("seq", record.seq, wanted_seq), ("stream", record.stream, self.stream),
            ("v", record.v, 1),
        )  # fmt: skip
        for field, recorded, wanted in (*frame, *found):
            if recorded != wanted:
                yield Discrepancy(seq, name, field, recorded, wanted, self.stream)
        if not found and all(recorded == wanted for _, recorded, wanted in frame):
            yield Discrepancy(seq, name, "body", "another spelling", "the canonical spelling", self.stream)

    def added(self, row: Row, record: EventRecord[Any]) -> Discrepancy:
        """An event that nothing in the round calls for."""
        return Discrepancy(row[0], record.data.NAME, "event", record.data, "not to be here", self.stream)

    def lacking(self, kind: type[Any], words: object) -> Discrepancy:
        """An event that the round calls for and nobody has."""
        return Discrepancy(None, kind.NAME, "event", "missing", words, self.stream)


class _AccountWalk(_Walk):
    codec = a.CODEC

    def __init__(self, facts: Facts, stream: str) -> None:
        super().__init__(facts, stream)
        self.player = facts.accounts.get(stream)
        self.due: dict[Entry, deque[Move]] = {}
        for move in facts.moved:
            if move.player == self.player:
                self.due.setdefault(move.entry, deque()).append(move)
        self.finished = False

    def findings(self, rows: Sequence[Row]) -> Iterator[Discrepancy]:
        for row in rows:
            yield from self.findings_of(row, self.codec.read(row[1]))
        for entry, due in self.due.items():
            for move in due:
                yield self.lacking(a.ENTRIES[entry], _posting(move))
        if self.player is not None and self.facts.ended is not None and not self.finished:
            yield self.lacking(a.RoundFinished, self.facts.ended[0])

    def judged(self, row: Row, record: EventRecord[a.AccountEvent]) -> Iterator[Discrepancy]:
        event = record.data
        about_us = getattr(event, "round", None) == self.facts.round_id
        if self.last is None and not about_us:
            return  # the one before
        before = a.NEW_ACCOUNT if self.before is None else self.before
        if not about_us:
            # Of another round or the cashier: it must still follow, and keep what is in play.
            expected = account_again(self.stream, before, row[0], event, None)
            yield from self.held(row, record, expected, record.at)
        elif isinstance(event, a.RoundEntry):
            yield from self._entry(row, record, before)
        else:
            yield from self._finish(row, record, before)

    def _entry(self, row: Row, record: EventRecord[a.AccountEvent], before: AccountState) -> Iterator[Discrepancy]:
        event = record.data
        assert isinstance(event, a.RoundEntry)
        entry = ENTRY_OF[type(event)]
        due = self.due.get(entry)
        if not due or not event.postings:
            yield self.added(row, record)
            return
        yield from self._skipped(type(event), due, event.postings[0])
        moved = self._taken(due, event.postings)
        playing = event.after.playing(self.facts.round_id)
        recorded = 0 if playing is None else playing.reserved
        reserved = self.facts.reserved(moved[0].player, moved[-1].seq, recorded)
        [expected] = a.post(
            before, row[0], self.facts.round, moved,
            reserved=reserved, ending=None, from_bank=self.facts.from_bank,
        )  # fmt: skip
        yield from self.held(row, record, expected, self.facts.at[moved[-1].seq])

    def _skipped(self, kind: type[a.RoundEntry], due: deque[Move], first: a.Posting) -> Iterator[Discrepancy]:
        """Postings that should have come before this one."""
        named = (first.seq, first.box, first.wager)
        if named in ((move.seq, move.box, move.wager) for move in due):
            while (due[0].seq, due[0].box, due[0].wager) != named:
                yield self.lacking(kind, _posting(due.popleft()))

    def _taken(self, due: deque[Move], recorded: Sequence[a.Posting]) -> list[Move]:
        """The moves of this event's append: those of its moment, or just those it has, if an append may end there."""
        at = self.facts.at[due[0].seq]
        moved = [move for move in due if self.facts.at[move.seq] == at]
        few = len(recorded)
        parts = few < len(moved) and self._may_part(moved[few - 1].seq, moved[few].seq)
        if parts and [_posting(move) for move in moved[:few]] == list(recorded):
            moved = moved[:few]
        for _ in moved:
            due.popleft()
        return moved

    def _may_part(self, last: int, following: int) -> bool:
        return any(last < place <= following for place in self.facts.choices)

    def _finish(self, row: Row, record: EventRecord[a.AccountEvent], before: AccountState) -> Iterator[Discrepancy]:
        ended = self.facts.ended
        if ended is None or self.player is None or self.finished:
            yield self.added(row, record)
            return
        self.finished = True
        for entry, due in self.due.items():
            while due:
                yield self.lacking(a.ENTRIES[entry], _posting(due.popleft()))
        ending, place = ended
        [expected] = a.post(before, row[0], self.facts.round, [], reserved=0, ending=ending)
        yield from self.held(row, record, expected, self.facts.at[place])


def _posting(move: Move) -> a.Posting:
    return a.Posting(move.amount, move.box, move.seq, move.wager)


class Due(NamedTuple):
    """A jackpot event that a fact of the round (at its place) calls for."""

    kind: type[j.JackpotEvent]
    place: int
    fact: e.RoundEvent


class _JackpotWalk(_Walk):
    codec = j.CODEC

    def __init__(self, facts: Facts, stream: str) -> None:
        super().__init__(facts, stream)
        self.name = stream.partition(":")[2]
        self.due = deque(self._due()) if stream in facts.jackpots else deque[Due]()
        self.emptied: str | None = None  # the time of the append in which a box took the whole pot

    def _due(self) -> Iterator[Due]:
        for place, record in self.facts.evidence.placed:
            event = record.data
            if isinstance(event, e.CardsDealt):
                yield Due(j.JackpotFed, place, event)
            elif isinstance(event, e.JackpotWon):
                yield Due(j.JackpotPaid, place, event)
            elif isinstance(event, e.RoundVoided) and self.facts.state.upcard is not None:
                yield Due(j.JackpotReversed, place, event)

    def findings(self, rows: Sequence[Row]) -> Iterator[Discrepancy]:
        for row in rows:
            record = self.codec.read(row[1])
            at = None if isinstance(record, BodyError) else record.at
            about_us = not isinstance(record, BodyError) and self._is_about_us(record)
            if self.emptied is not None and not (about_us and at == self.emptied):
                yield from self._not_restarted()
            yield from self.findings_of(row, record)
        if self.emptied is not None:
            yield from self._not_restarted()
        for due in self.due:
            yield self.lacking(due.kind, due.fact)

    def _is_about_us(self, record: EventRecord[j.JackpotEvent]) -> bool:
        return getattr(record.data, "round", None) == self.facts.round_id

    def judged(self, row: Row, record: EventRecord[j.JackpotEvent]) -> Iterator[Discrepancy]:
        if not self._is_about_us(record):
            return
        event = record.data
        if self.last is None or self.last[0] + 1 != row[0] or self.before is None:
            yield Discrepancy(row[0], event.NAME, "seq", "nothing before it", "the event before it", self.stream)
        elif isinstance(event, j.JackpotRestarted):
            yield from self._restart(row, record)
            return
        if all(due.kind is not type(event) for due in self.due):
            yield self.added(row, record)
            return
        while self.due[0].kind is not type(event):
            due = self.due.popleft()
            yield self.lacking(due.kind, due.fact)
        due = self.due.popleft()
        if self.before is not None:
            yield from self.held(row, record, self._expected(event, due), self.facts.at[due.place])
            yield from self._pot_at_deal(due)

    def _expected(self, event: j.JackpotEvent, due: Due) -> j.JackpotEvent | Refusal:
        """The event that the fact calls for, from the pot before it."""
        ruleset, round_id, fact = self.facts.evidence.ruleset, self.facts.round_id, due.fact
        if isinstance(fact, e.RoundVoided):
            winnings = sum(box.jackpot for box in self.facts.state.boxes)
            return j.reverse(self.before, self.name, round_id, fact, winnings)
        if ruleset is None:
            return jackpot_again(self.stream, self.before, event)
        facts: list[e.RoundEvent] = [fact]
        if isinstance(fact, e.CardsDealt):
            facts += [each for each in self.facts.evidence.events if isinstance(each, e.JackpotContributed)]
        followed = j.follow(self.before, self.name, round_id, facts, due.place, ruleset)
        if len(followed) > 1:
            self.emptied = self.facts.at[due.place]
        return followed[0]

    def _restart(self, row: Row, record: EventRecord[j.JackpotEvent]) -> Iterator[Discrepancy]:
        if self.emptied is None and self.facts.evidence.ruleset is not None:
            yield self.added(row, record)
            return
        yield from self.held(row, record, restarted(self.before, self.name, self.facts.round_id), record.at)
        self.emptied = None

    def _not_restarted(self) -> Iterator[Discrepancy]:
        """Rule 5.3: a pot that was won as a whole starts again in the same append."""
        self.emptied = None
        yield self.lacking(j.JackpotRestarted, "the pot filled up to its seed amount")

    def _pot_at_deal(self, due: Due) -> Iterator[Discrepancy]:
        """Rule 5.3: shares follow from the pot as it stood at the deal."""
        if isinstance(due.fact, e.CardsDealt) and due.fact.jackpot != self.before.pot:
            yield Discrepancy(due.place, due.fact.NAME, "jackpot", due.fact.jackpot, self.before.pot)

