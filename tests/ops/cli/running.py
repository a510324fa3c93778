"""Run the real command line: in this process, or in one of its own where a pipe or the environment matters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from ops.cli.main import run

REPOSITORY = Path(__file__).parents[3]


class Ran(NamedTuple):
    """How a command ended."""

    status: int
    stdout: str
    stderr: str


def dealproof(*arguments: str, stdin: bytes = b"") -> Ran:
    """Run a command line in this process."""
    with CliRunner().isolation(input=stdin) as (out, err, _):
        status = run(list(arguments))
        sys.stdout.flush()
        sys.stderr.flush()
        return Ran(status, out.getvalue().decode(), err.getvalue().decode())


def command(*arguments: str) -> list[str]:
    """The command line of a process of its own; its working directory must be `REPOSITORY`."""
    return [sys.executable, "-m", "ops.cli.main", *arguments]


def dealproof_process(
    *arguments: str, environment: dict[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run a command line in a process of its own, with these variables on top of the environment."""
    environment = {**os.environ, **(environment or {})}
    return subprocess.run(
        command(*arguments), cwd=REPOSITORY, env=environment, input=stdin, capture_output=True, timeout=60, check=False
    )
