"""A connection for looking only: as the reader, with a limit on every wait, opened again when it was lost.

A database that is away, frozen or behind a dead network answers nothing; whoever watches it must say so soon.  So
connecting has a limit, each statement has one (by the server), and a whole look has one (by us, who then cut the line).

Not here: what is asked (`looking`), addresses and roles (`ops.database`).
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg

from ops import database

CONNECT_SECONDS: Final = 2
STATEMENT_SECONDS: Final = 1
LOOK_SECONDS: Final = 5

Connection = psycopg.Connection[tuple[Any, ...]]


class Line:
    """The connection, kept between two looks.  For one thread at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Connection | None = None

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """The connection for one look, cut when it lasts too long.  Raises DatabaseUnavailable."""
        if self._connection is not None and not _answers(self._connection):
            self.close()  # the server was started again since the last look
        if self._connection is None:
            self._connection = self._opened()
        with _at_most(LOOK_SECONDS, self._connection):
            yield self._connection

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened(self) -> Connection:
        text = database.connection_text(self._url)
        with database.explained(self._url):
            connection = psycopg.connect(text, autocommit=True, **_LIMITS)
            with _at_most(LOOK_SECONDS, connection):
                connection.execute(_SETTINGS, (f"{STATEMENT_SECONDS}s",))
                database.take_role(connection, database.READER_ROLE)
        return connection


_LIMITS: Final[dict[str, Any]] = {"connect_timeout": CONNECT_SECONDS, "application_name": "dealproof metrics"}

# Statements of their own, not options of the connection: a pooler in between may refuse those.
_SETTINGS: Final = """
select set_config('statement_timeout', %s, false), set_config('default_transaction_read_only', 'on', false)
"""


def _answers(connection: Connection) -> bool:
    try:
        with _at_most(STATEMENT_SECONDS, connection):
            connection.execute("select 1")
    except psycopg.Error:
        return False
    return True


@contextmanager
def _at_most(seconds: int, connection: Connection) -> Iterator[None]:
    timer = threading.Timer(seconds, _cut, (connection,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _cut(connection: Connection) -> None:
    """Make whoever waits for the server stop waiting, also when the network is dead."""
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as ours:
        ours.shutdown(socket.SHUT_RDWR)
