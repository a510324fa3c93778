"""The casino that each test here plays in: furnished once a worker, copied for each test.

Not here: what it can do (`casino`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ops import clock
from ops.journal import Journal
from tests.conftest import _database as new_database
from tests.ops.floor.casino import Casino


@pytest.fixture(scope="session")
def furnished_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """Name of a database with a furnished casino, to be copied."""
    with new_database(server_url, migrated_template) as url:
        with Journal.open(url) as journal:
            Casino(url, journal).furnish()
        yield url.rpartition("/")[2].partition("?")[0]


@pytest.fixture
def casino(server_url: str, furnished_template: str) -> Iterator[Casino]:
    with new_database(server_url, furnished_template) as url, Journal.open(url) as journal:
        yield Casino(url, journal)


@pytest.fixture
def wall_clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time as events see it, in milliseconds; it stands still until a test moves it."""
    time = [clock.milliseconds(clock.now())]
    monkeypatch.setattr(clock, "now", lambda: clock.as_text(time[0]))
    return time
