"""Databases for the tests: one server a session, one fresh database a test.

The server starts when the first test asks for a database: every xdist worker
is a user of the same folder, so the first one starts it and the last one stops it.
`TEST_DATABASE_URL` (a `postgresql://` address of a superuser) uses another server.

Not here: fixtures of one kind of test; they live beside it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from hypothesis import settings

FOLDER = "DEALPROOF_TEST_SERVER"   # tells the workers the folder of the session's server

# Outlives a session that is killed: the end of its standard input says that the session is over.
GUARD = """
import os, shutil, sys, time
sys.stdin.read()
base = sys.argv[1]
if os.path.exists(base + "/server/cluster"):
    from pathlib import Path
    from ops.postgres_server import PostgresServerError, stop
    for _ in range(100):
        try:
            stop(Path(base, "server"))
            break
        except PostgresServerError:   # a worker of a killed session still uses it
            time.sleep(0.1)
shutil.rmtree(base)
"""
# A shared machine makes one example slow now and then; the suite's own time limit is what counts.
settings.register_profile("dealproof", deadline=None)
settings.load_profile("dealproof")

guard_key = pytest.StashKey[subprocess.Popen[bytes]]()


def open_folder(prefix: str) -> Path:
    """A new folder for servers: one that the server's user can enter, which pytest's own is not for root.

    In memory where there is room (initdb syncs 40 MB to the disk): we test kills, not power cuts.
    """
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2**30 and os.access(memory, os.W_OK)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=memory if roomy and "TMPDIR" not in os.environ else None))
    folder.chmod(0o711)
    return folder


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or "TEST_DATABASE_URL" in os.environ:
        return
    base = open_folder("dealproof-tests-")
    os.environ[FOLDER] = str(base / "server")
    config.stash[guard_key] = subprocess.Popen(
        [sys.executable, "-c", GUARD, str(base)], stdin=subprocess.PIPE, cwd=config.rootpath, start_new_session=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    if guard := config.stash.get(guard_key, None):
        guard.communicate()
        del config.stash[guard_key], os.environ[FOLDER]


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """Address of the session's server, as superuser.  Make your own database there: `database_url`."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield given
        return
    # Only tests with a database pay for the import.
    from ops.postgres_server import EmbeddedPostgres

    with EmbeddedPostgres(Path(os.environ[FOLDER])) as server:
        yield server.url


@pytest.fixture
def database_url(server_url: str) -> Iterator[str]:
    """An empty database, dropped after the test."""
    with _database(server_url, template="template0") as url:
        yield url


@pytest.fixture(scope="session")
def migrated_template(server_url: str) -> Iterator[str]:
    """Name of a database on which the migrations ran; one a worker, never connected to by a test."""
    from ops.database import migrate

    with _database(server_url, template="template0") as url:
        with psycopg.connect(server_url, autocommit=True) as connection:
            # Roles belong to the whole server: two workers must not create them at the same moment.
            connection.execute("select pg_advisory_lock(hashtext('dealproof tests: migrate'))")
            migrate(url)
        yield _name(url)


@pytest.fixture
def migrated_database_url(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with the whole schema and no rows, dropped after the test."""
    with _database(server_url, template=migrated_template) as url:
        yield url


@contextmanager
def _database(server_url: str, template: str) -> Iterator[str]:
    url = urlsplit(server_url)._replace(path=f"/test_{uuid4().hex}").geturl()
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"create database {_name(url)} template {template}".encode())
        try:
            yield url
        finally:
            connection.execute(f"drop database {_name(url)} with (force)".encode())


def _name(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")
