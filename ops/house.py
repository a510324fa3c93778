"""The house at work: opens rounds, takes choices, keeps every fact before anyone hears of it.

The seed of a round comes from the operating system, is committed to before the first stake, and lives sealed in the
round's first event until the round has ended.  A round that was left off goes on from its record alone, with the same
cards at the same decision (rule 10.1).

Not here: the rules (`domain.round`), the store (`ops.journal`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from domain.deal.commitment import client_entropy, commitment
from domain.deal.shuffle import NO_BEACON, Deck, SeededDeck
from domain.record import Record, leaf_hash
from domain.round import choices as c
from domain.round.codec import append_to, decode
from domain.round.decisions import advance, open_round, reveal_seed
from domain.round.events import CardsDealt, RoundEvent, RoundOpened
from domain.round.phases import Phase
from domain.round.refusals import Refusal
from domain.round.state import RoundState, apply, fold
from domain.ruleset import Limits, Ruleset
from ops import clock
from ops.journal import Appended, Journal, RoundIdentity, Stored
from ops.keys import DataKey, SealedSeed, SealedSeedError, open_seed, seal_seed


class UnknownRound(LookupError):
    """There is no such round; one line."""


@dataclass
class LiveRound:
    """A round that is being played.  The deck stays out of its repr: it holds cards that nobody may see yet."""

    stream: str
    ruleset: Ruleset
    state: RoundState = field(repr=False)
    head: tuple[int, str]
    last_at: str
    beacon: bytes = field(default=NO_BEACON, repr=False)
    deck: Deck | None = field(default=None, repr=False)

    @property
    def round_id(self) -> bytes:
        """The 16 bytes of the round's id."""
        return bytes.fromhex(self.stream.removeprefix("round:"))


@dataclass
class Planned:
    """What choices lead to: the round's state after them, and their events."""

    state: RoundState = field(repr=False)
    deck: Deck | None = field(repr=False)
    beacon: bytes = field(repr=False)
    events: list[RoundEvent]


Funds = Callable[[Planned, c.PlaceBox | c.BoxChoice], int]
Choices = Iterable[c.Choice] | Callable[[Planned], Iterable[c.Choice]]
"""Choices that are known, or that are made one by one while the round goes on."""


class House:
    """Plays rounds against a journal.

    New rounds are sealed with `data_key` (where it is a function: with what it gives when a round is opened);
    `data_keys` gives the key of an id.
    """

    def __init__(
        self,
        journal: Journal,
        data_key: DataKey | Callable[[], DataKey],
        data_keys: Callable[[str], DataKey] | None = None,
    ) -> None:
        self.journal = journal
        self._newest_key = data_key if callable(data_key) else lambda: data_key
        self._data_keys = data_keys or {self.data_key.id: self.data_key}.__getitem__

    @property
    def data_key(self) -> DataKey:
        """The key that new rounds are sealed with."""
        return self._newest_key()

    def open_round(
        self, ruleset: Ruleset, *, table: str, number: int, limits: Limits, currency: str
    ) -> LiveRound | Refusal:
        """Commit to a fresh seed.  Raises RoundTaken if the table's number is used already."""
        made = self.make_round(ruleset, table=table, number=number, limits=limits, currency=currency)
        if isinstance(made, Refusal):
            return made
        live, records, identity = made
        # A crash right after this leaves a committed round without stakes; it is listed as open and can be voided.
        self.journal.append(f"open {live.stream}", records[0].body, records, [identity])
        return live

    def make_round(
        self,
        ruleset: Ruleset,
        *,
        table: str,
        number: int,
        limits: Limits,
        currency: str,
        round_id: bytes | None = None,
        not_before: str = "",
    ) -> tuple[LiveRound, list[Record], RoundIdentity] | Refusal:
        """A round with a fresh seed, and what is to be appended so that it is opened, at `not_before` or later."""
        round_id, server_seed = round_id or clock.new_round_id(), secrets.token_bytes(32)
        promise = commitment(round_id, ruleset.digest, server_seed)
        opened = open_round(
            ruleset,
            table=table,
            number=number,
            currency=currency,
            limits=limits,
            commitment=promise,
            sealed_seed=seal_seed(self.data_key, round_id, promise, server_seed).to_text(),
        )
        if isinstance(opened, Refusal):
            return opened
        stream, at = f"round:{round_id.hex()}", max(clock.now(), not_before)
        records = append_to(stream, None, [opened], at)
        state = RoundState()
        apply(state, opened)
        live = LiveRound(stream, ruleset, state, (0, leaf_hash(records[0].body)), at)
        return live, records, RoundIdentity(table, number, promise, stream)

    def choose(self, live: LiveRound, *choices: c.Choice, command_id: str | None = None) -> list[RoundEvent] | Refusal:
        """Make choices together: all of them are kept in one append, or the first refusal comes back and none is.

        The same command id with the same choices gets the first answer again, and the round in hand catches up with its
        record; with other choices it raises CommandMismatch.  Raises StreamConflict if somebody else has moved the
        round on.  After an error the round in hand is as it was.
        """
        request = _request(live.stream, choices)
        answered = None if command_id is None else self.journal.answered(command_id, request)
        if answered is not None:
            return self._answer_again(live, answered)
        planned = self.plan(live, choices)
        if isinstance(planned, Refusal):
            return planned
        events = planned.events
        at = max(clock.now(), live.last_at)  # a clock set back must not make time run backwards in a round
        records = append_to(live.stream, live.head, events, at)
        # A crash right after this leaves the choice made: the round goes on from its record.
        appended = self.journal.append(command_id or f"{live.stream} {secrets.token_hex(16)}", request, records)
        if appended.repeated:
            return self._answer_again(live, appended)
        live.head, live.last_at = (records[-1].seq, leaf_hash(records[-1].body)), at
        live.state, live.beacon = planned.state, planned.beacon
        live.deck = None if planned.state.phase is Phase.ENDED else planned.deck
        return events

    def plan(self, live: LiveRound, choices: Choices, funds: Funds | None = None) -> Planned | Refusal:
        """What these choices lead to, together, or the first refusal.  Nothing is kept and the round is as it was.

        `funds`: what the player of a choice has at hand, given the state and the events so far; None where no account
        stands behind the round.
        """
        planned = Planned(live.state.copy(), live.deck, live.beacon, [])
        for choice in choices(planned) if callable(choices) else choices:
            refusal = self._take(live, planned, choice, funds)
            if refusal is not None:
                return refusal
        if planned.state.phase in (Phase.CLOSED, Phase.VOIDED):
            revealed = reveal_seed(self._server_seed(live))
            apply(planned.state, revealed)
            planned.events.append(revealed)
        return planned

    def _take(self, live: LiveRound, planned: Planned, choice: c.Choice, funds: Funds | None) -> Refusal | None:
        if isinstance(choice, c.Deal):
            planned.beacon = choice.beacon or NO_BEACON
        elif funds is not None and not isinstance(choice, c.Void):
            choice = msgspec.structs.replace(choice, funds=funds(planned, choice))
        # A beacon of a wrong size is refused by the rules before any card is needed.
        needs_deck = not isinstance(choice, c.PlaceBox) and len(planned.beacon) == len(NO_BEACON)
        if planned.deck is None and needs_deck:
            planned.deck = self._deck(live, planned.state, planned.beacon)
        made = advance(planned.state, live.ruleset, planned.deck, choice)
        if isinstance(made, Refusal):
            return made
        planned.events += made
        return None

    def load(self, stream: str, rulesets: Mapping[str, Ruleset]) -> LiveRound:
        """Take up a round from its record.  `rulesets` by hex digest.  Raises UnknownRound."""
        stored = self.journal.read_stream(stream)
        if not stored:
            raise UnknownRound(f"round {stream.removeprefix('round:')}: there is no such round")
        return self.take_up(stored, rulesets.get)

    def take_up(self, stored: list[Stored], known: Callable[[str], Ruleset | None]) -> LiveRound:
        """A round from its events; `known` gives the ruleset of a hex digest.  Raises UnknownRound."""
        stream, opened = stored[0].record.stream, decode(stored[0].record.body).data
        ruleset = known(opened.ruleset_digest) if isinstance(opened, RoundOpened) else None
        if ruleset is None:
            raise UnknownRound(f"round {stream.removeprefix('round:')}: its ruleset is not known here")
        live = LiveRound(stream, ruleset, RoundState(), (0, ""), "")
        self._catch_up(live, stored)
        return live

    def _answer_again(self, live: LiveRound, answered: Appended) -> list[RoundEvent]:
        """The events that a command was answered with before; the round in hand catches up with its record."""
        stored = self.journal.read_stream(live.stream)
        self._catch_up(live, stored)
        return [decode(event.record.body).data for event in stored if event.position in answered.positions]

    def _catch_up(self, live: LiveRound, stored: list[Stored]) -> None:
        """Make a round in hand what its record says."""
        records = [decode(event.record.body) for event in stored]
        live.state = fold(record.data for record in records)
        live.head = (records[-1].seq, leaf_hash(stored[-1].record.body))
        live.last_at = records[-1].at
        dealt = next((record.data for record in records if isinstance(record.data, CardsDealt)), None)
        # A round that has ended needs no deck, and so no key.
        if dealt is not None and live.deck is None and live.state.phase is not Phase.ENDED:
            live.beacon = NO_BEACON if dealt.beacon is None else bytes.fromhex(dealt.beacon)
            live.deck = self._deck(live, live.state, live.beacon)

    def _deck(self, live: LiveRound, state: RoundState, beacon: bytes) -> SeededDeck:
        seeds = [(box.box, bytes.fromhex(box.client_seed)) for box in state.boxes]
        seed, digest = self._server_seed(live), live.ruleset.digest
        return SeededDeck(seed, live.round_id, digest, client_entropy(seeds), beacon)

    def _server_seed(self, live: LiveRound) -> bytes:
        opened = live.state.opened
        assert opened is not None  # a live round has been opened
        sealed = SealedSeed.from_text(opened.sealed_seed)
        promise = bytes.fromhex(opened.commitment)
        try:
            data_key = self._data_keys(sealed.key_id)
        except KeyError:
            reason = f"sealed under data key {sealed.key_id}, which is not at hand"
            raise SealedSeedError(f"{live.stream}: {reason}") from None
        return open_seed(data_key, sealed, live.round_id, promise, live.ruleset.digest)


def _request(stream: str, choices: tuple[c.Choice, ...]) -> bytes:
    """What a command asks for, in bytes that are the same whenever it is asked."""
    return msgspec.json.encode([stream, *((type(choice).__name__, choice) for choice in choices)], order="sorted")
