"""Who may do what in the database, and how it gets there."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from ops.database import (
    MIGRATIONS,
    READER_ROLE,
    DatabaseUnavailable,
    connect,
    connection_text,
    is_migrated,
    migrate,
    migration_sql,
    newest_revision,
)
from ops.migrations.roles import CREATE_ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator

Connection = psycopg.Connection[tuple[Any, ...]]

TABLES = ["events", "commands", "round_identity", "data_key"]

APPEND = """
select dealproof.append_events('c1', sha256('request'), array['round:a'], array[0::bigint], array['noted.v1'],
    array['{}'::bytea], array['vip-1'], array[1::bigint], array[sha256('seed')], array['round:a'])
"""
INSERT_KEY = "insert into dealproof.data_key (key_id, wrapped) values ('k1', 'wrapped')"


@pytest.fixture
def owner(migrated_database_url: str) -> Iterator[Connection]:
    """A superuser, in a journal of one round."""
    with psycopg.connect(migrated_database_url, autocommit=True) as connection:
        connection.execute(APPEND)
        connection.execute(INSERT_KEY)
        yield connection


def as_role(owner: Connection, role: str) -> Connection:
    """Go on as if logged in under the role: there is no way back to the superuser."""
    owner.execute(f"set session authorization {role}".encode())
    return owner


FORBIDDEN_TO_ALL = [
    "update dealproof.{table} set {column} = {column}",
    "delete from dealproof.{table}",
    "truncate dealproof.{table}",
    "alter table dealproof.{table} disable trigger all",
    "alter table dealproof.{table} add column note text",
    "drop table dealproof.{table}",
    "create trigger t before insert on dealproof.{table} execute function dealproof.refuse_change()",
    "set role dealproof_owner",
    "set session_replication_role = replica",
    "drop function dealproof.append_events",
    "alter function dealproof.append_events security invoker",
    "create table dealproof.other (a int)",
    "drop schema dealproof cascade",
    "insert into dealproof.alembic_version values ('9999')",
]
COLUMN = {"events": "state", "commands": "request_hash", "round_identity": "commitment", "data_key": "wrapped"}


@pytest.mark.parametrize("role", ["dealproof_app", "dealproof_reader"])
def test_neither_role_can_change_or_disarm_anything(owner: Connection, role: str) -> None:
    as_role(owner, role)
    for table in TABLES:
        for statement in FORBIDDEN_TO_ALL:
            with pytest.raises(errors.InsufficientPrivilege):
                owner.execute(statement.format(table=table, column=COLUMN[table]).encode())


def test_the_app_role_inserts_only_through_the_function(owner: Connection) -> None:
    app = as_role(owner, "dealproof_app")

    for table in ("events", "commands", "round_identity"):
        with pytest.raises(errors.InsufficientPrivilege):
            app.execute(f"insert into dealproof.{table} select * from dealproof.{table}".encode())
    app.execute(APPEND.replace("'c1'", "'c2'").replace("round:a", "round:b").replace("[1::", "[2::")
                .replace("'seed'", "'other'").encode())

    assert app.execute("select count(*) from dealproof.events").fetchone() == (2,)


def test_the_app_role_adds_data_keys(owner: Connection) -> None:
    app = as_role(owner, "dealproof_app")
    app.execute(INSERT_KEY.replace("k1", "k2").encode())

    assert app.execute("select key_id, wrapped from dealproof.data_key").fetchall() == [
        ("k1", b"wrapped"), ("k2", b"wrapped")]


def test_the_reader_role_only_reads(owner: Connection) -> None:
    reader = as_role(owner, "dealproof_reader")

    for table in TABLES:
        assert reader.execute(f"select count(*) from dealproof.{table}".encode()).fetchone() == (1,)
    for statement in (APPEND, INSERT_KEY):
        with pytest.raises(errors.InsufficientPrivilege):
            reader.execute(statement.encode())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("statement", [
    "update dealproof.{table} set {column} = {column}", "delete from dealproof.{table}", "truncate dealproof.{table}",
], ids=["update", "delete", "truncate"])
def test_the_owner_too_is_refused_a_change(owner: Connection, table: str, statement: str) -> None:
    """A mistake in an administrator's session, also one that plays a replica, stops at the trigger."""
    owner.execute("set session_replication_role = replica")

    with pytest.raises(psycopg.Error) as refused:
        owner.execute(statement.format(table=table, column=COLUMN[table]).encode())

    verb = statement.split()[0]
    assert refused.value.sqlstate == "DP004"
    assert refused.value.diag.message_primary == f"events are append-only: {verb} of dealproof.{table} is refused"


def test_nobody_logs_in_as_the_owner(owner: Connection) -> None:
    roles = "select rolname, rolcanlogin, rolsuper from pg_roles where rolname like 'dealproof\\_%' order by 1"
    assert owner.execute(roles).fetchall() == [
        ("dealproof_app", False, False), ("dealproof_owner", False, False), ("dealproof_projector", False, False),
        ("dealproof_reader", False, False)]

    owned = """select distinct pg_get_userbyid(relowner) from pg_class
               where relnamespace = 'dealproof'::regnamespace"""
    assert owner.execute(owned).fetchall() == [("dealproof_owner",)]


def test_the_function_does_not_trust_the_callers_search_path(owner: Connection) -> None:
    """Somebody else's `max` or `events` must not run with the owner's rights."""
    settings = owner.execute("select prosecdef, proconfig from pg_proc where proname = 'append_events'").fetchone()

    assert settings is not None
    assert settings[0] is True
    assert "search_path=pg_catalog, pg_temp" in settings[1]


# --- connecting


def test_a_superuser_works_under_the_app_role(migrated_database_url: str) -> None:
    with connect(migrated_database_url) as connection:
        assert connection.execute("select current_user").fetchone() == ("dealproof_app",)
        assert connection.autocommit
    with connect(migrated_database_url, READER_ROLE) as connection:
        assert connection.execute("select current_user").fetchone() == ("dealproof_reader",)


@pytest.fixture
def login(owner: Connection) -> Iterator[str]:
    """A login user of this test."""
    name = f"test_login_{uuid4().hex}"
    owner.execute(f"create role {name} login password 'secret'".encode())
    try:
        yield name
    finally:
        owner.execute("reset session authorization")
        owner.execute(f"drop owned by {name}".encode())
        owner.execute(f"drop role {name}".encode())


@pytest.mark.parametrize(("membership", "becomes"), [
    ("grant dealproof_app to {0}", "dealproof_app"),
    ("grant dealproof_reader to {0}", None),
    ("select 1", None),
], ids=["member", "member of another role", "nobody"])
def test_a_login_user_takes_the_role_it_is_a_member_of(
    owner: Connection, login: str, migrated_database_url: str, membership: str, becomes: str | None
) -> None:
    owner.execute(membership.format(login).encode())
    parts = urlsplit(migrated_database_url)
    url = parts._replace(netloc=f"{login}:secret@{parts.netloc.rpartition('@')[2]}").geturl()

    with connect(url) as connection:
        assert connection.execute("select current_user").fetchone() == (becomes or login,)


@pytest.mark.parametrize(("url", "reason"), [
    ("postgresql://u:secret@127.0.0.1:1/x", "database 127.0.0.1:1/x: Connection refused"),
    ("postgresql://u:secret@/x?host=/nonexistent", "database /nonexistent/x: No such file or directory"),
    ("mysql://u:secret@h/x", "database URL: not of the form"),
    ("host=h password=secret", "database URL: not of the form"),
    ("postgresql://u:sec@secret@h/x", "database URL: not of the form"),
    ("postgresql://u:sec/secret@h/x", "database URL: not of the form"),
    ("postgresql://u:sec?secret@h/x", "database URL: not of the form"),
    ("postgresql://u:secret/x", "database URL: not of the form"),
    ("postgresql://u:secret@h:port/x", "database URL: not of the form"),
    ("postgresql://u:secret@h/x?nonsense=1", "database URL: not of the form"),
    ("", "database URL: not of the form"),
])
def test_a_url_that_leads_nowhere_is_one_line_without_the_password(url: str, reason: str) -> None:
    with pytest.raises(DatabaseUnavailable) as refused:
        connect(url)

    assert str(refused.value).startswith(reason)
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("forms", [
    "postgresql://h", "postgres://u@h/x", "postgresql://u:p%40@[::1]:5432/x", "postgresql://h1:1,h2:2/x",
    "postgresql:///x?host=/tmp", "postgresql://u@/x?host=%2Ftmp&port=5432",
])
def test_every_form_of_a_url_that_libpq_reads_is_taken(forms: str) -> None:
    assert "connect_timeout=10" in connection_text(forms)
    assert "connect_timeout=3" in connection_text(f"{forms}{'&' if '?' in forms else '?'}connect_timeout=3")


def test_a_missing_database_is_named(server_url: str) -> None:
    url = urlsplit(server_url)._replace(path="/no_such_database").geturl()

    for use in (connect, migrate, is_migrated):
        with pytest.raises(DatabaseUnavailable, match=r"no_such_database. does not exist$"):
            use(url)


# --- migrating


def schema(url: str) -> set[tuple[Any, ...]]:
    """What the catalog says about our schema: columns, constraints, triggers, functions, rights."""
    with psycopg.connect(url) as connection:
        return set(connection.execute("""
            select 'column', c.relname, a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' '
                   || a.attnotnull || ' ' || a.attcollation || ' ' || coalesce(c.relacl::text, '')
            from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
            where c.relnamespace = 'dealproof'::regnamespace
            union select 'constraint', conname, pg_get_constraintdef(oid)
            from pg_constraint where connamespace = 'dealproof'::regnamespace
            union select 'trigger', tgname, pg_get_triggerdef(oid) || tgenabled::text
            from pg_trigger where not tgisinternal
            union select 'function', proname, pg_get_functiondef(oid) || proowner || coalesce(proacl::text, '')
            from pg_proc where pronamespace = 'dealproof'::regnamespace
            union select 'revision', version_num, '' from dealproof.alembic_version
        """).fetchall())


def test_migrating_twice_changes_nothing(database_url: str) -> None:
    assert not is_migrated(database_url)
    migrate(database_url)
    before = schema(database_url)

    migrate(database_url)

    assert is_migrated(database_url)
    assert schema(database_url) == before


def test_the_administrators_script_makes_the_same_schema(database_url: str, migrated_database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(migration_sql().encode())

    assert is_migrated(database_url)
    assert schema(database_url) == schema(migrated_database_url)


def test_processes_may_migrate_one_database_at_once(database_url: str) -> None:
    command = [sys.executable, "-c", "import sys; from ops.database import migrate; migrate(sys.argv[1])", database_url]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=MIGRATIONS.parents[1])
                 for _ in range(2)]

    outputs = [process.communicate(timeout=60)[0] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outputs
    assert outputs == [b"", b""]   # quiet
    assert is_migrated(database_url)


def test_two_databases_may_create_the_roles_at_once(database_url: str, server_url: str) -> None:
    """Roles belong to the cluster: who comes second waits for the first, then goes on."""
    prefix = f"test_{uuid4().hex}_"
    create_roles = CREATE_ROLES.replace("dealproof_", prefix).encode()
    with psycopg.connect(server_url) as first, psycopg.connect(database_url) as second, ThreadPoolExecutor(1) as pool:
        first.execute(create_roles)
        creating = pool.submit(second.execute, create_roles)
        wait_until_blocked(server_url, second.info.backend_pid)
        first.commit()
        creating.result(timeout=30)
        second.commit()

        created = first.execute("select rolname from pg_roles where starts_with(rolname, %s) order by 1", (prefix,))
        assert created.fetchall() == [(f"{prefix}{name}",) for name in ("app", "owner", "projector", "reader")]
        for name in ("app", "owner", "projector", "reader"):
            first.execute(f"drop role {prefix}{name}".encode())


def wait_until_blocked(server_url: str, pid: int) -> None:
    pause = threading.Event()
    with psycopg.connect(server_url, autocommit=True) as observer:
        for _ in range(500):
            if observer.execute("select cardinality(pg_blocking_pids(%s)) > 0", (pid,)).fetchone() == (True,):
                return
            pause.wait(0.02)
    raise AssertionError("the second session does not wait for the first")


def test_an_administrator_need_not_be_superuser(database_url: str, migrated_template: str) -> None:
    """To be a member of the owner role and to be allowed to create a schema is enough, once the roles are there."""
    assert migrated_template   # made the roles
    name = f"test_admin_{uuid4().hex}"
    parts = urlsplit(database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"create role {name} login password 'secret' in role dealproof_owner".encode())
        connection.execute(f"grant create on database {parts.path[1:]} to {name}".encode())
        try:
            migrate(parts._replace(netloc=f"{name}:secret@{parts.netloc.rpartition('@')[2]}").geturl())

            owner = "select tableowner from pg_tables where schemaname = 'dealproof' and tablename = 'events'"
            assert connection.execute(owner).fetchone() == ("dealproof_owner",)
        finally:
            connection.execute(f"drop owned by {name}".encode())
            connection.execute(f"drop role {name}".encode())


def test_the_newest_file_is_the_newest_revision() -> None:
    """`newest_revision` reads file names, so that a start needn't import Alembic."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))

    assert ScriptDirectory.from_config(config).get_heads() == [newest_revision()]
