"""What every command shares: texts from outside, signs that a terminal lacks, colour, and a quick start."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from ops.cli.ladder import print_ladder
from ops.cli.output import UsageError, printable
from tests.ops.cli.running import REPOSITORY

PRINT_RED = (
    "from ops.cli.output import data_console; data_console().print('A\\u2665 \\xe9 [b]x[/b] :heart:', style='red')"
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, Ж ♥", "plain, Ж ♥"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\u202eabc", "\\u202eabc"),
        ("\udc80", "\\udc80"),
    ],
)
def test_a_text_from_outside_is_one_line_and_steers_no_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert str(UsageError(text)) == shown


def test_a_recorded_text_makes_no_lines_of_its_own_in_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """Or a record could write a rung `log` that is verified."""
    forged = "x\n  log         verified"
    finding = {"seq": 1, "event": forged, "field": forged, "recorded": forged, "recomputed": forged, "stream": forged}
    check = {"check": "payout", "status": "discrepancy", "reason": forged, "discrepancies": [finding], **finding}

    print_ladder({"round": "0" * 32, "verdict": "discrepancy", "checks": [check]})

    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("utf-8", "A♥ é [b]x[/b] :heart:".encode()), ("ascii", b"Ah \\xe9 [b]x[/b] :heart:"), ("latin-1", b"Ah \xe9")],
)
def test_a_sign_that_the_encoding_lacks_is_spelled(encoding: str, shown: bytes) -> None:
    ran = run_python(PRINT_RED, PYTHONIOENCODING=encoding)

    assert ran.returncode == 0
    assert ran.stdout.startswith(shown)


def test_the_plain_c_locale_is_enough() -> None:
    ran = run_python(PRINT_RED, LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0")

    assert (ran.returncode, ran.stdout) == (0, b"Ah \\xe9 [b]x[/b] :heart:\n")


@pytest.mark.parametrize("variables", [{}, {"FORCE_COLOR": "1"}, {"TTY_COMPATIBLE": "1"}])
def test_a_pipe_is_never_coloured(variables: dict[str, str]) -> None:
    assert b"\x1b" not in run_python(PRINT_RED, **variables).stdout


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_is_coloured_unless_it_is_told_not_to(variables: dict[str, str], coloured: bool) -> None:
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color", **variables}
    try:
        subprocess.run(
            [sys.executable, "-c", PRINT_RED], cwd=REPOSITORY, stdout=theirs, env=environment, timeout=60, check=True
        )
        shown = os.read(ours, 1000)
    finally:
        os.close(theirs)
        os.close(ours)

    assert (b"\x1b[31m" in shown) is coloured


def test_scenario_and_dumps_load_neither_the_store_nor_rich() -> None:
    code = "import sys, ops.cli.scenario, ops.cli.dump, ops.cli.rulesets, ops.cli.main; print(*sys.modules)"

    loaded = set(run_python(code).stdout.decode().split())

    assert not loaded & {"rich.console", "psycopg", "eventsourcing", "sqlalchemy", "cryptography"}


def run_python(code: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={**os.environ, **variables},
        capture_output=True,
        timeout=60,
        check=False,
    )
