"""What goes wrong, and where: before a call of the journal is sent, or after it has done its work and nobody heard.

    lost answer      the caller gets JournalUnavailable
    server killed    the process is gone with all that it remembered (`ServerKilled` goes through everything)
    backends killed  every connection of the database is terminated by PostgreSQL's administrator
    postgres killed  SIGKILL for the postmaster, and a new start with its recovery

Which call of which command meets what is drawn from the seed.

Not here: what the callers do then (`world`).
"""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg

from ops import clock, house
from ops.journal import Journal, JournalUnavailable
from ops.postgres_server import EmbeddedPostgres


class ServerKilled(BaseException):
    """The process that was at work is gone."""


class Kind(StrEnum):
    LOST = "answer lost"
    SERVER = "server killed"
    BACKENDS = "backends killed"
    POSTGRES = "postgres killed"


@dataclass(frozen=True)
class Fault:
    """One fault: at the n-th call of a command, before it is sent or after its work is done.

    `inside`: within the store's own second try, which hides a connection that was lost once.
    """

    kind: Kind
    call: int
    after: bool
    inside: bool

    def __str__(self) -> str:
        where = "after" if self.after else "before"
        return f"{self.kind} {where} call {self.call}{' (first try)' if self.inside else ''}"


def draw(random: Random, weights: Mapping[Kind, int]) -> Fault:
    """Any fault at one of the calls that a command makes: two to six, most often."""
    [kind] = random.choices(list(weights), list(weights.values()))
    return Fault(kind, random.randrange(5), random.random() < 0.5, random.random() < 0.3)


class Postgres:
    """The database of one simulated casino, and how to hurt its server.

    `folder`: of a server that is ours to kill; None where others use it too.
    """

    def __init__(self, server_url: str, folder: Path | None = None) -> None:
        self._url = server_url
        self._folder = folder
        self._uses = ExitStack()
        # A start of PostgreSQL takes its time, so it is rare.
        self.weights = {Kind.LOST: 100, Kind.SERVER: 100, Kind.BACKENDS: 60, Kind.POSTGRES: 0 if folder is None else 6}

    def terminate(self, database_url: str) -> None:
        """End every connection to a database, and see them gone: one that dies slowly may still answer or not."""
        name = urlsplit(database_url).path.removeprefix("/")
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = %s", (name,)
            )

    def kill(self) -> None:
        """SIGKILL for our own postmaster, then a new one, which recovers."""
        assert self._folder is not None
        pid = int((self._folder / "cluster" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)
        while _lives(pid):
            time.sleep(0.005)
        self._uses.enter_context(EmbeddedPostgres(self._folder))

    def close(self) -> None:
        """Leave the servers that were started anew."""
        self._uses.close()


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Faults:
    """Stands between a journal and its database: makes the fault of the command at hand, once."""

    def __init__(self, postgres: Postgres, url: str) -> None:
        self._postgres = postgres
        self._url = url
        self._fault: Fault | None = None
        self._calls = 0
        self._thread: int | None = None
        self.happened: Counter[Kind] = Counter()

    def arm(self, fault: Fault | None) -> None:
        """From now on, in this thread only: a doubled request goes its own way."""
        self._fault, self._calls, self._thread = fault, -1, threading.get_ident()

    def watch(self, journal: Journal) -> None:
        """Put both tries of every call of a journal under our eyes."""
        datastore: Any = journal.application.recorder.datastore
        datastore.rows = self._outer(datastore.rows)
        datastore._rows_once = self._inner(datastore._rows_once)

    def _outer(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def rows(query: object, parameters: Sequence[object] = ()) -> Any:
            if threading.get_ident() == self._thread:
                self._calls += 1
            self._meet(after=False, inside=False)
            answer = call(query, parameters)
            self._meet(after=True, inside=False)
            return answer

        return rows

    def _inner(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def rows_once(query: object, parameters: Sequence[object]) -> Any:
            self._meet(after=False, inside=True)
            answer = call(query, parameters)
            self._meet(after=True, inside=True)
            return answer

        return rows_once

    def _meet(self, *, after: bool, inside: bool) -> None:
        fault = self._fault
        if fault is None or threading.get_ident() != self._thread:
            return
        if (fault.call, fault.after, fault.inside) != (self._calls, after, inside):
            return
        self._fault = None
        self.happened[fault.kind] += 1
        if fault.kind is Kind.SERVER:
            raise ServerKilled
        if fault.kind is Kind.BACKENDS:
            self._postgres.terminate(self._url)
        elif fault.kind is Kind.POSTGRES:
            self._postgres.kill()
        if fault.kind is Kind.LOST or after:
            raise JournalUnavailable(f"journal: {fault}")


# -- time and chance, from the seed


MIDNIGHT: Final = 1_790_000_000_000


class Time:
    """The wall clock of the simulated casino; it stands still until it is moved, ahead or back."""

    def __init__(self) -> None:
        self.milliseconds = MIDNIGHT

    def time_ns(self) -> int:
        return self.milliseconds * 1_000_000


class Secrets:
    """Seeds and round ids that follow from the simulation's seed and the command at hand.

    However often and in whatever thread a command is tried: it draws the same, so a run can be repeated.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._local = threading.local()

    def of_command(self, name: str) -> None:
        """What is drawn in this thread from now on belongs to this command."""
        self._local.command = name

    def token_bytes(self, size: int) -> bytes:
        drawn = hashlib.shake_256(f"{self._seed}/{self._local.command}/{size}".encode())
        return drawn.digest(size)


@contextmanager
def injected(time_: Time, secrets: Secrets) -> Iterator[None]:
    """The clock and the source of seeds of the code under test."""
    places: list[tuple[Any, str, object]] = [
        (clock, "time", time_), (clock, "secrets", secrets), (house, "secrets", secrets),
    ]  # fmt: skip
    before = [getattr(module, name) for module, name, _ in places]
    for module, name, stand_in in places:
        setattr(module, name, stand_in)
    try:
        yield
    finally:
        for (module, name, _), original in zip(places, before, strict=True):
            setattr(module, name, original)
