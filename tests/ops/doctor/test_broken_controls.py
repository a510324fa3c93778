"""Each control, broken by a superuser on a server of its own: the doctor names it, and nothing else.

Not here: files, software and configuration (`test_files_and_program`), the record of an examination (`test_report`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import psycopg
import pytest

from domain.doctor import ControlStatus
from ops import clock
from ops.database import migrate, newest_revision
from ops.doctor.catalogue import FILE
from ops.doctor.controls import CONTROLS
from ops.doctor.server import WANTED, wrong_settings
from ops.journal import Journal
from ops.postgres_server import EmbeddedPostgres
from ops.settings import Settings
from tests.conftest import open_folder
from tests.ops.doctor.conftest import Examination, Superuser
from tests.ops.doctor.write_catalogue import catalogue_file

APPEND = """
select dealproof.append_events('c1', sha256('request'), array['round:a', 'round:a'], array[0, 1]::bigint[],
    array['noted.v1', 'noted.v1'],
    array['{"at":"2026-11-30T10:00:00.000Z"}', '{"at":"2026-11-30T10:00:01.000Z"}']::bytea[],
    array['vip-1'], array[1::bigint], array[sha256('seed')], array['round:a'])
"""


# -- in order


def test_a_freshly_migrated_database_is_in_order(examined: Examination) -> None:
    report = examined.report()

    assert report.status is ControlStatus.NOTE
    assert {check.name: check.status for check in report.checks if check.status is not ControlStatus.OK} == {
        "roles": ControlStatus.NOTE}
    assert examined.notes() == [
        "roles: desk only: the login in use, dealproof, is a superuser, as the embedded server's one user is"]
    assert [check.name for check in report.checks] == [control.name for control in CONTROLS]


def test_a_journal_with_events_is_in_order(examined: Examination, superuser: Superuser) -> None:
    superuser.execute(APPEND)

    assert examined.findings() == []


def test_a_log_that_is_no_longer_readable_is_not_called_in_order(examined: Examination, settings: Settings) -> None:
    """Nobody can tell then whether the journal has its end."""
    settings.log_folder.mkdir(parents=True, exist_ok=True)
    (settings.log_folder / "checkpoint").write_bytes(b"nonsense")

    [journal] = [check for check in examined.report().checks if check.name == "journal"]
    assert journal.status is ControlStatus.NOT_CHECKABLE
    assert journal.notes[0].startswith("the end of the journal against the log: ")


def test_every_server_of_the_tests_is_in_order(migrated_database_url: str, settings: Settings) -> None:
    """The session's server too, which `TEST_DATABASE_URL` may make one of another PostgreSQL."""
    with Journal.open(migrated_database_url) as journal:
        report = Examination(migrated_database_url, settings, journal).report()

    schema = {"grants", "triggers", "functions", "schema", "revision"}
    assert {check.name for check in report.checks if check.status is ControlStatus.OK} >= schema


def test_the_catalogue_is_that_of_a_freshly_migrated_database(url: str) -> None:
    assert FILE.read_bytes() == catalogue_file(url), "run: python -m tests.ops.doctor.write_catalogue"


# -- broken in one database

OTHER_BODY = """
create or replace function dealproof.refuse_change() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as 'begin return null; end'
"""
APPEND_NAME = "append_events(text, bytea, text[], bigint[], text[], bytea[], text[], bigint[], bytea[], text[])"
ENABLED = "enabled, but not in a session that plays a replica"


class Case(NamedTuple):
    """What a superuser does, and the findings it leads to."""

    statements: str
    findings: list[str]


CASES = {
    # grants
    "PUBLIC reads": Case(
        "grant select on dealproof.events to public",
        ["grants: grant table events: SELECT to PUBLIC: is not of this version"],
    ),
    "the program inserts": Case(
        "grant insert on dealproof.events to dealproof_app",
        ["grants: grant table events: INSERT to dealproof_app: is not of this version"],
    ),
    "one column may be changed": Case(
        "grant update (state) on dealproof.events to dealproof_reader",
        ["grants: grant column events.state: UPDATE to dealproof_reader: is not of this version"],
    ),
    "PUBLIC appends": Case(
        "grant execute on function dealproof.append_events to public",
        [f"grants: grant function {APPEND_NAME}: EXECUTE to PUBLIC: is not of this version"],
    ),
    "the program forgets requests": Case(
        "grant execute on function dealproof.forget_requests to dealproof_app",
        ["grants: grant function forget_requests(bigint, text, integer): EXECUTE to dealproof_app: "
         "is not of this version"],
    ),
    "PUBLIC uses the schema": Case(
        "grant usage on schema dealproof to public",
        ["grants: grant schema: USAGE to PUBLIC: is not of this version"],
    ),
    "the program makes tables": Case(
        "grant create on schema dealproof to dealproof_app",
        ["grants: grant schema: CREATE to dealproof_app: is not of this version"],
    ),
    "a right may be passed on": Case(
        "grant select on dealproof.events to dealproof_app with grant option",
        ["grants: grant table events: SELECT to dealproof_app: is with grant option, should be without it"],
    ),
    "a right is lost": Case(
        "revoke select on dealproof.commands from dealproof_reader",
        ["grants: grant table commands: SELECT to dealproof_reader: is missing"],
    ),
    "new tables can be read by all": Case(
        "alter default privileges for role dealproof_owner in schema dealproof grant select on tables to public",
        ["grants: default privilege of dealproof_owner on objects of kind r in schema dealproof: "
         "is not of this version (=r/dealproof_owner)"],
    ),
    "a table has another owner": Case(
        "alter table dealproof.refusals owner to dealproof",
        ["grants: owner table refusals: is dealproof, should be dealproof_owner"],
    ),
    "a function has another owner": Case(
        "alter function dealproof.refuse_change owner to dealproof",
        ["grants: owner function refuse_change(): is dealproof, should be dealproof_owner"],
    ),
    "the schema has another owner": Case(
        "alter schema dealproof owner to dealproof",
        ["grants: owner schema: is dealproof, should be dealproof_owner"],
    ),
    # triggers
    "a guard is switched off": Case(
        "alter table dealproof.events disable trigger refuse_change",
        ["triggers: trigger events.refuse_change: is disabled, should be enabled always"],
    ),
    "a guard sleeps in a replica": Case(
        "alter table dealproof.commands enable trigger refuse_truncate",
        [f"triggers: trigger commands.refuse_truncate: is {ENABLED}, should be enabled always"],
    ),
    "a guard is dropped": Case(
        "drop trigger refuse_change on dealproof.round_identity",
        ["triggers: trigger round_identity.refuse_change: is missing"],
    ),
    "a guard guards less": Case(
        "drop trigger refuse_change on dealproof.data_key;"
        "create trigger refuse_change before delete on dealproof.data_key for each row "
        "execute function dealproof.refuse_change();"
        "alter table dealproof.data_key enable always trigger refuse_change",
        ["triggers: trigger data_key.refuse_change: is CREATE TRIGGER refuse_change BEFORE DELETE ON "
         "dealproof.data_key FOR EACH ROW EXECUTE FUNCTION dealproof.refuse_change(), should be CREATE TRIGGER "
         "refuse_change BEFORE DELETE OR UPDATE ON dealproof.data_key FOR EACH ROW EXECUTE FUNCTION "
         "dealproof.refuse_change()"],
    ),
    "a rule does something else": Case(
        "create rule silent as on insert to dealproof.refusals do instead nothing",
        ["triggers: rule refusals.silent: is not of this version (CREATE RULE silent AS*"],
    ),
    "rows are hidden": Case(
        "create policy few on dealproof.events using (false)",
        ["triggers: policy events.few: is not of this version"],
    ),
    "a table has a child": Case(
        "create table public.child () inherits (dealproof.open_rounds)",
        ["triggers: inheritance public.child of dealproof.open_rounds: is not of this version"],
    ),
    "an event trigger waits": Case(
        "create function public.wait() returns event_trigger language plpgsql as 'begin end';"
        "create event trigger waiting on ddl_command_end execute function public.wait()",
        ["triggers: event trigger waiting: is not of this version (ddl_command_end; public.wait)"],
    ),
    "a trigger of a foreign key": Case(
        "create table public.note (stream text collate \"C\" references dealproof.open_rounds)",
        ["triggers: trigger open_rounds.RI_ConstraintTrigger_a_*: is not of this version (*)"] * 2,
    ),
    # functions
    "the guard does nothing": Case(
        OTHER_BODY,
        ["functions: function refuse_change(): is body sha256 *, should be body sha256 *"],
    ),
    "a function trusts its caller's path": Case(
        "alter function dealproof.refuse_command reset search_path",
        ["functions: function refuse_command(text, bytea, bytea): is no settings of its own, "
         "should be search_path=pg_catalog, pg_temp"],
    ),
    "a function runs as its caller": Case(
        f"alter function dealproof.{APPEND_NAME} security invoker",
        [f"functions: function {APPEND_NAME}: is security invoker, should be security definer"],
    ),
    "a second way to append": Case(
        "create function dealproof.append_events(text) returns void language sql as 'select null'",
        ["grants: grant function append_events(text): EXECUTE to PUBLIC: is not of this version",
         "grants: owner function append_events(text): is not of this version (dealproof)",
         "functions: function append_events(text): is not of this version (body sha256 *"],
    ),
    "a function is gone": Case(
        "drop function dealproof.forget_requests",
        ["grants: owner function forget_requests(bigint, text, integer): is missing",
         "functions: function forget_requests(bigint, text, integer): is missing"],
    ),
    "a function stands before PostgreSQL's": Case(
        "create function pg_catalog.starts_with(text, bytea) returns bool language sql as 'select false'",
        ["functions: foreign function pg_catalog.starts_with(text, bytea): is not of this version"],
    ),
    # schema
    "a constraint is dropped": Case(
        "alter table dealproof.events drop constraint events_position",
        ["schema: constraint events.events_position: is missing", "schema: index events.events_position: is missing"],
    ),
    "a constraint is weaker": Case(
        "alter table dealproof.commands drop constraint commands_request_hash_check, "
        "add constraint commands_request_hash_check check (octet_length(request_hash) = 32) not valid",
        ["schema: constraint commands.commands_request_hash_check: is CHECK ((octet_length(request_hash) = 32)) "
         "NOT VALID, should be CHECK ((octet_length(request_hash) = 32))"],
    ),
    "an index more": Case(
        "create index mine on dealproof.events (topic)",
        ["schema: index events.mine: is not of this version (CREATE INDEX mine ON dealproof.events USING btree "
         "(topic))"],
    ),
    "an index less": Case("drop index dealproof.events_cash", ["schema: index events.events_cash: is missing"]),
    "a column more": Case(
        "alter table dealproof.events add column note text",
        ["schema: column events.note: is not of this version (text; nullable)"],
    ),
    "a column of another type": Case(
        "alter table dealproof.commands alter column event_count type bigint",
        ["schema: column commands.event_count: is bigint, should be integer"],
    ),
    "a column may be empty": Case(
        "alter table dealproof.events alter column state drop not null",
        ["schema: column events.state: is nullable, should be not null"],
    ),
    "a table is unlogged": Case(
        "alter table dealproof.events set unlogged", ["schema: table events: is unlogged, should be logged"],
    ),
    "rows are filtered": Case(
        "alter table dealproof.events enable row level security",
        ["schema: table events: is row security, should be without it"],
    ),
    "a table more": Case(
        "create table dealproof.mine (a int)",
        ["grants: owner table mine: is not of this version (dealproof)",
         "schema: table mine: is not of this version (table; logged)",
         "schema: column mine.a: is not of this version (integer; nullable)"],
    ),
    "a view looks on": Case(
        "create view dealproof.mine as select 1 as a",
        ["grants: owner table mine: is not of this version (dealproof)",
         "triggers: rule mine._RETURN: is not of this version (*",
         "schema: table mine: is not of this version (view; logged)",
         "schema: column mine.a: is not of this version (integer; nullable)"],
    ),
    "a sequence for all": Case(
        "create sequence dealproof.mine; grant usage on sequence dealproof.mine to public",
        ["grants: grant table mine: USAGE to PUBLIC: is not of this version",
         "grants: owner table mine: is not of this version (dealproof)",
         "schema: table mine: is not of this version (sequence; logged)",
         *(f"schema: column mine.{name}: is *" for name in ("is_called", "last_value", "log_cnt"))],
    ),
    "a type of somebody's own": Case(
        "create domain dealproof.mine as text check (value <> '')",
        ["grants: grant type mine: USAGE to PUBLIC: is not of this version",
         "grants: owner type mine: is not of this version (dealproof)",
         "schema: constraint domain.mine_check: is not of this version (CHECK ((VALUE <> ''::text)))",
         "schema: type mine: is not of this version (d; of text)"],
    ),
    # settings
    "the database plays a replica": Case(
        "do $$ begin execute 'alter database ' || current_database() || ' set session_replication_role = replica'; "
        "end $$",
        ["settings: session_replication_role is replica, should be origin",
         "settings: session_replication_role is replica in database *, should be origin"],
    ),
    "commits don't wait": Case(
        "do $$ begin execute 'alter database ' || current_database() || ' set synchronous_commit = off'; end $$",
        ["settings: synchronous_commit is off, should be on",
         "settings: synchronous_commit is off in database *, should be on"],
    ),
    # journal
    "an event is deleted": Case(
        f"{APPEND}; alter table dealproof.events disable trigger refuse_change;"
        "delete from dealproof.events where notification_id = 1;"
        "alter table dealproof.events enable always trigger refuse_change",
        ["journal: the first position is 2, should be 1",
         "journal: 1 events stand at positions up to 2: 1 are missing",
         "journal: the commands have 2 events, the journal 1"],
    ),
    "the last event is deleted": Case(
        f"{APPEND}; alter table dealproof.events disable trigger refuse_change;"
        "delete from dealproof.events where notification_id = 2;"
        "alter table dealproof.events enable always trigger refuse_change",
        ["journal: the commands have 2 events, the journal 1"],
    ),
    "a round was never opened": Case(
        "insert into dealproof.open_rounds values ('round:b')",
        ["journal: 1 open rounds were never opened, the first is round:b"],
    ),
    # clock
    "an event of tomorrow": Case(
        APPEND.replace("2026-11-30T10:00:01", "2199-11-30T10:00:01"),
        ["clock: the newest event, position 2, is of 2199-11-30T10:00:01.000Z, which is still to come"],
    ),
    "an event without a time": Case(
        APPEND.replace('{"at":"2026-11-30T10:00:01.000Z"}', "{}"), ["clock: the newest event, position 2, has no time"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_what_is_broken_is_named_and_nothing_else(examined: Examination, superuser: Superuser, case: Case) -> None:
    superuser.execute(case.statements.encode())

    assert_findings(examined.findings(), case.findings)


def assert_findings(found: list[str], wanted: list[str]) -> None:
    """A star stands for what differs from run to run."""
    assert len(found) == len(wanted), found
    for line, pattern in zip(found, wanted, strict=True):
        at = 0
        for part in pattern.split("*"):
            assert part in line[at:], (line, pattern)
            at = line.index(part, at) + len(part)
        assert line.startswith(pattern.split("*")[0])


def test_a_subscription_that_could_write_is_named(examined: Examination, superuser: Superuser) -> None:
    do = "create subscription feed connection '' publication events with (connect = false)"
    undo = "alter subscription feed set (slot_name = none); drop subscription feed"
    superuser.execute(do.encode())
    try:
        assert examined.findings() == ["triggers: subscription feed: is not of this version (disabled)"]
    finally:
        for statement in undo.split(";"):
            superuser.execute(statement.encode())


# -- broken on the whole server


@contextmanager
def on_the_server(superuser: Superuser, do: str, undo: str) -> Iterator[None]:
    superuser.execute(do.encode())
    try:
        yield
    finally:
        superuser.execute(undo.encode())


SERVER_CASES = {
    "the owner logs in": (
        "alter role dealproof_owner login", "alter role dealproof_owner nologin",
        ["roles: role dealproof_owner: can log in"]),
    "the owner is a superuser": (
        "alter role dealproof_owner superuser", "alter role dealproof_owner nosuperuser",
        ["roles: role dealproof_owner: is superuser"]),
    "the program makes roles": (
        "alter role dealproof_app createrole", "alter role dealproof_app nocreaterole",
        ["roles: role dealproof_app: is createrole"]),
    "the reader makes databases": (
        "alter role dealproof_reader createdb", "alter role dealproof_reader nocreatedb",
        ["roles: role dealproof_reader: is createdb"]),
    "the program bypasses policies": (
        "alter role dealproof_app bypassrls", "alter role dealproof_app nobypassrls",
        ["roles: role dealproof_app: is bypassrls"]),
    "the reader replicates": (
        "alter role dealproof_reader replication", "alter role dealproof_reader noreplication",
        ["roles: role dealproof_reader: is replication"]),
    "the program is the owner": (
        "grant dealproof_owner to dealproof_app", "revoke dealproof_owner from dealproof_app",
        ["roles: role dealproof_app: is a member of dealproof_owner"]),
    "the program writes beside the grants": (
        "grant pg_write_all_data to dealproof_app", "revoke pg_write_all_data from dealproof_app",
        ["roles: role dealproof_app: is a member of pg_write_all_data",
         "roles: role dealproof_app: is a member of pg_write_all_data, which gets around all grants"]),
    "a login starts programs": (
        "create role carol login in role pg_execute_server_program", "drop role carol",
        ["roles: role carol: is a member of pg_execute_server_program, which gets around all grants"]),
    "the program plays a replica": (
        "alter role dealproof_app set session_replication_role = replica", "alter role dealproof_app reset all",
        ["settings: session_replication_role is replica for role dealproof_app, should be origin"]),
    "a login writes without waiting": (
        "create role carol login; alter role carol set synchronous_commit = off", "drop role carol",
        ["settings: synchronous_commit is off for role carol, should be on"]),
}  # fmt: skip


@pytest.mark.parametrize(("do", "undo", "findings"), SERVER_CASES.values(), ids=list(SERVER_CASES))
def test_a_role_that_may_too_much_is_named(
    examined: Examination, superuser: Superuser, do: str, undo: str, findings: list[str]
) -> None:
    with on_the_server(superuser, do, undo):
        assert examined.findings() == findings


def test_members_of_the_owner_and_further_superusers_are_noted(examined: Examination, superuser: Superuser) -> None:
    do = "create role dora login in role dealproof_owner; create role root2 login superuser"
    with on_the_server(superuser, do, "drop role dora; drop role root2"):
        assert examined.findings() == []
        assert examined.notes()[:2] == [
            "roles: dora is a member of dealproof_owner and may switch the triggers off",
            "roles: root2 is a superuser besides the server's first one"]


def test_fsync_that_is_off_is_named(examined: Examination, superuser: Superuser) -> None:
    superuser.execute("alter system set fsync = off")
    superuser.execute("select pg_reload_conf()")
    try:
        found = wait_for(examined, "settings: fsync is off, should be on")
        assert found == ["settings: fsync is off, should be on"]
    finally:
        superuser.execute("alter system reset fsync")
        superuser.execute("select pg_reload_conf()")
        wait_for(examined, "")


def wait_for(examined: Examination, line: str) -> list[str]:
    """The findings when the server has read its settings anew: with this line, or without any if it is empty."""
    for _ in range(100):
        found = examined.findings()
        if line in found or (not line and not found):
            return found
    raise AssertionError(f"never: {line}")


def test_every_wrong_value_of_a_setting_is_named() -> None:
    assert list(wrong_settings({name: values[0] for name, values in WANTED.items()})) == []
    wrong = {name: "off" if values[0] == "on" else "on" for name, values in WANTED.items()}
    assert list(wrong_settings(wrong)) == [
        f"{name} is {wrong[name]}, should be {values[0]}" for name, values in WANTED.items()]


@pytest.fixture
def folder() -> Iterator[Path]:
    base = open_folder("dealproof-doctor-")
    yield base / "server"
    shutil.rmtree(base)


def test_a_page_that_the_disk_changed_is_counted(folder: Path, settings: Settings) -> None:
    """The server notices it when it reads the page, and the doctor that the server has."""
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url, autocommit=True) as connection:
        migrate(server.url)
        connection.execute("create table public.note as select repeat('a', 100) as text")
        [(path,)] = connection.execute("select pg_relation_filepath('public.note')").fetchall()
    content = bytearray((server.cluster / path).read_bytes())
    content[8000] ^= 1
    (server.cluster / path).write_bytes(content)

    with EmbeddedPostgres(folder), Journal.open(server.url) as journal:
        with psycopg.connect(server.url) as connection, pytest.raises(psycopg.Error, match="invalid page"):
            connection.execute("select * from public.note")
        line = "settings: 1 pages of database dealproof failed their checksum"
        assert wait_for(Examination(server.url, settings, journal), line) == [line]


@pytest.mark.parametrize(("skew", "words"), [
    (-5000, "* ms ahead of"), (5000, "* ms behind"), (-900, None), (900, None)])
def test_clocks_that_differ_by_a_second_are_named(
    examined: Examination, skew: int, words: str | None
) -> None:
    def now() -> str:
        return clock.as_text(clock.milliseconds(clock.now()) + skew)

    assert_findings(
        examined.findings(now), [f"clock: the database server's clock is {words} this machine's"] if words else [])


def test_a_server_of_another_time_zone_is_noted(examined: Examination, superuser: Superuser) -> None:
    superuser.execute("do $$ begin execute 'alter database ' || current_database() || "
                      "' set timezone = ''Europe/Riga'''; end $$")

    assert examined.findings() == []
    assert "clock: timezone is Europe/Riga, not UTC" in examined.notes()


# -- the login in use


def as_login(url: str, login: str) -> str:
    return url.replace("://dealproof@", f"://{quote(login)}@")


LOGINS = {
    "a member of the app role": ("create role eve login in role dealproof_app", []),
    "a member of the reader role": ("create role eve login in role dealproof_reader", []),
    "who owns the tables too": (
        "create role eve login in role dealproof_app, dealproof_owner",
        ["roles: the login in use, eve, is a member of dealproof_owner"]),
    "a superuser": (
        "create role eve login superuser", ["roles: the login in use, eve, is a superuser"]),
}  # fmt: skip


@pytest.mark.parametrize(("do", "findings"), LOGINS.values(), ids=list(LOGINS))
def test_the_login_in_use_may_not_be_too_much(
    url: str, superuser: Superuser, settings: Settings, do: str, findings: list[str]
) -> None:
    """Of a given database; and every control can be looked at by every one of these."""
    with on_the_server(superuser, do, "drop role eve"), Journal.open(as_login(url, "eve")) as journal:
        examined = Examination(as_login(url, "eve"), settings, journal)
        report = examined.report(database_url=as_login(url, "eve"))

        assert examined.findings(database_url=as_login(url, "eve")) == findings
        assert ControlStatus.NOT_CHECKABLE not in {check.status for check in report.checks}
        assert [note for check in report.checks for note in check.notes if "log_statement" in note]


# -- what can't be looked at


def test_a_database_of_another_revision_is_said_and_not_compared(examined: Examination, superuser: Superuser) -> None:
    superuser.execute("update dealproof.alembic_version set version_num = '9999'")
    report = examined.report()

    assert [line for check in report.checks for line in check.findings] == [
        "the database is at revision 9999, should be " + newest_revision()]
    assert [check.name for check in report.checks if check.status is ControlStatus.NOT_CHECKABLE] == [
        "grants", "triggers", "functions", "schema"]


def test_a_control_that_may_not_be_looked_at_leaves_the_others_alone(
    url: str, superuser: Superuser, settings: Settings, journal: Journal
) -> None:
    superuser.execute("create role frank login; grant usage on schema dealproof to frank")
    try:
        report = Examination(as_login(url, "frank"), settings, journal).report()
    finally:
        superuser.execute("drop owned by frank; drop role frank")
    statuses = {check.name: check.status for check in report.checks}

    assert statuses["journal"] is ControlStatus.NOT_CHECKABLE
    assert statuses["settings"] is ControlStatus.OK
    notes: dict[str, Any] = {check.name: check.notes for check in report.checks}
    assert notes["journal"] == ["the database refuses to tell: permission denied for table events"]
