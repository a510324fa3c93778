"""Run the migrations: on an open connection, or as a script for a database administrator.

`ops.database` calls this through Alembic; there is no alembic.ini.  One transaction holds everything.

Not here: the tables (`versions/`).
"""

from __future__ import annotations

from alembic import context

SCHEMA = "dealproof"

# Roles belong to the whole cluster, databases are many.  Another database may create the same role at the same moment:
# then our insert waits for its commit and fails on the name, which is what we wanted.
CREATE_ROLES = """
do $body$
declare
    name text;
begin
    foreach name in array array['dealproof_owner', 'dealproof_app', 'dealproof_reader'] loop
        if not exists (select from pg_catalog.pg_roles where rolname = name) then
            begin
                execute 'create role ' || name || ' nologin';
            exception when duplicate_object or unique_violation then
                null;
            end;
        end if;
    end loop;
end
$body$
"""

# A superuser may become the owner anyway; who only may create roles has to be made a member first.
JOIN_OWNER = """
do $body$
begin
    set local role dealproof_owner;
    reset role;
exception when insufficient_privilege then
    execute 'grant dealproof_owner to ' || quote_ident(current_user);
end
$body$
"""

CREATE_SCHEMA = "create schema if not exists dealproof authorization dealproof_owner"

# Everything that follows, Alembic's own table too, belongs to the owner, whom nobody can log in as.
BECOME_OWNER = "set local role dealproof_owner"


def configure() -> None:
    """Tell Alembic where to write: the caller's connection, or (offline) its buffer."""
    if context.is_offline_mode():
        context.configure(dialect_name="postgresql", version_table_schema=SCHEMA)
    else:
        context.configure(connection=context.config.attributes["connection"], version_table_schema=SCHEMA)


configure()
with context.begin_transaction():
    for statement in (CREATE_ROLES, JOIN_OWNER, CREATE_SCHEMA, BECOME_OWNER):
        context.execute(statement)
    context.run_migrations()
