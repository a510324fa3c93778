"""Do all balances follow from the journal, and does every unit come from somewhere?  The whole proof, in one pass.

Fed with every event of every stream in the order of positions, which have no gap.  The events of one append stand
together: the round's, its players', its jackpot's; so when a round's facts have gone by, what must follow them is made
anew and held against the stored bytes.  In memory are the heads of streams, and the rounds that are open.  Source:
docs/formats/accounts.md.

Not here: streams that have no books (`replay.streams`), whether the rounds themselves are true (`verify_round`), where
events come from (`ops.accounts_proof`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from domain import account as a
from domain import jackpot as j
from domain import table as t
from domain.account import Ending, account_stream
from domain.cards import CardError
from domain.codec import Codec, Event, EventRecord
from domain.jackpot import JackpotState, jackpot_stream
from domain.ledger import PLAYER, Entry, Move, jackpot_account, moves, owed_bets
from domain.record import CHAIN_START, TIME_PATTERN, BodyError, Record, is_record_text, leaf_hash
from domain.round import codec as rounds
from domain.round import events as e
from domain.round.codec import EventRecord as RoundEventRecord
from domain.round.refusals import Refusal
from domain.round.state import RoundState, apply
from domain.ruleset import Ruleset
from domain.table import TableSettings, TableState, table_stream
from replay.books import account_again, differences, jackpot_again, table_again, unbalanced
from replay.evidence import Rulesets
from replay.streams import Streams
from replay.verdict import EVENTS, Discrepancy

Lookup = Callable[[str, int], bytes | None]
"""The body of an earlier event by stream and seq."""


@dataclass
class Book:
    """One currency: how many accounts and events there are, and what every ledger account has."""

    accounts: int = 0
    events: int = 0
    totals: Counter[str] = field(default_factory=Counter)

    @property
    def sum(self) -> int:
        """Zero where every unit comes from somewhere."""
        return sum(self.totals.values())


@dataclass(slots=True)
class _Head:
    """Where a stream stands: its last event's seq, leaf hash and time, and the state after it (None: unreadable)."""

    seq: int = -1
    leaf: str = CHAIN_START
    at: str = ""
    state: Any = None
    settings: TableSettings | None = None
    undone: set[int] | None = None


@dataclass(slots=True)
class _OpenRound:
    """A round at a table that keeps accounts."""

    id: str
    state: RoundState
    ruleset: Ruleset | None
    settings: TableSettings


@dataclass
class _Append:
    """The facts of a round that have just gone by, and what must follow them, by stream (None: not asked yet)."""

    stream: str
    round: _OpenRound
    first_seq: int
    at: str
    events: list[e.RoundEvent]
    due: dict[str, deque[Event]] | None = None
    overdrawn: list[Discrepancy] = field(default_factory=list)


class AccountsProof:
    """The proof of one journal: `take` every event, then `finish`.  `books` are the currencies."""

    def __init__(self, rulesets: Rulesets, lookup: Lookup) -> None:
        self.books: dict[str, Book] = {}
        self.unchecked = 0
        """Rounds under rulesets that are not known here: their postings were held against each other only."""
        self.head = 0
        """The last position so far."""
        self.streams = Streams()
        self._rulesets = rulesets
        self._lookup = lookup
        self._heads: dict[str, _Head] = {}
        self._open: dict[str, _OpenRound] = {}
        self._append: _Append | None = None
        self._numbers: dict[str, int] = {}
        """Of each table the number of its last round from before it was kept."""

    def take(self, position: int, record: Record) -> list[Discrepancy]:
        """The next event in the order of positions; what is wrong with it, or was missing before it."""
        found = list(self._place(position))
        kind, colon, _ = record.stream.partition(":")
        if not colon:
            found += self.streams.take_other(record, "")
        elif kind == "round":
            read = rounds.read(record.body)
            found += self.streams.take_round(record, read)
            found += self._round(record.stream, record.seq, read)
        elif kind in _KINDS:
            found += self._other(record, _KINDS[kind])
        else:
            found += self.streams.take_other(record, kind)
        return found

    def _place(self, position: int) -> Iterator[Discrepancy]:
        """Positions have no gap: whatever is missing was there once."""
        expected, self.head = self.head + 1, position
        if position != expected:
            gone = f"{expected}" if position == expected + 1 else f"{expected} to {position - 1}"
            where = f"position {gone}" if position > expected else f"position {position}"
            words = ("missing", "there") if position > expected else ("there twice", "there once")
            yield Discrepancy(None, where, "event", *words, EVENTS)

    def finish(self) -> list[Discrepancy]:
        """What is missing at the end, and sums that don't agree."""
        found = list(self._end_append())
        for currency in sorted(self.books):
            found += self._sums(currency, self.books[currency])
        return found

    # -- rounds

    def _round(self, stream: str, seq: int, read: RoundEventRecord | BodyError) -> Iterator[Discrepancy]:
        append = self._append
        if append is not None and (append.stream != stream or append.due is not None):
            yield from self._end_append()
            append = None
        if isinstance(read, BodyError):
            return  # named by its stream; if it opened a round, no postings will be due
        if seq == 0:
            yield from self._opening(stream, read.data)
        round_ = self._open.get(stream)
        if round_ is None:
            return  # its table keeps no accounts, or it is over: postings would not be due any more
        with suppress(CardError, ValueError):  # a text that is no card: the round's own verification says so
            apply(round_.state, read.data)
        if append is None:
            append = self._append = _Append(stream, round_, seq, read.at, [])
        append.at = read.at
        append.events.append(read.data)

    def _opening(self, stream: str, opened: e.RoundEvent) -> Iterator[Discrepancy]:
        """A round at a table that keeps accounts is followed from here on, and is as the table was set."""
        head = self._heads.get(table_stream(opened.table)) if isinstance(opened, e.RoundOpened) else None
        if not isinstance(opened, e.RoundOpened):
            return
        if head is None or head.settings is None:
            self._numbers[opened.table] = max(opened.number, self._numbers.get(opened.table, 0))
            return
        ruleset = self._rulesets.get(opened.ruleset_digest)
        self.unchecked += ruleset is None
        round_ = _OpenRound(stream.removeprefix("round:"), RoundState(), ruleset, head.settings)
        self._open[stream] = round_
        settings = head.settings
        wanted = [("currency", settings.currency), ("limits", settings.limits), ("ruleset", settings.ruleset)]
        if isinstance(head.state, TableState):
            wanted.append(("number", head.state.number + 1))
        for name, value in wanted:
            if getattr(opened, name) != value:
                yield Discrepancy(0, opened.NAME, name, getattr(opened, name), value, stream)

    def _end_append(self) -> Iterator[Discrepancy]:
        """Whatever must have followed by now is missing; a round that has ended is forgotten."""
        append, self._append = self._append, None
        if append is None:
            return
        due = self._due(append) if append.due is None else append.due
        for stream, events in due.items():
            for event in events:
                yield Discrepancy(None, event.NAME, "event", "missing", event, stream)
        yield from append.overdrawn
        if append.round.state.server_seed is not None:
            self._open.pop(append.stream, None)

    # -- what must follow

    def _due(self, append: _Append) -> dict[str, deque[Event]]:
        round_ = append.round
        due: dict[str, deque[Event]] = {}
        if round_.ruleset is None:
            return due
        if isinstance(append.events[0], e.RoundOpened):
            due |= self._due_table(append.events[0], round_)
        followed = self._due_jackpot(append)
        from_bank = {event.box: event.from_bank for event in followed if isinstance(event, j.JackpotPaid)}
        if followed and round_.settings.jackpot is not None:
            due[jackpot_stream(round_.settings.jackpot)] = deque(followed)
        due |= self._due_accounts(append, round_.ruleset, from_bank)
        return due

    def _due_table(self, opened: e.RoundOpened, round_: _OpenRound) -> dict[str, deque[Event]]:
        stream = table_stream(opened.table)
        state = self._heads[stream].state
        numbered = None if state is None else t.number_round(state, table=opened.table, round_id=round_.id)
        return {} if not isinstance(numbered, t.RoundNumbered) else {stream: deque([numbered])}

    def _due_jackpot(self, append: _Append) -> list[j.JackpotEvent]:
        round_ = append.round
        jackpot, ruleset, state = round_.settings.jackpot, round_.ruleset, round_.state
        if jackpot is None or ruleset is None or not any(box.bonus for box in state.boxes):
            return []
        pot = self._state(jackpot_stream(jackpot), JackpotState(round_.settings.currency, 0, 0))
        followed = j.follow(pot, jackpot, round_.id, append.events, append.first_seq, ruleset)
        for event in append.events:
            if isinstance(event, e.RoundVoided) and state.upcard is not None:
                winnings = sum(box.jackpot for box in state.boxes)
                pot = followed[-1].after if followed else pot
                followed.append(j.reverse(pot, jackpot, round_.id, event, winnings))
        return followed

    def _due_accounts(
        self, append: _Append, ruleset: Ruleset, from_bank: dict[int, int]
    ) -> dict[str, deque[Event]]:
        round_, due = append.round, dict[str, deque[Event]]()
        opened, state = round_.state.opened, round_.state
        if opened is None:
            return due
        moved, ending = moves(append.events, append.first_seq, state), _ending(append.events)
        noted = a.Round(round_.id, opened.table, opened.number, round_.settings.jackpot)
        for player in sorted({box.player for box in state.boxes}):
            own = [move for move in moved if move.player == player]
            stream = account_stream(round_.settings.currency, player)
            if own or ending is not None:
                head = self._heads.get(stream, _NOWHERE)
                reserved = owed_bets(state, ruleset, player)
                before = self._state(stream, a.NEW_ACCOUNT)
                posted = a.post(
                    before, head.seq + 1, noted, own, reserved=reserved, ending=ending, from_bank=from_bank
                )
                due[stream] = deque(posted)
                append.overdrawn += _overdrawn(stream, round_.id, own, posted)
        return due

    def _state(self, stream: str, otherwise: Any) -> Any:
        state = self._heads.get(stream, _NOWHERE).state
        return otherwise if state is None else state

    # -- accounts, jackpots, tables

    def _other(self, stored: Record, codec: Codec[Any]) -> Iterator[Discrepancy]:
        stream, seq, body = stored.stream, stored.seq, stored.body
        head = self._heads.setdefault(stream, _Head())
        try:
            record = codec.decode(body)
        except BodyError as error:
            yield Discrepancy(seq, None, "body", str(error), "a canonical event body", stream)
            head.seq, head.leaf, head.state = seq, leaf_hash(body), None
            return
        if stored.type != record.data.NAME:
            yield Discrepancy(seq, record.data.NAME, "topic", stored.type, record.data.NAME, stream)
        due = None
        if isinstance(record.data, _OF_ROUNDS):
            yield from self._skipped(stream, record.data)
            due = self._next_due(stream, record.data)
            if due is None and not self._is_unknown(record.data):
                yield Discrepancy(seq, record.data.NAME, "event", record.data, "not to be here", stream)
        else:
            yield from self._end_append()
        expected = self._again(stream, seq, head, record) if due is None else due
        # A round is opened at its own moment, and numbered not before its table's last event.
        at = None if due is None or self._append is None or isinstance(due, t.RoundNumbered) else self._append.at
        yield from _held(codec, stream, seq, body, record, head, expected, at)
        if due is None:
            yield from self._lawful(stream, head, seq, record)
        self._note(stream, seq, body, head, record)

    def _skipped(self, stream: str, event: Event) -> Iterator[Discrepancy]:
        """What should have come in this stream before the event, if the event itself is due later."""
        if self._append is None:
            return
        if self._append.due is None:
            self._append.due = self._due(self._append)
        due = self._append.due.get(stream)
        if due and type(event) in (type(each) for each in due):
            while type(due[0]) is not type(event):
                missing = due.popleft()
                yield Discrepancy(None, missing.NAME, "event", "missing", missing, stream)

    def _next_due(self, stream: str, event: Event) -> Event | None:
        due = None if self._append is None or self._append.due is None else self._append.due.get(stream)
        return due.popleft() if due and type(due[0]) is type(event) else None

    def _is_unknown(self, event: Any) -> bool:
        """Whether the event is about a round whose ruleset is not known here."""
        round_ = self._open.get(f"round:{event.round}")
        return round_ is not None and round_.ruleset is None

    def _again(self, stream: str, seq: int, head: _Head, record: EventRecord[Any]) -> Event | Refusal:
        """The event counted again from itself and the state before it."""
        event = record.data
        if isinstance(event, a.AccountEvent):
            undone = self._undone(stream, event.reverses) if isinstance(event, a.FundsReversed) else None
            return account_again(stream, head.state, seq, event, undone)
        if isinstance(event, j.JackpotEvent):
            return jackpot_again(stream, head.state, event)
        assert isinstance(event, t.TableEvent)  # there is no fourth kind
        return table_again(head.state, seq, event, self._numbers.get(stream.removeprefix("table:"), 0))

    def _undone(self, stream: str, seq: int) -> a.AccountEvent | None:
        body = self._lookup(stream, seq) if 0 <= seq < 2**63 else None
        try:
            return None if body is None else a.CODEC.decode(body).data
        except BodyError:
            return None

    def _lawful(self, stream: str, head: _Head, seq: int, record: EventRecord[Any]) -> Iterator[Discrepancy]:
        """What no state tells: somebody did it; an undoing names an earlier event, once; the lines balance."""
        event = record.data
        if not is_record_text(getattr(event, "by", "nobody needed")):
            yield Discrepancy(seq, event.NAME, "by", event.by, "who did it", stream)
        for difference in unbalanced(getattr(event, "lines", [])):
            yield Discrepancy(seq, event.NAME, *difference, stream)
        if isinstance(event, a.FundsReversed):
            undone = set() if head.undone is None else head.undone
            if event.reverses >= seq or event.reverses < 0 or event.reverses in undone:
                words = "an earlier event that is not undone yet"
                yield Discrepancy(seq, event.NAME, "reverses", event.reverses, words, stream)
            head.undone = undone | {event.reverses}

    def _note(self, stream: str, seq: int, body: bytes, head: _Head, record: EventRecord[Any]) -> None:
        """Go on from what is recorded, so that one forgery is named where it is."""
        event = record.data
        head.seq, head.leaf, head.at, head.state = seq, leaf_hash(body), record.at, event.after
        if isinstance(event, t.TableOpened | t.TableChanged):
            head.settings = event.settings
        if isinstance(event, t.TableEvent):
            return
        currency = stream.split(":", 2)[1] if isinstance(event, a.AccountEvent) else event.after.currency
        book = self.books.setdefault(currency, Book())
        book.events += 1
        book.accounts += isinstance(event, a.AccountOpened)
        for line in getattr(event, "lines", ()):
            book.totals[line.account] += line.amount

    # -- sums

    def _sums(self, currency: str, book: Book) -> Iterator[Discrepancy]:
        if book.sum:
            yield Discrepancy(None, None, "sum", book.sum, 0, currency)
        balances, pots = 0, Counter[str]()
        for stream, head in self._heads.items():
            if stream.startswith(f"account:{currency}:") and head.state is not None:
                balances += head.state.balance
            elif stream.startswith("jackpot:") and head.state is not None and head.state.currency == currency:
                pots[jackpot_account(stream.partition(":")[2])] += head.state.pot
        if balances != book.totals[PLAYER]:
            yield Discrepancy(None, None, PLAYER, book.totals[PLAYER], balances, currency)
        for name in sorted({*pots, *(name for name in book.totals if name.startswith("jackpot:"))}):
            if pots[name] != book.totals[name]:
                yield Discrepancy(None, None, name, book.totals[name], pots[name], currency)


def _held(
    codec: Codec[Any], stream: str, seq: int, body: bytes, record: EventRecord[Any], head: _Head,
    expected: Event | Refusal, at: str | None,
) -> Iterator[Discrepancy]:  # fmt: skip
    """The stored bytes against those of the expected event; `at` is the time of its append, None: any later one."""
    wanted_at = _time(record.at, head.at, at)
    if isinstance(expected, Event) and wanted_at == record.at:
        again = codec.encode(expected, at=record.at, prev=head.leaf, seq=head.seq + 1, stream=stream)
        if again == body and seq == head.seq + 1:
            yield from _below_zero(stream, seq, record)
            return
    frame = (
        ("at", record.at, wanted_at), ("prev", record.prev, head.leaf), ("seq", record.seq, head.seq + 1),
        ("stream", record.stream, stream), ("v", record.v, 1),
    )  # fmt: skip
    found = [*frame, *differences(record.data, expected)]
    wrong = [each for each in found if each[1] != each[2]]
    if seq != record.seq:
        wrong.append(("seq", seq, record.seq))
    for field_, recorded, wanted in wrong:
        yield Discrepancy(seq, record.data.NAME, field_, recorded, wanted, stream)
    if not wrong:
        yield Discrepancy(seq, record.data.NAME, "body", "another spelling", "the canonical spelling", stream)
    yield from _below_zero(stream, seq, record)


def _time(recorded: str, before: str, append: str | None) -> str:
    """What an event's time should be, itself if it may be what it is."""
    if append is not None:
        return append
    if TIME_PATTERN.fullmatch(recorded) is None:
        return "a time as 2026-01-31T23:59:59.999Z"
    return recorded if recorded >= before else f"not before {before}"


def _below_zero(stream: str, seq: int, record: EventRecord[Any]) -> Iterator[Discrepancy]:
    after = record.data.after
    for field_ in ("balance", "pot"):
        if getattr(after, field_, 0) < 0:
            yield Discrepancy(seq, record.data.NAME, f"after.{field_}", getattr(after, field_), "0 or more", stream)


def _overdrawn(
    stream: str, round_id: str, own: Sequence[Move], posted: Sequence[a.AccountEvent]
) -> Iterator[Discrepancy]:
    """Rule 3.7: no stake of money that other rounds hold.  What the same append paid before may be staked in it."""
    if {move.entry for move in own} == {Entry.STAKED}:
        left = posted[0].after.available(round_id)
        if left < 0:
            yield Discrepancy(None, posted[0].NAME, "available", left, "0 or more", stream)


def _ending(events: Iterable[e.RoundEvent]) -> Ending | None:
    for event in events:
        if isinstance(event, e.RoundVoided):
            return Ending.VOIDED
        if isinstance(event, e.RoundClosed):
            return Ending.CLOSED
    return None


_KINDS: Final[dict[str, Codec[Any]]] = {"account": a.CODEC, "jackpot": j.CODEC, "table": t.CODEC}
_OF_ROUNDS: Final = (
    a.RoundEntry, a.RoundFinished, j.JackpotFed, j.JackpotPaid, j.JackpotRestarted, j.JackpotReversed, t.RoundNumbered,
)  # fmt: skip
_NOWHERE: Final = _Head()
