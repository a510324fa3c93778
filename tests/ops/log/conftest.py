"""An empty journal for each test here, unless the module says that something was played.

Not here: filling it (`logged`).
"""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def played_template(migrated_template: str) -> str:
    """What `url`, `journal` and `owner` of `tests.ops.conftest` are copies of: nothing was played."""
    return migrated_template
