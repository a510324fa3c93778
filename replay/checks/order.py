"""May each fact stand where it stands, and does time never run backwards?  Source: the table in domain.round.phases.

Not here: whether a choice was allowed in detail (`legality`).
"""

from __future__ import annotations

from typing import Final

from domain.record import TIME_PATTERN
from domain.round.codec import EventRecord
from domain.round.events import RoundClosed, SeedRevealed
from domain.round.phases import TRANSITIONS, Phase, next_phase
from replay.checks.common import rung
from replay.evidence import Evidence
from replay.redecide import CHOICES
from replay.verdict import Check, CheckName, Discrepancy


def check(evidence: Evidence) -> Check:
    """Walk the table of phases; a fact that is not in it is named, and the walk goes on from the same phase."""
    found = []
    phase, at = Phase.UNOPENED, ""
    for place, record in evidence.placed:
        name = record.data.NAME
        following = next_phase(phase, record.data)
        if following is None:
            allowed = ", ".join(event.NAME for event in TRANSITIONS[phase]) or "nothing"
            found.append(Discrepancy(place, name, "type", name, f"in phase {phase}: {allowed}"))
        wanted = _wrong_time(record, at)
        if wanted is not None:
            found.append(Discrepancy(place, name, "at", record.at, wanted))
        phase, at = following or phase, max(at, record.at)
    if phase in _UNFINISHED:
        # Settlements, close and reveal are stored in one append, so their absence is no mere matter of time.
        found.append(Discrepancy(None, _UNFINISHED[phase], "event", "missing", _UNFINISHED[phase]))
    return rung(CheckName.ORDER, found, None if phase is Phase.ENDED else f"the round has not ended: it is {phase}")


_UNFINISHED: Final = {
    Phase.SHOWDOWN: RoundClosed.NAME,
    Phase.CLOSED: SeedRevealed.NAME,
    Phase.VOIDED: SeedRevealed.NAME,
}
"""Phases in which no append leaves a round, and the event that must follow."""


def _wrong_time(record: EventRecord, before: str) -> str | None:
    """What an event's time should be, None if it may be what it is."""
    if TIME_PATTERN.fullmatch(record.at) is None:
        return "a time as 2026-01-31T23:59:59.999Z"
    if record.at < before:
        return f"not before {before}"
    if before and record.at != before and type(record.data) not in CHOICES:
        return f"{before}, as what it follows from was stored with it"
    return None
