"""Append events with one call of one SQL function; read them as the eventsourcing library does.

The library's own recorder locks the table over a client round trip and needs the right to update it.  Ours may only
select, and execute `dealproof.append_events`: an advisory lock, the command id, the check that every stream stays
dense, the insert, all in one transaction and one round trip.  Why: docs/decisions/0001-journal-and-recorder.md.

Not here: the SQL function (`migrations/versions/0001_journal.py`), what the journal offers (`ops.journal`).
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, LiteralString, NamedTuple

import psycopg
from eventsourcing.persistence import BaseInfrastructureFactory
from eventsourcing.postgres import ConnectionPool, PostgresApplicationRecorder, PostgresDatastore, PostgresFactory
from psycopg import errors
from psycopg.rows import DictRow, dict_row, tuple_row
from psycopg_pool import PoolTimeout

from domain.record import Record
from ops import database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eventsourcing.persistence import StoredEvent
    from eventsourcing.utils import Environment

MOST_CONNECTIONS: Final = 16
OPEN_SECONDS: Final = 10   # to wait for the first connection
POOL_SECONDS: Final = 3    # to wait for a free one afterwards; a caller is told soon that the server is away


class JournalError(Exception):
    """An append or a read failed; one line."""


class StreamConflict(JournalError):
    """Somebody else wrote to the stream first, or events are missing before ours: read it again, decide again."""

    def __init__(self, stream: str, expected: int, given: int) -> None:
        super().__init__(f"stream {stream}: expected seq {expected}, given {given}")
        self.stream = stream
        self.expected = expected
        self.given = given


class CommandMismatch(JournalError):
    """A command id was used before, for another request."""


class CommandRefused(JournalError):
    """A command was refused before, and stays so: its answer is kept."""


class BelowZero(JournalError):
    """A balance or a pot would fall below zero: the store's own last line; whoever decides looks before."""


class RoundTaken(JournalError):
    """A round's number at its table, its commitment or its stream was used before; the message says which."""


class JournalUnavailable(JournalError):
    """The database can't be reached.  An append that raised this may be repeated with the same command id."""


class RoundIdentity(NamedTuple):
    """What may exist only once of a round: its number (from 1) at its table, its commitment (32 bytes), its stream."""

    table_id: str
    number: int
    commitment: bytes
    stream: str


class Appended(NamedTuple):
    """Positions of the events in the journal, and whether an earlier append with this command id had written them.

    `repeated` is also true when our own first try had, and its answer was lost.
    """

    positions: tuple[int, ...]
    repeated: bool


_APPEND: Final = """
select first_position, event_count, repeated from dealproof.append_events(
    %b, %b, %b::text[], %b::bigint[], %b::text[], %b::bytea[], %b::text[], %b::bigint[], %b::bytea[], %b::text[])
"""


_REFUSE: Final = "select dealproof.refuse_command(%b, %b, %b)"


class JournalDatastore(PostgresDatastore):
    """The library's datastore on a URL, its connections in autocommit mode and under the role of the application."""

    def __init__(self, url: str) -> None:
        super().__init__("", "", "", "", "", schema=database.SCHEMA, originator_id_type="text")
        self.pool = ConnectionPool(
            database.connection_text(url),
            connection_class=psycopg.Connection[DictRow],
            kwargs={"autocommit": True, "row_factory": dict_row},
            configure=database.take_role,
            min_size=1,
            max_size=MOST_CONNECTIONS,
            timeout=POOL_SECONDS,
            num_workers=1,
            open=False,
        )
        try:
            # Wait for the first connection; who doesn't makes the pool open a second one.
            self.pool.open(wait=True, timeout=OPEN_SECONDS)
        except PoolTimeout as error:
            raise JournalUnavailable(f"journal: {error}") from None

    def rows(self, query: LiteralString, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of one statement that may be sent twice: a read, or an append, which its command id makes so.

        The connection may be lost before, during or after a commit.  The journal's lock makes the second try wait for
        the end of the first, and the command id then tells what became of it.  Raises JournalUnavailable.
        """
        try:
            return self._rows_once(query, parameters)
        except JournalUnavailable:
            # The others in the pool went the same way, most likely.
            self.pool.check()
            return self._rows_once(query, parameters)

    def _rows_once(self, query: LiteralString, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        with self.tuples() as cursor:
            return cursor.execute(query, parameters, prepare=True).fetchall()

    @contextmanager
    def tuples(self) -> Iterator[psycopg.Cursor[tuple[Any, ...]]]:
        """A cursor with binary results and plain rows.  Raises JournalUnavailable when the server can't serve it."""
        try:
            with self.pool.connection() as connection, connection.cursor(binary=True, row_factory=tuple_row) as cursor:
                yield cursor
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if isinstance(error, errors.ProgramLimitExceeded):
                raise  # what was asked for is too large; asking again doesn't help
            raise JournalUnavailable(f"journal: {database.one_line(error)}") from None


class JournalRecorder(PostgresApplicationRecorder):
    """The library's recorder of one application, except that nothing but `append` writes."""

    datastore: JournalDatastore

    def __init__(self, datastore: JournalDatastore) -> None:
        super().__init__(datastore, events_table_name="events")

    def append(
        self, command_id: str, request_hash: bytes, records: Sequence[Record], rounds: Sequence[RoundIdentity] = ()
    ) -> Appended:
        """Write all records and rounds or none, at the next positions.

        `request_hash` is 32 bytes.  Raises StreamConflict, CommandMismatch, RoundTaken, JournalUnavailable, and
        ValueError for an append that is malformed.
        """
        if not records:
            raise ValueError("append: at least one record is needed")
        arguments = (command_id, request_hash, *_columns(records, 4), *_columns(rounds, 4))
        try:
            [(first, count, repeated)] = self.datastore.rows(_APPEND, arguments)
        except psycopg.Error as error:
            raise _translated(error) from None
        return Appended(tuple(range(first, first + count)), repeated)

    def refuse(self, command_id: str, request_hash: bytes, reply: bytes) -> bytes | None:
        """Keep the answer to a refused command; gives the one that stands, None if the command was carried out."""
        try:
            [(standing,)] = self.datastore.rows(_REFUSE, (command_id, request_hash, reply))
        except psycopg.Error as error:
            raise _translated(error) from None
        return None if standing is None else bytes(standing)

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int] | None:
        """What the library's `events.put` calls.  Its first event names the command, so that it too may be repeated."""
        if not stored_events:
            return None
        records = [Record(str(e.originator_id), e.originator_version, e.topic, e.state) for e in stored_events]
        request_hash = hashlib.sha256(b"".join(hashlib.sha256(record.body).digest() for record in records)).digest()
        return self.append(f"put:{records[0].stream}:{records[0].seq}", request_hash, records).positions


class JournalFactory(PostgresFactory):
    """What the library builds an application from; ours reads nothing from the process environment."""

    def __init__(self, env: Environment, url: str) -> None:
        BaseInfrastructureFactory.__init__(self, env)
        self.datastore: JournalDatastore = JournalDatastore(url)

    def application_recorder(self) -> JournalRecorder:
        return JournalRecorder(self.datastore)


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> Sequence[object]:
    """Turn rows into the arrays that `unnest` makes rows of; null is the cheapest way to say none."""
    return [list(column) for column in zip(*rows, strict=True)] or [None] * width


def _translated(error: psycopg.Error) -> Exception:
    line = database.one_line(error)
    if error.sqlstate == "DP001":
        expected, given, stream = str(error.diag.message_detail).split(" ", 2)
        return StreamConflict(stream, int(expected), int(given))
    if error.sqlstate == "DP002":
        return CommandMismatch(line)
    if error.sqlstate in ("DP005", "DP006"):
        return BelowZero(line) if error.sqlstate == "DP005" else CommandRefused(line)
    if isinstance(error, errors.UniqueViolation) and error.diag.table_name == "round_identity":
        return RoundTaken(_which_round(str(error.diag.constraint_name), str(error.diag.message_detail)))
    if isinstance(error, psycopg.DataError | psycopg.IntegrityError):
        return ValueError(f"append: {line}")
    return JournalError(f"journal: {line}")


def _which_round(constraint: str, detail: str) -> str:
    # The detail reads: Key (table_id, number)=(vip-1, 7) already exists.
    values = detail.partition("=(")[2].rpartition(")")[0]
    return f"round: {constraint.removeprefix('round_identity_')} {values} is taken"
