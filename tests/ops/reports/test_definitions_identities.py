"""What holds of every report: its identities, its totals, the same rows as of the same position, no rows of nothing.

Not here: what each report says (`test_definitions_contents`), what filters leave (`test_filters`).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final, LiteralString

import psycopg
import pytest
from psycopg import sql

from ops.journal import Journal
from ops.projecting import catch_up
from ops.reports.building import Filters
from ops.reports.definitions import REPORTS
from ops.reports.model import Kind, Weight
from tests.ops.floor.casino import Casino, box
from tests.ops.played_days import BEGUN, slow_clock
from tests.ops.reports.played_house import ALL, DAY, PlayedHouse, day, played_house, quarter

PERIODS: Final = [(day(0), day(30)), (quarter(9), quarter(20)), (day(2), day(3))]
"""All; in the middle of rounds; the day of the jackpot."""


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str) -> Iterator[PlayedHouse]:
    with played_house(server_url, migrated_template) as house:
        yield house


def filters_of(name: str) -> Filters:
    return Filters(player="anna") if name == "player-statement" else ALL


@pytest.mark.parametrize("name", REPORTS)
def test_every_identity_holds_behind_every_append(house: PlayedHouse, name: str) -> None:
    """Around the jackpot's rounds, and some before."""
    for position in [*house.borders[-20::2], *house.borders[100::90]]:
        for begin, end in PERIODS:
            shown = house.body(name, begin, end, position, filters_of(name))
            assert shown.residuals == [], (position, begin, end)


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_has_identities_about_numbers_that_are_there(house: PlayedHouse, name: str) -> None:
    shown = house.body(name, *house.whole, filters=filters_of(name))

    assert any(each.left and each.right for each in shown.identities)


@pytest.mark.parametrize("name", REPORTS)
def test_a_column_of_one_name_is_of_one_kind_in_all_tables_of_a_report(house: PlayedHouse, name: str) -> None:
    """As Parquet has them all in one; there its place is told by four columns of their own."""
    kinds = {"section": "place", "currency": "place", "weight": "place", "row": "place"}
    for section, _ in house.body(name, *house.whole, filters=filters_of(name)).sections:
        names = [column.name for column in section.columns]
        assert len(set(names)) == len(names), section.name
        for column in section.columns:
            assert kinds.setdefault(column.name, column.kind) == column.kind, (section.name, column.name)


@pytest.mark.parametrize("name", REPORTS)
def test_a_total_is_the_sum_of_its_rows(house: PlayedHouse, name: str) -> None:
    shown = house.body(name, *house.whole, filters=filters_of(name))

    for section, rows in shown.sections:
        details = [row.cells for row in rows if row.weight is Weight.DETAIL]
        totals = [row.cells for row in rows if row.weight is Weight.TOTAL]
        for total in totals if name != "ledger" or section.name != "balances" else ():
            for place, column in enumerate(section.columns):
                if column.kind in (Kind.MONEY, Kind.COUNT) and total[place] is not None:
                    assert total[place] == sum(int(cells[place] or 0) for cells in details), column.name


@pytest.mark.parametrize("name", REPORTS)
def test_a_period_in_which_nothing_was_has_no_rows(house: PlayedHouse, name: str) -> None:
    shown = house.body(name, day(-9), day(-8), filters=filters_of(name))

    assert [row for _, rows in shown.sections for row in rows] == []
    assert shown.residuals == []


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_says_the_same_numbers_in_both_languages(house: PlayedHouse, name: str) -> None:
    """Every sentence has the same places for values in both."""
    english, russian = (
        house.body(name, *house.whole, filters=filters_of(name), language=language) for language in ("en", "ru")
    )

    assert [(each.left, each.right) for each in english.identities] == [
        (each.left, each.right) for each in russian.identities
    ]
    for (section, rows), (other, others) in zip(english.sections, russian.sections, strict=True):
        assert (section.name, section.currency) == (other.name, other.currency)
        numbers = [n for n, column in enumerate(section.columns) if column.kind is not Kind.TEXT]
        said, said_too = ([[row.cells[n] for n in numbers] for row in each] for each in (rows, others))
        assert said == said_too


@pytest.mark.parametrize(
    ("table", "column", "row", "noticed"),
    [
        ("cash", "amount", "true", {"cash-history", "voids-and-adjustments"}),
        ("ledger_entry", "to_player", "type = 'funds-staked.v1'", {"ledger", "player-account-summary"}),
        ("ledger_entry", "to_bank", "type = 'funds-adjusted.v1'", {"ledger"}),
        ("ledger_entry", "players_total", "at < '2026-12-31'", {"ledger"}),
        ("ledger_entry", "to_jackpots", "type = 'jackpot-fed.v1'", {"ledger", "jackpot"}),
        ("ledger_entry", "balance_after", "player = 'anna'", {"player-statement", "player-account-summary"}),
        ("ledger_entry", "in_play_after", "player = 'visitor'", {"pending-rounds"}),
        ("ledger_entry", "to_player", "player = 'anna' and type = 'funds-returned.v1'",
         {"large-wins", "game-history", "voids-and-adjustments"}),
        ("player_activity", "deposited", "true", set()),
        ("round", "returned", "ending = 'closed'", {"game-history"}),
        ("round", "jackpot_contributed", "ending = 'closed' and jackpot_contributed > 0", {"jackpot"}),
        ("round", "staked", "ending = 'voided'", {"voids-and-adjustments"}),
        ("round_player", "net", "player = 'anna'", {"game-history", "large-wins", "player-statement"}),
        ("jackpot_entry", "paid", "paid > 0", {"jackpot"}),
        ("verification", "verified", "true", {"verdicts"}),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_projection_shows_in_an_identity(
    house: PlayedHouse, table: LiteralString, column: LiteralString, row: LiteralString, noticed: set[str]
) -> None:
    """One unit more in all such rows.  Of activity only whole blocks are read, and this house has none yet."""
    with psycopg.connect(house.url, autocommit=True) as owner:
        [(generation,)] = owner.execute(
            "select generation from projections.state where %s = any(tables)", (table,)
        ).fetchall()
        for unit, expected in ((1, noticed), (-1, set[str]())):
            change(owner, f"{table}_{generation}", column, row, unit)
            names = noticed or {"player-account-summary"}
            found = {name for name in names if house.body(name, *house.whole, filters=filters_of(name)).residuals}
            assert found == expected


def change(
    owner: psycopg.Connection[Any], table: str, column: LiteralString, row: LiteralString, unit: int
) -> None:
    statement = sql.SQL("update {table} set {column} = {column} + %s where " + row)
    names = {"table": sql.Identifier("projections", table), "column": sql.Identifier(column)}
    assert owner.execute(statement.format(**names), (unit,)).rowcount > 0


def test_a_report_run_again_as_of_its_position_has_the_same_rows(house: PlayedHouse) -> None:
    """Though the open round was ended since, another one was played, and money came and went."""
    before = {name: house.body(name, *house.whole, filters=filters_of(name)).plain for name in REPORTS}
    with Journal.open(house.url) as journal, slow_clock(BEGUN + 9 * DAY):
        casino = Casino(house.url, journal)
        for stream in journal.open_rounds():
            made = casino.floor.round(stream)
            assert made is not None
            casino.played_out(made, Random(1))
        casino.deposit("anna", 5)
        casino.played_out(casino.dealt("pairs-1", box(1, bonus=300)), Random(2))
        head = journal.head_position()
    catch_up(house.url)

    after = {name: house.body(name, *house.whole, filters=filters_of(name)).plain for name in REPORTS}
    assert after == before
    assert head > house.head
    now = house.body("ledger", *house.whole, head)
    assert now.plain != before["ledger"]
    assert now.residuals == []
