"""A round as its record says it: read without its seed, so a look can neither leak one nor need the key that seals it.

Not here: rounds that are being played (`ops.floor`).
"""

from __future__ import annotations

from typing import NamedTuple

from domain.round.codec import EventRecord, decode
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from domain.round.state import fold
from ops.api.problems import Problem, refused
from ops.api.serving import floor
from ops.floor import RoundDone
from ops.journal import Stored


class ReadRound(NamedTuple):
    """A round with its events as they are stored and as they are read."""

    done: RoundDone
    stored: list[Stored]
    records: list[EventRecord]

    @property
    def opened_at(self) -> str:
        """When it was opened."""
        return self.records[0].at


def read_round(round_id: str) -> ReadRound:
    """A round.  Raises Problem where there is none."""
    found = find_round(f"round:{round_id}")
    if found is None:
        raise refused(Refusal(RefusalCode.ROUND_UNKNOWN, f"There is no round {round_id}."), {})
    return found


def find_round(stream: str) -> ReadRound | None:
    """A round, None if it isn't there or its ruleset isn't known here."""
    stored = floor().journal.read_stream(stream)
    records = [decode(event.record.body) for event in stored]
    state = fold(record.data for record in records)
    digest = "" if state.opened is None else state.opened.ruleset_digest
    ruleset = floor().pit.known_as(digest) if stored else None
    if ruleset is None:
        return None
    last = records[-1]
    done = RoundDone(stream, ruleset, state, last.seq, last.at, [], {}, None)
    return ReadRound(done, stored, records)


def require_ended(found: ReadRound) -> None:
    """What a round hides, it hides until its end.  Raises Problem."""
    if found.done.state.phase is not Phase.ENDED:
        text = "The round goes on; this can be read when it has ended."
        raise Problem(409, "round-not-ended", text)
