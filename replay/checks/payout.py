"""Is every amount that was paid the one that the rules give?  Clauses 5, 7, 9 and 10.2.

Not here: cards (`deck`), choices and fees (`legality`).
"""

from __future__ import annotations

from domain.round import events as e
from replay.checks.common import (
    MONEY_EVENTS,
    MONEY_FIELDS,
    held_against,
    recomputed,
    rung,
    why_not_recomputable,
)
from replay.evidence import Evidence
from replay.verdict import Check, CheckName


def check(evidence: Evidence) -> Check:
    """Compare the money fields of recorded and recomputed events; a payment missing or added is named whole."""
    reason = why_not_recomputable(evidence)
    again = None if reason else recomputed(evidence)
    if again is None:
        return rung(CheckName.PAYOUT, [], reason)
    if again.refused_at is not None:
        reason = f"decided again only up to event {evidence.placed[again.refused_at][0]}, whose choice is refused"
    compared = held_against(evidence, again, concerns=_is_payment, fields=_fields, words=_money)
    return rung(CheckName.PAYOUT, compared, reason)


def _is_payment(event: e.RoundEvent) -> bool:
    return type(event) in MONEY_EVENTS


def _fields(event: e.RoundEvent) -> tuple[str, ...]:
    return MONEY_FIELDS.get(type(event), ())


def _money(event: e.RoundEvent) -> dict[str, object]:
    return {field: getattr(event, field) for field in event.__struct_fields__}
