"""A played house to look at, with and without projections.

Not here: what is seen in it (the tests).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ops import database
from ops.metrics.line import Connection
from ops.projecting import catch_up
from ops.settings import Settings
from tests.conftest import _database as new_database
from tests.ops.played import played_database


@pytest.fixture(scope="package")
def bare_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with some rounds, whose projections were never run."""
    with played_database(server_url, migrated_template, 8, tables_each=1) as name:
        yield name


@pytest.fixture(scope="package")
def played_template(server_url: str, bare_template: str) -> Iterator[str]:
    """The same with its projections run; what `url`, `journal` and `owner` are copies of."""
    with new_database(server_url, bare_template) as url:
        catch_up(url)
        yield url.rpartition("/")[2].partition("?")[0]


@pytest.fixture
def bare_url(server_url: str, bare_template: str) -> Iterator[str]:
    with new_database(server_url, bare_template) as url:
        yield url


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """An installation without a log."""
    return Settings(tmp_path, None, tmp_path / "keys" / "dealproof.key")


@pytest.fixture
def reader(url: str) -> Iterator[Connection]:
    """A connection with the rights that a look has."""
    with database.connect(url, database.READER_ROLE) as connection:
        yield connection


@pytest.fixture
def superuser(url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection
