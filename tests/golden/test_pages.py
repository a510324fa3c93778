"""The examples of the format pages are records of ours, and the pages name every event, field and rung.

Not here: the other format pages (tests/deal, tests/ops).
"""

from __future__ import annotations

import pytest

from domain.round.events import ROUND_EVENTS, Refund
from domain.ruleset import Limits
from replay.verdict import CheckName, Status
from tests.golden.make_pages import FORMATS, page_with_examples


@pytest.mark.parametrize("name", ("event-record.md", "verdict.md"))
def test_the_examples_are_golden(name: str) -> None:
    """To bring them up to date after new golden files: python -m tests.golden.make_pages."""
    assert (FORMATS / name).read_text(encoding="utf-8") == page_with_examples(name)


@pytest.mark.parametrize("event", ROUND_EVENTS, ids=lambda event: event.NAME)
def test_every_event_stands_on_its_page_with_all_its_keys_in_order(event: type[object]) -> None:
    """One row an event; the keys are those of the struct."""
    page = (FORMATS / "event-record.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{event.NAME}`"))  # type: ignore[attr-defined]
    keys = list(event.__struct_fields__)  # type: ignore[attr-defined]

    places = [row.index(f"`{key}`", len(event.NAME) + 4) for key in keys]  # type: ignore[attr-defined]

    assert places == sorted(places)
    inner = {"limits": Limits, "refunds": Refund}
    assert all(f"`{field}`" in row for key in keys if key in inner for field in inner[key].__struct_fields__)


def test_every_rung_and_status_stands_on_the_page_of_the_verdict() -> None:
    """In the order of the ladder."""
    page = (FORMATS / "verdict.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in page.split("## Ladder")[1].split("\n\n")[1].splitlines() if "`" in line[:4]]

    assert rows == list(CheckName)
    assert all(f"`{status}`" in page for status in Status)
