"""`dealproof database`: make a database ready, see what an administrator would run, look after the embedded server.

Not here: the migrations (`ops.migrations`), the server (`ops.postgres_server`).
"""

from __future__ import annotations

import sys

import click

from ops.cli.output import UsageError, data_console
from ops.settings import Settings


@click.group()
def database() -> None:
    """Make the database ready; look after the embedded server."""


@database.command()
@click.option("--sql", is_flag=True, help="Print the SQL for an administrator instead of running it.")
@click.pass_obj
def migrate(settings: Settings, sql: bool) -> None:
    """Bring the database to the newest revision."""
    from ops.database import migrate as bring_up
    from ops.database import migration_sql, newest_revision
    from ops.site import open_database

    if sql:
        sys.stdout.write(migration_sql())
        return
    with open_database(settings) as url:
        bring_up(url)
    data_console().print(f"The database is at revision {newest_revision()}.")


@database.command()
@click.pass_obj
def status(settings: Settings) -> None:
    """Say what runs."""
    from ops.postgres_server import status as server_status

    folder = settings.server_folder
    if settings.database_url is not None:
        from ops.database import is_migrated

        ready = is_migrated(settings.database_url)
        data_console().print("The given database answers and is " + ("ready." if ready else "not migrated yet."))
        return
    if not folder.exists():
        data_console().print(f"No embedded PostgreSQL yet; its folder will be {folder}", soft_wrap=True)
        return
    found = server_status(folder)
    state = "does not run (it is started by the command that needs it)"
    if found.pid is not None:
        state = f"runs as process {found.pid}, {'in use' if found.in_use else 'in use by nobody'}, at {found.url}"
    data_console().print(f"Embedded PostgreSQL in {folder}: {state}", soft_wrap=True)


@database.command()
@click.pass_obj
def stop(settings: Settings) -> None:
    """Stop an embedded server that a killed command left behind."""
    from ops.postgres_server import stop as stop_server

    if settings.database_url is not None:
        raise UsageError("database stop: --database-url names a server that is not ours to stop")
    stopped = stop_server(settings.server_folder)
    data_console().print("Stopped." if stopped else "No server was running.")
