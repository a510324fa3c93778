"""Who owns the schema and who uses it: what must be there before the first migration.

    dealproof_owner     owns schema, tables and function; nobody logs in as it
    dealproof_app       reads all, appends through the function, adds wrapped data keys
    dealproof_reader    reads all
    dealproof_projector reads the journal, makes and fills the tables of the projections

An administrator grants the last three to the login users of the installation.

Not here: rights on tables (`versions/`).
"""

from __future__ import annotations

from typing import Final

# Roles belong to the whole cluster, databases are many.  Another database may create the same role at the same moment:
# then our insert waits for its commit and fails on the name, which is what we wanted.
CREATE_ROLES: Final = """
do $body$
declare
    name text;
begin
    foreach name in array array['dealproof_owner', 'dealproof_app', 'dealproof_reader', 'dealproof_projector'] loop
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
JOIN_OWNER: Final = """
do $body$
begin
    set local role dealproof_owner;
    reset role;
exception when insufficient_privilege then
    execute 'grant dealproof_owner to ' || quote_ident(current_user);
end
$body$
"""

CREATE_SCHEMA: Final = "create schema if not exists dealproof authorization dealproof_owner"

# What can be made again lies apart from what can't.
CREATE_PROJECTIONS: Final = "create schema if not exists projections authorization dealproof_owner"

# Everything that follows, Alembic's own table too, belongs to the owner, whom nobody can log in as.
BECOME_OWNER: Final = "set local role dealproof_owner"

BEFORE_MIGRATIONS: Final = (CREATE_ROLES, JOIN_OWNER, CREATE_SCHEMA, CREATE_PROJECTIONS, BECOME_OWNER)
