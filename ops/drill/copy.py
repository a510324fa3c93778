"""The copy that is mutated: a database of its own on the same server, and a log of its own in a folder.

    with open_copy(url, journal, folder, events) as copy:
        copy.carry_out(change)
        …
        copy.undo(change)

The source is only read.  The copy has a prefix of its events at their positions; what is unique there by a constraint
is not so here, for who has the server can drop one.  In place of a journal that is nearly empty simulated players play
one.

Not here: the mutations (`ops.drill.kinds`), what finds them (`ops.drill.verifier`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import errors, sql

from domain.log.trust import PinnedKey, Trust
from domain.record import Record
from ops import clock, database
from ops.drill.original import Change, CommandRow, Keys, Original, Row, Tables
from ops.drill.playing import play_instead
from ops.drill.witnessing import FolderLog
from ops.journal import Journal
from ops.log.sequencer import Sequencer
from ops.log.signing import FileSigningKey
from ops.log.store import LogStore
from ops.log.witness import Witness, make_witness, open_witness
from ops.recorder import RoundIdentity

ORIGIN: Final = "dealproof.drill/log"
WITNESS: Final = "dealproof.drill/witness"
LEAST_EVENTS: Final = 400
"""A journal with fewer has too little to be mutated."""

OWNER_ROLE: Final = "dealproof_owner"
VACUUM_EVERY: Final = 200
"""Mutations: their dead rows would slow every read."""

Connection = psycopg.Connection[tuple[Any, ...]]


class DrillError(Exception):
    """The drill can't be held; one line with the reason."""


@dataclass
class Copy:
    """The copy with its log: changed by `carry_out`, as it was after `undo`."""

    journal: Journal
    store: LogStore
    trust: Trust
    witness: Witness
    original: Original
    _owner: Connection
    _undone: int = 0

    def carry_out(self, change: Change) -> None:
        """Make the change: committed in the database, written in the folder."""
        self._write_events([(position, now) for position, now in change.events.items()])
        if change.tables is not None:
            _write_rows(self._owner, self.original.tables.rows, change.tables.rows)
        self._write_files(change.files)

    def undo(self, change: Change) -> None:
        """Put back what stood there."""
        original, end = self.original, len(self.original.events)
        self._write_events([(at, (original.at(at),) if at <= end else ()) for at in change.events])
        if change.tables is not None:
            _write_rows(self._owner, change.tables.rows, original.tables.rows)
        self._write_files({path: original.files.get(path) for path in change.files})
        self._undone += 1
        if self._undone % VACUUM_EVERY == 0:
            self._owner.execute("vacuum dealproof.events, dealproof.commands")

    def is_as_it_was(self) -> bool:
        """Whether events, rows and files are those of the beginning."""
        events = self._owner.cursor(binary=True).execute(_ALL_EVENTS).fetchall()
        same_events = events == [(*record, position) for position, record in enumerate(self.original.events, 1)]
        same_rows = _read_all_rows(self._owner) == sorted(self.original.tables.rows, key=str)
        return same_events and same_rows and _read_files(self.store.folder) == self.original.files

    def _write_events(self, standing: Sequence[tuple[int, Sequence[Record]]]) -> None:
        if not standing:
            return
        # What was there already, perhaps at another position, lies in the database; the rest is sent.
        moved, sent = list[tuple[int, int]](), list[tuple[object, ...]]()
        for position, now in standing:
            for record in now:
                old = self.original.position_of.get(id(record))
                if old is None:
                    sent.append((*record, position))
                else:
                    moved.append((old, position))
        with self._owner.transaction():
            self._owner.execute(_DELETE, (_array(position for position, _ in standing),))
            if moved:
                self._owner.execute(_MOVE, (_array(old for old, _ in moved), _array(new for _, new in moved)))
            _insert_events(self._owner, sent)

    def _write_files(self, files: Mapping[str, bytes | None]) -> None:
        for path, data in files.items():
            file = self.store.folder / path
            if data is None:
                file.unlink(missing_ok=True)
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)


@contextmanager
def open_copy(url: str, source: Journal, folder: Path, events: int) -> Iterator[Copy]:
    """A copy of at most so many events, made for this and gone afterwards.  Raises DrillError, DatabaseUnavailable."""
    head, records, tables = _read_prefix(url, source, events)
    with _new_database(url) as copy_url:
        database.migrate(copy_url)
        with _owner_of(copy_url) as owner, Journal.open(copy_url) as journal:
            if head < LEAST_EVENTS:
                play_instead(journal, folder / "played", events)
                head = journal.head_position()
                records, tables = _read_events(owner, head), _read_tables(owner, head)
                _empty(owner)
            with _logged(journal, owner, folder, records, tables) as copy:
                yield copy


# -- the database


@contextmanager
def _new_database(url: str) -> Iterator[str]:
    name = f"dealproof_drill_{secrets.token_hex(8)}"
    with psycopg.connect(database.connection_text(url), autocommit=True) as connection:
        try:
            connection.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
        except errors.InsufficientPrivilege:
            user = connection.info.user
            raise DrillError(f"drill: the login {user} may not create a database for the copy (CREATEDB)") from None
        try:
            yield urlsplit(url)._replace(path=f"/{name}").geturl()
        finally:
            # A crash before this leaves a database of this name, which nobody uses.
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@contextmanager
def _owner_of(url: str) -> Iterator[Connection]:
    """Who owns the copy, with every guard that the product sets taken away."""
    with psycopg.connect(database.connection_text(url), autocommit=True) as owner:
        database.take_role(owner, OWNER_ROLE)
        for statement in _UNGUARD.split(";"):
            owner.execute(statement)
        yield owner


_UNGUARD: Final[LiteralString] = """
set synchronous_commit = off;
alter table dealproof.events disable trigger user;
alter table dealproof.commands disable trigger user;
alter table dealproof.round_identity disable trigger user;
alter table dealproof.events drop constraint events_stream_seq;
alter table dealproof.events drop constraint events_position;
create index on dealproof.events (originator_id, originator_version);
create index on dealproof.events (notification_id);
alter table dealproof.round_identity drop constraint round_identity_number;
alter table dealproof.round_identity drop constraint round_identity_commitment;
alter table dealproof.round_identity drop constraint round_identity_stream
"""


def _read_prefix(url: str, source: Journal, events: int) -> tuple[int, list[Record], Tables]:
    """The first events of the source, up to the end of an append, with the rows that are theirs."""
    with database.connect(url) as connection:
        [(head,)] = connection.execute(_WHOLE_APPENDS, (events,)).fetchall()
        return head, _read_events(connection, head), _read_tables(connection, head)


def _read_events(connection: Connection, head: int) -> list[Record]:
    cursor = connection.cursor(binary=True)
    return [Record(*row) for row in cursor.execute(_EVENTS, (head,)).fetchall()]


def _read_tables(connection: Connection, head: int) -> Tables:
    cursor = connection.cursor(binary=True)
    commands = tuple(CommandRow(*row) for row in cursor.execute(_COMMANDS, (head,)).fetchall())
    identities = tuple(RoundIdentity(*row) for row in cursor.execute(_IDENTITIES, (head,)).fetchall())
    open_rounds = tuple(stream for (stream,) in cursor.execute(_OPEN, (head, head)).fetchall())
    return Tables(commands, identities, open_rounds)


def _read_all_rows(owner: Connection) -> list[Row]:
    """Every row of the tables beside the events, twice where it is there twice."""
    cursor = owner.cursor(binary=True)
    rows = [Row(table, row) for table, query in _ALL_ROWS.items() for row in cursor.execute(query).fetchall()]
    return sorted(rows, key=str)


def _empty(owner: Connection) -> None:
    owner.execute("truncate dealproof.events, dealproof.commands, dealproof.round_identity, dealproof.open_rounds")


def _insert_events(owner: Connection, rows: Sequence[tuple[object, ...]]) -> None:
    if rows:
        owner.execute(_INSERT, [list(column) for column in zip(*rows, strict=True)])


def _write_rows(owner: Connection, before: frozenset[Row], after: frozenset[Row]) -> None:
    with owner.transaction():
        for statements, rows in ((_DELETE_ROWS, before - after), (_INSERT_ROWS, after - before)):
            for table, statement in statements.items():
                columns = [row.columns for row in rows if row.table == table]
                if columns:
                    owner.execute(statement, [list(column) for column in zip(*columns, strict=True)])


def _array(numbers: Iterable[int]) -> str:
    """An array in PostgreSQL's own words: a thousand numbers are written ten times as fast so."""
    return "{" + ",".join(map(str, numbers)) + "}"


_WHOLE_APPENDS: Final = """
select coalesce(max(first_position + event_count - 1), 0) from dealproof.commands
where first_position + event_count - 1 <= %s
"""

_EVENTS: Final = """
select originator_id, originator_version, topic, state from dealproof.events
where notification_id <= %s order by notification_id, originator_version
"""

_ALL_EVENTS: Final = """
select originator_id, originator_version, topic, state, notification_id from dealproof.events order by notification_id
"""

_ALL_ROWS: Final[dict[str, LiteralString]] = {
    "commands": "select command_id, request_hash, first_position, event_count, recorded_at from dealproof.commands",
    "round_identity": "select table_id, number, commitment, stream from dealproof.round_identity",
    "open_rounds": "select stream from dealproof.open_rounds",
}

_COMMANDS: Final = """
select command_id, request_hash, first_position, event_count, recorded_at from dealproof.commands
where first_position <= %s order by first_position, command_id
"""

_IDENTITIES: Final = """
select table_id, number, commitment, stream from dealproof.round_identity as identity
where exists (select from dealproof.events where originator_id = identity.stream and notification_id <= %s)
order by stream
"""

# Of a prefix: what was open when it ended.
_OPEN: Final = """
select stream from dealproof.round_identity as identity
where exists (select from dealproof.events where originator_id = identity.stream and notification_id <= %s)
and not exists (
    select from dealproof.events
    where originator_id = identity.stream and topic = 'seed-revealed.v1' and notification_id <= %s
)
order by stream
"""

_DELETE: Final = "delete from dealproof.events where notification_id = any (%s::bigint[])"

_INSERT: Final = """
insert into dealproof.events (originator_id, originator_version, topic, state, notification_id)
select * from unnest(%s::text[], %s::bigint[], %s::text[], %s::bytea[], %s::bigint[])
"""

_MOVE: Final = """
insert into dealproof.events (originator_id, originator_version, topic, state, notification_id)
select originator_id, originator_version, topic, state, new_position
from unnest(%s::bigint[], %s::bigint[]) as moved (old_position, new_position)
join dealproof.drill_original as original on original.notification_id = old_position
"""

_KEEP_ORIGINAL: Final = """
create table dealproof.drill_original as select * from dealproof.events;
create index on dealproof.drill_original (notification_id);
vacuum analyze dealproof.events, dealproof.commands, dealproof.round_identity, dealproof.drill_original
"""

_INSERT_ROWS: Final[dict[str, LiteralString]] = {
    "commands": """
        insert into dealproof.commands (command_id, request_hash, first_position, event_count, recorded_at)
        select * from unnest(%s::text[], %s::bytea[], %s::bigint[], %s::integer[], %s::timestamptz[])
        """,
    "round_identity": """
        insert into dealproof.round_identity (table_id, number, commitment, stream)
        select * from unnest(%s::text[], %s::bigint[], %s::bytea[], %s::text[])
        """,
    "open_rounds": "insert into dealproof.open_rounds (stream) select * from unnest(%s::text[])",
}

_DELETE_ROWS: Final[dict[str, LiteralString]] = {
    "commands": """
        delete from dealproof.commands as command
        using unnest(%s::text[], %s::bytea[], %s::bigint[], %s::integer[], %s::timestamptz[])
            as gone (command_id, request_hash, first_position, event_count, recorded_at)
        where command.command_id = gone.command_id
        """,
    "round_identity": """
        delete from dealproof.round_identity as identity
        using unnest(%s::text[], %s::bigint[], %s::bytea[], %s::text[]) as gone (table_id, number, commitment, stream)
        where (identity.table_id, identity.number, identity.commitment, identity.stream)
            = (gone.table_id, gone.number, gone.commitment, gone.stream)
        """,
    "open_rounds": "delete from dealproof.open_rounds where stream = any (%s::text[])",
}


# -- the log


@contextmanager
def _logged(
    journal: Journal, owner: Connection, folder: Path, records: Sequence[Record], tables: Tables
) -> Iterator[Copy]:
    """Fill the journal step by step, with a checkpoint at half, one that a witness signs, and one that none has."""
    log = FileSigningKey(folder / "log.key", ORIGIN)
    keys = Keys(ORIGIN, log, FileSigningKey(folder / "thief.key", ORIGIN))
    store, witness_key = LogStore(folder / "log"), make_witness(folder / "witness", WITNESS)
    trust = Trust(ORIGIN, (PinnedKey(log.verifier),), (PinnedKey(witness_key),), (), witnesses_needed=1)
    early, cosigned, signed = _sizes(tables, len(records))
    notes: dict[int, bytes] = {}
    with open_witness(folder / "witness", trust, _seconds) as witness:
        # Before there are events: the log's key is then whatever signs, whoever's keys the copied events name.
        with Sequencer(journal, store, log, ORIGIN) as sequencer:
            done = 0
            for size in (early, cosigned, signed):
                rows = [(*record, at) for at, record in enumerate(records[done:size], done + 1)]
                _insert_events(owner, rows)
                sequencer.catch_up()
                notes[size] = store.checkpoint() or b""
                done = size
                if size == cosigned:
                    witness.look(FolderLog(store))
        _insert_events(owner, [(*record, at) for at, record in enumerate(records[done:], done + 1)])
        _write_rows(owner, frozenset(), tables.rows)
        for statement in _KEEP_ORIGINAL.split(";"):
            owner.execute(statement)
        original = Original(
            records, tables, _read_files(store.folder), notes, store.best(1) or b"", early, cosigned, signed, keys
        )
        yield Copy(journal, store, trust, witness, original, owner)


def _seconds() -> int:
    return clock.milliseconds(clock.now()) // 1000


def _sizes(tables: Tables, head: int) -> tuple[int, int, int]:
    """Where appends end, at about 50, 70 and 90 of 100 events."""
    ends = [row.first_position + row.event_count - 1 for row in tables.commands]
    early, cosigned, signed = (
        max((end for end in ends if 100 * end <= share * head), default=0) for share in (50, 70, 90)
    )
    if not 0 < early < cosigned < signed < head:
        raise DrillError(f"drill: the journal's {head} events are in too few appends to be drilled")
    return early, cosigned, signed


def _read_files(folder: Path) -> dict[str, bytes]:
    """Path and bytes of each file that a log publishes."""
    files = [folder / "checkpoint", *(folder / "cosigned").glob("[0-9]*"), *(folder / "tile").rglob("*")]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files if file.is_file()}
