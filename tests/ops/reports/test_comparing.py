"""What differs between a report as of two positions, and that the appends named are those that did it.

Not here: what the reports say (`test_definitions_contents`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from ops.projecting import catch_up
from ops.reports.building import Period, Request
from ops.reports.comparing import Change, Comparison, Step
from ops.reports.definitions import REPORTS, definition
from ops.reports.words import Words
from projections.catalogue import VERSIONS
from projections.reading import read_projections
from tests.ops.cli.running import Ran, dealproof
from tests.ops.reports import played_house as houses
from tests.ops.reports.played_house import ALL, PlayedHouse, day, played_house


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str) -> Iterator[PlayedHouse]:
    with played_house(server_url, migrated_template) as house:
        catch_up(house.url)
        yield house


def compared(house: PlayedHouse, name: str, first: int, last: int) -> tuple[list[Change], list[Step]]:
    made = definition(name)
    filters = ALL._replace(player=houses.VISITOR) if name == "player-statement" else ALL
    request = Request(name, Period(*house.whole, "UTC"), filters, first, Words("en"))
    with read_projections(house.reader, made.NEEDS, VERSIONS) as reading:
        comparison = Comparison(reading, made, request, last)
        return comparison.changes(), list(comparison.steps())


def told(changes: list[Change]) -> list[tuple[object, ...]]:
    return [(each.section.name, each.section.currency, each.weight, each.row, each.column.name, each.before, each.after)
            for each in changes]  # fmt: skip


@pytest.mark.parametrize("name", REPORTS)
def test_the_appends_told_are_all_that_changed_the_report(house: PlayedHouse, name: str) -> None:
    """Between two of them the report stays the same; from first to last they lead to the later one."""
    first, last = house.borders[-30], house.head
    changes, steps = compared(house, name, first, last)
    assert bool(changes) is bool(steps)
    reached = first
    for step in steps:
        assert step.whole and step.changes and reached < step.positions[0] <= step.positions[1]
        assert [each.position for each in step.events] == list(range(step.positions[0], step.positions[1] + 1))
        assert told(compared(house, name, reached, step.positions[0] - 1)[0]) == [] or reached == step.positions[0] - 1
        reached = step.positions[1]
    # Cell by cell: where it was, where each append took it, where it is.
    last_seen: dict[tuple[object, ...], object] = {}
    for step in steps:
        for change in told(step.changes):
            last_seen[change[:5]] = change[6]
    for change in told(changes):
        assert last_seen[change[:5]] == change[6]


def test_a_late_correction_explains_the_difference_by_itself(house: PlayedHouse) -> None:
    """One movement at the desk between two positions: its event, who did it, why, and the cells that it changed."""
    [(position,)] = house.reader.execute(
        "select notification_id from dealproof.events where topic = 'funds-adjusted.v1' "
        "and originator_id = 'account:JPY:visitor'"
    ).fetchall()
    changes, [step] = compared(house, "player-account-summary", position - 1, position)
    assert step.positions == (position, position)
    assert [(each.name, each.by, each.reason) for each in step.events] == [
        ("funds-adjusted.v1", "desk", "birthday")
    ]
    assert {each.section.currency for each in changes} == {"JPY"} and told(changes) == told(step.changes)
    assert all(isinstance(each.before, int) and each.after == each.before + 777 for each in changes)


def test_many_appends_are_told_up_to_a_number_and_the_rest_together(
    house: PlayedHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.reports.comparing.MOST_STEPS", 3)
    first = house.borders[5]
    changes, steps = compared(house, "ledger", first, house.head)
    assert [step.whole for step in steps] == [True, True, True, False]
    assert steps[-1].positions == (steps[2].positions[1] + 1, house.head)
    cells = Counter(change[:5] for step in steps for change in told(step.changes))
    assert set(cells) >= {change[:5] for change in told(changes)}


def report(house: PlayedHouse, *arguments: str) -> Ran:
    period = "--from", day(0), "--to", day(2)
    return dealproof("--database-url", house.url, "report", "cash-history", *period, *arguments)


def test_people_and_programs_get_the_same_comparison(house: PlayedHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """With exit status 1; 0 where nothing differs."""
    monkeypatch.setattr("ops.clock.now", lambda: "2027-01-01T00:00:00.000Z")
    [(position,)] = house.reader.execute(
        "select notification_id from dealproof.events where topic = 'funds-withdrawn.v1' "
        "and originator_id = 'account:EUR:visitor'"
    ).fetchall()
    arguments = "--as-of", str(position - 1), "--compare-with", str(position)
    text, russian = report(house, *arguments), report(house, *arguments, "--language", "ru")
    assert (text.status, text.stderr) == (1, "")
    assert f"as of {position - 1} and as of {position}" in text.stdout
    assert "funds-withdrawn.v1 account:EUR:visitor, desk" in text.stdout and "\N{MINUS SIGN}12.34" in text.stdout
    assert f"по состоянию на {position - 1} и на {position}" in russian.stdout
    objects = [json.loads(line) for line in report(house, *arguments, "--format", "json").stdout.splitlines()]
    assert [each.get("same") for each in objects] == [False, None]
    assert objects[0]["changes"] == objects[1]["changes"]
    assert {"-12.34"} < {change["after"] for change in objects[1]["changes"]} - {None}
    same = report(house, "--as-of", str(house.head - 1), "--compare-with", "now")
    assert (same.status, same.stdout.splitlines()[1:]) == (0, ["Nothing differs."])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--compare-with", "now"), "--compare-with: goes with --as-of"),
        (("--as-of", "{}", "--compare-with", "{}"), "--compare-with: {0} does not lie behind --as-of {0}"),
        (("--as-of", "{}", "--compare-with", "later"), "--compare-with: 'later' is neither a position nor now"),
        (("--as-of", "{}", "--compare-with", "99999999"), "--compare-with: 99999999 lies beyond"),
        (("--as-of", "{}", "--compare-with", "now", "--format", "csv"), "writes text or json to standard output"),
        (("--as-of", "{}", "--compare-with", "now", "-o", "x"), "writes text or json to standard output"),
    ],
)  # fmt: skip
def test_a_comparison_that_can_not_be_made_is_refused(
    house: PlayedHouse, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.setattr("ops.clock.now", lambda: "2027-01-01T00:00:00.000Z")
    position = house.borders[20]
    ran = report(house, *(argument.format(position) for argument in arguments))
    assert (ran.status, ran.stdout) == (2, "") and message.format(position) in ran.stderr
