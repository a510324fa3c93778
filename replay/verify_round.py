"""Is this round's record true?  Decide it again and compare byte for byte; if anything differs, climb the ladder.

Format: docs/formats/verdict.md.  The quick way and the ladder answer the same question: when every recomputed event
equals the recorded one, every body is canonical and every link fits, no rung can fail (a property test holds the two
against each other).  Nothing here raises for a bad record.

Not here: where rounds come from (`ops`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from domain.deal.commitment import client_entropy, commitment
from domain.deal.shuffle import NO_BEACON, SeededDeck
from domain.record import CHAIN_START, TIME_PATTERN, leaf_hash
from domain.round import events as e
from domain.round.codec import EventRecord, decode_stream, encode_stream
from domain.round.state import RoundState
from replay.checks import LADDER, ledger, log
from replay.evidence import Evidence, Rulesets, round_id
from replay.logged import LogEvidence
from replay.postings import Postings
from replay.redecide import CHOICES, Redecided, redecide
from replay.verdict import ALL_VERIFIED, LOWER_VERIFIED, Verdict


def verify_round(
    stream: str,
    bodies: Sequence[bytes],
    rulesets: Rulesets,
    postings: Postings | None = None,
    logged: LogEvidence | None = None,
) -> Verdict:
    """The verdict on one round, given its bodies in order and the known rulesets by digest.

    `postings`: what accounts and jackpots have of the round; None where the house keeps none.  `logged`: what the
    transparency log has of it; None where nothing is held against one.
    """
    found = _exactly_as_recomputed(stream, bodies, rulesets)
    if found is None:
        return climb(stream, bodies, rulesets, postings, logged)
    if postings is None and logged is None:
        return Verdict(stream, ALL_VERIFIED)
    evidence = Evidence.of_records(stream, *found, rulesets, bodies)
    return Verdict(stream, (*LOWER_VERIFIED, ledger.check(evidence, postings), log.check(evidence, logged)))


def climb(
    stream: str,
    bodies: Sequence[bytes],
    rulesets: Rulesets,
    postings: Postings | None = None,
    logged: LogEvidence | None = None,
) -> Verdict:
    """Every rung by itself, with all that each finds."""
    evidence = Evidence(stream, bodies, rulesets)
    lower = (check(evidence) for check in LADDER)
    return Verdict(stream, (*lower, ledger.check(evidence, postings), log.check(evidence, logged)))


def is_exactly_as_recomputed(stream: str, bodies: Sequence[bytes], rulesets: Rulesets) -> bool:
    """The quick way: whether a finished round's bodies are just the bytes that come out when it is decided again.

    Only what somebody chose is taken from the record, and the times; every body is made anew, chained to the recorded
    one before it, and held against the stored bytes.
    """
    return _exactly_as_recomputed(stream, bodies, rulesets) is not None


def _exactly_as_recomputed(
    stream: str, bodies: Sequence[bytes], rulesets: Rulesets
) -> tuple[list[EventRecord], RoundState] | None:
    """The round's records and its last state, if it is."""
    lines = b"\n".join(bodies) + b"\n"
    try:
        records = decode_stream(lines)
        events = [record.data for record in records]
        again = _decided_again(stream, events, rulesets)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None  # the ladder says what it is
    ats = [record.at for record in records]
    if again is None or len(again.events) != len(bodies) or not _are_times_in_order(ats, again.events):
        return None
    prevs = [CHAIN_START, *map(leaf_hash, bodies[:-1])]
    return (records, again.state) if encode_stream(again.events, ats, prevs, stream) == lines else None


def _decided_again(stream: str, events: list[e.RoundEvent], rulesets: Rulesets) -> Redecided | None:
    """The round as its record should have it; None for a round that has not ended or is not what it was opened as."""
    identity = round_id(stream)
    opened, revealed = (events[0], events[-1]) if events else (None, None)
    if not isinstance(opened, e.RoundOpened) or not isinstance(revealed, e.SeedRevealed) or identity is None:
        return None
    ruleset, server_seed = rulesets.get(opened.ruleset_digest), bytes.fromhex(revealed.server_seed)
    if ruleset is None or ruleset.name != opened.ruleset:
        return None
    if commitment(identity, ruleset.digest, server_seed).hex() != opened.commitment:
        return None
    deck = SeededDeck(server_seed, identity, ruleset.digest, *_public_entropy(events))
    return redecide(events, ruleset, deck, server_seed)


def _public_entropy(events: list[e.RoundEvent]) -> tuple[bytes, bytes]:
    """What players and a beacon brought to the deal: X and B."""
    seeds: list[tuple[int, bytes]] = []
    beacon = NO_BEACON
    for event in events:
        if type(event) is e.BoxPlaced:
            seeds.append((event.box, bytes.fromhex(event.client_seed)))
        elif type(event) is e.CardsDealt:
            beacon = beacon if event.beacon is None else bytes.fromhex(event.beacon)
            break
    return client_entropy(sorted(seeds)), beacon


def _are_times_in_order(ats: list[str], events: list[e.RoundEvent]) -> bool:
    """Whether time never runs backwards, and only choices take time: what follows from one is stored with it."""
    last: str | None = None
    for at, event in zip(ats, events, strict=True):
        if at == last:
            continue
        if TIME_PATTERN.fullmatch(at) is None:
            return False
        if last is not None and (at < last or type(event) not in CHOICES):
            return False
        last = at
    return True
