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
        return _plays_out(dealer, bodies, identity, server_seed) and _same_bytes(stream, bodies, dealer.events)
    except (BodyError, ValueError, IndexError):
        return False  # the ladder says what it is


def _plays_out(dealer: Dealer, bodies: Sequence[bytes], identity: bytes, server_seed: bytes) -> bool:
    """Let the dealer take the recorded choices up to the round's end; whether the rules allow them all.

    The house's moves come by themselves, so the body behind the last event that came is the next choice.
    """
    state, events = dealer.state, dealer.events
    while state.phase not in _SETTLED:
        event = decode(bodies[len(events)]).data
        choose = CHOICES.get(type(event))
        if choose is None:
            return False
        if dealer.deck is None and type(event) is e.CardsDealt:
            seeds = [(box.box, bytes.fromhex(box.client_seed)) for box in state.boxes]
            beacon = NO_BEACON if event.beacon is None else bytes.fromhex(event.beacon)
            dealer.deck = SeededDeck(server_seed, identity, dealer.ruleset.digest, client_entropy(seeds), beacon)
        if take(dealer, choose(event)) is not None:
            return False
    events.append(reveal_seed(server_seed))
    return True


_SETTLED: Final = frozenset({Phase.CLOSED, Phase.VOIDED})


def _same_bytes(stream: str, bodies: Sequence[bytes], events: list[e.RoundEvent]) -> bool:
    """Whether these events, with the recorded times, give just these bodies."""
    if len(bodies) != len(events):
        return False
    name, prev, last_at = stream.encode(), CHAIN_START.encode(), b""
    for seq, body in enumerate(bodies):
        at = time_of(body)
        if body != body_of(events[seq], at, prev, seq, name):
            return False
        if at != last_at:
            if at < last_at or TIME_PATTERN.fullmatch(at.decode()) is None:
                return False
            last_at = at
        prev = leaf_hash(body).encode()
    return True
