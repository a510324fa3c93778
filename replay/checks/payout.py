"""Is every amount that was paid the one that the rules give?  Clauses 5, 7, 9 and 10.2.

Not here: cards (`deck`), choices and fees (`legality`).
"""

from __future__ import annotations

from collections.abc import Iterator

from domain.round import events as e
from replay.checks.common import (
    MONEY_EVENTS,
    MONEY_FIELDS,
    differences,
    lined_up,
    recomputed,
    rung,
    why_not_recomputable,
)
from replay.evidence import Evidence
from replay.redecide import Redecided
from replay.verdict import Check, CheckName, Discrepancy


def check(evidence: Evidence) -> Check:
    """Compare the money fields of recorded and recomputed events; a payment missing or added is named whole."""
    reason = why_not_recomputable(evidence)
    again = None if reason else recomputed(evidence)
    if again is None:
        return rung(CheckName.PAYOUT, [], reason)
    if again.refused_at is not None:
        reason = f"decided again only up to event {evidence.records[again.refused_at].seq}, whose choice is refused"
    return rung(CheckName.PAYOUT, _compare(evidence, again), reason)


def _compare(evidence: Evidence, again: Redecided) -> Iterator[Discrepancy]:
    recorded = evidence.events if again.refused_at is None else evidence.events[: again.refused_at]
    for index, ours, expected in lined_up(recorded, again.events):
        if ours is None and expected is not None:
            if type(expected) in MONEY_EVENTS:
                yield Discrepancy(None, expected.NAME, "event", "missing", _money(expected))
        elif ours is not None and expected is None and index is not None:
            if type(ours) in MONEY_EVENTS:
                yield Discrepancy(evidence.records[index].seq, ours.NAME, "event", _money(ours), "not to be here")
        elif ours is not None and expected is not None and index is not None:
            yield from differences(evidence, index, ours, expected, MONEY_FIELDS.get(type(ours), ()))


def _money(event: e.RoundEvent) -> dict[str, object]:
    return {field: getattr(event, field) for field in event.__struct_fields__}
