"""All rows of all projections, to be held against each other.

Not here: what they should be (`tests.reference.projected`).
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from projections.catalogue import PROJECTIONS
from projections.projection import Projection
from projections.runner import Runner

Connection = psycopg.Connection[tuple[Any, ...]]


def all_rows(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Every table that the state names, in the order of its key."""
    found = {}
    for kind in PROJECTIONS.values():
        row = connection.execute("select generation from projections.state where name = %s", (kind.NAME,)).fetchone()
        for table in kind.TABLES if row is not None else ():
            assert row is not None
            name = sql.Identifier("projections", f"{table.name}_{row[0]}")
            key = sql.SQL(", ").join(map(sql.Identifier, table.key))
            query = sql.SQL("select * from {} order by {}").format(name, key)
            found[table.name] = connection.execute(query).fetchall()
    return found


def fresh() -> list[Projection]:
    """All projections, with nothing in their memory."""
    return [kind() for kind in PROJECTIONS.values()]


def run_to_end(connection: Connection, batch: int = 5000) -> None:
    """Take in all there is."""
    runner = Runner(connection, fresh(), batch)
    while runner.step().read:
        pass
