"""A copy of a played database for each test, where the module says which: by a fixture `played_template`, its name.

Not here: what was played (`played`), databases without rounds (`tests.conftest`).
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from ops.journal import Journal
from tests.conftest import _database as new_database
from tests.ops.played import Owner


@pytest.fixture
def url(server_url: str, played_template: str) -> Iterator[str]:
    with new_database(server_url, played_template) as url:
        yield url


@pytest.fixture
def journal(url: str) -> Iterator[Journal]:
    with Journal.open(url) as journal:
        yield journal


@pytest.fixture
def owner(url: str) -> Iterator[Owner]:
    """Who has the whole server, and so gets around the triggers."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter table dealproof.events disable trigger user")
        yield connection
