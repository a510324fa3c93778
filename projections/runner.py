"""Bring projections forward: a batch of facts, the rows they change and the new position, in one transaction.

    runner = Runner(connection, ALL)
    while runner.step().read: ...

Projections at the same position read together, each event once; one that is behind (new, or built anew) runs alone
until it has come up.  A crash at any moment leaves what the last commit left, and the next start goes on from there to
the same rows.  Two runners may run: each takes the state's rows before it reads, and sees what the other did.

A projection that meets an event nobody can read, or fails over one, stops there, with all before it kept; its state
says why.  The others go on.  It tries again when a runner starts anew.

A rebuild fills tables beside those that are read, and then the state names the new ones: no reader waits, and one that
has begun goes on with the old ones until it ends.

Not here: which rows (the projections), reading them (`reading`), who wakes the runner (`ops.projecting`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import sql

from projections.feed import Batch, Cursor, Fact, Unreadable, read_batch
from projections.projection import Projection
from projections.store import SCHEMA, Store, physical

Connection = psycopg.Connection[tuple[Any, ...]]

BATCH: Final = 5000


class Stopped(NamedTuple):
    """A projection that goes no further, at which position, and why; `cause` is the error itself."""

    name: str
    position: int
    reason: str
    cause: Exception


class Step(NamedTuple):
    """What one step did: events read, the lowest position now, the first one that is missing, who stopped in it."""

    read: int
    position: int
    gap: int | None
    stopped: tuple[Stopped, ...]


class VersionOther(Exception):
    """The tables of a projection are of another version of its definition; one line that says what to do."""


class Runner:
    """Brings some projections forward over a connection of its own in autocommit mode, as the projector."""

    def __init__(self, connection: Connection, projections: Sequence[Projection], batch: int = BATCH) -> None:
        self._connection, self._batch = connection, batch
        self._projections = {projection.NAME: projection for projection in projections}
        self._known: dict[str, tuple[int, int]] = {}
        """Generation and position at which a projection's memory is right."""
        self._stopped: set[str] = set()
        for projection in projections:
            make_ready(connection, projection)

    def step(self, limit: int | None = None) -> Step:
        """Take in the next events, at most a batch, none beyond the position `limit`."""
        with self._connection.transaction(), self._connection.cursor() as cursor:
            states = self._states(cursor)
            if not states:
                return Step(0, 0, None, ())
            lowest = min(position for _, position in states.values())
            group = [name for name, (_, position) in states.items() if position == lowest]
            ahead = [position for _, position in states.values() if position > lowest]
            room = min([self._batch, *(position - lowest for position in ahead)])
            batch = read_batch(cursor, lowest, room if limit is None else max(min(room, limit - lowest), 0))
            stopped: list[Stopped] = []
            for name in group:
                stopped += self._advance(cursor, name, states[name], batch)
        # Memory was changed before the commit; had it failed, the next step would find another position and forget.
        return Step(len(batch.facts), lowest + len(batch.facts), batch.gap, tuple(stopped))

    @property
    def stopped(self) -> frozenset[str]:
        """The projections that go no further under this runner."""
        return frozenset(self._stopped)

    def _states(self, cursor: Cursor) -> dict[str, tuple[int, int]]:
        """Generation and position of each projection that goes on; their rows are ours until the transaction ends."""
        names = [name for name in self._projections if name not in self._stopped]
        rows = cursor.execute(_LOCK_STATES, (names,)).fetchall()
        return {name: (generation, position) for name, generation, position in rows}

    def _advance(self, cursor: Cursor, name: str, state: tuple[int, int], batch: Batch) -> list[Stopped]:
        """Take the facts of a batch into one projection, and say so in its state."""
        projection, (generation, position) = self._projections[name], state
        projection.store = Store(cursor, projection.TABLES, generation)
        if self._known.get(name) != state:
            projection.forget()
        self._known.pop(name, None)  # until its memory is what its rows are
        facts, failed = batch.facts, _as_stop(name, batch.unreadable)
        try:
            with self._connection.transaction():
                take(projection, facts)
        except _Failed as failure:
            projection.forget()
            facts = [fact for fact in facts if fact.position < failure.position]
            failed = Stopped(name, failure.position, failure.reason, failure.cause)
            with self._connection.transaction():
                take(projection, facts)
        reached = position + len(facts)
        _move(cursor, name, reached, failed)
        self._known[name] = (generation, reached)
        if failed is None:
            return []
        self._stopped.add(name)
        return [failed]


class _Failed(Exception):
    """A projection failed over a fact."""

    def __init__(self, position: int, cause: Exception) -> None:
        super().__init__(position)
        self.position, self.cause = position, cause
        self.reason = f"position {position}: {type(cause).__name__}: {cause}"


def take(projection: Projection, facts: Sequence[Fact]) -> None:
    """Tell a projection facts, and let it write.  Raises _Failed; errors of the database go through."""
    handlers = projection.handlers()
    find = handlers.get
    for fact in facts:
        handle = find(type(fact.event))
        if handle is not None:
            try:
                handle(fact)
            except psycopg.OperationalError:
                raise
            except Exception as error:
                raise _Failed(fact.position, error) from error
    projection.write()


def _as_stop(name: str, unreadable: Unreadable | None) -> Stopped | None:
    return None if unreadable is None else Stopped(name, unreadable.position, str(unreadable), unreadable)


def _move(cursor: Cursor, name: str, position: int, failed: Stopped | None) -> None:
    at, reason = (None, None) if failed is None else (failed.position, failed.reason)
    cursor.execute(_MOVE, (position, at, reason, name))


# -- tables


def make_ready(connection: Connection, projection: Projection) -> bool:
    """Make the tables of a projection that was never run; whether that was so.  Raises VersionOther."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
        row = cursor.execute(_VERSION, (projection.NAME,)).fetchone()
        if row is None:
            _drop(cursor, projection, 1)  # a restore may have brought tables without their state
            Store(cursor, projection.TABLES, 1).create()
            cursor.execute(_BEGIN, (projection.NAME, 1, projection.VERSION, _tables(projection)))
        elif row[0] != projection.VERSION:
            raise VersionOther(
                f"projection {projection.NAME}: its tables are of definition {row[0]}, this program has "
                f"{projection.VERSION}: dealproof project rebuild {projection.NAME}"
            )
    return row is None


def _drop(cursor: Cursor, projection: Projection, generation: int) -> None:
    for table in projection.TABLES:
        cursor.execute(sql.SQL("drop table if exists {}").format(physical(table.name, generation)))


class Rebuilt(NamedTuple):
    """What a rebuild came to: the position it stands at, and how many rows of each table differ from those it replaced.

    `different` is None where they were not compared, and where the old tables were of another version.
    """

    position: int
    different: dict[str, int] | None


def rebuild(
    connection: Connection, projection: Projection, told: Callable[[int, int], None], *, compare: bool = False
) -> Rebuilt:
    """Fill new tables from the first event on, up to where the old ones are, and let them be read in their place.

    `told` hears of progress: the position reached, and the one to reach.  Interrupted, it leaves the old tables as they
    were, and new ones that the next rebuild begins again.  Raises LookupError for a projection that was never run.
    """
    generation = _begin_building(connection, projection)
    projection.forget()
    position, target = 0, _position(connection, projection)
    while position < target:
        told(position, target)
        position = _fill(connection, projection, generation, position, target)
        target = max(target, _position(connection, projection))
    with connection.transaction(), connection.cursor() as cursor:
        Store(cursor, projection.TABLES, generation).index()
    return _swap(connection, projection, generation, position, compare)


def _fill(connection: Connection, projection: Projection, generation: int, position: int, target: int) -> int:
    """One batch into new tables; the position reached.  Raises Unreadable where the next event can't be read."""
    with connection.transaction(), connection.cursor() as cursor:
        batch = read_batch(cursor, position, min(BATCH, target - position))
        if not batch.facts:
            raise batch.unreadable or Unreadable(position + 1, f"position {position + 1}: the event is missing")
        projection.store = Store(cursor, projection.TABLES, generation)
        try:
            take(projection, batch.facts)
        except _Failed as failure:
            raise Unreadable(failure.position, failure.reason) from failure.cause
    return position + len(batch.facts)


def _begin_building(connection: Connection, projection: Projection) -> int:
    """The generation to build, its tables made; what an interrupted rebuild left is dropped."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
        row = cursor.execute(_GENERATION, (projection.NAME,)).fetchone()
        if row is None:
            raise LookupError(f"projection {projection.NAME}: was never run; there is nothing to rebuild")
        generation: int = row[0] + 1
        _drop(cursor, projection, generation)
        Store(cursor, projection.TABLES, generation).create(indexed=False)
        cursor.execute(_BUILD, (generation, projection.NAME))
    return generation


def _swap(connection: Connection, projection: Projection, generation: int, position: int, compare: bool) -> Rebuilt:
    """Take the last facts in, and let the state name the new tables."""
    with connection.transaction(), connection.cursor() as cursor:
        # From here to the commit the live runner waits; readers don't.
        row = cursor.execute(_LOCK_STATE, (projection.NAME,)).fetchone()
        assert row is not None
        old, version, live, building = row
        if building != generation:
            raise LookupError(f"projection {projection.NAME}: another rebuild was begun meanwhile; this one is dropped")
        while position < live:
            position = _fill(connection, projection, generation, position, live)
        same = compare and version == projection.VERSION and position == live
        different = _compare(cursor, projection, old, generation) if same else None
        cursor.execute(_SWAP, (generation, projection.VERSION, _tables(projection), position, projection.NAME))
    drop_old(connection)
    return Rebuilt(position, different)


def _compare(cursor: Cursor, projection: Projection, old: int, new: int) -> dict[str, int]:
    """How many rows each table has that the other has not."""
    found = {}
    for table in projection.TABLES:
        query = sql.SQL(_DIFFERENT).format(physical(table.name, old), physical(table.name, new))
        [(count,)] = cursor.execute(query).fetchall()
        found[table.name] = count
    return found


def _tables(projection: Projection) -> list[str]:
    return [table.name for table in projection.TABLES]


def _position(connection: Connection, projection: Projection) -> int:
    row = connection.execute(_POSITION, (projection.NAME,)).fetchone()
    return 0 if row is None else int(row[0])


def drop_old(connection: Connection) -> None:
    """Drop the tables that the state names no more.  One that somebody still reads stays until the next time."""
    for (name,) in connection.execute(_OLD_TABLES).fetchall():
        try:
            with connection.transaction():
                connection.execute("set local lock_timeout = '1s'")
                connection.execute(sql.SQL("drop table if exists {}").format(sql.Identifier(SCHEMA, name)))
        except psycopg.errors.LockNotAvailable:
            continue


_ONE_AT_A_TIME: Final = "select pg_advisory_xact_lock(1684365679)"

_LOCK_STATES: Final = """
select name, generation, position from projections.state where name = any(%s) order by name for update
"""

_LOCK_STATE: Final = """
select generation, version, position, building from projections.state where name = %s for update
"""

_VERSION: Final = "select version from projections.state where name = %s"
_GENERATION: Final = "select generation from projections.state where name = %s for update"
_POSITION: Final = "select position from projections.state where name = %s"
_BEGIN: Final = """
insert into projections.state (name, generation, version, tables, position) values (%s, %s, %s, %s, 0)
"""

_BUILD: Final = "update projections.state set building = %s where name = %s"

_MOVE: Final = "update projections.state set position = %s, error_position = %s, error = %s where name = %s"

_SWAP: Final = """
update projections.state
set generation = %s, version = %s, tables = %s, position = %s, building = null, error_position = null, error = null
where name = %s
"""

_DIFFERENT: Final = """
select (select count(*) from (select * from {0} except all select * from {1}) as gone)
    + (select count(*) from (select * from {1} except all select * from {0}) as come)
"""

# A generation stands behind the last underscore of a table's name.
_OLD_TABLES: Final = """
select relname from pg_catalog.pg_class
where relnamespace = 'projections'::regnamespace and relkind = 'r' and relname <> 'state'
and not exists (
    select from projections.state as state, pg_catalog.regexp_match(relname, '^(.*)_([0-9]+)$') as part
    where part[2]::integer in (state.generation, coalesce(state.building, state.generation))
    and part[1] = any(state.tables)
)
"""
