"""A server of our own: roles and settings belong to a whole server, and here they are broken.

Not here: what is broken (the tests).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from domain.doctor import ControlStatus
from ops import clock
from ops.database import migrate
from ops.doctor.examine import Report, examine
from ops.journal import Journal
from ops.postgres_server import EmbeddedPostgres
from ops.settings import Settings
from tests.conftest import _database as new_database
from tests.conftest import _name as database_name
from tests.conftest import open_folder

Superuser = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="package")
def own_server() -> Iterator[EmbeddedPostgres]:
    base = open_folder("dealproof-doctor-")
    try:
        with EmbeddedPostgres(base / "server") as server:
            yield server
    finally:
        shutil.rmtree(base)


@pytest.fixture(scope="package")
def own_template(own_server: EmbeddedPostgres) -> Iterator[str]:
    with new_database(own_server.url, "template0") as url:
        migrate(url)
        yield database_name(url)


@pytest.fixture
def url(own_server: EmbeddedPostgres, own_template: str) -> Iterator[str]:
    """A database with the whole schema and no rows."""
    with new_database(own_server.url, own_template) as url:
        yield url


@pytest.fixture
def superuser(url: str) -> Iterator[Superuser]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def journal(url: str) -> Iterator[Journal]:
    with Journal.open(url) as journal:
        yield journal


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A desk with its keys in order."""
    home = tmp_path / "home"
    (home / "keys").mkdir(parents=True, mode=0o700)
    settings = Settings(home, None, home / "keys" / "dealproof.key")
    for path in (settings.key_file, settings.log_key_file, settings.receipt_key_file):
        path.write_bytes(os.urandom(32))
        path.chmod(0o600)
    settings.trust_file.write_text("{}")
    settings.trust_file.chmod(0o644)
    return settings


class Examination:
    """Examines the installation of a test."""

    def __init__(self, url: str, settings: Settings, journal: Journal) -> None:
        self.url = url
        self.settings = settings
        self.journal = journal

    def report(self, now: Callable[[], str] = clock.now, **settings: Any) -> Report:
        return examine(self.url, replace(self.settings, **settings), self.journal, now)

    def findings(self, now: Callable[[], str] = clock.now, **settings: Any) -> list[str]:
        """Each as `control: finding`."""
        checks = self.report(now, **settings).checks
        return [f"{check.name}: {line}" for check in checks for line in check.findings]

    def notes(self, **settings: Any) -> list[str]:
        checks = self.report(**settings).checks
        return [
            f"{check.name}: {line}" for check in checks if check.status is not ControlStatus.NOT_CHECKABLE
            for line in check.notes
        ]  # fmt: skip


@pytest.fixture
def examined(url: str, settings: Settings, journal: Journal) -> Examination:
    return Examination(url, settings, journal)
