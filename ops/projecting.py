"""Bring the projections up to the journal: once, or for as long as the house is open.

Whoever appends rings a bell (`dealproof.ring`); who hears it looks at once.  A bell may be lost, between two
connections or behind a pooler that delivers none, so the projector looks by itself as well.

Not here: the work itself (`projections.runner`), printing (`ops.cli.project`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from ops import database
from ops.logs import logger
from projections.catalogue import PROJECTIONS
from projections.projection import Projection
from projections.runner import Runner, Step

POLL_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 2.0

Connection = psycopg.Connection[tuple[Any, ...]]

# Where there is no such table yet, whoever tries is told so.
_MAY_PROJECT: Final = "select coalesce(has_table_privilege(to_regclass('projections.state'), 'update'), true)"


def some(names: Sequence[str] | None = None) -> list[Projection]:
    """These projections, or all, with nothing in their memory.  Raises LookupError for a name that is none."""
    for name in names or ():
        if name not in PROJECTIONS:
            raise LookupError(f"projection {name!r}: there is none; there are {', '.join(PROJECTIONS)}")
    return [PROJECTIONS[name]() for name in names or PROJECTIONS]


@contextmanager
def projector(url: str) -> Iterator[Connection]:
    """A connection with the rights of the projector.  Raises DatabaseUnavailable."""
    with database.connect(url, database.PROJECTOR_ROLE) as connection:
        yield connection


def may_project(url: str) -> bool:
    """Whether the login of this address may bring projections up.  Raises DatabaseUnavailable."""
    with projector(url) as connection, database.explained(url):
        return connection.execute(_MAY_PROJECT).fetchone() == (True,)


def catch_up(
    url: str, names: Sequence[str] | None = None, told: Callable[[Step], None] | None = None
) -> Step:
    """Take in all there is now; gives the last step, which says what stands in the way.

    Raises DatabaseUnavailable, VersionOther.
    """
    with projector(url) as connection, database.explained(url):
        runner = Runner(connection, some(names))
        stopped: tuple[Any, ...] = ()
        while True:
            step = runner.step()
            stopped += step.stopped
            if told is not None:
                told(step)
            if not step.read and not step.stopped:
                return step._replace(stopped=stopped)


def keep_up(url: str, until: threading.Event, names: Sequence[str] | None = None) -> None:
    """Follow the journal until somebody sets the event; while the database can't be reached, wait.

    Raises VersionOther.
    """
    while not until.is_set():
        try:
            with projector(url) as connection:
                _follow(connection, Runner(connection, some(names)), until)
        except (database.DatabaseUnavailable, psycopg.OperationalError) as error:
            reason = database.one_line(error) if isinstance(error, psycopg.Error) else str(error)
            logger().warning("projector_waits_for_database", reason=reason)
            until.wait(RETRY_SECONDS)


def _follow(connection: Connection, runner: Runner, until: threading.Event) -> None:
    connection.execute("listen dealproof_journal")
    told_gap: int | None = None
    while not until.is_set():
        step = runner.step()
        for stop in step.stopped:
            logger().error("projection_stopped", projection=stop.name, position=stop.position, reason=stop.reason)
        if step.gap != told_gap:
            told_gap = step.gap
            if step.gap is not None:
                logger().warning("journal_has_a_gap", position=step.gap)
        if not step.read:
            # A bell that was rung since the last look is kept by the connection, so none is slept through.
            for _ in connection.notifies(timeout=POLL_SECONDS, stop_after=1):
                pass
