"""Reach the database: migrate it, connect to it under the role of the application, say in one line why it can't be.

URLs are `postgresql://user:password@host:port/database`, in every form that libpq reads.  No message has a password.

Not here: what is stored (`ops.journal`), a server of our own (`ops.postgres_server`).
"""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alembic.config import Config

SCHEMA: Final = "dealproof"
APP_ROLE: Final = "dealproof_app"
READER_ROLE: Final = "dealproof_reader"
PROJECTOR_ROLE: Final = "dealproof_projector"

CONNECT_SECONDS: Final = 10

MIGRATIONS: Final = Path(__file__).parent / "migrations"
_MIGRATION_LOCK: Final = 1684365677   # beside the journal's own lock, which an append takes


class DatabaseUnavailable(Exception):
    """The database can't be used; one line with its address and the reason."""


def connect(url: str, role: str = APP_ROLE) -> psycopg.Connection[tuple[Any, ...]]:
    """Open an autocommit connection, under `role` where the login user may take it.  Raises DatabaseUnavailable."""
    with explained(url):
        connection = psycopg.connect(connection_text(url), autocommit=True)
        take_role(connection, role)
    return connection


def take_role(connection: psycopg.Connection[Any], role: str = APP_ROLE) -> None:
    """Go on with the rights of `role` only; stay as we are if it isn't ours to take, or isn't there yet."""
    # Since PostgreSQL 16 who created a role is a member that may not take it.
    privilege = "set" if connection.info.server_version >= 160000 else "member"
    connection.execute(_TAKE_ROLE, (role, privilege))


# One statement, so that taking the role costs one round trip.
_TAKE_ROLE: Final = """
select set_config('role', rolname, false) from pg_catalog.pg_roles
where rolname = %s and pg_has_role(oid, %s)
"""


def connection_text(url: str) -> str:
    """Check a URL and add our time limit for connecting, unless it names one.  Raises DatabaseUnavailable."""
    if not _URL.fullmatch(url):
        raise DatabaseUnavailable(_NOT_A_URL)
    try:
        return make_conninfo(url, **{"connect_timeout": CONNECT_SECONDS, **conninfo_to_dict(url)})
    except psycopg.ProgrammingError:
        # libpq's own words may quote a part of the password here.
        raise DatabaseUnavailable(_NOT_A_URL) from None


# One @ at most, ports of digits: libpq would take a part of an unescaped password for a host or a port, and show it.
_HOST: Final = r"(\[[^]@/?]*\]|[^][@/?:,]*)(:\d*)?"
_URL: Final = re.compile(rf"postgres(ql)?://([^@/?]*@)?{_HOST}(,{_HOST})*([/?][^@]*)?")
_NOT_A_URL: Final = (
    "database URL: not of the form postgresql://user:password@host:port/database (special characters as %40)"
)


def migrate(url: str) -> None:
    """Bring the database to the newest revision.  May run in several processes at once.  Raises DatabaseUnavailable."""
    if is_migrated(url):
        return
    with explained(url):
        _upgrade(url)


def is_migrated(url: str) -> bool:
    """Whether the database stands at the newest revision that this program knows.  Raises DatabaseUnavailable."""
    with connect(url) as connection, explained(url):
        if connection.execute("select to_regclass('dealproof.alembic_version')").fetchone() == (None,):
            return False
        revisions = connection.execute("select version_num from dealproof.alembic_version").fetchall()
    return revisions == [(newest_revision(),)]


def require_migrated(url: str) -> None:
    """Raise DatabaseUnavailable unless `is_migrated`."""
    if not is_migrated(url):
        raise DatabaseUnavailable(f"database {_address(url)}: not at revision {newest_revision()}; migrate it first")


def newest_revision() -> str:
    """The number that the newest file of migrations/versions begins with.  Spares a start the import of Alembic."""
    return max(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def migration_sql() -> str:
    """What `migrate` does to an empty database, as a script for its administrator."""
    from alembic import command

    script = io.StringIO()
    command.upgrade(_alembic_config(script), "head", sql=True)
    return script.getvalue()


def _upgrade(url: str) -> None:
    # Alembic and SQLAlchemy take half a second to import, and only a new database needs them.
    from alembic import command
    from sqlalchemy import create_engine, pool, text

    config = _alembic_config(io.StringIO())
    # SQLAlchemy reads fewer forms of a URL than libpq does, so it never sees ours.
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(connection_text(url)), poolclass=pool.NullPool
    )
    with engine.begin() as connection:
        # A crash before the commit leaves nothing; a second process waits here, then finds the work done.
        connection.execute(text(f"select pg_advisory_xact_lock({_MIGRATION_LOCK})"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _alembic_config(output: io.StringIO) -> Config:
    from alembic.config import Config

    config = Config(stdout=output, output_buffer=output)
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Whatever the database raises becomes one line with its address: DatabaseUnavailable."""
    try:
        yield
    except psycopg.Error as error:
        raise DatabaseUnavailable(f"database {_address(url)}: {one_line(error)}") from None
    except Exception as error:
        # SQLAlchemy wraps what psycopg raised.
        if isinstance(cause := getattr(error, "orig", None), psycopg.Error):
            raise DatabaseUnavailable(f"database {_address(url)}: {one_line(cause)}") from None
        raise


def _address(url: str) -> str:
    parts = conninfo_to_dict(url)
    place = ":".join(str(parts[key]) for key in ("host", "port") if parts.get(key))
    return f"{place or 'local'}/{parts.get('dbname') or ''}"


def one_line(error: psycopg.Error) -> str:
    """The reason in the server's or libpq's words, without its repetitions and advice."""
    text = error.diag.message_primary or str(error)
    first = text.strip().partition("\n")[0]
    return first.rpartition("failed: ")[2].replace("FATAL:  ", "").strip() or type(error).__name__
