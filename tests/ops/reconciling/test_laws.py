"""What holds of every operator's file: an amount is read as it was written, and no order or portion of lines matters.

Not here: single cases (`test_files`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.account import LARGEST_BALANCE
from domain.currency import EXPONENTS, in_major_units
from ops import database
from ops.reconciling.mapping import Mapping, What, read_mapping
from ops.reconciling.matching import match
from ops.reconciling.operator_file import Entry, read_entries
from projections.catalogue import VERSIONS
from projections.reading import read_projections
from tests.ops.reconciling.operators import WALLET, Movement, movements, wallet_lines, write
from tests.ops.reports.played_house import PlayedHouse, played_house

SIGNS = [(".", ""), (".", ","), (",", "."), (",", " "), (".", "'")]


def mapping_of(decimal: str, thousands: str, *, minor: bool = False) -> Mapping:
    return Mapping(
        What.WALLET, {"player": "P", "currency": "C", "amount": "A", "reference": "R"}, None, ";", "utf-8", decimal,
        thousands, minor, False, True, {}, {},
    )  # fmt: skip


def entries(folder: Path, mapping: Mapping, cells: list[tuple[str, str]]) -> list[Entry]:
    lines = [["P", "C", "A", "R"], *(["anna", currency, amount, "slip"] for currency, amount in cells)]
    return list(read_entries(write(folder / "amounts.csv", lines, ";"), mapping))


def as_written(amount: int, currency: str, decimal: str, thousands: str) -> str:
    whole, _, part = in_major_units(abs(amount), currency).partition(".")
    grouped = f"{int(whole):,}".replace(",", thousands)
    return f"{'-' if amount < 0 else ''}{grouped}{decimal + part if part else ''}"


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(EXPONENTS)), st.integers(-LARGEST_BALANCE, LARGEST_BALANCE)),
        min_size=1, max_size=20,
    ),
    st.sampled_from(SIGNS),
)  # fmt: skip
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_amount_is_read_as_it_was_written(
    tmp_path: Path, amounts: list[tuple[str, int]], signs: tuple[str, str]
) -> None:
    cells = [(currency, as_written(amount, currency, *signs)) for currency, amount in amounts]
    assert [each.amount for each in entries(tmp_path, mapping_of(*signs), cells)] == [amount for _, amount in amounts]
    plain = [(currency, str(amount)) for currency, amount in amounts]
    read = entries(tmp_path, mapping_of(*signs, minor=True), plain)
    assert [each.amount for each in read] == [amount for _, amount in amounts]


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str) -> Iterator[PlayedHouse]:
    with played_house(server_url, migrated_template) as house:
        yield house


@pytest.fixture(scope="module")
def moved(house: PlayedHouse) -> list[Movement]:
    with psycopg.connect(house.url, autocommit=True) as owner:
        return movements(owner)


@given(st.randoms(use_true_random=False))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_true_wallet_matches_in_whatever_order_and_portions_play_was_booked(
    house: PlayedHouse, moved: list[Movement], tmp_path: Path, random: Random
) -> None:
    """And one unit more on any line is told as one difference of one unit."""
    lines = [part for each in moved for part in _portions(each, random)]
    random.shuffle(lines)
    assert held(house, tmp_path, lines) == []
    chosen = random.randrange(len(lines))
    lines[chosen] = lines[chosen]._replace(amount=lines[chosen].amount + 1)
    [(here, there)] = held(house, tmp_path, lines)
    assert there == here + 1


def _portions(each: Movement, random: Random) -> list[Movement]:
    """Play in up to three lines; a movement at the desk is one."""
    if not each.round:
        return [each]
    parts = [random.randint(-500, 500) for _ in range(random.randrange(3))]
    return [each._replace(amount=amount) for amount in (*parts, each.amount - sum(parts))]


def held(house: PlayedHouse, folder: Path, lines: list[Movement]) -> list[tuple[int, int]]:
    (folder / "wallet.toml").write_text(WALLET, "utf-8")
    mapping = read_mapping(folder / "wallet.toml")
    file = write(folder / "wallet.csv", wallet_lines(lines), ";")
    with (
        database.connect(house.url, database.READER_ROLE) as reader,
        read_projections(reader, ("balances", "cash", "commitments"), VERSIONS) as reading,
        match(reading, mapping, read_entries(file, mapping), None) as made,
    ):
        return [(int(each.here or 0), int(each.there or 0)) for each in made.differences()]
