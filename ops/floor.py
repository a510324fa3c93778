"""The casino floor: rounds are opened at tables and played, and every move of money is posted in the same append.

    floor = Floor(journal, data_key)
    opened = floor.open_round(Command("req-1", body, "server-1"), "table-1")
    floor.choose(Command("req-2", body, "server-1"), opened.stream, PlaceBox(…))

One append holds the round's events, then those of its players' accounts, then those of its table's jackpot: a crash
leaves all or nothing.  A round is remembered between commands, but memory decides nothing: an append behind the journal
is refused by the store, and then the round is read again.

Not here: the rules (`domain.round`), what a move of money is (`domain.ledger`), tables and cash (`pit`, `cashier`).
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from domain import account as a
from domain import jackpot as j
from domain import table as t
from domain import wager as w
from domain.access import ACCESS_CODEC, Intervention, RoundIntervened, access_stream
from domain.account import LARGEST_BALANCE, AccountState, Ending, account_stream, is_name, name_refusal
from domain.deal.shuffle import DECK_SIZE
from domain.jackpot import jackpot_stream
from domain.ledger import Entry, Move, moves, owed_bets
from domain.log.checkpoint import Checkpoint
from domain.record import Record
from domain.round import choices as c
from domain.round import events as e
from domain.round.codec import append_to, decode
from domain.round.dealer import whose_turn
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from domain.round.state import BoxState, RoundState, fold
from domain.ruleset import Ruleset
from domain.table import Abandoned, TableSettings, table_stream
from ops import clock
from ops.cashier import Cashier, read_account, unknown_account
from ops.commands import Carried, Command, Plan, carry_out, head_of, newest
from ops.house import Choices, House, LiveRound, Planned, UnknownRound
from ops.journal import Journal, Stored
from ops.keys import DataKey
from ops.pit import Pit, read_jackpot, unknown_table
from ops.receipts import Issued, LogBehind, Receipts

_ROUND: Final = re.compile("round:[0-9a-f]{32}")

REMEMBERED: Final = 10_000
"""Rounds kept in memory between their commands: some 10 kB each."""


class Kept(NamedTuple):
    """A round in memory, with the settings that its table had when it opened it; None where no table was kept."""

    live: LiveRound
    settings: TableSettings | None


class _Made(NamedTuple):
    """What a plan would come to: the round after it, and its events."""

    kept: Kept
    events: list[e.RoundEvent]


Beside = Callable[["LiveRound", _Made], list[Record]]
"""What stands beside a round's own events in an append, by the round before it and after it."""


@dataclass(frozen=True)
class RoundDone:
    """A round after a command (or as it stands): its state, this command's events, the accounts that it moved."""

    stream: str
    ruleset: Ruleset
    state: RoundState
    seq: int
    at: str
    events: list[e.RoundEvent]
    accounts: Mapping[str, AccountState]
    settings: TableSettings | None
    receipts: Sequence[Issued] = ()

    @property
    def round_id(self) -> str:
        """The round's id in hex."""
        return self.stream.removeprefix("round:")


class Floor:
    """Plays rounds for players with accounts.  Safe to share among threads."""

    def __init__(
        self,
        journal: Journal,
        data_key: DataKey | Callable[[], DataKey],
        data_keys: Callable[[str], DataKey] | None = None,
        receipts: Receipts | None = None,
    ) -> None:
        """`receipts`: where a log is kept, what binds wagers to it."""
        self.journal = journal
        self._receipts = receipts
        self.cashier = Cashier(journal)
        self.pit = Pit(journal)
        self.house = House(journal, data_key, data_keys)
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()

    # -- commands

    def open_round(self, command: Command, table: str) -> RoundDone | Refusal:
        """The table's next round: its commitment is in the journal before anybody can stake on it."""
        made: list[_Made] = []

        def decide(_: bool) -> Plan | Refusal:
            stored = newest(self.journal, table_stream(table))
            return unknown_table(table) if stored is None else self._opening(table, stored, made)

        return self._done(carry_out(self.journal, command, decide), made)

    def choose(self, command: Command, stream: str, *choices: c.Choice) -> RoundDone | Refusal:
        """Choices of players, together, or a void: all are kept, or the first refusal comes back and none is.

        Who voided a round stands beside it; so does the checkpoint of the log that accepted wagers name.  Raises
        ValueError for no choice, and for a deal: that is another command (`deal`), which looks at the pot.  Raises
        LogBehind where a log is kept and has no checkpoint with the round's commitment in it.
        """
        if not choices or any(isinstance(choice, c.Deal) for choice in choices):
            raise ValueError("choose: at least one choice, none of them a deal")
        void = next((choice for choice in choices if isinstance(choice, c.Void)), None)
        beside = None if void is None else self._laid_on(command, Intervention.VOID, void.reason)
        if any(isinstance(choice, c.PlaceBox) for choice in choices):
            beside = self._accepted(command, stream)
        return self._play(command, stream, lambda kept, desk: choices, beside=beside)

    def void_before_reveal(self, command: Command, stream: str, reason: str) -> RoundDone | Refusal:
        """A void by somebody who may not void a hand that the dealer has opened: who would lose could call a fault."""
        beside = self._laid_on(command, Intervention.VOID, reason)
        return self._play(command, stream, lambda kept, desk: [c.Void(reason)], before=_not_revealed, beside=beside)

    def deal(self, command: Command, stream: str, beacon: bytes | None = None) -> RoundDone | Refusal:
        """Close the bets and deal; shares of the jackpot follow from its pot at this moment (rule 5.3)."""
        return self._play(command, stream, lambda kept, desk: [c.Deal(jackpot=desk.pot(), beacon=beacon)])

    def finish(self, command: Command, stream: str) -> RoundDone | Refusal:
        """End an abandoned round by its table's published policy; each decision is recorded as the house's."""
        beside = self._laid_on(command, Intervention.FINISH, "abandoned")
        return self._play(command, stream, _by_policy, before=_not_abandoned, beside=beside)

    # -- reading

    def round(self, stream: str) -> RoundDone | None:
        """A round as its record says now, None if there is none (or it can't be read here)."""
        kept = self._load(stream)
        return None if kept is None else _standing(kept)

    def recall(self, carried: Carried) -> RoundDone:
        """What a command led to, from its records and what lay before them."""
        own = [record for record in carried.records if record.stream.startswith("round:")]
        last = own[-1]
        stored = [event for event in self.journal.read_stream(last.stream) if event.record.seq <= last.seq]
        records = [decode(event.record.body) for event in stored]
        state = fold(record.data for record in records)
        ruleset = None if state.opened is None else self.pit.known_as(state.opened.ruleset_digest)
        if ruleset is None:
            raise UnknownRound(f"{last.stream}: its ruleset is not known here")
        events = [record.data for record in records[-len(own) :]]
        settings = self.pit.settings_of_round(last.stream, stored[0].position)
        accounts, receipts = _accounts(carried.records), self._issued(state, carried)
        return RoundDone(last.stream, ruleset, state, last.seq, records[-1].at, events, accounts, settings, receipts)

    # -- a command's work

    def _opening(self, table: str, stored: Stored, made: list[_Made]) -> Plan | Refusal:
        head = self.pit.read_table(stored)
        ruleset = self.pit.known(head.settings.ruleset)
        if ruleset is None:
            return Refusal(RefusalCode.RULESET_UNKNOWN, f"{head.settings.ruleset} is not known here.")
        round_id = clock.new_round_id()
        numbered = t.number_round(head.state, table=table, round_id=round_id.hex())
        if isinstance(numbered, Refusal):
            return numbered
        begun = self.house.make_round(
            ruleset,
            table=table,
            number=numbered.after.number,
            limits=head.settings.limits,
            currency=head.settings.currency,
            round_id=round_id,
            not_before=head.at,
        )
        if isinstance(begun, Refusal):
            return begun
        live, records, identity = begun
        assert live.state.opened is not None  # just now
        made.append(_Made(Kept(live, head.settings), [live.state.opened]))
        records += t.CODEC.append_to(table_stream(table), head_of(stored.record), [numbered], live.last_at)
        return Plan(records, [identity])

    def _play(
        self,
        command: Command,
        stream: str,
        choosing: Callable[[Kept, _Desk], Choices],
        before: Callable[[Kept], Refusal | None] | None = None,
        beside: Beside | None = None,
    ) -> RoundDone | Refusal:
        made: list[_Made] = []

        def decide(fresh: bool) -> Plan | Refusal:
            kept = self._load(stream) if fresh else self._remembered(stream)
            if kept is None:
                return Refusal(RefusalCode.ROUND_UNKNOWN, f"There is no round {stream.removeprefix('round:')}.")
            refusal = None if before is None else before(kept)
            if refusal is not None:
                return refusal
            planned = self._appending(kept, choosing, made)
            if beside is None or isinstance(planned, Refusal):
                return planned
            return Plan([*planned.records, *beside(kept.live, made[-1])])

        return self._done(carry_out(self.journal, command, decide), made)

    def _appending(
        self, kept: Kept, choosing: Callable[[Kept, _Desk], Choices], made: list[_Made]
    ) -> Plan | Refusal:
        """The records of one command: the round's, its players', its jackpot's."""
        live, settings = kept
        desk = _Desk(self.journal, kept)
        choices = choosing(kept, desk)
        refusal = desk.read_accounts(live, choices)
        if refusal is not None:
            return refusal
        planned = self.house.plan(live, choices, desk.funds if desk.keeps else None)
        if isinstance(planned, Refusal):
            return planned
        at = max(clock.now(), live.last_at, desk.last_at)
        records = append_to(live.stream, live.head, planned.events, at)
        moved = LiveRound(
            live.stream, live.ruleset, planned.state, head_of(records[-1]), at, planned.beacon, planned.deck
        )
        made.append(_Made(Kept(moved, settings), planned.events))
        return Plan([*records, *desk.post(live, planned, at)])

    # -- beside a round's events

    def _laid_on(self, command: Command, action: Intervention, reason: str) -> Beside:
        """Who ended the round from outside, in the same append."""

        def records(before: LiveRound, made: _Made) -> list[Record]:
            round_id = before.round_id.hex()
            event = RoundIntervened(action=action, by=command.by, reason=reason, round=round_id)
            return ACCESS_CODEC.append_to(*self._end_of(access_stream(round_id)), [event], made.kept.live.last_at)

        return records

    def _accepted(self, command: Command, stream: str) -> Beside | None:
        """Which checkpoint the wagers name, in the same append; None where no log is kept.  Raises LogBehind."""
        checkpoint = self._covering(command, stream)
        if checkpoint is None:
            return None

        def records(before: LiveRound, made: _Made) -> list[Record]:
            wagers = w.wagers_in(made.events, before.head[0] + 1)
            event = w.WagersAccepted(
                checkpoint_root=checkpoint.root.hex(),
                checkpoint_size=checkpoint.size,
                round=before.round_id.hex(),
                wagers=wagers,
            )
            beside = w.receipt_stream(event.round)
            return w.CODEC.append_to(*self._end_of(beside), [event], made.kept.live.last_at)

        return records

    def _covering(self, command: Command, stream: str) -> Checkpoint | None:
        if self._receipts is None or not _ROUND.fullmatch(stream):
            return None
        opening = self.journal.read_event(stream, 0)
        if opening is None:
            return None
        try:
            return self._receipts.covering(opening.position)
        except LogBehind:
            # What was done or refused before has its answer, whatever has become of the log since.
            if self.journal.answered(command.id, command.request) or self.journal.refused(command.id, command.request):
                return None
            raise

    def _end_of(self, stream: str) -> tuple[str, tuple[int, str] | None]:
        stored = newest(self.journal, stream)
        return stream, None if stored is None else head_of(stored.record)

    # -- memory

    def _remembered(self, stream: str) -> Kept | None:
        with self._lock:
            kept = self._kept.get(stream)
        return self._load(stream) if kept is None else kept

    def _remember(self, kept: Kept) -> None:
        if kept.live.deck is not None:
            # A deck is shuffled as far as it is asked for, which two threads can't do at once.
            kept.live.deck.cards(0, DECK_SIZE)
        with self._lock:
            self._kept[kept.live.stream] = kept
            self._kept.move_to_end(kept.live.stream)
            if kept.live.state.phase is Phase.ENDED:
                del self._kept[kept.live.stream]
            elif len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)

    def _load(self, stream: str) -> Kept | None:
        """A round from its record, with what its table had set when it was opened."""
        stored = self.journal.read_stream(stream) if _ROUND.fullmatch(stream) else []
        if not stored:
            return None
        try:
            live = self.house.take_up(stored, self.pit.known_as)
        except UnknownRound:
            return None
        kept = Kept(live, self.pit.settings_of_round(stream, stored[0].position))
        self._remember(kept)
        return kept

    def _done(self, carried: Carried | Refusal, made: list[_Made]) -> RoundDone | Refusal:
        if isinstance(carried, Refusal):
            return carried
        if carried.repeated:
            return self.recall(carried)
        # Only now is the journal where the last plan wanted it.
        kept, events = made[-1]
        self._remember(kept)
        return replace(
            _standing(kept, events, _accounts(carried.records)), receipts=self._issued(kept.live.state, carried)
        )

    def _issued(self, state: RoundState, carried: Carried) -> list[Issued]:
        if self._receipts is None or state.opened is None:
            return []
        return self._receipts.issue(state.opened, carried.records, carried.positions)


def _standing(
    kept: Kept, events: list[e.RoundEvent] | None = None, accounts: Mapping[str, AccountState] | None = None
) -> RoundDone:
    live, settings = kept
    return RoundDone(
        live.stream, live.ruleset, live.state, live.head[0], live.last_at, events or [], accounts or {}, settings
    )


def _accounts(records: Sequence[Record]) -> dict[str, AccountState]:
    """The state of each player's account after an append; later events stand over earlier ones."""
    found = [read_account(Stored(0, record)) for record in records if record.stream.startswith("account:")]
    return {done.player: done.state for done in found}


class _Desk:
    """The money side of one command: whose accounts it may move, what they have, what is posted."""

    def __init__(self, journal: Journal, kept: Kept) -> None:
        self._journal = journal
        self._live, self._settings = kept
        self._heads: dict[str, Stored] = {}
        self.keeps = self._settings is not None
        self.last_at = ""

    # -- reading

    def pot(self) -> int:
        """The table's pot as it stands; 0 where nothing can be won."""
        if self._settings is None or self._settings.jackpot is None:
            return 0
        stream = jackpot_stream(self._settings.jackpot)
        self._heads |= self._journal.heads([stream])
        return read_jackpot(self._heads[stream]).state.pot

    def read_accounts(self, live: LiveRound, choices: Choices) -> Refusal | None:
        """The accounts of everybody in the round, and of who is coming; a player without one can't come."""
        if self._settings is None:
            return None
        coming = [] if callable(choices) else [choice for choice in choices if isinstance(choice, c.PlaceBox)]
        if not all(is_name(choice.player) for choice in coming):
            return name_refusal("player's name")
        players = {box.player for box in live.state.boxes} | {choice.player for choice in coming}
        streams = {player: account_stream(self._settings.currency, player) for player in players}
        wanted = list(streams.values())
        jackpot = self._settings.jackpot
        if jackpot is not None and jackpot_stream(jackpot) not in self._heads:
            wanted.append(jackpot_stream(jackpot))
        self._heads |= self._journal.heads(wanted)
        for choice in coming:
            stored = self._heads.get(streams[choice.player])
            if stored is None:
                return unknown_account(self._settings.currency, choice.player)
            balance = read_account(stored).state.balance
            if balance > LARGEST_BALANCE:
                text = f"A balance of {balance} is too large to play with: the most is {LARGEST_BALANCE}."
                return Refusal(RefusalCode.BALANCE_TOO_LARGE, text)
        self.last_at = max([self.last_at, *(_at(stored) for stored in self._heads.values())])
        return None

    def funds(self, planned: Planned, choice: c.PlaceBox | c.BoxChoice) -> int:
        """Rule 3.7: what the player of a choice can stake in this round now."""
        live, round_id = self._live, self._live.round_id.hex()
        box = planned.state.box(choice.box)
        player = choice.player if isinstance(choice, c.PlaceBox) or box is None else box.player
        if player is None or self._settings is None:
            return 0
        stored = self._heads.get(account_stream(self._settings.currency, player))
        available = 0 if stored is None else read_account(stored).state.available(round_id)
        moved = [move for move in moves(planned.events, 0, planned.state) if move.player == player]
        spent = sum(move.amount if move.entry is Entry.STAKED else -move.amount for move in moved)
        return available - spent - owed_bets(planned.state, live.ruleset, player, choice.box)

    # -- posting

    def post(self, live: LiveRound, planned: Planned, at: str) -> list[Record]:
        """The account and jackpot events that stand beside the round's events."""
        if self._settings is None:
            return []
        first_seq = live.head[0] + 1
        moved = moves(planned.events, first_seq, planned.state)
        followed = self._jackpot_events(live, planned, first_seq)
        from_bank = {event.box: event.from_bank for event in followed if isinstance(event, j.JackpotPaid)}
        ending = {Phase.ENDED: Ending.VOIDED if planned.state.voided else Ending.CLOSED}.get(planned.state.phase)
        records: list[Record] = []
        for player in sorted({box.player for box in planned.state.boxes}):
            own = [move for move in moved if move.player == player]
            if own or ending is not None:
                records += self._account_records(player, own, planned, ending, from_bank, at)
        if followed and self._settings.jackpot is not None:
            stream = jackpot_stream(self._settings.jackpot)
            records += j.CODEC.append_to(stream, head_of(self._heads[stream].record), followed, at)
        return records

    def _account_records(
        self,
        player: str,
        own: list[Move],
        planned: Planned,
        ending: Ending | None,
        from_bank: Mapping[int, int],
        at: str,
    ) -> list[Record]:
        assert self._settings is not None and planned.state.opened is not None  # who keeps accounts has both
        stored = self._heads[account_stream(self._settings.currency, player)]
        opened = planned.state.opened
        round_ = a.Round(self._live.round_id.hex(), opened.table, opened.number, self._settings.jackpot)
        reserved = owed_bets(planned.state, self._live.ruleset, player)
        state, seq = read_account(stored).state, stored.record.seq + 1
        events = a.post(state, seq, round_, own, reserved=reserved, ending=ending, from_bank=from_bank)
        return a.CODEC.append_to(stored.record.stream, head_of(stored.record), events, at)

    def _jackpot_events(self, live: LiveRound, planned: Planned, first_seq: int) -> list[j.JackpotEvent]:
        jackpot = None if self._settings is None else self._settings.jackpot
        if jackpot is None or not any(box.bonus for box in planned.state.boxes):
            return []
        state, round_id = read_jackpot(self._heads[jackpot_stream(jackpot)]).state, live.round_id.hex()
        followed = j.follow(state, jackpot, round_id, planned.events, first_seq, live.ruleset)
        voided = planned.state.voided
        if voided is not None and planned.state.upcard is not None:
            winnings = sum(box.jackpot for box in planned.state.boxes)
            # A choice of the same command may have won it.
            state = followed[-1].after if followed else state
            followed.append(j.reverse(state, jackpot, round_id, voided, winnings))
        return followed


def _at(stored: Stored) -> str:
    if stored.record.stream.startswith("account:"):
        return read_account(stored).at
    return read_jackpot(stored).at


# -- rounds that were left


def _not_revealed(kept: Kept) -> Refusal | None:
    if kept.live.state.phase is not Phase.REVEALED:
        return None
    text = "The dealer's hand is open: only the back office may void this round."
    return Refusal(RefusalCode.TOO_LATE_TO_VOID, text, kept.live.ruleset.clause("10.2"))


def _not_abandoned(kept: Kept) -> Refusal | None:
    """A round is abandoned when nothing has happened in it for as long as its table says."""
    wait = 0 if kept.settings is None else kept.settings.abandoned_after
    # A clock set back makes no decision of the future.
    since = max(clock.milliseconds(clock.now()) - clock.milliseconds(kept.live.last_at), 0)
    if kept.live.state.phase is Phase.ENDED:
        return Refusal(RefusalCode.ROUND_ENDED, "The round is over.")
    if since >= 1000 * wait:
        return None
    text = f"The last decision is {since // 1000} seconds old; the table calls a round abandoned after {wait}."
    return Refusal(RefusalCode.NOT_ABANDONED, text)


def _by_policy(kept: Kept, desk: _Desk) -> Choices:
    """The choices that the house makes for boxes whose player has left."""
    policy = Abandoned.VOID if kept.settings is None else kept.settings.abandoned
    if policy is Abandoned.VOID or kept.live.state.phase is Phase.BETTING:
        return [c.Void("abandoned: voided by the table's policy")]

    def choosing(planned: Planned) -> Iterator[c.Choice]:
        while (box := whose_turn(planned.state, kept.live.ruleset)) is not None:
            bet = c.Bet(box=box.box, by=e.By.HOUSE)
            can_bet = desk.funds(planned, bet) >= kept.live.ruleset.bet_antes * box.ante
            stays = bool(box.insurance) or (policy is Abandoned.BET and can_bet)
            yield _automatic(box, planned.state.phase, stays)

    return choosing


def _automatic(box: BoxState, phase: Phase, stays: bool) -> c.Choice:
    """What the house decides for a box: it buys nothing; an insured box stays, since it must bet (rule 7.3)."""
    number, house = box.box, e.By.HOUSE
    if phase is Phase.REVEALED:
        return c.TakeAnte(box=number, by=house)
    if box.dark:
        return c.DeclineSixthCard(box=number, by=house)
    return c.Bet(box=number, by=house) if stays else c.Fold(box=number, by=house)
