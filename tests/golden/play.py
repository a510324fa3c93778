"""Rounds for the golden files: simulated players, and every secret, id, time and text drawn from a seed.

The players and stakes are those of `ops.simulation`; added are what the simulation leaves out: tables with limits of
every kind, beacons, decisions that the house made for a player, voids in every phase, text beyond ASCII.

Not here: which rounds are kept (`make_golden`).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from random import Random
from typing import Final, NamedTuple

from msgspec.structs import replace

from domain.deal.commitment import client_entropy, commitment
from domain.deal.shuffle import NO_BEACON, SeededDeck
from domain.record import CHAIN_START, Record, leaf_hash
from domain.round import choices as c
from domain.round import events as e
from domain.round.codec import append_to
from domain.round.decisions import decide, open_round, reveal_seed
from domain.round.phases import Phase
from domain.round.refusals import Refusal
from domain.round.state import RoundState, apply
from domain.ruleset import Limits, Ruleset
from ops.simulation import next_choice, stakes

FIRST_ROUND: Final = datetime(2026, 1, 31, 20, 0, tzinfo=UTC)
TABLES: Final = (
    (
        "golden-1",
        "EUR",
        Limits(ante_min=100, ante_max=100_000, ante_step=100, bonus_min=100, bonus_max=50_000, payout_max=None),
    ),
    (
        "golden-2",
        "USD",
        Limits(ante_min=100, ante_max=5_000, ante_step=50, bonus_min=1, bonus_max=2_000, payout_max=5_000),
    ),
    (
        "Зал «Юг», стол 3",
        "KZT",
        Limits(ante_min=2, ante_max=500, ante_step=2, bonus_min=1, bonus_max=60, payout_max=90),
    ),
    ("Zürich/4", "CHF", Limits(ante_min=40, ante_max=90, ante_step=10, bonus_min=5, bonus_max=900, payout_max=250)),
)
POTS: Final = (0, 7, 1_000_003, 98_765_432)
REASONS: Final = (
    "card jammed in the shoe",
    "Сбой стола: «карта не считана»",
    'dealer said "stop"\n\tsecond line \\ \x7f',
)


class Plan(NamedTuple):
    """All that is fixed about a round before its secret: who sits where with what, and the source of every choice."""

    ruleset: Ruleset
    number: int
    random: Random
    started: datetime
    round_id: bytes
    placed: list[c.PlaceBox]
    deal: c.Deal
    void_after: int | None

    @property
    def table(self) -> tuple[str, str, Limits]:
        """Name, currency and limits."""
        return TABLES[self.number % len(TABLES)]

    def server_seed(self, attempt: int) -> bytes:
        """The secret of this attempt."""
        return sha256(f"dealproof golden seed {self.ruleset.name} {self.number} {attempt}".encode()).digest()

    def deck(self, attempt: int) -> SeededDeck:
        """The deck of this attempt."""
        entropy = client_entropy(sorted((box.box, box.client_seed) for box in self.placed))
        beacon = self.deal.beacon or NO_BEACON
        return SeededDeck(self.server_seed(attempt), self.round_id, self.ruleset.digest, entropy, beacon)


def plan(ruleset: Ruleset, number: int) -> Plan:
    """The n-th round of a ruleset from 1; the same number is the same plan."""
    random = Random(f"dealproof golden {ruleset.name} {number}")
    started = FIRST_ROUND + timedelta(seconds=41 * number, milliseconds=random.randrange(1000))
    placed = [_varied(random, number, box) for box in stakes(random, ruleset, TABLES[number % len(TABLES)][2])]
    if not ruleset.boxes_adjacent:
        random.shuffle(placed)
    beacon = random.randbytes(32) if random.random() < 0.2 else None
    void_after = random.randrange(9) if random.random() < 0.08 else None
    deal = c.Deal(jackpot=random.choice(POTS), beacon=beacon)
    return Plan(ruleset, number, random, started, _round_id(random, started), placed, deal, void_after)


def play(planned: Plan, attempt: int) -> list[Record]:
    """The stored records of a planned round.  Uses up the plan's random source: plan anew for another attempt."""
    stream = f"round:{planned.round_id.hex()}"
    head: tuple[int, str] | None = None
    at, records = planned.started, list[Record]()
    for events in _appends(planned, attempt):
        seq, prev = head or (-1, CHAIN_START)
        time = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        records += append_to(stream, head, events, time)
        head = (seq + len(events), leaf_hash(records[-1].body) if events else prev)
        # Now and then two appends fall into one millisecond.
        at += timedelta(milliseconds=planned.random.choice((0, 1, 730, 4_000)))
    return records


def _appends(planned: Plan, attempt: int) -> Iterator[list[e.RoundEvent]]:
    """The events of each append, as the house would store them."""
    opened = _open(planned, attempt)
    yield [opened]
    state, deck = RoundState(), planned.deck(attempt)
    apply(state, opened)
    commands: list[c.Choice] = [*planned.placed, planned.deal]
    made = 0
    while state.phase is not Phase.ENDED:
        choice = commands.pop(0) if commands else _careless(planned, state)
        if made == planned.void_after and (made == 0 or not commands):
            choice = c.Void(planned.random.choice(REASONS))
        elif not isinstance(choice, c.PlaceBox | c.Deal):
            made += 1
        yield _made(state, planned.ruleset, deck, choice, planned.server_seed(attempt))


def _open(planned: Plan, attempt: int) -> e.RoundOpened:
    table, currency, limits = planned.table
    secret = commitment(planned.round_id, planned.ruleset.digest, planned.server_seed(attempt))
    # The right shape, but no key opens it: nobody needs the seal of a round that is over.
    hidden = planned.random.randbytes(68).hex()
    sealed = f"dp1.{hidden[:16]}.{hidden[16:40]}.{hidden[40:]}"
    opened = open_round(
        planned.ruleset,
        table=table,
        number=planned.number,
        currency=currency,
        limits=limits,
        commitment=secret,
        sealed_seed=sealed,
    )
    assert not isinstance(opened, Refusal), opened
    return opened


def _made(
    state: RoundState, ruleset: Ruleset, deck: SeededDeck, choice: c.Choice, server_seed: bytes
) -> list[e.RoundEvent]:
    """The events of a choice, with the revealed seed where it ended the round; the state moves on."""
    made = decide(state, ruleset, deck, choice)
    assert not isinstance(made, Refusal), (choice, made)
    for event in made:
        apply(state, event)
    if state.phase in (Phase.CLOSED, Phase.VOIDED):
        made = [*made, reveal_seed(server_seed)]
        apply(state, made[-1])
    return made


def _careless(planned: Plan, state: RoundState) -> c.Choice:
    """What the box in turn does, now and then by the house for a player who is gone."""
    choice = next_choice(planned.random, planned.ruleset, state)
    if planned.random.random() < 0.06 and isinstance(choice, c.BoxChoice):
        return replace(choice, by=e.By.HOUSE)
    return choice


def _varied(random: Random, number: int, box: c.PlaceBox) -> c.PlaceBox:
    """Some players have names beyond ASCII, and some client seeds have the greatest length."""
    seed = random.randbytes(255) if random.random() < 0.01 else box.client_seed
    player = box.player.replace("player", "игрок") if number % 5 == 0 else box.player
    return replace(box, player=player, client_seed=seed)


def _round_id(random: Random, started: datetime) -> bytes:
    """A UUIDv7 of the round's time (RFC 9562 section 5.7)."""
    milliseconds = int(started.timestamp()) * 1000 + started.microsecond // 1000
    tail = bytearray(random.randbytes(10))
    tail[0] = tail[0] & 0x0F | 0x70
    tail[2] = tail[2] & 0x3F | 0x80
    return milliseconds.to_bytes(6, "big") + bytes(tail)
