"""docs/reports.md and docs/formats/projections.md name what there is, and nothing else.

Not here: whether what they say of it is true (people read that).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.reports.definitions import REPORTS, definition
from projections.catalogue import PROJECTIONS
from tests.ops.reports.played_house import ALL, PlayedHouse, played_house

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str) -> Iterator[PlayedHouse]:
    with played_house(server_url, migrated_template) as house:
        yield house


def chapters(page: str) -> dict[str, str]:
    """Title -> text of each chapter."""
    parts = re.split(r"^## (.+)$", (DOCS / page).read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_report_has_its_chapter() -> None:
    assert list(chapters("reports.md"))[1:] == list(REPORTS)


@pytest.mark.parametrize("name", REPORTS)
def test_a_chapter_names_every_column_filter_and_identity(house: PlayedHouse, name: str) -> None:
    chapter = chapters("reports.md")[name]
    shown = house.body(name, *house.whole, filters=ALL._replace(player="anna") if name == "player-statement" else ALL)
    coded = set(re.findall("`([a-z_]+)`", chapter))
    columns = {column.name for section, _ in shown.sections for column in section.columns}
    of_this = coded - {"house", "serve", "doctor"}
    assert columns <= of_this
    assert of_this <= columns
    for word in definition(name).FILTERS:
        assert re.search(rf"Filters: [^.]*\b{word}\b", chapter), word
    for identity in shown.identities:
        sentence = identity.sentence.split(" (")[0]
        plain = re.sub("^[A-Z][a-z ]+: before", "of each account: before", sentence)
        inherited = name == "player-statement" and sentence in chapters("reports.md")["player-account-summary"]
        assert plain in chapter or inherited, sentence


def test_every_projection_has_its_chapter_with_its_tables_and_columns() -> None:
    """And no column that is none."""
    found = chapters("formats/projections.md")
    assert list(found)[2:] == list(PROJECTIONS)
    for name, kind in PROJECTIONS.items():
        coded = set(re.findall("`([a-z_]+)`", found[name]))
        for table in kind.TABLES:
            assert f"`{table.name}`, key (" in found[name]
            missing = {column for column, _ in table.columns} - coded - set(PROJECTIONS["performance"].TABLES[0].key)
            assert not missing, table.name


def test_the_query_in_the_docs_can_be_asked(house: PlayedHouse) -> None:
    """As a reader."""
    page = (DOCS / "formats/projections.md").read_text("utf-8")
    script = page.split("```sql\n")[1].split("```")[0]
    for line in re.sub("--.*", "", script).split(";"):
        if line.strip():
            house.reader.execute(line.encode())
