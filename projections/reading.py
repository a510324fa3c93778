"""Read what the projections remember, as it is at one moment.

    with read_projections(connection, ("rounds", "cash")) as reading:
        rows = reading.rows("select count(*) from {round} where ended_position <= %s", (reading.position,))

The tables that are read can't be dropped while a reading lasts; a rebuild that ends meanwhile changes nothing of it.

Not here: what is made of the rows (`ops.reports`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, LiteralString, NamedTuple

import psycopg
from psycopg import sql

from projections.store import physical

Parameters = Sequence[object] | Mapping[str, object]
"""For %s, or for %(name)s."""


class ProjectionMissing(Exception):
    """A projection was never run, or its tables are not what this program reads; one line that says what to do."""


class State(NamedTuple):
    """How far a projection has come, and why it goes no further."""

    name: str
    generation: int
    version: int
    tables: list[str]
    position: int
    error_position: int | None
    error: str | None


class Reading:
    """A moment of some projections; `position` is the lowest at which one of them stands."""

    def __init__(self, connection: psycopg.Connection[Any], projections: Mapping[str, State]) -> None:
        self._connection, self._streams = connection, 0
        self.projections = projections
        self.position = min((state.position for state in projections.values()), default=0)
        self._names = {
            table: physical(table, state.generation) for state in projections.values() for table in state.tables
        }

    def rows(self, query: LiteralString, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """All rows of a query in which `{round}` is the table of that name."""
        with self._connection.cursor() as cursor:
            return cursor.execute(self._named(query), parameters).fetchall()

    def stream(
        self, query: LiteralString, parameters: Parameters = (), size: int = 1000
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, in the memory of `size` of them; several may be read side by side."""
        self._streams += 1
        with self._connection.cursor(f"reading_{self._streams}") as cursor:
            cursor.itersize = size
            cursor.execute(self._named(query), parameters)
            yield from cursor

    def _named(self, query: LiteralString) -> sql.Composed:
        return sql.SQL(query).format(**self._names)


@contextmanager
def read_projections(
    connection: psycopg.Connection[Any], needed: Sequence[str], versions: Mapping[str, int]
) -> Iterator[Reading]:
    """The projections that are needed, at this moment.  `versions`: of their definitions.  Raises ProjectionMissing."""
    while True:
        try:
            with connection.transaction(), _at_one_moment(connection, needed, versions) as reading:
                yield reading
            return
        except _Dropped:
            continue  # a rebuild ended between two statements: the state names other tables now


class _Dropped(Exception):
    """The tables that the state named are gone."""


@contextmanager
def _at_one_moment(
    connection: psycopg.Connection[Any], needed: Sequence[str], versions: Mapping[str, int]
) -> Iterator[Reading]:
    connection.execute("set transaction isolation level repeatable read, read only")
    states = {state.name: state for state in map(State._make, connection.execute(_STATES).fetchall())}
    for name in needed:
        _require(states.get(name), name, versions[name])
    reading = Reading(connection, {name: states[name] for name in needed})
    try:
        for table in reading._names.values():
            connection.execute(sql.SQL("lock table {} in access share mode").format(table))
    except psycopg.errors.UndefinedTable:
        raise _Dropped from None
    yield reading


def _require(state: State | None, name: str, version: int) -> None:
    if state is None:
        raise ProjectionMissing(f"projection {name}: was never run: dealproof project run --once")
    if state.version != version:
        raise ProjectionMissing(
            f"projection {name}: its tables are of definition {state.version}, this program reads {version}: "
            f"dealproof project rebuild {name}"
        )


_STATES: Final = "select name, generation, version, tables, position, error_position, error from projections.state"
