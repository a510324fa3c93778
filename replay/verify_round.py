"""Is this round's record true?  Decide it again and compare byte for byte; if anything differs, climb the ladder.

Format: docs/formats/verdict.md.  The quick way and the ladder answer the same question: when every recomputed event
equals the recorded one, every body is canonical and every link fits, no rung can fail (a property test holds the two
against each other).  Nothing here raises for a bad record.

Not here: where rounds come from (`ops`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from domain.deal.commitment import client_entropy, commitment
from domain.deal.shuffle import NO_BEACON, SeededDeck
from domain.record import CHAIN_START, TIME_PATTERN, BodyError, leaf_hash
from domain.round import events as e
from domain.round.codec import body_of, decode, time_of
from domain.round.dealer import Dealer
from domain.round.decisions import reveal_seed, take
from domain.round.phases import Phase
from domain.round.state import RoundState
from replay.checks import LADDER
from replay.evidence import Evidence, Rulesets, round_id
from replay.redecide import CHOICES
from replay.verdict import ALL_VERIFIED, NO_LEDGER, NO_LOG, Verdict


def verify_round(stream: str, bodies: Sequence[bytes], rulesets: Rulesets) -> Verdict:
    """The verdict on one round, given its bodies in order and the known rulesets by digest."""
    if is_exactly_as_recomputed(stream, bodies, rulesets):
        return Verdict(stream, ALL_VERIFIED)
    return climb(stream, bodies, rulesets)


def climb(stream: str, bodies: Sequence[bytes], rulesets: Rulesets) -> Verdict:
    """Every rung by itself, with all that each finds."""
    evidence = Evidence(stream, bodies, rulesets)
    return Verdict(stream, (*(check(evidence) for check in LADDER), NO_LEDGER, NO_LOG))


def is_exactly_as_recomputed(stream: str, bodies: Sequence[bytes], rulesets: Rulesets) -> bool:
    """The quick way: whether a finished round's bodies are just the bytes that come out when it is decided again.

    Only what somebody chose is read from the record, and the times; every body is made anew and held against it.
    """
    identity = round_id(stream)
    try:
        opened, revealed = decode(bodies[0]).data, decode(bodies[-1]).data
        if not isinstance(opened, e.RoundOpened) or not isinstance(revealed, e.SeedRevealed) or identity is None:
            return False
        ruleset, server_seed = rulesets.get(opened.ruleset_digest), bytes.fromhex(revealed.server_seed)
        if ruleset is None or ruleset.name != opened.ruleset:
            return False
        if commitment(identity, ruleset.digest, server_seed).hex() != opened.commitment:
            return False
        dealer = Dealer(RoundState(), ruleset, None)
        dealer.note(opened)
        return _comes_out(dealer, Recorded(stream, bodies), identity, server_seed)
    except (BodyError, ValueError, IndexError):
        return False  # the ladder says what it is


def _comes_out(dealer: Dealer, recorded: Recorded, identity: bytes, server_seed: bytes) -> bool:
    """Whether the recorded bodies are those of the dealer's events, choice by choice to the end."""
    state, events = dealer.state, dealer.events
    while recorded.match(events):
        if state.phase in _SETTLED:
            dealer.note(reveal_seed(server_seed))
            continue
        if state.phase is Phase.ENDED:
            return recorded.at_end()
        event = recorded.next_event()
        choose = CHOICES.get(type(event))
        if choose is None:
            return False
        if isinstance(event, e.CardsDealt):
            seeds = [(box.box, bytes.fromhex(box.client_seed)) for box in state.boxes]
            beacon = NO_BEACON if event.beacon is None else bytes.fromhex(event.beacon)
            dealer.deck = SeededDeck(server_seed, identity, dealer.ruleset.digest, client_entropy(seeds), beacon)
        if take(dealer, choose(event)) is not None:
            return False
    return False


_SETTLED: Final = frozenset({Phase.CLOSED, Phase.VOIDED})


class Recorded:
    """The stored bodies of a stream, walked once from the first to the last."""

    __slots__ = ("bodies", "done", "last_at", "prev", "stream")

    def __init__(self, stream: str, bodies: Sequence[bytes]) -> None:
        self.stream = stream.encode()
        self.bodies = bodies
        self.done = 0
        self.prev = CHAIN_START.encode()
        self.last_at = b""

    def match(self, events: list[e.RoundEvent]) -> bool:
        """Whether the next bodies are those of the events not matched yet."""
        for seq in range(self.done, len(events)):
            if seq == len(self.bodies):
                return False
            body = self.bodies[seq]
            at = time_of(body)
            if body != body_of(events[seq], at, self.prev, seq, self.stream):
                return False
            if at != self.last_at:
                if at < self.last_at or TIME_PATTERN.fullmatch(at.decode()) is None:
                    return False
                self.last_at = at
            self.prev = leaf_hash(body).encode()
        self.done = len(events)
        return True

    def next_event(self) -> e.RoundEvent:
        """The event of the next body, which must be somebody's choice."""
        return decode(self.bodies[self.done]).data

    def at_end(self) -> bool:
        """Whether there is no body left."""
        return self.done == len(self.bodies)
