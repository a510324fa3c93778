"""A small casino without a database: records composed as one append each, for the tests of money in a replay.

Several rounds run at once at tables that feed one jackpot, between them the cashier works.  What an append holds and in
which order is that of `ops.floor`; here it is written down a second time, by hand.

Not here: the players (`ops.simulation`), what the records are held against (the tests beside this file).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from domain import account as a
from domain import jackpot as j
from domain import table as t
from domain.codec import Codec
from domain.ledger import Move, moves, owed_bets
from domain.record import CHAIN_START, Record, leaf_hash
from domain.round import events as e
from domain.round.choices import Void
from domain.round.codec import append_to
from domain.round.decisions import decide, reveal_seed
from domain.round.refusals import Refusal
from domain.round.state import RoundState, apply
from domain.ruleset import Limits, Ruleset
from ops.clock import as_text
from ops.simulation import Seat, steps
from replay.postings import Postings, Table

LIMITS = Limits(ante_min=100, ante_max=5_000, ante_step=50, bonus_min=50, bonus_max=2_000, payout_max=None)
JACKPOT = "grand"
PLAYERS = ("player-1", "player-2", "player-3")


@dataclass
class Casino:
    """All records so far, in the order of their positions, and the state after the last of each stream."""

    currency: str = "EUR"
    seed_amount: int = 1_000_000
    records: list[Record] = field(default_factory=list)
    heads: dict[str, tuple[int, str]] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, t.TableSettings] = field(default_factory=dict)
    milliseconds: int = 1_790_000_000_000
    crooked: Callable[[list[Move]], list[Move]] = list
    """What a dishonest cashier makes of the moves of an append."""
    together: float = 0.1
    """How often a choice is kept in the append of the one before it."""
    random: Random = field(default_factory=lambda: Random(8))

    def append(self, codec: Codec[Any], stream: str, events: Sequence[Any]) -> None:
        """One stream's part of an append."""
        self._store(codec.append_to(stream, self.heads.get(stream), events, self.at))
        self.states[stream] = events[-1].after

    def _store(self, records: Sequence[Record]) -> None:
        self.records += records
        self.heads[records[-1].stream] = (records[-1].seq, leaf_hash(records[-1].body))

    @property
    def at(self) -> str:
        return as_text(self.milliseconds)

    def next_append(self) -> None:
        """Each append at its own moment."""
        self.milliseconds += 7

    # -- accounts and tables

    def account(self, player: str) -> str:
        return a.account_stream(self.currency, player)

    def balance(self, player: str) -> a.AccountState:
        state = self.states[self.account(player)]
        assert isinstance(state, a.AccountState)
        return state

    def cash(self, player: str, made: a.AccountEvent | Refusal) -> None:
        """One event of the cashier's, unless it is refused."""
        if isinstance(made, Refusal):
            return
        self.next_append()
        self.append(a.CODEC, self.account(player), [made])

    def welcome(self, *players: str, amount: int = 10_000_000) -> None:
        """Accounts with money in them."""
        for player in players:
            opened = a.open_account(None, player=player, currency=self.currency, by="cashier-1", test=False)
            self.cash(player, opened)
            self.cash(player, a.deposit(self.balance(player), amount=amount, by="cashier-1", reference="till 7"))

    def open_jackpot(self) -> None:
        stream = j.jackpot_stream(JACKPOT)
        if stream in self.states:
            return
        opened = j.open_jackpot(
            None, jackpot=JACKPOT, currency=self.currency, seed_amount=self.seed_amount, by="office-1"
        )
        assert not isinstance(opened, Refusal)
        self.next_append()
        self.append(j.CODEC, stream, [opened])

    def open_table(self, table: str, ruleset: Ruleset, limits: Limits = LIMITS) -> None:
        jackpot = JACKPOT if ruleset.jackpot_shares else None
        if jackpot:
            self.open_jackpot()
        settings = t.TableSettings(t.Abandoned.FOLD, 3600, self.currency, jackpot, limits, ruleset.name)
        state = self.states.get(j.jackpot_stream(JACKPOT)) if jackpot else None
        opened = t.open_table(
            None, settings, table=table, ruleset=ruleset, jackpot=state, by="office-1", reason="season"
        )
        assert not isinstance(opened, Refusal), opened
        self.next_append()
        self.append(t.CODEC, t.table_stream(table), [opened])
        self.settings[table] = settings

    # -- rounds

    def play(
        self, random: Random, ruleset: Ruleset, table: str, void_when: Callable[[RoundState], bool] = lambda _: False
    ) -> Iterator[str]:
        """One round at a table, an append at each step; yields the round's stream.  It is voided when `void_when`."""
        state: t.TableState = self.states[t.table_stream(table)]
        jackpot = self.settings[table].jackpot
        seat = Seat(
            table, state.number + 1, random.randbytes(16), random.randbytes(32), self.settings[table].limits,
            currency=self.currency,
        )  # fmt: skip
        stream, round_state = f"round:{seat.round_id.hex()}", RoundState()
        appends = steps(random, ruleset, seat)
        while True:
            # Rule 5.3: the pot as it stands when the cards are dealt, not when the round was opened.
            object.__setattr__(seat, "jackpot", self.states[j.jackpot_stream(jackpot)].pot if jackpot else 0)
            events = next(appends, None)
            if events is None:
                return
            # Several choices may be kept in one append, as when the house finishes a round that was left.
            while round_state.opened is not None and self.random.random() < self.together:
                events = [*events, *next(appends, [])]
            self.next_append()
            self.post(stream, events, round_state, ruleset, table)
            yield stream
            if round_state.server_seed is None and void_when(round_state):
                voided = decide(round_state, ruleset, None, Void("power failure"))
                assert not isinstance(voided, Refusal)
                self.next_append()
                self.post(stream, [*voided, reveal_seed(seat.server_seed)], round_state, ruleset, table)
                yield stream
                return

    def post(
        self, stream: str, events: list[e.RoundEvent], state: RoundState, ruleset: Ruleset, table: str
    ) -> None:
        """One append: the round's events, then those of accounts and jackpot."""
        first_seq = self.heads[stream][0] + 1 if stream in self.heads else 0
        self._store(append_to(stream, self.heads.get(stream), events, self.at))
        for event in events:
            apply(state, event)
        round_id, jackpot = stream.removeprefix("round:"), self.settings[table].jackpot
        if isinstance(events[0], e.RoundOpened):
            numbered = t.number_round(self.states[t.table_stream(table)], table=table, round_id=round_id)
            self.append(t.CODEC, t.table_stream(table), [numbered])
        followed = self._follow(round_id, events, first_seq, state, ruleset) if jackpot else []
        from_bank = {event.box: event.from_bank for event in followed if isinstance(event, j.JackpotPaid)}
        self._post_accounts(round_id, self.crooked(moves(events, first_seq, state)), state, ruleset, from_bank, jackpot)
        if followed:
            self.append(j.CODEC, j.jackpot_stream(JACKPOT), followed)

    def _follow(
        self, round_id: str, events: list[e.RoundEvent], first_seq: int, state: RoundState, ruleset: Ruleset
    ) -> list[j.JackpotEvent]:
        pot = self.states[j.jackpot_stream(JACKPOT)]
        if not any(box.bonus for box in state.boxes):
            return []
        followed = j.follow(pot, JACKPOT, round_id, events, first_seq, ruleset)
        if state.voided is not None and state.upcard is not None:
            winnings = sum(box.jackpot for box in state.boxes)
            pot = followed[-1].after if followed else pot
            followed.append(j.reverse(pot, JACKPOT, round_id, state.voided, winnings))
        return followed

    def _post_accounts(
        self, round_id: str, moved: Sequence[Move], state: RoundState, ruleset: Ruleset, from_bank: dict[int, int],
        jackpot: str | None,
    ) -> None:  # fmt: skip
        assert state.opened is not None
        ending = None
        if state.server_seed is not None:
            ending = a.Ending.VOIDED if state.voided else a.Ending.CLOSED
        round_ = a.Round(round_id, state.opened.table, state.opened.number, jackpot)
        for player in sorted({box.player for box in state.boxes}):
            own, stream = [move for move in moved if move.player == player], self.account(player)
            if own or ending is not None:
                posted = a.post(
                    self.states[stream], self.heads[stream][0] + 1, round_, own,
                    reserved=owed_bets(state, ruleset, player), ending=ending, from_bank=from_bank,
                )  # fmt: skip
                self.append(a.CODEC, stream, posted)

    # -- looking at it

    def bodies(self, stream: str) -> list[bytes]:
        return [record.body for record in self.records if record.stream == stream]

    def postings(self, stream: str) -> Postings:
        """What a reader of the journal hands to the rung."""
        return postings_of(self.records, stream, self.settings)


def postings_of(records: Sequence[Record], stream: str, settings: dict[str, t.TableSettings]) -> Postings:
    """As `ops.postings` reads them, from records in memory."""
    mention = f'"round":"{stream.removeprefix("round:")}"'.encode()
    table, streams = None, dict[str, list[tuple[int, bytes]]]()
    for name in {record.stream for record in records}:
        rows = [(record.seq, record.body) for record in records if record.stream == name]
        places = [place for place, (_, body) in enumerate(rows) if mention in body]
        if not places:
            continue
        if name.startswith("table:"):
            number = t.CODEC.decode(rows[places[0]][1]).data.after.number
            table = Table(settings[name.removeprefix("table:")], number)
        elif name.startswith("account:"):
            streams[name] = rows[max(places[0] - 1, 0) : places[-1] + 1]
        elif name.startswith("jackpot:"):
            wanted = sorted({near for place in places for near in (place - 1, place) if near >= 0})
            streams[name] = [rows[place] for place in wanted]
    return Postings(table, streams)


def casino(
    seed: int, rulesets: Sequence[Ruleset], rounds: int = 4, *, cashier: bool = True, house: Casino | None = None
) -> Casino:
    """An evening: so many rounds, some at once, with a cashier between them."""
    random, house = Random(seed), house or Casino()
    house.welcome(*PLAYERS)
    for ruleset in rulesets:
        house.open_table(_table_of(ruleset), ruleset)
    running: list[Iterator[str]] = []
    while rounds or running:
        if rounds and len(running) < 2 and random.random() < 0.5:
            ruleset = random.choice(list(rulesets))
            void_when = (lambda state: random.random() < 0.3) if random.random() < 0.2 else (lambda _: False)
            running.append(house.play(random, ruleset, _table_of(ruleset), void_when))
            rounds -= 1
        if running:
            going = random.choice(running)
            if next(going, None) is None:
                running.remove(going)
        if cashier and random.random() < 0.15:
            work(house, random)
    return house


# -- forging


def forged(records: Sequence[Record], stream: str, seq: int, change: Callable[[Any], None]) -> list[Record]:
    """The records with the data of one event changed and every hash of its stream made anew."""
    changed = []
    for record in records:
        if (record.stream, record.seq) == (stream, seq):
            plain = msgspec.json.decode(record.body)
            change(plain["data"])
            record = Record(stream, seq, plain["type"], _encoded(plain))
        changed.append(record)
    return rehashed(changed)


def rehashed(records: Sequence[Record]) -> list[Record]:
    """Dense, chained streams again, whatever was taken out, put in or changed."""
    heads, chained = dict[str, tuple[int, str]](), list[Record]()
    for record in records:
        seq, prev = heads.get(record.stream, (-1, CHAIN_START))
        plain = msgspec.json.decode(record.body) | {"prev": prev, "seq": seq + 1, "stream": record.stream}
        body = _encoded(plain)
        heads[record.stream] = (seq + 1, leaf_hash(body))
        chained.append(Record(record.stream, seq + 1, plain["type"], body))
    return chained


def _encoded(plain: dict[str, Any]) -> bytes:
    """As `canonical_json`, which would refuse a number that no record may hold."""
    return msgspec.json.encode(plain, order="sorted")


def work(house: Casino, random: Random) -> None:
    """Something that the cashier does."""
    player = random.choice(PLAYERS)
    state, seq = house.balance(player), house.heads[house.account(player)][0]
    amount, choice = random.randint(1, 5_000), random.randrange(4)
    last = a.CODEC.decode(house.bodies(house.account(player))[-1]).data
    if seq > 1 and isinstance(last, a.FundsDeposited | a.FundsWithdrawn | a.FundsAdjusted):
        undone = a.reverse(state, seq, last, by="ann", approver="bob", reason="typo", reference="r-1")
        house.cash(player, undone)
    elif choice == 0:
        house.cash(player, a.deposit(state, amount=amount, by="ann", reference="till 7"))
    elif choice == 1 and state.available() >= amount:
        house.cash(player, a.withdraw(state, amount=amount, by="ann", reference="till 7"))
    elif choice == 2:
        against = random.choice(list(a.Against))
        house.cash(
            player,
            a.adjust(
                state, amount=amount, against=against, by="ann", approver="bob", reason="bonus", reference="b-1"
            ),
        )


def _table_of(ruleset: Ruleset) -> str:
    return f"table-{ruleset.name.partition('@')[0]}"
