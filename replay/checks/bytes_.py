"""Are the stored bytes canonical bodies of events that we know?  Source: docs/formats/event-record.md.

Not here: whether the events belong together (`chain`), whether they may stand where they stand (`order`).
"""

from __future__ import annotations

from domain.record import BodyError, read_envelope
from replay.checks.common import rung
from replay.evidence import Evidence
from replay.verdict import Check, CheckName, Discrepancy


def check(evidence: Evidence) -> Check:
    """Each body must decode, be in its only spelling, and name this stream and format 1."""
    found = [] if evidence.bodies else [Discrepancy(None, None, "events", "none", "at least one")]
    for seq, (body, record) in enumerate(zip(evidence.bodies, evidence.read, strict=True)):
        if isinstance(record, BodyError):
            found.append(Discrepancy(seq, None, "body", str(record), "a canonical event body"))
            continue
        name = record.data.NAME
        try:
            envelope = read_envelope(body)
        except BodyError as error:
            found.append(Discrepancy(seq, name, "body", str(error), "the canonical spelling"))
            continue
        if envelope.stream != evidence.stream:
            found.append(Discrepancy(seq, name, "stream", envelope.stream, evidence.stream))
        if envelope.v != 1:
            found.append(Discrepancy(seq, name, "v", envelope.v, 1))
    return rung(CheckName.BYTES, found)
