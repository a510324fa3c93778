"""A projection that says something else than the journal is found, whatever it is; one that doesn't leaves nothing.

Not here: what the command prints (`tests.ops.cli.test_reconcile`), operators' files (`test_files`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
import pytest

from ops import database
from ops.journal import Journal
from ops.projecting import catch_up
from ops.reconciling.reconcile import CHECKS, Reconciliation, reconcile
from projections.catalogue import PROJECTIONS
from projections.store import Table
from tests.ops.played import Owner
from tests.ops.reports.played_house import PlayedHouse, played_house
from tests.ops.test_day_close import closed_by
from tests.projections.houses import make_house

TABLES: Final = [
    table for name in sorted({check.PROJECTION for check in CHECKS.values()}) for table in PROJECTIONS[name].TABLES
]

NOT_HELD: Final = {
    "balance": {"entries", "position"},
    "jackpot": {"opened_position", "position"},
    "open_round": {"last_at"},
    "revenue": {"turnover_squared", "turnover_returned", "returned_squared"},
    "round": {"first_stake_at", "dealt_at", "dealer_shown_at", "automatic", "intervened", "parts"},
    "wager_performance": {
        "mode", "wager", "rounds", "bets", "turnover_squared", "turnover_returned", "returned_squared",
    },
}  # fmt: skip
"""What docs/formats/reconcile.md says is not compared."""


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str) -> Iterator[PlayedHouse]:
    with played_house(server_url, migrated_template) as house:
        with Journal.open(house.url) as journal:
            assert len(closed_by(journal)) > 3
        catch_up(house.url)
        yield house


@pytest.fixture(scope="module")
def owner(house: PlayedHouse) -> Iterator[Owner]:
    with psycopg.connect(house.url, autocommit=True) as connection:
        connection.execute("alter table dealproof.events disable trigger user")
        yield connection


def reconciled(house: PlayedHouse) -> Reconciliation:
    with database.connect(house.url, database.READER_ROLE) as reader:
        return reconcile(reader, lambda _: None)


def physical(owner: Owner, table: Table) -> str:
    [(name,)] = owner.execute(
        "select relname from pg_class where relnamespace = 'projections'::regnamespace and relkind = 'r' "
        "and relname ~ %s",
        (f"^{table.name}_[0-9]+$",),
    ).fetchall()
    return f"projections.{name}"


def run(owner: Owner, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
    """A statement that is put together here."""
    cursor = owner.execute(statement.encode(), parameters)
    return cursor.fetchall() if cursor.description else []


def test_nothing_is_left_over_in_a_house_that_has_seen_everything(house: PlayedHouse) -> None:
    """And every sum that is told was there to be told: none is nothing in every currency."""
    made = reconciled(house)
    assert (made.holds, made.found, made.findings, made.stopped, made.behind) == (True, 0, [], {}, [])
    assert [line for group in made.groups for line in group.lines if line.residual] == []
    assert {group.name for group in made.groups} == set(CHECKS)
    told = {line.what for group in made.groups for line in group.lines if line.journal}
    silent = {line.what for group in made.groups for line in group.lines} - told
    assert silent == {"all of them together, 0", "all balances together, 0",
                      "paid by the bank, where a pot had too little"}  # fmt: skip
    assert {line.currency for line in made.groups[0].lines} == {"EUR", "JPY"}


def test_nothing_is_left_over_where_every_kind_of_event_there_is_has_happened(migrated_database_url: str) -> None:
    """At times that run back now and then."""
    make_house(migrated_database_url, 1, 40)
    catch_up(migrated_database_url)
    with database.connect(migrated_database_url, database.READER_ROLE) as reader:
        made = reconcile(reader, lambda _: None)
    assert (made.findings, list(made.residuals), made.holds) == ([], [], True)
    told = {line.what: line.journal for group in made.groups for line in group.lines if line.currency == "EUR"}
    assert told["paid by the bank, where a pot had too little"]


def changed(column: str, kind: str) -> str:
    """Another value of a type."""
    if kind.startswith("text"):
        return f"coalesce({column}, '') || 'x'"
    if kind.startswith("boolean"):
        return f"not {column}"
    if kind.startswith("time"):
        return f"coalesce({column}, '2026-01-01Z') + interval '1 second'"
    return f"coalesce({column}, 0) + 1"


COLUMNS: Final = [(table, column, kind) for table in TABLES for column, kind in table.columns]


@pytest.mark.parametrize(
    ("table", "column", "kind"), COLUMNS, ids=[f"{table.name}.{column}" for table, column, _ in COLUMNS]
)
def test_a_changed_column_is_found(house: PlayedHouse, owner: Owner, table: Table, column: str, kind: str) -> None:
    """One row is changed in one column; only what is declared as not held goes unnoticed."""
    name = physical(owner, table)
    with changes(owner, name):
        for (place,) in run(owner, f"select ctid::text from {name} order by ctid desc"):
            try:
                run(owner, f"update {name} set {column} = {changed(column, kind)} where ctid = %s::tid", place)
                break
            except psycopg.errors.UniqueViolation:
                continue  # there is a row of the changed key already; another one will do
        made = reconciled(house)
        assert made.holds is (column in NOT_HELD.get(table.name, set()))
        if not made.holds:
            assert {found.stream for found in made.findings} == {f"projections.{table.name}"}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_missing_row_and_an_invented_one_are_found(house: PlayedHouse, owner: Owner, table: Table) -> None:
    """Each is named, and nothing else of the table."""
    name = physical(owner, table)
    [(place,)] = run(owner, f"select ctid::text from {name} order by ctid limit 1")
    with changes(owner, name):
        run(owner, f"delete from {name} where ctid = %s::tid", place)
        made = reconciled(house)
        assert [found.stream for found in made.findings][:1] == [f"projections.{table.name}"]
    with changes(owner, name):
        kinds = dict(table.columns)
        key = next((column for column in table.key if kinds[column].startswith("bigint")), table.key[-1])
        [(place,)] = run(owner, f"select ctid::text from {name} order by ctid limit 1")
        parts = [changed(column, kinds[key]) if column == key else column for column, _ in table.columns]
        beyond = ", ".join(parts).replace(f"coalesce({key}, 0) + 1", "987654321")
        run(owner, f"insert into {name} select {beyond} from {name} where ctid = %s::tid", place)
        made = reconciled(house)
        assert {found.stream for found in made.findings} == {f"projections.{table.name}"}
    assert reconciled(house).holds


@contextmanager
def changes(owner: Owner, name: str) -> Iterator[None]:
    """What is done to a table in the block is undone after it."""
    run(owner, f"create temporary table kept as select * from {name}")
    try:
        yield
    finally:
        run(owner, f"delete from {name}")
        run(owner, f"insert into {name} select * from kept")
        run(owner, "drop table kept")


def test_a_day_whose_rounds_were_moved_is_found_by_its_manifest(house: PlayedHouse, owner: Owner) -> None:
    """The money of a closed round goes from one table to another: nothing is missing in the sum, but the day knows."""
    name = physical(owner, PROJECTIONS["rounds"].TABLES[0])
    with changes(owner, name):
        run(owner, f"update {name} set staked = staked + 5, returned = returned + 5")
        made = reconciled(house)
        days = [found for found in made.findings if str(found.event).startswith("sums of day 2026-12-01, ")]
        assert {found.field for found in days} == {"staked", "returned"}
        assert {group.name for group in made.groups for line in group.lines if line.residual} == {"rounds", "days"}


def test_an_event_that_was_taken_out_behind_the_projections_is_found(house: PlayedHouse, owner: Owner) -> None:
    """Its position is named; what it said is missed where it was said."""
    [(position, *rest)] = owner.execute(
        "delete from dealproof.events where originator_id like 'account:JPY:%' and topic = 'funds-deposited.v1' "
        "returning notification_id, originator_id, originator_version, topic, state"
    ).fetchall()[-1:]
    # Both deposits of the same account go; the second one stands for both.
    made = reconciled(house)
    restore(owner, house)
    assert (None, "missing") in {(found.seq, found.recorded) for found in made.findings}
    assert f"position {position}" in {found.event for found in made.findings if found.stream == "dealproof.events"}
    assert any(found.stream == "projections.ledger_entry" for found in made.findings)
    assert not made.holds and rest


@pytest.fixture(scope="module", autouse=True)
def _kept_events(house: PlayedHouse, owner: Owner) -> None:
    owner.execute("create temporary table kept_events as select * from dealproof.events")


def restore(owner: Owner, house: PlayedHouse) -> None:
    """Put back every event that is gone."""
    owner.execute(
        "insert into dealproof.events select * from kept_events as kept where not exists "
        "(select from dealproof.events as event where event.notification_id = kept.notification_id)"
    )
    assert reconciled(house).holds


def test_an_event_that_can_no_longer_be_read_is_found(house: PlayedHouse, owner: Owner) -> None:
    """Its reason stands beside it, and the pass goes on."""
    [(position,)] = owner.execute(
        "select notification_id from dealproof.events where topic = 'box-placed.v1' order by 1 limit 1"
    ).fetchall()
    owner.execute("update dealproof.events set state = 'x' where notification_id = %s", (position,))
    made = reconciled(house)
    owner.execute("delete from dealproof.events where notification_id = %s", (position,))
    restore(owner, house)
    assert [found.field for found in made.findings if found.event == "box-placed.v1"] == ["body"]
    assert made.events == house_events(owner) and not made.holds


def house_events(owner: Owner) -> int:
    [(count,)] = owner.execute("select count(*) from dealproof.events").fetchall()
    return int(count)


def test_a_projection_that_is_behind_is_not_wrong_but_nothing_holds(house: PlayedHouse, owner: Owner) -> None:
    """What it has taken in is held, and who is behind is said."""
    owner.execute("update projections.state set error = 'it broke', error_position = 7 where name = 'cash'")
    made = reconciled(house)
    owner.execute("update projections.state set error = null, error_position = null where name = 'cash'")
    assert (made.holds, made.found, made.stopped) == (False, 0, {"cash": "it broke"})
    assert not any(made.residuals)
