"""Is this round's record true?  Decide it again and compare byte for byte; if anything differs, climb the ladder.

Format: docs/formats/verdict.md.  The quick way and the ladder answer the same question: when every recomputed event
equals the recorded one, every body is canonical and every link fits, no rung can fail (a property test holds the two
against each other).  Nothing here raises for a bad record.

Not here: where rounds come from (`ops`).
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.deal.commitment import client_entropy, commitment
from domain.deal.shuffle import NO_BEACON, SeededDeck
from domain.record import CHAIN_START, FORMAT_VERSION, TIME_PATTERN, BodyError, leaf_hash
from domain.round import events as e
from domain.round.codec import decode, encode_record
from replay.checks import LADDER
from replay.evidence import Evidence, Rulesets, round_id
from replay.redecide import redecide
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
    """The quick way: whether bytes, chain and every event of a finished round are just what they must be."""
    events = _read_chain(stream, bodies)
    identity = round_id(stream)
    if events is None or identity is None:
        return False
    opened, revealed = events[0], events[-1]
    if not isinstance(opened, e.RoundOpened) or not isinstance(revealed, e.SeedRevealed):
        return False
    ruleset = rulesets.get(opened.ruleset_digest)
    if ruleset is None or ruleset.name != opened.ruleset:
        return False
    try:
        server_seed = bytes.fromhex(revealed.server_seed)
        if commitment(identity, ruleset.digest, server_seed).hex() != opened.commitment:
            return False
        deck = SeededDeck(server_seed, identity, ruleset.digest, *_public_entropy(events))
        return redecide(events, ruleset, deck, server_seed).events == events
    except ValueError:  # text that is no hex, or of a wrong size; the ladder names it
        return False


def _read_chain(stream: str, bodies: Sequence[bytes]) -> list[e.RoundEvent] | None:
    """The events, if every body is canonical, names its stream and place, and links to the one before."""
    events: list[e.RoundEvent] = []
    prev, at = CHAIN_START, ""
    for seq, body in enumerate(bodies):
        try:
            record = decode(body)
        except BodyError:
            return None
        if record.prev != prev or record.seq != seq or record.stream != stream or record.v != FORMAT_VERSION:
            return None
        if encode_record(record) != body:
            return None
        if record.at != at:
            if record.at < at or TIME_PATTERN.fullmatch(record.at) is None:
                return None
            at = record.at
        events.append(record.data)
        prev = leaf_hash(body)
    return events or None


def _public_entropy(events: Sequence[e.RoundEvent]) -> tuple[bytes, bytes]:
    """What players and a beacon brought to the deal."""
    seeds: list[tuple[int, bytes]] = []
    for event in events:
        if isinstance(event, e.BoxPlaced):
            seeds.append((event.box, bytes.fromhex(event.client_seed)))
        elif isinstance(event, e.CardsDealt):
            beacon = NO_BEACON if event.beacon is None else bytes.fromhex(event.beacon)
            return client_entropy(sorted(seeds)), beacon
    return client_entropy(sorted(seeds)), NO_BEACON
