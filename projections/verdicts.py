"""What did verifications and examinations find, and which rounds have been verified?

Tables: `verification` (one row a recorded run), `finding` (its discrepancies), `examination` (the site's own looks at
itself).  Rebuild: dealproof project rebuild verdicts.

Not here: verifying (`replay`), what people did (`exceptions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from domain.codec import Event
from domain.doctor import ControlStatus, DoctorReported
from domain.verification import RoundsVerified
from projections.feed import Fact
from projections.projection import Handler, Projection, flush
from projections.store import Table, columns

VERIFICATION: Final = Table(
    "verification",
    columns(
        "position int, at time, by text, scope text, whole bool, to_position int, rounds int, verified int,"
        "not_checkable int, discrepancies int"
    ),
    ("position",),
)
FINDING: Final = Table(
    "finding",
    columns(
        "position int, nth int, round text, check_name text, place text, field text?, recorded text, recomputed text"
    ),
    ("position", "nth"),
    ("(round)",),
)
EXAMINATION: Final = Table(
    "examination",
    columns(
        "position int, at time, by text, status text, findings int, software text, software_digest text,"
        "configuration_digest text"
    ),
    ("position",),
)


class Verdicts(Projection):
    NAME: ClassVar[str] = "verdicts"
    VERSION: ClassVar[int] = 1
    QUESTION: ClassVar[str] = "What did verifications and examinations find?"
    TABLES: ClassVar[tuple[Table, ...]] = (VERIFICATION, FINDING, EXAMINATION)

    def __init__(self) -> None:
        self._runs: list[tuple[object, ...]] = []
        self._findings: list[tuple[object, ...]] = []
        self._examinations: list[tuple[object, ...]] = []

    def handlers(self) -> Mapping[type[Event], Handler]:
        return {RoundsVerified: self._verified, DoctorReported: self._examined}

    def forget(self) -> None:
        self._runs, self._findings, self._examinations = [], [], []

    def write(self) -> None:
        self.store.add("verification", flush(self._runs))
        self.store.add("finding", flush(self._findings))
        self.store.add("examination", flush(self._examinations))

    def _verified(self, fact: Fact) -> None:
        run: RoundsVerified = fact.event
        self._runs.append((
            fact.position, fact.at, run.by, run.scope, run.whole, run.to_position, run.rounds, run.verified,
            run.not_checkable, run.discrepancies,
        ))  # fmt: skip
        for nth, found in enumerate(run.findings):
            self._findings.append((
                fact.position, nth, found.round, found.check, found.place, found.field, found.recorded,
                found.recomputed,
            ))  # fmt: skip

    def _examined(self, fact: Fact) -> None:
        report: DoctorReported = fact.event
        statuses = [check.status for check in report.checks]
        worst = max(statuses, key=_SEVERITY.index) if statuses else ControlStatus.OK
        self._examinations.append((
            fact.position, fact.at, report.by, worst.value, sum(len(check.findings) for check in report.checks),
            report.software.version, report.software.digest, report.configuration.digest,
        ))  # fmt: skip


_SEVERITY: Final = tuple(ControlStatus)
"""The best first, as the enum has them."""
