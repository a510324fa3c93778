"""A process that answers out of the archive alone: Python without site-packages, the stand-ins in their places.

Not here: what it answers (`answers`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from ops.portable.build import verifier

ANSWERS: Final = Path(__file__).with_name("answers.py")
START: Final = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_path(sys.argv[1], run_name='__main__')"
)


@cache
def archive() -> bytes:
    """The verifier as one file."""
    return verifier(version("dealproof"))


class Other:
    """The process; `answer` as that of `answers`."""

    def __init__(self, folder: Path) -> None:
        path = folder / "dealproof-verify.pyz"
        path.write_bytes(archive())
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", START, path, ANSWERS],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={}, cwd=folder,
        )  # fmt: skip

    def answer(self, question: str, data: bytes) -> str:
        """What the stand-in says."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([question, b64encode(data).decode()]) + "\n")
        self._process.stdin.flush()
        said: str = json.loads(self._process.stdout.readline())
        return said

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
