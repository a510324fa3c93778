"""Did the rules allow every recorded choice, and did the house do all and only what they prescribe?  Clauses 3 to 8.

The choices are decided again; fees, stakes, BETs and the sequence of facts must come out as recorded.  Cards and
amounts paid are the business of the rungs `deck` and `payout`.

Not here: cards (`deck`) and amounts paid (`payout`).
"""

from __future__ import annotations

from collections.abc import Iterator

from domain.round import events as e
from replay.checks.common import (
    CARD_FIELDS,
    MONEY_EVENTS,
    MONEY_FIELDS,
    held_against,
    recomputed,
    rung,
    why_not_recomputable,
)
from replay.evidence import Evidence
from replay.redecide import Redecided
from replay.verdict import Check, CheckName, Discrepancy


def check(evidence: Evidence) -> Check:
    """Compare recorded and recomputed events, but for the fields of other rungs."""
    malformed = [
        Discrepancy(place, event.NAME, field, getattr(event, field), wanted)
        for place, event, field, wanted in evidence.malformed_entropy
    ]
    reason = why_not_recomputable(evidence)
    if malformed:
        return rung(CheckName.LEGALITY, malformed, reason)
    again = None if reason else recomputed(evidence)
    if again is None:
        return rung(CheckName.LEGALITY, [], reason)
    compared = held_against(evidence, again, concerns=_is_no_payment, fields=_fields, words=_words)
    return rung(CheckName.LEGALITY, [*_refused(evidence, again), *compared])


def _refused(evidence: Evidence, again: Redecided) -> Iterator[Discrepancy]:
    if again.refusal is not None and again.refused_at is not None:
        place, record = evidence.placed[again.refused_at]
        refusal = f"refused ({again.refusal.code}, {again.refusal.clause or 'no clause'}): {again.refusal.text}"
        yield Discrepancy(place, record.data.NAME, "choice", "done", refusal)


def _fields(event: e.RoundEvent) -> list[str]:
    others = {*CARD_FIELDS.get(type(event), ()), *MONEY_FIELDS.get(type(event), ())}
    return [field for field in event.__struct_fields__ if field not in others]


def _is_no_payment(event: e.RoundEvent) -> bool:
    return type(event) not in MONEY_EVENTS


def _words(event: e.RoundEvent) -> str:
    box = getattr(event, "box", None)
    return event.NAME if box is None else f"{event.NAME} of box {box}"
