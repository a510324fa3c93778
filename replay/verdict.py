"""What a verification says: checks in ladder order, each with every discrepancy it found.

Format: docs/formats/verdict.md.  A discrepancy is a value, never an exception: where, what is recorded, what it should
be.

Not here: the checks (`checks`), exit codes and printing (`ops.cli`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import msgspec


class CheckName(StrEnum):
    """The rungs of the ladder, lowest first."""

    BYTES = "bytes"
    CHAIN = "chain"
    ORDER = "order"
    COMMITMENT = "commitment"
    DECK = "deck"
    LEGALITY = "legality"
    PAYOUT = "payout"
    LEDGER = "ledger"
    LOG = "log"


EVENTS: Final = "dealproof.events"
"""Where a finding lies that is of no stream."""


class Status(StrEnum):
    VERIFIED = "verified"
    DISCREPANCY = "discrepancy"
    NOT_CHECKABLE = "not-checkable"


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """One thing in the record that is not as it should be; `seq` is the event's place, None for the whole stream.

    `stream` names the stream where it is not the round's own.
    """

    seq: int | None
    event: str | None
    field: str
    recorded: object
    recomputed: object
    stream: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        where = {} if self.stream is None else {"stream": self.stream}
        return {
            **where,
            "seq": self.seq,
            "event": self.event,
            "field": self.field,
            "recorded": msgspec.to_builtins(self.recorded),
            "recomputed": msgspec.to_builtins(self.recomputed),
        }


@dataclass(frozen=True, slots=True)
class Check:
    """One rung: its status, every discrepancy, and the reason where it could not be (fully) checked."""

    name: CheckName
    status: Status
    discrepancies: tuple[Discrepancy, ...] = ()
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The format of docs/formats/verdict.md: the first failing event stands beside the status."""
        result: dict[str, Any] = {"check": self.name, "status": self.status}
        if self.reason is not None:
            result["reason"] = self.reason
        if self.discrepancies:
            result |= self.discrepancies[0].as_json()
            result["discrepancies"] = [discrepancy.as_json() for discrepancy in self.discrepancies]
        return result


@dataclass(frozen=True, slots=True)
class Verdict:
    """All rungs of one round."""

    stream: str
    checks: tuple[Check, ...] = field(repr=False)
    needs_log: bool = False
    """Whether the round counts as verified only with the log: where proof is all that there is."""

    @property
    def status(self) -> Status:
        """The round's verdict; the ledger and the log are not counted where there is nothing to hold them against."""
        uncounted = UNCOUNTED - {CheckName.LOG} if self.needs_log else UNCOUNTED
        statuses = {
            check.status
            for check in self.checks
            if check.name not in uncounted or check.status is not Status.NOT_CHECKABLE
        }
        for status in (Status.DISCREPANCY, Status.NOT_CHECKABLE):
            if status in statuses:
                return status
        return Status.VERIFIED

    @property
    def first_discrepancy(self) -> tuple[Check, Discrepancy] | None:
        """The lowest failing rung with its first discrepancy."""
        for check in self.checks:
            if check.discrepancies:
                return check, check.discrepancies[0]
        return None

    def as_json(self) -> dict[str, Any]:
        """One JSON object a round (docs/formats/verdict.md)."""
        round_id = self.stream.removeprefix("round:")
        return {"round": round_id, "verdict": self.status, "checks": [check.as_json() for check in self.checks]}


UNCOUNTED: Final = frozenset({CheckName.LEDGER, CheckName.LOG})
"""Rungs that a round may do without: a house without accounts or log is not wrong."""
NO_LEDGER: Final = Check(CheckName.LEDGER, Status.NOT_CHECKABLE, reason="no accounts are kept yet")
NO_LOG: Final = Check(CheckName.LOG, Status.NOT_CHECKABLE, reason="not held against a transparency log")
COUNTED: Final = tuple(name for name in CheckName if name not in UNCOUNTED)
LOWER_VERIFIED: Final = tuple(Check(name, Status.VERIFIED) for name in COUNTED)
ALL_VERIFIED: Final = (*LOWER_VERIFIED, NO_LEDGER, NO_LOG)


# -- the words for a discrepancy, as `Discrepancy.as_json` has it


def finding_place(discrepancy: dict[str, Any]) -> str:
    """The event that a discrepancy lies in, or the whole stream."""
    seq, event = discrepancy["seq"], discrepancy["event"]
    where = event or "the stream" if seq is None else f"event {seq} {event or ''}"
    # A finding of the rung ledger lies in another stream than the round's own.
    where = f"{discrepancy['stream']} {where}" if "stream" in discrepancy else where
    return where.strip()


def finding_value(value: object) -> str:
    """A recorded or recomputed value in at most 200 characters."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else text[:197] + "..."
