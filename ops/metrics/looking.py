"""One look at an installation: the database, the journal and who reads along, open rounds, verdicts, the log.

All of it comes from the database and the log's files at the moment of looking, so several servers, workers and restarts
need no memory in common.  A part that can't be read is left out and counted; the others are still told.

Not here: the names of the metrics (`families`), whether it is well (`readiness`).
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

import psycopg

from domain.doctor import CODEC, DOCTOR, ControlStatus
from domain.log.checkpoint import NoteError
from domain.log.trust import TrustError
from domain.record import BodyError
from domain.verification import ENDED, WHOLE
from ops import clock, database
from ops.log.store import StoreError
from ops.metrics.journal import JournalSeen, look_at_journal
from ops.metrics.line import Connection, Line
from ops.metrics.log import LogSeen, look_at_log
from ops.metrics.refusals import Refusals
from ops.settings import Settings
from projections.catalogue import VERSIONS
from projections.reading import ProjectionMissing, read_projections

SHARED_SECONDS: Final = 1.0
"""Whoever asks so soon after another gets the same answer: a hundred scrapers are no more work than one."""

PARTS: Final = ("database", "journal", "refusals", "open_rounds", "verifications", "examination", "log")

T = TypeVar("T")


class OpenRounds(NamedTuple):
    """How many there are; when the oldest was opened (milliseconds since 1970), None without one."""

    total: int
    oldest: int | None


class Verifications(NamedTuple):
    """What verification came to since the newest whole run, that run included; without one, since the beginning.

    Rounds are those of the whole run and of the daily ones after it, which together have seen every round that ended;
    `at`: when the newest of these was, None without one.  `recorded` and `findings` are of all runs, also of those with
    a filter: recorded ever, and found since then.
    """

    recorded: int
    at: int | None
    verified: int
    not_checkable: int
    discrepancies: int
    findings: int


class Examination(NamedTuple):
    """The newest examination of the site, and how many of its controls came to which status."""

    at: int
    controls: Mapping[ControlStatus, int]


@dataclass
class Seen:
    """What one look found; None is what could not be read, or is not there.  Times are milliseconds since 1970."""

    at: int
    revision: str | None = None
    journal: JournalSeen | None = None
    refusals: Mapping[str, int] | None = None
    open_rounds: OpenRounds | None = None
    verifications: Verifications | None = None
    examination: Examination | None = None
    log: LogSeen | None = None
    seconds: float = 0.0
    failed: dict[str, str] = field(default_factory=dict)
    """Part -> why it could not be read, in one line."""

    errors: Mapping[str, int] = field(default_factory=dict)
    """Part -> how often it could not be read since this program began."""

    @property
    def up(self) -> bool:
        """Whether the database was reached, and still was there in the end."""
        return "database" not in self.failed


class Watch:
    """Looks when it is asked to, at most once a second.  Safe to share among threads: one looks, the others wait."""

    def __init__(self, settings: Settings, url: str) -> None:
        self._settings, self._line = settings, Line(url)
        self._refusals = Refusals()
        self._errors = Counter(dict.fromkeys(PARTS, 0))
        self._lock = threading.Lock()
        self._seen: tuple[float, Seen] | None = None

    def latest(self) -> Seen:
        """What there is to see now, or was within the last second."""
        with self._lock:
            if self._seen is None or time.monotonic() - self._seen[0] >= SHARED_SECONDS:
                seen = self._look()
                self._seen = (time.monotonic(), seen)
            return self._seen[1]

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            self._line.close()

    def _look(self) -> Seen:
        began = time.monotonic()
        seen = Seen(clock.milliseconds(clock.now()))
        seen.log = _part(seen, "log", lambda: look_at_log(self._settings))
        try:
            with self._line.look() as connection:
                self._ask(seen, connection)
        except database.DatabaseUnavailable as error:
            seen.failed["database"] = str(error)
        except psycopg.Error as error:
            # The line was lost or cut: what was read before is of a database that is not there.
            seen = Seen(seen.at, log=seen.log, failed={"database": database.one_line(error)})
        self._errors.update(seen.failed.keys())
        seen.errors = dict(self._errors)
        seen.seconds = time.monotonic() - began
        return seen

    def _ask(self, seen: Seen, connection: Connection) -> None:
        def part(name: str, ask: Callable[[Connection], T]) -> T | None:
            found = _part(seen, name, lambda: ask(connection))
            if connection.closed:
                raise psycopg.OperationalError(seen.failed.get(name, "the connection was lost"))
            return found

        size = None if seen.log is None else seen.log.size
        seen.revision = part("database", _revision)
        if not seen.revision:
            return
        seen.journal = part("journal", lambda connection: look_at_journal(connection, size))
        seen.refusals = part("refusals", self._refusals.count)
        seen.open_rounds = part("open_rounds", _open_rounds)
        seen.verifications = part("verifications", _verifications)
        seen.examination = part("examination", _examination)


def _part(seen: Seen, name: str, ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except psycopg.Error as error:
        seen.failed[name] = database.one_line(error)
    except (StoreError, TrustError, NoteError, BodyError, OSError) as error:
        seen.failed[name] = str(error)
    return None


def _revision(connection: Connection) -> str:
    """What the database was migrated to; empty where it never was."""
    if connection.execute(_MIGRATED).fetchone() != (True,):
        return ""
    rows = connection.execute("select version_num from dealproof.alembic_version").fetchall()
    return ",".join(sorted(version for (version,) in rows))


def _open_rounds(connection: Connection) -> OpenRounds:
    [(count, oldest)] = connection.execute(_OPEN_ROUNDS).fetchall()
    return OpenRounds(count, None if oldest is None else _opened_at(oldest))


def _opened_at(stream: str) -> int | None:
    """The time in the name of a round, a UUIDv7 (RFC 9562 section 5.7); None for another name."""
    try:
        return int(stream.removeprefix("round:")[:12], 16)
    except ValueError:
        return None


def _verifications(connection: Connection) -> Verifications | None:
    """None where the verdicts were never projected."""
    try:
        with read_projections(connection, ("verdicts",), VERSIONS) as reading:
            [(begin,)] = reading.rows(_NEWEST_WHOLE, (WHOLE,))
            [counted] = reading.rows(_VERIFICATIONS, ([WHOLE, ENDED], begin))
            [found] = reading.rows(_FINDINGS, (begin,))
    except ProjectionMissing:
        return None
    return Verifications._make((*counted, *found))


def _examination(connection: Connection) -> Examination | None:
    row = connection.execute(_NEWEST_OF, (DOCTOR,)).fetchone()
    if row is None:
        return None
    record = CODEC.decode(bytes(row[0]))
    counted = Counter(check.status for check in record.data.checks)
    return Examination(clock.milliseconds(record.at), {status: counted[status] for status in ControlStatus})


_MIGRATED: Final = "select to_regclass('dealproof.alembic_version') is not null"

_OPEN_ROUNDS: Final = "select count(*), min(stream) from dealproof.open_rounds"

_NEWEST_WHOLE: Final = "select coalesce(max(position), 0) from {verification} where scope = %s"

# A row a run, some a day: the one table here that is read from end to end.
_VERIFICATIONS: Final = """
select (select count(*) from {verification}), (extract(epoch from max(at)) * 1000)::bigint,
    coalesce(sum(verified), 0)::bigint, coalesce(sum(not_checkable), 0)::bigint, coalesce(sum(discrepancies), 0)::bigint
from {verification} where scope = any(%s) and position >= %s
"""

_FINDINGS: Final = "select count(*) from {finding} where position >= %s"

_NEWEST_OF: Final = """
select state from dealproof.events where originator_id = %s order by originator_version desc limit 1
"""
