"""The house at work: opens rounds, takes choices, keeps every fact before anyone hears of it.

The seed of a round comes from the operating system, is committed to before the first stake, and lives sealed in the
round's first event until the round has ended.  A round that was left off goes on from its record alone, with the same
cards at the same decision (rule 10.1).

Not here: the rules (`domain.round`), the store (`ops.journal`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from domain.deal.commitment import client_entropy, commitment
from domain.deal.shuffle import NO_BEACON, Deck, SeededDeck
from domain.record import leaf_hash
from domain.round import choices as c
from domain.round.codec import append_to, decode
from domain.round.decisions import advance, open_round, reveal_seed
from domain.round.events import CardsDealt, RoundEvent
from domain.round.phases import Phase
from domain.round.refusals import Refusal
from domain.round.state import RoundState, apply
from domain.ruleset import Limits, Ruleset
from ops import clock
from ops.journal import Journal, RoundIdentity
from ops.keys import DataKey, SealedSeed, open_seed, seal_seed


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


class House:
    """Plays rounds against a journal.  New rounds are sealed with `data_key`; `data_keys` gives the key of an id."""

    def __init__(self, journal: Journal, data_key: DataKey, data_keys: Callable[[str], DataKey] | None = None) -> None:
        self.journal = journal
        self.data_key = data_key
        self._data_keys = data_keys or {data_key.id: data_key}.__getitem__

    def open_round(
        self, ruleset: Ruleset, *, table: str, number: int, limits: Limits, currency: str
    ) -> LiveRound | Refusal:
        """Commit to a fresh seed.  Raises RoundTaken if the table's number is used already."""
        round_id, server_seed = clock.new_round_id(), secrets.token_bytes(32)
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
        stream, at = f"round:{round_id.hex()}", clock.now()
        records = append_to(stream, None, [opened], at)
        # A crash right after this leaves a committed round without stakes; it is listed as open and can be voided.
        self.journal.append(f"open {stream}", records[0].body, records, [RoundIdentity(table, number, promise, stream)])
        state = RoundState()
        apply(state, opened)
        return LiveRound(stream, ruleset, state, (0, leaf_hash(records[0].body)), at)

    def choose(self, live: LiveRound, *choices: c.Choice, command_id: str | None = None) -> list[RoundEvent] | Refusal:
        """Make choices together: all of them are kept in one append, or the first refusal comes back and none is.

        After an error of the journal the round in hand is as it was.
        """
        state, deck, events = live.state.copy(), live.deck, list[RoundEvent]()
        beacon = live.beacon
        for choice in choices:
            if isinstance(choice, c.Deal):
                beacon = choice.beacon or NO_BEACON
            if deck is None and not isinstance(choice, c.PlaceBox):
                deck = self._deck(live, state, beacon)
            made = advance(state, live.ruleset, deck, choice)
            if isinstance(made, Refusal):
                return made
            events += made
        if state.phase in (Phase.CLOSED, Phase.VOIDED):
            revealed = reveal_seed(self._server_seed(live))
            apply(state, revealed)
            events.append(revealed)
        self._keep(live, events, command_id)
        live.state, live.deck, live.beacon = state, deck, beacon
        return events

    def load(self, stream: str, rulesets: dict[str, Ruleset]) -> LiveRound:
        """Take up a round from its record.  `rulesets` by hex digest.  Raises UnknownRound."""
        stored = self.journal.read_stream(stream)
        if not stored:
            raise UnknownRound(f"round {stream.removeprefix('round:')}: there is no such round")
        state = RoundState()
        records = [decode(event.record.body) for event in stored]
        for record in records:
            apply(state, record.data)
        opened = state.opened
        if opened is None or opened.ruleset_digest not in rulesets:
            raise UnknownRound(f"round {stream.removeprefix('round:')}: its ruleset is not known here")
        head = (records[-1].seq, leaf_hash(stored[-1].record.body))
        live = LiveRound(stream, rulesets[opened.ruleset_digest], state, head, records[-1].at)
        dealt = next((record.data for record in records if isinstance(record.data, CardsDealt)), None)
        if dealt is not None:
            live.beacon = NO_BEACON if dealt.beacon is None else bytes.fromhex(dealt.beacon)
            live.deck = self._deck(live, state, live.beacon)
        return live

    def _keep(self, live: LiveRound, events: list[RoundEvent], command_id: str | None) -> None:
        at = max(clock.now(), live.last_at)  # a clock set back must not make time run backwards in a round
        records = append_to(live.stream, live.head, events, at)
        command = command_id or f"{live.stream} {records[0].seq}"
        # A crash right after this leaves the choice made: the round goes on from its record.
        self.journal.append(command, b"".join(record.body for record in records), records)
        live.head, live.last_at = (records[-1].seq, leaf_hash(records[-1].body)), at

    def _deck(self, live: LiveRound, state: RoundState, beacon: bytes) -> SeededDeck:
        seeds = [(box.box, bytes.fromhex(box.client_seed)) for box in state.boxes]
        seed, digest = self._server_seed(live), live.ruleset.digest
        return SeededDeck(seed, live.round_id, digest, client_entropy(seeds), beacon)

    def _server_seed(self, live: LiveRound) -> bytes:
        opened = live.state.opened
        assert opened is not None  # a live round has been opened
        sealed = SealedSeed.from_text(opened.sealed_seed)
        promise = bytes.fromhex(opened.commitment)
        return open_seed(self._data_keys(sealed.key_id), sealed, live.round_id, promise, live.ruleset.digest)
