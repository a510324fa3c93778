"""The house that each test here asks.

Not here: what it can be asked (`houses`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ops.journal import Journal
from tests.conftest import _database as new_database
from tests.ops.api.houses import House
from tests.ops.floor.conftest import furnished_template as furnished_template


@pytest.fixture(scope="module")
def shared_url(server_url: str, furnished_template: str) -> Iterator[str]:
    """A database with a furnished casino, for tests of one module that don't mind each other's traces."""
    with new_database(server_url, furnished_template) as url:
        yield url


@pytest.fixture
def furnished_url(server_url: str, furnished_template: str) -> Iterator[str]:
    """A database with a furnished casino in which nothing has happened yet."""
    with new_database(server_url, furnished_template) as url:
        yield url


@pytest.fixture(scope="module")
def house(shared_url: str) -> Iterator[House]:
    """One house for all tests of a module, which look at their own rounds and accounts alone."""
    with Journal.open(shared_url) as journal:
        yield House.opened(shared_url, journal)


@pytest.fixture
def new_house(furnished_url: str) -> Iterator[House]:
    """A house in which nothing has happened yet."""
    with Journal.open(furnished_url) as journal:
        yield House.opened(furnished_url, journal)
