"""From when on a house is not ready."""

from __future__ import annotations

import pytest

from ops.database import newest_revision
from ops.metrics.journal import JournalSeen, Projection, Reader
from ops.metrics.log import LogSeen
from ops.metrics.looking import Seen
from ops.metrics.readiness import checks

NOW = 10_000_000
IDLE = Reader(8, 0, None)


def waits(seconds: float) -> Reader:
    """Somebody whose oldest unread event is so old."""
    return Reader(5, 3, NOW - int(seconds * 1000))


@pytest.mark.parametrize(
    ("projection", "log", "late"),
    [
        (IDLE, IDLE, set()),
        (waits(300), waits(60), set()),
        (waits(300.001), waits(60), {"projection cash"}),
        (waits(300), waits(60.001), {"log"}),
        (waits(9000), waits(9000), {"projection cash", "log"}),
        (Reader(5, 3, None), Reader(5, 3, None), set()),   # whose time nobody can read: the event will stop them
    ],
)  # fmt: skip
def test_a_limit_is_allowed_and_a_moment_more_is_not(projection: Reader, log: Reader, late: set[str]) -> None:
    """By the age of the oldest event that waits, not by their number."""
    seen = Seen(NOW, revision=newest_revision())
    seen.journal = JournalSeen(8, (Projection("cash", projection, False, None),), log, ())
    seen.log = LogSeen(8, NOW, True, None)

    assert {check.name for check in checks(seen) if not check.ok} == late
    assert [check.name for check in checks(seen)] == ["database", "journal", "projection cash", "log"]
