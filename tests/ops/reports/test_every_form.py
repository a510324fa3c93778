"""Every report as every form, in both languages, of a house that has seen everything and of one that has seen nothing.

Not here: the forms themselves (`test_render`), what the reports say (`test_definitions_*`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from ops.projecting import catch_up
from ops.reports.building import Filters
from ops.reports.definitions import REPORTS, definition
from ops.reports.making import Asked, open_report
from ops.reports.render import FORMATS
from ops.reports.words import LANGUAGES, Words
from ops.settings import Settings
from tests.conftest import _database as new_database
from tests.ops.reports.played_house import played_house
from tests.ops.reports.test_render import printed, shown

GENERATED: Final = "2027-01-01T00:00:00.000Z"
HOUSES: Final = ("played", "empty")

NOTHING: Final = {"en": "No Activity", "ru": "Движения не было"}


class Printed(NamedTuple):
    """What is asked for."""

    name: str
    form: str
    language: str
    house: str


def _all() -> Iterator[Printed]:
    """Of an empty house nobody can have a statement: it is of a player."""
    for name in REPORTS:
        for house in HOUSES:
            for language in LANGUAGES:
                if (name, house) != ("player-statement", "empty"):
                    yield from (Printed(name, form, language, house) for form in FORMATS)


ALL: Final = list(_all())
FEW: Final = [each for each in ALL[::7] if (each.form, each.house) != ("pdf", "played")]
"""Seven shares no factor with six forms and two languages.  Long tables take long to lay out on paper."""


@pytest.fixture(scope="module")
def urls(server_url: str, migrated_template: str) -> Iterator[dict[str, str]]:
    with played_house(server_url, migrated_template) as house, new_database(server_url, migrated_template) as url:
        catch_up(url)
        yield {"played": house.url, "empty": url}


def read(urls: dict[str, str], tmp_path: Path, asked: Printed) -> tuple[bytes, str]:
    """The bytes, and all that is read in them."""
    url = urls[asked.house]
    filters = Filters(player="anna") if asked.name == "player-statement" else Filters()
    question = Asked(asked.name, "2026-12", "2026-12", "Europe/Moscow", asked.language, filters, generated_at=GENERATED)
    with open_report(Settings(tmp_path, url, tmp_path / "key"), url, question) as report:
        data = printed(report, asked.form, Words(asked.language))
    return data, " ".join(shown(asked.form, data).split())


def require_whole(urls: dict[str, str], tmp_path: Path, asked: Printed) -> None:
    """Its title, no residual, and that there was no activity where there was none."""
    _, text = read(urls, tmp_path, asked)
    words = Words(asked.language)
    assert words(definition(asked.name).TITLE) in text
    assert words("NOT ZERO") not in text
    if asked.house == "empty":
        assert NOTHING[asked.language] in text


def test_the_few_have_every_form_language_house_and_report() -> None:
    assert {(each.form, each.language, each.house) for each in FEW} == {
        (form, language, house) for form in FORMATS for language in LANGUAGES for house in HOUSES
        if (form, house) != ("pdf", "played")
    }  # fmt: skip
    assert {each.name for each in FEW} == set(REPORTS)


@pytest.mark.parametrize("asked", FEW, ids="-".join)
def test_a_report_prints_in_every_form(urls: dict[str, str], tmp_path: Path, asked: Printed) -> None:
    require_whole(urls, tmp_path, asked)


@pytest.mark.long
@pytest.mark.parametrize("asked", [each for each in ALL if each not in FEW], ids="-".join)
def test_each_report_prints_in_each_form(urls: dict[str, str], tmp_path: Path, asked: Printed) -> None:
    require_whole(urls, tmp_path, asked)


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_question_gives_the_same_bytes(urls: dict[str, str], tmp_path: Path, form: str) -> None:
    """In each language its own."""
    found = []
    for language in (*LANGUAGES, *LANGUAGES):
        data, text = read(urls, tmp_path, Printed("jackpot", form, language, "played"))
        proved = "Change of the pots = what the ledger posted to jackpots ({currency})"
        assert Words(language)(proved, currency="EUR") in text
        found.append(data)
    assert found[:2] == found[2:] and found[0] != found[1]
