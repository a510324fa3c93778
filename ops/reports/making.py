"""Make a report of an installation: bring the projections up, read them at one moment, find the log's root there.

Not here: what a report says and how it is printed (`ops.reports.definitions`, `render`), options (`ops.cli.report`).
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from domain.log.merkle import ProofError, root
from ops import clock, database
from ops.log.store import LogStore, StoreError
from ops.reports.building import (
    Definition,
    Filters,
    House,
    Period,
    ReportError,
    Request,
    make_report,
    read_period,
)
from ops.reports.definitions import definition
from ops.reports.model import Checkpoint, Report
from ops.reports.words import Words
from ops.settings import Settings
from projections.catalogue import VERSIONS
from projections.reading import Reading, read_projections

NO_FILTERS: Final = Filters()

LOG_SECONDS: Final = 3
"""How long a report of now waits for the log."""
LOG_BEHIND: Final = 1000
"""Events that a report of now may leave out so that the log's root is that of all it counts."""

_HEAD: Final = "select coalesce(max(notification_id), 0) from dealproof.events"

_AROUND: Final = """
select first_position, first_position + event_count - 1 from dealproof.commands
where first_position = (select max(first_position) from dealproof.commands where first_position <= %(position)s)
and first_position + event_count - 1 > %(position)s
"""


@dataclass(frozen=True)
class Asked:
    """What a person asked for.  `as_of` None: now; `generated_at` None: now; `without_log`: name no root of the log."""

    name: str
    begin: str
    end: str
    zone: str = "UTC"
    language: str = "en"
    filters: Filters = NO_FILTERS
    as_of: int | None = None
    generated_at: str | None = None
    without_log: bool = False
    large_win: int | None = None

    def command(self, position: int, generated_at: str, without_log: bool) -> str:
        """The command that makes the same report again."""
        parts = ["dealproof", "report", self.name, "--from", self.begin, "--to", self.end, "--zone", self.zone]
        for name, value in self.filters._asdict().items():
            parts += [] if value is None else [f"--{name}", value]
        parts += [] if self.large_win is None else ["--at-least", str(self.large_win)]
        parts += ["--language", self.language, "--as-of", str(position), "--generated-at", generated_at]
        return shlex.join([*parts, *(["--without-log"] if without_log else [])])


@contextmanager
def open_report(settings: Settings, url: str, asked: Asked) -> Iterator[Report]:
    """The report, while it can be read.  Raises ReportError, ProjectionMissing, DatabaseUnavailable."""
    made, words = definition(asked.name), Words(asked.language)
    if asked.as_of is None and not asked.without_log:
        wait_for_log(settings, url)
    with open_reading(url, made) as reading:
        position = position_now(settings, reading) if asked.as_of is None else asked.as_of
        yield report_at(settings, reading, made, asked, position, words)


def wait_for_log(settings: Settings, url: str) -> None:
    """Give a log that is being built a moment to come up to the journal, so that its root can stand in the report."""
    try:
        store = LogStore(settings.log_folder)
        if not store.is_locked():
            return
        with database.connect(url, database.READER_ROLE) as connection, database.explained(url):
            [(head,)] = connection.execute(_HEAD).fetchall()
        until = time.monotonic() + LOG_SECONDS
        while store.size() < head and time.monotonic() < until:
            time.sleep(0.05)
    except (StoreError, OSError):
        return  # `log status` says what is wrong with it


def position_now(settings: Settings, reading: Reading) -> int:
    """Up to where a report of now goes: all that is taken in, but for what a running log has yet to reach.

    A command's events belong together, so a position between them is moved back before the first of them.
    """
    position = reading.position
    try:
        store = LogStore(settings.log_folder)
        size = store.size()
        if store.is_locked() and position - LOG_BEHIND <= size < position:
            position = size
    except (StoreError, OSError):
        pass  # `log status` says what is wrong with it
    command = command_around(reading, position)
    return position if command is None else command[0] - 1


def command_around(reading: Reading, position: int) -> tuple[int, int] | None:
    """The first and the last position of the append that goes on behind this position, None if none does."""
    rows = reading.rows(_AROUND, {"position": position})
    return (rows[0][0], rows[0][1]) if rows else None


@contextmanager
def open_reading(url: str, made: Definition) -> Iterator[Reading]:
    """What a definition needs, at one moment."""
    with (
        database.connect(url, database.READER_ROLE) as connection,
        database.explained(url),
        read_projections(connection, made.NEEDS, VERSIONS) as reading,
    ):
        yield reading


def report_at(
    settings: Settings, reading: Reading, made: Definition, asked: Asked, position: int, words: Words
) -> Report:
    """The report as of a position.  Raises ReportError, also for a position in the middle of an append."""
    command = command_around(reading, position)
    if command is not None:
        first, last = command
        text = f"--as-of: {position} lies in the middle of what was appended together, {first} to {last}"
        raise ReportError(f"{text}; take {first - 1} or {last}")
    generated_at = asked.generated_at or clock.now()
    period = read_period_of(asked, generated_at)
    point = None if asked.without_log else log_root(settings, position)
    house = House(
        operator=settings.operator,
        generated_at=generated_at,
        checkpoint=point,
        again=asked.command(position, generated_at, point is None),
    )
    request = Request(asked.name, period, asked.filters, position, words, asked.large_win)
    return make_report(reading, made, request, house)


def read_period_of(asked: Asked, generated_at: str) -> Period:
    """The period, which must have begun.  Raises ReportError."""
    period = read_period(asked.begin, asked.end, asked.zone)
    if period.begin > generated_at:
        raise ReportError(f"--from: {asked.begin} lies in the future")
    return period


def log_root(settings: Settings, position: int) -> Checkpoint | None:
    """The log's root over the events up to a position, None where there is no log or it hasn't come so far.

    It is one that every later checkpoint of the log can be proved to go on from.
    """
    try:
        store = LogStore(settings.log_folder)
        size = store.size()
        if not 0 < position <= size:
            return None
        return Checkpoint(position, root(position, store.nodes(size)).hex())
    except (StoreError, ProofError, OSError):
        return None  # `log status` says what is wrong with it
