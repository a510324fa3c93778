"""The command line where only a plain install's packages can be imported.  Run as a program: names, then arguments.

Not here: what is expected (`test_plain_install`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class Guard(MetaPathFinder):
    """Finds nothing but the standard library, our own packages and those that are named."""

    def __init__(self, names: Sequence[str]) -> None:
        self._allowed = {"domain", "projections", "replay", "ops", *names, *sys.stdlib_module_names}

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """None lets the next finder look."""
        if name.partition(".")[0] in self._allowed:
            return None
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    sys.meta_path.insert(0, Guard(sys.argv[1].split(",")))
    from ops.cli.main import run

    sys.exit(run(sys.argv[2:]))
