"""May each fact stand where it stands, and does time never run backwards?  Source: the table in domain.round.phases.

Not here: whether a choice was allowed in detail (`legality`).
"""

from __future__ import annotations

from domain.record import TIME_PATTERN
from domain.round.phases import TRANSITIONS, Phase, next_phase
from replay.checks.common import rung
from replay.evidence import Evidence
from replay.verdict import Check, CheckName, Discrepancy


def check(evidence: Evidence) -> Check:
    """Walk the table of phases; a fact that is not in it is named, and the walk goes on from the same phase."""
    found = []
    phase, at = Phase.UNOPENED, ""
    for record in evidence.records:
        name = record.data.NAME
        following = next_phase(phase, record.data)
        if following is None:
            allowed = ", ".join(event.NAME for event in TRANSITIONS[phase]) or "nothing"
            found.append(Discrepancy(record.seq, name, "type", name, f"in phase {phase}: {allowed}"))
        if TIME_PATTERN.fullmatch(record.at) is None:
            found.append(Discrepancy(record.seq, name, "at", record.at, "a time as 2026-01-31T23:59:59.999Z"))
        elif record.at < at:
            found.append(Discrepancy(record.seq, name, "at", record.at, f"not before {at}"))
        phase, at = following or phase, max(at, record.at)
    return rung(CheckName.ORDER, found, None if phase is Phase.ENDED else f"the round has not ended: it is {phase}")
