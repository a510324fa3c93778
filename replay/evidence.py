"""What a verification works on: the stored bodies of one round, read as far as they can be read.

Not here: judging what was read (`checks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from domain.cards import CardError
from domain.deal.commitment import client_entropy
from domain.deal.shuffle import NO_BEACON, SeededDeck
from domain.record import BodyError
from domain.round import events as e
from domain.round.codec import EventRecord, read
from domain.round.phases import Phase, next_phase
from domain.round.state import RoundState, apply
from domain.ruleset import Ruleset

Rulesets = Mapping[str, Ruleset]
"""Rulesets by the hex digest of their document."""


def by_digest(rulesets: Iterable[Ruleset]) -> dict[str, Ruleset]:
    """The table that a verification looks a round's ruleset up in."""
    return {ruleset.digest.hex(): ruleset for ruleset in rulesets}


def round_id(stream: str) -> bytes | None:
    """The 16 bytes of a round's id from its stream name, None if the name has none."""
    try:
        identity = bytes.fromhex(stream[6:])
    except ValueError:
        return None
    return identity if len(identity) == 16 and stream == f"round:{identity.hex()}" else None


class Malformed(NamedTuple):
    """A field of a recorded choice that can't be what anybody chose, and what it should have been."""

    place: int
    event: e.RoundEvent
    field: str
    wanted: str


class Evidence:
    """One round's record.  `read` has a record or the reason why there is none, body by body."""

    def __init__(self, stream: str, bodies: Sequence[bytes], rulesets: Rulesets) -> None:
        self.stream = stream
        self.bodies = bodies
        self.rulesets = rulesets
        self.read: list[EventRecord | BodyError] = [read(body) for body in bodies]

    @classmethod
    def of_records(
        cls, stream: str, records: list[EventRecord], state: RoundState, rulesets: Rulesets, bodies: Sequence[bytes]
    ) -> Evidence:
        """A record that was read and folded already, and found well-formed."""
        evidence = cls(stream, (), rulesets)
        evidence.bodies = bodies
        evidence.read = list(records)
        evidence.state = state
        return evidence

    @cached_property
    def placed(self) -> list[tuple[int, EventRecord]]:
        """The bodies that could be read, with their place in the stream (whatever `seq` they claim)."""
        return [(place, record) for place, record in enumerate(self.read) if not isinstance(record, BodyError)]

    @cached_property
    def records(self) -> list[EventRecord]:
        """The bodies that could be read."""
        return [record for _, record in self.placed]

    @cached_property
    def events(self) -> list[e.RoundEvent]:
        """Their events."""
        return [record.data for record in self.records]

    @cached_property
    def state(self) -> RoundState:
        """The round as its events tell it, as far as they can be folded."""
        state = RoundState()
        for event in self.events:
            apply_anyhow(state, event)
        return state

    @cached_property
    def opened(self) -> e.RoundOpened | None:
        """The event that opened the round."""
        return next((event for event in self.events if isinstance(event, e.RoundOpened)), None)

    @cached_property
    def ruleset(self) -> Ruleset | None:
        """The ruleset that the round pins by its digest; None if no such document is known."""
        return None if self.opened is None else self.rulesets.get(self.opened.ruleset_digest)

    @cached_property
    def server_seed(self) -> bytes | None:
        """The revealed seed, None while it is hidden or if it is no seed."""
        for event in self.events:
            if isinstance(event, e.SeedRevealed):
                return _hex(event.server_seed, 32)
        return None

    @cached_property
    def over(self) -> bool:
        """Whether the round has ended: its seed is out, or the phases lead to the end."""
        phase = Phase.UNOPENED
        for event in self.events:
            phase = next_phase(phase, event) or phase
        return phase is Phase.ENDED or any(isinstance(event, e.SeedRevealed) for event in self.events)

    @cached_property
    def deck(self) -> SeededDeck | None:
        """The deck that seed, ruleset and client seeds give; None where one of them is missing or malformed."""
        identity = round_id(self.stream)
        if self.ruleset is None or self.server_seed is None or identity is None or self.malformed_entropy:
            return None
        seeds: list[tuple[int, bytes]] = []
        beacon = NO_BEACON
        for event in self.events:
            if isinstance(event, e.BoxPlaced):
                seeds.append((event.box, bytes.fromhex(event.client_seed)))
            elif isinstance(event, e.CardsDealt) and event.beacon is not None:
                beacon = bytes.fromhex(event.beacon)
        return SeededDeck(self.server_seed, identity, self.ruleset.digest, client_entropy(sorted(seeds)), beacon)

    @cached_property
    def malformed_entropy(self) -> list[Malformed]:
        """What players or a beacon can't have brought to the deal, so that there is no deck to recompute."""
        found, boxes = [], set[int]()
        for place, record in self.placed:
            event = record.data
            if isinstance(event, e.BoxPlaced):
                seed = _hex(event.client_seed, None)
                if seed is None or len(seed) > 255:
                    found.append(Malformed(place, event, "client_seed", "at most 255 bytes of lower-case hex"))
                if not 1 <= event.box <= 255 or event.box in boxes:
                    found.append(Malformed(place, event, "box", "a box of the table, each once"))
                boxes.add(event.box)
            elif isinstance(event, e.CardsDealt) and event.beacon is not None and _hex(event.beacon, 32) is None:
                found.append(Malformed(place, event, "beacon", "null or 32 bytes of lower-case hex"))
        return found


def apply_anyhow(state: RoundState, event: e.RoundEvent) -> None:
    """Fold an event that may have been tampered with: a text that is no card is left out."""
    with suppress(CardError, ValueError):
        apply(state, event)


def _hex(text: str, size: int | None) -> bytes | None:
    """Bytes of lower-case hex of a given size, None if it isn't that."""
    try:
        value = bytes.fromhex(text)
    except ValueError:
        return None
    return value if value.hex() == text and size in (None, len(value)) else None
