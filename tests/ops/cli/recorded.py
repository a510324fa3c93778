"""Recorded rounds to show: simulated ones, with the times and the chain that the journal would give them."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import NamedTuple

from domain.record import leaf_hash
from domain.round.codec import EventRecord, append_to, decode
from domain.ruleset import Ruleset
from domain.rulesets import released_rulesets
from ops.clock import as_text, round_id_at
from ops.simulation import Seat, steps

MIDNIGHT = 1_790_035_200_000  # 2026-09-22T00:00:00Z


class RecordedRound(NamedTuple):
    """A whole round as `show` gets it."""

    stream: str
    bodies: list[bytes]
    records: list[EventRecord]
    ruleset: Ruleset

    def up_to(self, count: int) -> RecordedRound:
        """The round as it stood after so many events."""
        return self._replace(bodies=self.bodies[:count], records=self.records[:count])


@cache
def recorded_round(ruleset_name: str, seed: int) -> RecordedRound:
    """One simulated round; its second append comes after midnight."""
    random = Random(seed)
    ruleset = released_rulesets()[ruleset_name]
    round_id = round_id_at(MIDNIGHT, random.randbytes(10))
    seat = Seat("table-1", 1234, round_id, random.randbytes(32), ruleset.table_defaults, jackpot=1_000_000)
    stream = f"round:{round_id.hex()}"
    bodies: list[bytes] = []
    head: tuple[int, str] | None = None
    for number, events in enumerate(steps(random, ruleset, seat)):
        appended = append_to(stream, head, events, as_text(MIDNIGHT - 1 + number))
        bodies += [record.body for record in appended]
        head = (appended[-1].seq, leaf_hash(appended[-1].body))
    return RecordedRound(stream, bodies, [decode(body) for body in bodies], ruleset)
