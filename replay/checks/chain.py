"""Does each event link to the one before it, with none missing, doubled or added?  Source: formats/event-record.md.

Not here: what the events say (`order` and up).
"""

from __future__ import annotations

from domain.record import CHAIN_START, BodyError, leaf_hash
from replay.checks.common import rung
from replay.evidence import Evidence
from replay.verdict import Check, CheckName, Discrepancy


def check(evidence: Evidence) -> Check:
    """`seq` counts from 0 without a gap and `prev` is the leaf hash of the stored bytes before."""
    found = []
    prev = CHAIN_START
    for seq, (body, record) in enumerate(zip(evidence.bodies, evidence.read, strict=True)):
        if not isinstance(record, BodyError):
            if record.seq != seq:
                found.append(Discrepancy(seq, record.data.NAME, "seq", record.seq, seq))
            if record.prev != prev:
                found.append(Discrepancy(seq, record.data.NAME, "prev", record.prev, prev))
        prev = leaf_hash(body)
    return rung(CheckName.CHAIN, found)
