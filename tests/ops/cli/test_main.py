"""Exit statuses, whatever the command: 0, 1, 2, 70 for a bug, 130 for an interrupt; one line on stderr for a person.

Not here: what each command does.
"""

from __future__ import annotations

import importlib
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click
import pytest

import domain
import ops
import projections
import replay
from ops.cli import main
from ops.cli.main import _COMMANDS, _mendable
from ops.cli.output import UsageError
from ops.database import DatabaseUnavailable
from ops.house import UnknownRound
from ops.journal import EnvelopeMismatch, JournalUnavailable, StreamConflict
from ops.keys import KeyFileError, SealedSeedError, WrappedKeyError
from ops.postgres_server import PostgresServerError
from tests.ops.cli.running import REPOSITORY, dealproof, dealproof_process

ENDS = """
import sys
from ops.cli import main
def end(*_, **__):
    {end}
main._COMMANDS["rounds"] = "ends:rounds"
import types, click
module = types.ModuleType("ends")
module.rounds = click.command()(end)
sys.modules["ends"] = module
sys.argv[1:] = ["rounds"]
main.main()
"""


def ends(end: str) -> subprocess.CompletedProcess[bytes]:
    """A process whose command ends in a given way."""
    return subprocess.run(
        [sys.executable, "-c", ENDS.format(end=end)], cwd=REPOSITORY, capture_output=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("return 0", 0),
        ("return None", 0),
        ("return 1", 1),
        ("return 2", 2),
        ("sys.exit(5)", 5),
        ("from ops.cli.output import UsageError; raise UsageError('--x: is odd')", 2),
        ("raise KeyboardInterrupt", 130),
    ],
)
def test_a_command_ends_with_its_status(end: str, status: int) -> None:
    ended = ends(end)

    assert ended.returncode == status
    assert b"Traceback" not in ended.stderr


def test_a_bug_is_shown_with_its_traceback_and_status_70() -> None:
    ended = ends("raise RuntimeError('nobody thought of this')")

    assert ended.returncode == 70
    assert b"Traceback (most recent call last)" in ended.stderr
    assert b"RuntimeError: nobody thought of this" in ended.stderr


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_without_a_traceback(number: signal.Signals, status: int) -> None:
    end = "import time; print('begun', flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", ENDS.format(end=end)], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(number)
    _, complaint = process.communicate(timeout=30)

    assert process.returncode == status
    assert b"Traceback" not in complaint


def test_a_polite_kill_in_the_middle_of_an_import_is_not_lost(tmp_path: Path) -> None:
    """Python swallows exceptions in some places there, as this module does."""
    (tmp_path / "swallows.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGTERM)\nexcept BaseException:\n    pass\n"
    )
    end = f"import sys, time; sys.path.insert(0, {str(tmp_path)!r}); import swallows; time.sleep(60)"
    ended = subprocess.run(
        [sys.executable, "-c", ENDS.format(end=end)], cwd=REPOSITORY, capture_output=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stderr) == (143, b"")


# -- what can be mended


@pytest.mark.parametrize(
    "error",
    [
        UsageError("x"), DatabaseUnavailable("x"), UnknownRound("x"), JournalUnavailable("x"), KeyFileError("x"),
        SealedSeedError("x"), WrappedKeyError("x"), PostgresServerError("x"), EnvelopeMismatch("x"),
        StreamConflict("round:1", 1, 2),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_an_error_of_the_world_outside_is_one_line(error: Exception) -> None:
    assert _mendable(error)


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), AssertionError("x"), RuntimeError("x")])
def test_any_other_error_is_a_bug(error: Exception) -> None:
    assert not _mendable(error)


def test_every_mendable_error_exists_under_its_name() -> None:
    """They are told by name, so a class that is renamed would fall out of the list unseen."""
    (names,) = (
        constant for constant in _mendable.__code__.co_consts if isinstance(constant, frozenset)
    )
    known = {name for module in _modules() for name in vars(module)}

    assert len(names) >= 9
    assert names <= known


def _modules() -> Iterator[object]:
    for package in (domain, ops, projections, replay):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations" not in found.name and "bench" not in found.name:
                yield importlib.import_module(found.name)


def test_a_message_of_several_lines_becomes_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main._one_line("one\ntwo\x1b[31m") == 2

    assert capsys.readouterr().err == "dealproof: one two\\x1b[31m\n"


# -- usage


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("frobnicate", "frobnicate"),
        ("--colour rounds", "--colour"),
        ("rounds --colour", "--colour"),
        ("show", "ROUND"),
        ("verify", "ROUND"),
        ("void", "ROUND"),
        ("void 7", "--reason"),
        ("rulesets show", "ID"),
        ("play extra", "extra"),
        ("verify --all --workers", "--workers"),
        ("database frobnicate", "frobnicate"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_word(line: str, named: str) -> None:
    ran = dealproof(*line.split())

    assert ran.status == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("dealproof: ")
    assert ran.stderr.count("\n") == 1
    assert named in ran.stderr


def test_without_a_command_the_help_is_shown_and_the_status_is_2() -> None:
    ran = dealproof()

    assert ran.status == 2
    assert "demo" in ran.stderr + ran.stdout


def test_the_help_lists_every_command_and_each_has_its_own() -> None:
    text = dealproof("--help")
    assert text.status == 0
    for name in _COMMANDS:
        assert f"\n  {name} " in text.stdout
        own = dealproof(name, "-h")
        assert own.status == 0
        assert own.stdout.startswith("Usage:")
        assert own.stderr == ""


def test_the_version_is_told() -> None:
    ran = dealproof("--version")

    assert ran.status == 0
    assert ran.stdout.endswith(f", version {version('dealproof')}\n")


def test_every_command_of_the_table_is_a_command() -> None:
    context = click.Context(main.dealproof)
    for name in main.dealproof.list_commands(context):
        command = main.dealproof.get_command(context, name)
        assert isinstance(command, click.Command)
        assert command.name == name
        assert command.help


def test_an_unknown_level_of_the_log_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEALPROOF_LOG", "loud")

    ran = dealproof("rulesets")

    assert ran.status == 2
    assert ran.stderr == "dealproof: DEALPROOF_LOG: 'loud' is not one of debug, info, warning, error\n"


@pytest.mark.parametrize("locale", ["C", "POSIX", "de_DE.UTF-8", "no_SUCH.LOCALE"])
def test_any_locale_will_do(locale: str) -> None:
    ran = dealproof_process("rulesets", environment={"LC_ALL": locale, "LANG": locale, "PYTHONIOENCODING": ""})

    assert (ran.returncode, ran.stderr) == (0, b"")


def test_a_command_without_a_database_does_not_load_its_driver() -> None:
    """It starts fast, and works where the driver does not."""
    code = "import sys; from ops.cli.main import run; run(['rulesets']); sys.exit('psycopg' in sys.modules)"

    ended = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, check=False)

    assert ended.returncode == 0


