"""The whole reconciliation: one pass over the journal, with every projection of money and commitments held against it.

All is read at one moment.  A projection is held up to where it stands, so one that is behind is not wrong for that;
the caller is told how far each has come.

Not here: each projection (its own module), operators' files (`operator_file`), printing (`ops.cli.reconcile`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import psycopg

from ops.findings import Findings
from ops.reconciling.books import Books
from ops.reconciling.commitments import Commitments
from ops.reconciling.days import Days
from ops.reconciling.desk import Desk
from ops.reconciling.games import Games
from ops.reconciling.held import Check, Line
from ops.reconciling.jackpots import Jackpots
from ops.reconciling.rounds import Rounds
from projections.catalogue import VERSIONS
from projections.feed import Unreadable, read_fact
from projections.reading import Reading, read_projections
from replay.verdict import EVENTS, Discrepancy

TOLD_EVERY: Final = 10_000
"""Events between two words about the progress."""

CHECKS: Final[dict[str, type[Check]]] = {
    "ledger": Books, "desk": Desk, "rounds": Rounds, "games": Games, "jackpots": Jackpots,
    "commitments": Commitments, "days": Days,
}  # fmt: skip


class Group(NamedTuple):
    """What one check came to, and up to which position it was made."""

    name: str
    projection: str
    position: int
    lines: list[Line]


@dataclass(frozen=True)
class Reconciliation:
    """What it came to.  `head`: the journal's last position; `stopped`: projection -> why it goes no further."""

    head: int
    events: int
    groups: list[Group]
    findings: list[Discrepancy]
    found: int
    stopped: dict[str, str]

    @property
    def holds(self) -> bool:
        """Whether nothing is left over, nothing differs, and all of the journal was looked at."""
        return not (self.found or self.stopped or self.behind or any(self.residuals))

    @property
    def residuals(self) -> Iterator[Line]:
        """The sums that don't agree."""
        return (line for group in self.groups for line in group.lines if line.residual)

    @property
    def behind(self) -> list[str]:
        """Projections that have not taken in the whole journal."""
        return sorted({group.projection for group in self.groups if group.position < self.head})


def reconcile(connection: psycopg.Connection[Any], advanced: Callable[[int], None]) -> Reconciliation:
    """Hold everything at this moment; `advanced` hears of every so many events.  Raises ProjectionMissing."""
    needed = sorted({check.PROJECTION for check in CHECKS.values()})
    with read_projections(connection, needed, VERSIONS) as reading:
        [(head,)] = reading.rows(_HEAD)
        checks = {name: kind(reading) for name, kind in CHECKS.items()}
        findings = Findings()
        events = _hold(reading, list(checks.values()), findings, advanced)
        for check in checks.values():
            findings.add(check.finish())
        states = reading.projections
        groups = [
            Group(name, check.PROJECTION, states[check.PROJECTION].position, check.lines())
            for name, check in checks.items()
        ]
    stopped = {name: state.error for name, state in states.items() if state.error is not None}
    return Reconciliation(head, events, groups, findings.kept, findings.count, stopped)


def _hold(
    reading: Reading, checks: list[Check], findings: Findings, advanced: Callable[[int], None]
) -> int:
    """Tell every check the facts up to its projection's position; how many events there were."""
    ends = [(check, reading.projections[check.PROJECTION].position) for check in checks]
    last = max(end for _, end in ends)
    expected, events = 1, 0
    for row in reading.stream(_EVENTS, (last,), size=2000):
        position = row[0]
        if position != expected:
            findings.add([_gone(expected, position - 1)])
        expected, events = position + 1, events + 1
        try:
            fact = read_fact(*row)
        except Unreadable as unreadable:
            findings.add([Discrepancy(row[2], row[3], "body", str(unreadable), "an event that is known", row[1])])
            continue
        for check, end in ends:
            if position <= end:
                findings.add(check.take(fact))
        if events % TOLD_EVERY == 0:
            advanced(TOLD_EVERY)
    if expected <= last:
        findings.add([_gone(expected, last)])
    return events


def _gone(first: int, last: int) -> Discrepancy:
    where = f"position {first}" if first == last else f"position {first} to {last}"
    return Discrepancy(None, where, "event", "missing", "there: a projection has taken it in", EVENTS)


_HEAD: Final = "select coalesce(max(notification_id), 0) from dealproof.events"
_EVENTS: Final = """
select notification_id, originator_id, originator_version, topic, state from dealproof.events
where notification_id <= %s order by notification_id
"""
