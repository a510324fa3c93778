"""The process that answers with the stand-ins, once for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.portable.other import Other


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Other]:
    """Started when it is first asked for."""
    process = Other(tmp_path_factory.mktemp("portable"))
    yield process
    process.close()
