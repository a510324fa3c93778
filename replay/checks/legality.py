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
    """Compare recorded and recomputed events, but for the fields of other rungs."""
    malformed = [
        Discrepancy(record.seq, record.data.NAME, field, getattr(record.data, field), wanted)
        for record, field, wanted in evidence.malformed_entropy
    ]
    reason = why_not_recomputable(evidence)
    if malformed:
        return rung(CheckName.LEGALITY, malformed, reason)
    again = None if reason else recomputed(evidence)
    if again is None:
        return rung(CheckName.LEGALITY, [], reason)
    return rung(CheckName.LEGALITY, [*_refused(evidence, again), *_compare(evidence, again)])


def _refused(evidence: Evidence, again: Redecided) -> Iterator[Discrepancy]:
    if again.refusal is not None and again.refused_at is not None:
        record = evidence.records[again.refused_at]
        refusal = f"refused ({again.refusal.code}, {again.refusal.clause or 'no clause'}): {again.refusal.text}"
        yield Discrepancy(record.seq, record.data.NAME, "choice", "done", refusal)


def _compare(evidence: Evidence, again: Redecided) -> Iterator[Discrepancy]:
    # After a refused choice nothing more was decided, so only what comes before it can be compared.
    recorded = evidence.events if again.refused_at is None else evidence.events[: again.refused_at]
    for index, ours, expected in lined_up(recorded, again.events):
        if ours is None and expected is not None:
            if type(expected) not in MONEY_EVENTS:
                yield Discrepancy(None, expected.NAME, "event", "missing", _words(expected))
        elif ours is not None and expected is None and index is not None:
            if type(ours) not in MONEY_EVENTS:
                yield Discrepancy(evidence.records[index].seq, ours.NAME, "event", _words(ours), "not to be here")
        elif ours is not None and expected is not None and index is not None:
            others = {*CARD_FIELDS.get(type(ours), ()), *MONEY_FIELDS.get(type(ours), ())}
            own = [field for field in ours.__struct_fields__ if field not in others]
            yield from differences(evidence, index, ours, expected, own)


def _words(event: e.RoundEvent) -> str:
    box = getattr(event, "box", None)
    return event.NAME if box is None else f"{event.NAME} of box {box}"
