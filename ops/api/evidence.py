"""What a round hides until its end: facts, seed, deck, record, and replay's verdict on them.

Every look at a seed, a deck or a record is a fact itself: who looked, under which key, at what and why stands in the
journal before the answer goes out.

Not here: what is open to see while a round runs (`views`).
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Any, Final

import msgspec
from flask import Response
from marshmallow import Schema

from domain.access import ACCESS_CODEC, Hidden, HiddenRead, access_stream
from domain.cards import card_texts
from domain.deal.commitment import client_entropy
from domain.deal.shuffle import NO_BEACON, SeededDeck
from domain.record import BodyError, leaf_hash
from domain.round.events import CardsDealt
from ops import clock
from ops.api import fields, shapes
from ops.api.area import Area
from ops.api.reading import ReadRound, read_round, require_ended
from ops.api.rounds import ROUND
from ops.api.serving import caller, floor, reply, served
from ops.commands import head_of
from ops.evidence_file import gather, log_evidence
from ops.journal import EnvelopeMismatch, StreamConflict
from ops.rulesets import known_rulesets
from replay.evidence import by_digest
from replay.verify_round import verify_round

area = Area("evidence", "What rounds hide until their end")


class Why(Schema):
    reason = fields.RecordText(required=True)


@area.read(f"{ROUND}/events", shapes.RoundEvents, ended=True)
def read_events(_: dict[str, Any], round_id: str) -> Response:
    """Every fact of a round that has ended, without its seed."""
    found = _ended(round_id)
    events = [
        {"seq": record.seq, "at": record.at, "type": record.data.NAME, "data": _without_seed(record.data)}
        for record in found.records
    ]
    return reply({"round": round_id, "events": events}, etag=str(found.done.seq))


def _without_seed(event: Any) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(event)
    return {field: value for field, value in data.items() if field not in _SEEDS}


_SEEDS: Final = frozenset({"sealed_seed", "server_seed"})


@area.read(f"{ROUND}/seed", shapes.Seed, query=Why(), ended=True)
def read_seed(query: dict[str, Any], round_id: str) -> Response:
    """The revealed seed of a round.  The look is recorded."""
    found = _looked_at(round_id, Hidden.SEED, query["reason"])
    opened = found.done.state.opened
    assert opened is not None  # a round begins with its opening
    return reply(
        {
            "round": round_id,
            "server_seed": found.done.state.server_seed,
            "commitment": opened.commitment,
            "ruleset_digest": opened.ruleset_digest,
        }
    )


@area.read(f"{ROUND}/deck", shapes.Deck, query=Why(), ended=True)
def read_deck(query: dict[str, Any], round_id: str) -> Response:
    """All 52 cards of a round in the order of the deal.  The look is recorded."""
    found = _looked_at(round_id, Hidden.DECK, query["reason"])
    return reply({"round": round_id, "cards": _deck(found)})


def _deck(found: ReadRound) -> list[str] | None:
    state = found.done.state
    dealt = next((record.data for record in found.records if isinstance(record.data, CardsDealt)), None)
    if dealt is None:
        return None
    beacon = NO_BEACON if dealt.beacon is None else bytes.fromhex(dealt.beacon)
    seeds = client_entropy([(box.box, bytes.fromhex(box.client_seed)) for box in state.boxes])
    seed = bytes.fromhex(state.server_seed or "")
    deck = SeededDeck(seed, bytes.fromhex(found.done.round_id), found.done.ruleset.digest, seeds, beacon)
    return card_texts(deck.cards(0, CARDS))


CARDS: Final = 52


@area.read(f"{ROUND}/record", shapes.StoredRecord, query=Why(), ended=True)
def read_record(query: dict[str, Any], round_id: str) -> Response:
    """The stored bytes of a round.  The look is recorded."""
    found = _looked_at(round_id, Hidden.RECORD, query["reason"])
    record = [
        {"seq": seq, "position": position, "body": body.decode(), "leaf_hash": leaf_hash(body)}
        for position, (_, seq, _, body) in found.stored
    ]
    return reply({"round": round_id, "record": record})


@area.read(f"{ROUND}/verdict", shapes.Verdict, ended=True)
def read_verdict(_: dict[str, Any], round_id: str) -> Response:
    """Replay's verdict on a round that has ended."""
    stream, journal = f"round:{round_id}", floor().journal
    with suppress(BodyError, EnvelopeMismatch):  # a record that can't be read is what a verdict is for
        _ended(round_id)
    gathered, public = gather(journal, stream), served().log
    log = None if public is None else log_evidence(gathered, public.store, public.trust())
    rulesets = by_digest(known_rulesets(journal))
    return reply(verify_round(stream, gathered.bodies, rulesets, gathered.postings, log).as_json())


def _ended(round_id: str) -> ReadRound:
    found = read_round(round_id)
    require_ended(found)
    return found


def _looked_at(round_id: str, what: Hidden, reason: str) -> ReadRound:
    """A round that has ended, once the look at it stands in the journal."""
    found = _ended(round_id)
    who = caller()
    look = HiddenRead(by=who.person, key=who.key_id, reason=reason, role=who.role, round=round_id, what=what)
    journal, stream = floor().journal, access_stream(round_id)
    while True:
        head = journal.heads([stream]).get(stream)
        records = ACCESS_CODEC.append_to(stream, None if head is None else head_of(head.record), [look], clock.now())
        try:
            # A crash right after this leaves a look that nobody was answered; it stays recorded.
            journal.append(f"look {stream} {secrets.token_hex(16)}", records[0].body, records)
            return found
        except StreamConflict:
            continue  # somebody else looked at the same moment
