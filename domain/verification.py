"""What a verification of rounds came to, as a fact: verdicts are of the record too, and can't be taken back.

Stream `verification:rounds`, one event a run.  A whole run has seen every round; the daily one those that ended since
the run before, so the runs of these two scopes, one after the other, have seen every round that ever ended.  Findings
are text: what is recorded and what it should be, never a seed.  Format: docs/formats/verification.md.

Not here: verification (`replay`), how a run is kept (`ops.verification_record`).
"""

from __future__ import annotations

from typing import ClassVar, Final

import msgspec

from domain.codec import Codec, Event

VERIFICATION: Final = "verification:rounds"
"""The stream of runs."""

MOST_FINDINGS: Final = 1_000
"""Findings of one run that are kept; a journal that is wrong throughout is as wrong after these."""

WHOLE: Final = "whole"
"""The scope of a run without a filter."""

ENDED: Final = "ended since the run before"
"""The scope of a run over the rounds that ended after the `to_position` of the last run of this scope or the whole."""


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One discrepancy, in words.

    `check`: the rung; `field`: what differs, None where a finding names none; `place`: the event in its stream;
    `round`: id in hex, or the name of a stream that is no round's.
    """

    check: str
    field: str | None
    place: str
    recomputed: str
    recorded: str
    round: str


class RoundsVerified(Event, frozen=True):
    """Rounds were decided again.

    `verified` + `not_checkable` + `discrepancies` = `rounds`; a round that is still open is not checkable.  `findings`
    are the first ones of `found`.  `scope`: WHOLE, ENDED, or the filters in words.  `to_position`: every round of the
    scope that had ended by this event of the journal was verified.  `software`: version.
    """

    NAME: ClassVar[str] = "rounds-verified.v1"

    by: str
    discrepancies: int
    findings: list[Finding]
    found: int
    not_checkable: int
    rounds: int
    scope: str
    software: str
    to_position: int
    verified: int
    whole: bool


CODEC: Final[Codec[RoundsVerified]] = Codec((RoundsVerified,))
