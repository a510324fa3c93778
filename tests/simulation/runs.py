"""One run: a fresh database, an evening, and on failure the words that repeat it.

Not here: the evening (`world`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg

from ops.database import migrate
from ops.postgres_server import EmbeddedPostgres
from tests.simulation.faults import Postgres
from tests.simulation.world import World


class Failed(AssertionError):
    """A run that went wrong: its seed, how to repeat it, and the end of its story."""


class OwnServer:
    """A PostgreSQL of our own, which may be killed; databases are copied from one that is migrated."""

    def __init__(self, folder: Path) -> None:
        self._server = EmbeddedPostgres(folder)
        self.postgres = Postgres(self._server.url, folder)

    def __enter__(self) -> Self:
        self._server.__enter__()
        self.url = self._server.url
        self.postgres = Postgres(self.url, self._server.folder)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("create database migrated template template0")
        migrate(urlsplit(self.url)._replace(path="/migrated").geturl())
        self.template = "migrated"
        return self

    def __exit__(self, *_: object) -> None:
        self.postgres.close()
        self._server.__exit__(None, None, None)


class SharedServer:
    """The server of the test session, whose connections may be cut, but which others use too."""

    def __init__(self, url: str, template: str) -> None:
        self.url = url
        self.template = template
        self.postgres = Postgres(url)


def run_seed(seed: int, server: OwnServer | SharedServer, steps: int) -> World:
    """The evening of one seed.  Raises Failed."""
    with fresh_database(server) as url:
        world = World(seed, url, server.postgres, steps)
        try:
            world.run()
        except Exception as error:
            repeat = f"python -m tests.simulation {seed} --steps {steps}"
            story = "\n  ".join(world.story[-15:])
            raise Failed(f"seed {seed}: {str(error)[:2000]}\nagain: {repeat}\nlast commands:\n  {story}") from error
    return world


@contextmanager
def fresh_database(server: OwnServer | SharedServer) -> Iterator[str]:
    """A migrated database without rows."""
    name = f"evening_{uuid4().hex}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"create database {name} template {server.template}".encode())
    try:
        yield urlsplit(server.url)._replace(path=f"/{name}").geturl()
    finally:
        # The server may have been killed meanwhile, so this is another connection.
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"drop database {name} with (force)".encode())
