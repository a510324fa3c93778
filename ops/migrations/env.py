"""Run the migrations: on an open connection, or as a script for a database administrator.

`ops.database` calls this through Alembic; there is no alembic.ini.  One transaction holds everything.

Not here: roles and schema (`roles.py`), the tables (`versions/`).
"""

from __future__ import annotations

from alembic import context

from ops.database import SCHEMA
from ops.migrations.roles import BEFORE_MIGRATIONS


def configure() -> None:
    """Tell Alembic where to write: the caller's connection, or (offline) its buffer."""
    if context.is_offline_mode():
        context.configure(dialect_name="postgresql", version_table_schema=SCHEMA)
    else:
        context.configure(connection=context.config.attributes["connection"], version_table_schema=SCHEMA)


configure()
with context.begin_transaction():
    for statement in BEFORE_MIGRATIONS:
        context.execute(statement)
    context.run_migrations()
