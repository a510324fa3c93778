"""Make a report of an installation: bring the projections up, read them at one moment, find the log's root there.

Not here: what a report says and how it is printed (`ops.reports.definitions`, `render`), options (`ops.cli.report`).
"""

from __future__ import annotations

import shlex
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
    with open_reading(url, made) as reading:
        position = reading.position if asked.as_of is None else asked.as_of
        yield report_at(settings, reading, made, asked, position, words)


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
    """The report as of a position.  Raises ReportError."""
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
