"""Whether an installation is ready: the database, the journal, every projection, the log.

Not here: looking (`looking`), what to do about it (docs/runbooks).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ops.database import newest_revision
from ops.metrics.journal import JournalSeen, Reader
from ops.metrics.looking import Seen

PROJECTION_SECONDS: Final = 300
"""A projection whose oldest waiting event is older than this is behind."""

LOG_SECONDS: Final = 60
"""The log publishes a checkpoint each second; a bet may need it."""


class Check(NamedTuple):
    """One question and its answer; the reason is empty where all is well."""

    name: str
    reason: str

    @property
    def ok(self) -> bool:
        return not self.reason

    def as_json(self) -> dict[str, object]:
        """For programs."""
        return {"name": self.name, "ok": self.ok, "reason": self.reason}


def checks(seen: Seen) -> list[Check]:
    """Every check that can be made, the database first; without it the others have nothing to look at."""
    if not seen.up:
        return [Check("database", seen.failed["database"])]
    return [Check("database", _not_migrated(seen)), *_of_journal(seen), *_of_log(seen)]


def _not_migrated(seen: Seen) -> str:
    if seen.revision == newest_revision():
        return ""
    stands = f"stands at revision {seen.revision}" if seen.revision else "was never migrated"
    return f"{stands}, this program needs {newest_revision()}: dealproof database migrate"


def _of_journal(seen: Seen) -> Iterator[Check]:
    journal = seen.journal
    if journal is None:
        yield Check("journal", seen.failed.get("journal", "was not read"))
        return
    holes = ", ".join(str(hole.position) for hole in journal.holes)
    yield Check("journal", f"no event at position {holes}, though there is one further on" if holes else "")
    for projection in journal.projections:
        trouble = projection.trouble or _behind(seen, projection.reader, PROJECTION_SECONDS)
        yield Check(f"projection {projection.name}", trouble)


def _of_log(seen: Seen) -> Iterator[Check]:
    if "log" in seen.failed:
        yield Check("log", seen.failed["log"])
    elif seen.log is not None:
        yield Check("log", _log_trouble(seen, seen.log.sequencer_runs, seen.journal))


def _log_trouble(seen: Seen, sequencer_runs: bool, journal: JournalSeen | None) -> str:
    if not sequencer_runs:
        return "no sequencer runs: dealproof log run"
    return "" if journal is None or journal.log is None else _behind(seen, journal.log, LOG_SECONDS)


def _behind(seen: Seen, reader: Reader, limit: int) -> str:
    if reader.since is None or seen.at - reader.since <= limit * 1000:
        return ""
    age = (seen.at - reader.since) // 1000
    return f"{reader.waiting} events behind, the oldest for {age} seconds; at most {limit} are allowed"
