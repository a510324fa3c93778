"""Rounds for the tests of the round: simulated ones from a seed, under every ruleset there is, and hand-made ones.

Not here: the players (`ops.simulation`), what the rounds are held against (the tests beside this file).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from domain.deal.commitment import client_entropy
from domain.deal.shuffle import SeededDeck
from domain.record import Record
from domain.round import events as e
from domain.round.codec import append_to
from domain.ruleset import Limits, Ruleset, load_ruleset
from domain.rulesets import released_rulesets
from ops.simulation import Seat, steps

AT = "2026-01-31T23:59:59.999Z"
TABLES = (
    Limits(ante_min=100, ante_max=5_000, ante_step=50, bonus_min=50, bonus_max=2_000, payout_max=None),
    Limits(ante_min=2, ante_max=5_000, ante_step=2, bonus_min=1, bonus_max=2_000, payout_max=90),
)


class Round(NamedTuple):
    """A finished round: its rules, its secret, its facts as they were appended."""

    ruleset: Ruleset
    stream: str
    server_seed: bytes
    appends: list[list[e.RoundEvent]]

    @property
    def events(self) -> list[e.RoundEvent]:
        """All facts in order."""
        return [event for append in self.appends for event in append]

    @property
    def deck(self) -> SeededDeck:
        """The deck of its seeds."""
        seeds = sorted((b.box, bytes.fromhex(b.client_seed)) for b in self.events if isinstance(b, e.BoxPlaced))
        return SeededDeck(
            self.server_seed, bytes.fromhex(self.stream[6:]), self.ruleset.digest, client_entropy(seeds)
        )

    def records(self) -> list[Record]:
        """Its stored bodies."""
        return append_to(self.stream, None, self.events, AT)


@cache
def all_rulesets() -> dict[str, Ruleset]:
    """The released games, and the houses' own versions that other tests use."""
    others = [load_ruleset(path.read_bytes()) for path in sorted(Path("tests/rulesets").glob("*.json"))]
    return released_rulesets() | {ruleset.name: ruleset for ruleset in others}


@cache
def simulated(name: str, seed: int) -> Round:
    """One round of careless players; the same seed is the same round."""
    random = Random(f"{name} {seed}")
    ruleset = all_rulesets()[name]
    round_id, server_seed = random.randbytes(16), random.randbytes(32)
    seat = Seat("t", seed + 1, round_id, server_seed, TABLES[seed % 2], jackpot=random.choice((0, 7, 1_000_003)))
    return Round(ruleset, f"round:{round_id.hex()}", server_seed, list(steps(random, ruleset, seat)))


def sample(each: int) -> Iterator[Round]:
    """So many rounds of every ruleset."""
    for name in all_rulesets():
        for seed in range(each):
            yield simulated(name, seed)
