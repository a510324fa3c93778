"""Every column of every table is what the slow reference says, in houses with every kind of event, however cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

import psycopg
import pytest

from domain.streams import DECODERS
from ops.projecting import projector
from projections import projection as blocks
from projections.catalogue import PROJECTIONS
from projections.runner import Runner
from tests.conftest import _database as new_database
from tests.projections.houses import make_house
from tests.projections.rows import Connection, all_rows, fresh, run_to_end
from tests.reference.projected import projected
from tests.reference.projected_journal import Journal, Row, read_journal

Tables = dict[str, list[Row]]

STEPS: Final = {1: 0, 2: 300, 3: 1_500}
"""Seed of a house -> steps of its evening.  The first has every kind of event."""

SLOW: Final = pytest.mark.slow

SMALL: Final = 97
"""Positions in a block, so that there are several."""

COLUMNS: Final = {
    table.name: [column for column, _ in table.columns] for kind in PROJECTIONS.values() for table in kind.TABLES
}
CONSTANT: Final = {("exception", "nth"), ("verification", "rounds"), ("verification", "not_checkable"),
                   ("finding", "check_name"), ("finding", "place"), ("finding", "recorded"),
                   ("finding", "recomputed"), ("finding", "round"), ("verification", "by"), ("examination", "by"),
                   ("examination", "configuration_digest")}  # fmt: skip
"""Columns that have one value in the first house."""


class House(NamedTuple):
    """A database to be copied, the events in it, and what the reference makes of them, in large blocks and in small."""

    template: str
    journal: Journal
    expected: Tables
    in_blocks: Tables


class Houses:
    """Houses by their seeds, each made when it is asked for first."""

    def __init__(self, open_: ExitStack, server_url: str, migrated_template: str) -> None:
        self._open, self._server_url, self._empty = open_, server_url, migrated_template
        self._made: dict[int, House] = {}

    def __getitem__(self, seed: int) -> House:
        if seed not in self._made:
            url = self._open.enter_context(new_database(self._server_url, self._empty))
            make_house(url, seed, STEPS[seed])
            template, journal = url.rpartition("/")[2].partition("?")[0], read_whole(url)
            self._made[seed] = House(template, journal, projected(journal), projected(journal, SMALL))
        return self._made[seed]


@pytest.fixture(scope="module")
def houses(server_url: str, migrated_template: str) -> Iterator[Houses]:
    with ExitStack() as open_:
        yield Houses(open_, server_url, migrated_template)


def read_whole(url: str) -> Journal:
    """All events of a database."""
    with psycopg.connect(url) as connection:
        return read_journal(connection.execute(_EVENTS).fetchall())


_EVENTS: Final = "select notification_id, originator_id, state from dealproof.events order by notification_id"


def first_difference(found: Tables, expected: Tables) -> str | None:
    """The first row, column by column, that differs; None where all agree."""
    if found.keys() != expected.keys():
        return f"tables: {sorted(found.keys() ^ expected.keys())} are only on one side"
    for table, columns in COLUMNS.items():
        for place, (row, right) in enumerate(zip(found[table], expected[table], strict=False)):
            if row != right:
                return f"{table} row {place}: {_columns_that_differ(columns, row, right)}"
        here, there = len(found[table]), len(expected[table])
        if here != there:
            longer = max(found[table], expected[table], key=len)
            return f"{table}: has {here} rows, not {there}; too many or missing is {longer[min(here, there)]}"
    return None


def _columns_that_differ(columns: Sequence[str], row: Row, right: Row) -> str:
    if len(row) != len(right):
        return f"{len(row)} columns, not {len(right)}"
    named = zip(columns, row, right, strict=True)
    return "; ".join(f"{name} is {value!r}, not {wanted!r}" for name, value, wanted in named if value != wanted)


def made_by_projections(
    server_url: str, house: House, batch: int, run: Callable[[Connection, int], None] = run_to_end
) -> Tables:
    """The rows of a run over a copy of the house."""
    with new_database(server_url, house.template) as url, projector(url) as connection:
        run(connection, batch)
        return all_rows(connection)


def require_same(found: Tables, expected: Tables) -> None:
    """Says the first difference whole, however long it is."""
    difference = first_difference(found, expected)
    assert difference is None, difference


@pytest.mark.parametrize(("seed", "batch"), [
    (1, 1), (1, 7), (1, 5000), (2, 7), (2, 5000),
    pytest.param(2, 1, marks=SLOW), pytest.param(3, 7, marks=SLOW), pytest.param(3, 5000, marks=SLOW),
])  # fmt: skip
def test_all_tables_are_what_the_reference_says(server_url: str, houses: Houses, seed: int, batch: int) -> None:
    """Row by row, column by column; in batches that end in the middle of rounds and of appends."""
    house = houses[seed]
    require_same(made_by_projections(server_url, house, batch), house.expected)


@pytest.mark.parametrize(("seed", "batch"), [(1, 1), (1, 20), pytest.param(2, 7, marks=SLOW)])
def test_projections_that_remember_nothing_between_batches_agree(
    server_url: str, houses: Houses, seed: int, batch: int
) -> None:
    """Each batch is read by a program that has just begun: what it needs of earlier it finds in tables and journal."""

    def run(connection: Connection, size: int) -> None:
        while (step := Runner(connection, fresh(), size).step()).read:
            # One that stopped would be tried again for ever.
            assert step.stopped == ()

    house = houses[seed]
    require_same(made_by_projections(server_url, house, batch, run), house.expected)


@pytest.mark.parametrize(("seed", "batch"), [(1, 50), (2, 5000), pytest.param(3, 50, marks=SLOW)])
def test_sums_of_several_blocks_are_what_the_reference_says(
    server_url: str, houses: Houses, monkeypatch: pytest.MonkeyPatch, seed: int, batch: int
) -> None:
    """A block of a real journal has more events than any test can make."""
    monkeypatch.setattr(blocks, "BLOCK", SMALL)
    house = houses[seed]
    found = made_by_projections(server_url, house, batch)
    require_same(found, house.in_blocks)
    for table in ("revenue", "wager_performance", "combination", "player_activity"):
        assert len({row[0] for row in found[table]}) > 2


# -- the houses are worth a comparison


def test_every_event_that_a_projection_takes_occurs(houses: Houses) -> None:
    """In the first house already."""
    taken = {event.NAME for kind in PROJECTIONS.values() for event in kind().handlers()}
    assert taken - {seen.event.NAME for seen in houses[1].journal} == set()


def test_every_event_that_can_be_read_occurs(houses: Houses) -> None:
    """In the first house as well; those that no projection takes move nothing."""
    codecs = [decode.__self__ for decode in DECODERS.values()]  # type: ignore[attr-defined]  # bound to a codec each
    known = {name for codec in codecs for name in codec.types}
    assert known - {seen.event.NAME for seen in houses[1].journal} == set()
    assert len(known) > 50


def test_every_column_has_more_than_one_value(houses: Houses) -> None:
    """Else a column that always says the same would agree by chance."""
    constant = set()
    for table, columns in COLUMNS.items():
        rows = houses[1].in_blocks[table]
        constant |= {(table, name) for name, values in zip(columns, zip(*rows, strict=True), strict=True)
                     if len(set(values)) < 2}  # fmt: skip
    assert constant == CONSTANT


def test_a_house_is_the_same_for_the_same_seed(
    server_url: str, migrated_template: str, houses: Houses
) -> None:
    """But for the nonces under which seeds are sealed, which no table shows."""
    with new_database(server_url, migrated_template) as url:
        make_house(url, 1, STEPS[1])
        assert projected(read_whole(url)) == houses[1].expected


# -- the comparison can fail


@pytest.mark.parametrize("table", list(COLUMNS))
def test_a_value_that_is_wrong_is_noticed_in_every_column(houses: Houses, table: str) -> None:
    """In the last row; and so is a row that is missing or too many."""
    right = houses[1].expected
    for place, column in enumerate(COLUMNS[table]):
        row = right[table][-1]
        wrong = {**right, table: [*right[table][:-1], (*row[:place], ("other", row[place]), *row[place + 1 :])]}
        says = first_difference(wrong, right)
        assert says is not None and says.startswith(f"{table} row {len(right[table]) - 1}: {column} is ('other'")
    for rows in (right[table][:-1], [*right[table], right[table][-1]]):
        says = first_difference({**right, table: rows}, right)
        assert says is not None and says.startswith(f"{table}: has {len(rows)} rows, not {len(right[table])}")


def test_an_event_that_is_changed_is_noticed(houses: Houses) -> None:
    """The reference reads what is there: without any one of the last withdrawals, voids or runs it says otherwise."""
    journal, right = houses[1].journal, houses[1].expected
    for name in ("funds-withdrawn.v1", "round-voided.v1", "rounds-verified.v1", "box-placed.v1", "jackpot-fed.v1"):
        last = [seen.position for seen in journal if seen.event.NAME == name][-1]  # noqa: SIM300 - no constant
        assert first_difference(projected([seen for seen in journal if seen.position != last]), right) is not None


