"""docs/reports.md and docs/formats/projections.md name what there is, and nothing else.

Not here: whether what they say of it is true (people read that).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.reports.definitions import REPORTS, definition
from ops.reports.definitions.game_performance import band
from ops.reports.definitions.ledger import ACCOUNTS
from ops.reports.words import plain_ratio
from projections.catalogue import PROJECTIONS
from projections.store import Table
from tests.ops.reports.played_house import ALL, PlayedHouse, Shown, played_house

DOCS = Path(__file__).parents[3] / "docs"
REPORTS_PAGE, PROJECTIONS_PAGE = DOCS / "reports.md", DOCS / "formats/projections.md"


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str) -> Iterator[PlayedHouse]:
    with played_house(server_url, migrated_template) as house:
        yield house


def chapters(page: Path) -> dict[str, str]:
    """Title -> text of each chapter."""
    parts = re.split(r"^## (.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def shown(house: PlayedHouse, name: str) -> Shown:
    return house.body(name, *house.whole, filters=ALL._replace(player="anna") if name == "player-statement" else ALL)


# -- the reports


def test_every_report_has_its_chapter_and_no_other_has() -> None:
    general = ["How to ask", "What holds of all of them", "Four rounds by hand"]
    assert list(chapters(REPORTS_PAGE)) == [*general, *REPORTS]


@pytest.mark.parametrize("name", REPORTS)
def test_a_chapter_names_the_columns_of_its_report(house: PlayedHouse, name: str) -> None:
    coded = set(re.findall("`([a-z_]+)`", chapters(REPORTS_PAGE)[name]))
    columns = {column.name for section, _ in shown(house, name).sections for column in section.columns}
    assert coded - {"serve", "doctor", "void", "finish"} == columns


@pytest.mark.parametrize("name", REPORTS)
def test_a_chapter_says_where_the_numbers_come_from_and_what_narrows_them(name: str) -> None:
    [(sources, filters)] = re.findall(
        r"^From the projections: (.+)\. Filters: (.+)\.$", chapters(REPORTS_PAGE)[name], flags=re.MULTILINE
    )
    made = definition(name)
    assert set(sources.split(", ")) == set(made.NEEDS)
    assert set(filters.split(", ")) - {"none"} == made.FILTERS


@pytest.mark.parametrize("name", REPORTS)
def test_a_chapter_has_the_identities_of_its_report(house: PlayedHouse, name: str) -> None:
    _, _, table = chapters(REPORTS_PAGE)[name].partition("| identity |")
    told = {row.split(" | ")[0].removeprefix("| ") for row in table.splitlines()[2:] if row}
    assert told == {_without_names(each.sentence) for each in shown(house, name).identities}


def _without_names(sentence: str) -> str:
    """The page names all accounts in one row, and no currencies."""
    plain = sentence.rpartition(" (")[0] or sentence
    account, _, rest = plain.partition(": ")
    return f"{', '.join(ACCOUNTS)}: {rest}" if account in ACCOUNTS else plain


def test_the_rounds_worked_out_by_hand_add_up_and_have_the_band_that_is_printed() -> None:
    text = chapters(REPORTS_PAGE)["Four rounds by hand"]
    rounds = [_cents(line) for line in text.splitlines() if re.match(r"russian-poker-\d +\d  .*−", line)]
    [total] = [_cents(line) for line in text.splitlines() if re.match(" +Total", line)]
    assert [sum(column) for column in zip(*rounds, strict=True)] == total
    for *kinds, staked, returned, net in rounds:
        assert (sum(kinds), returned - staked) == (staked, net)
    *_, turnover, returned, _ = total
    squares = [sum(row[one] * row[other] for row in rounds) for one, other in ((-3, -3), (-3, -2), (-2, -2))]
    found = band(len(rounds), turnover, returned, squares)
    assert found is not None
    assert [f"{plain_ratio(end)} %" in text for end in found] == [True, True]


def _cents(line: str) -> list[int]:
    """The amounts of a printed row."""
    return [int(cell.replace("−", "-").replace(".", "")) for cell in re.findall(r"−?\d+\.\d\d(?= |$)", line)]


# -- the projections


def test_every_projection_has_its_chapter_and_no_other_has() -> None:
    assert list(chapters(PROJECTIONS_PAGE)) == ["Which table is read", "In all of them", *PROJECTIONS]


@pytest.mark.parametrize("name", PROJECTIONS)
def test_a_chapter_has_the_tables_of_its_projection_with_key_and_columns(name: str) -> None:
    """And says which columns may be null."""
    chapter = chapters(PROJECTIONS_PAGE)[name]
    found = re.split(r"^(`[a-z_]+`, key \(.+?\).*)$", chapter, flags=re.MULTILINE)
    tables = PROJECTIONS[name].TABLES
    assert [re.findall("`([a-z_]+)`", head) for head in found[1::2]] == [[each.name, *each.key] for each in tables]
    for table, text in zip(tables, found[2::2], strict=True):
        assert _named(text) == _columns(table), table.name


def _named(text: str) -> list[str]:
    """What stands in the first cells of a page's table."""
    cells = re.findall(r"^\| (`.+?) \|", text, flags=re.MULTILINE)
    return sorted(name for cell in cells for name in cell.replace("`", "").split(", "))


def _columns(table: Table) -> list[str]:
    return sorted(name if kind.endswith(" not null") else f"{name}?" for name, kind in table.columns)


def test_the_state_of_projections_has_the_columns_that_the_page_says(house: PlayedHouse) -> None:
    made = house.reader.execute(
        "select column_name from information_schema.columns where table_schema = 'projections' and table_name = 'state'"
    ).fetchall()
    text = chapters(PROJECTIONS_PAGE)["Which table is read"]
    assert _named(text) == sorted(name for (name,) in made)


def test_what_is_no_text_in_a_projection_has_the_types_that_the_page_says() -> None:
    """Flags are named one by one; times by their ends."""
    kinds = {
        name: kind.partition(" ")[0] for made in PROJECTIONS.values() for table in made.TABLES
        for name, kind in table.columns
    }  # fmt: skip
    assert {name for name, kind in kinds.items() if kind == "boolean"} == {"test", "intervened", "whole"}
    assert {name for name, kind in kinds.items() if kind == "timestamptz"} == {
        name for name in kinds if name.endswith("at") or name == "quarter"
    }
    assert set(kinds.values()) == {"bigint", "boolean", "numeric", "text", "timestamptz"}


def test_the_query_of_the_page_can_be_asked(house: PlayedHouse) -> None:
    """As a reader."""
    script = PROJECTIONS_PAGE.read_text("utf-8").split("```sql\n")[1].split("```")[0]
    for line in re.sub("--.*", "", script).split(";"):
        if line.strip():
            house.reader.execute(line.encode())


def test_the_parts_of_a_round_are_as_the_page_has_them(house: PlayedHouse) -> None:
    """The same names, and lists of as many values of the same kinds."""
    example = json.loads(PROJECTIONS_PAGE.read_text("utf-8").split("```json\n")[1].split("```")[0])
    rows = house.reader.execute("select ending, parts from projections.round_1").fetchall()
    assert {parts for ending, parts in rows if ending == "voided"} == {"[]"}
    for parts in (json.loads(parts) for ending, parts in rows if ending == "closed"):
        assert list(parts) == list(example)
        for name, entries in parts.items():
            assert {tuple(map(type, entry)) for entry in entries} <= {tuple(map(type, example[name][0]))}
