"""One copy of a played journal for the tests of a module, and drills on it.

Not here: what is expected of them (the tests).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.drill.copy import Copy, open_copy
from ops.journal import Journal
from tests.conftest import _database as new_database

EVENTS = 700


@pytest.fixture(scope="module")
def copy(server_url: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """The drill's own: simulated players played in place of an empty journal."""
    folder = Path(tmp_path_factory.mktemp("drill"))
    with (
        new_database(server_url, migrated_template) as url,
        Journal.open(url) as source,
        open_copy(url, source, folder, EVENTS) as copy,
    ):
        yield copy
