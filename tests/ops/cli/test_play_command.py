"""`dealproof play` and `dealproof demo`: what they play is in the journal, what they print adds up, and a kill
leaves rounds that can be ended.

Not here: the playing (`tests.ops.test_play`).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from domain.rulesets import released_rulesets
from ops.journal import Journal
from tests.ops.cli.running import REPOSITORY, Ran, command, dealproof

NAMES = list(released_rulesets())
Command = Callable[..., Ran]


@pytest.fixture
def journal(migrated_database_url: str) -> Iterator[Journal]:
    with Journal.open(migrated_database_url) as journal:
        yield journal


@pytest.fixture
def options(migrated_database_url: str, tmp_path: Path) -> tuple[str, ...]:
    return "--home", str(tmp_path / "my home"), "--database-url", migrated_database_url


def table(text: str) -> dict[str, list[int]]:
    """Each ruleset's rounds, voided, boxes, turnover, returned and GGR as `play` prints them."""
    found = {}
    for line in text.splitlines():
        name, *figures = line.split()
        if name in NAMES:
            found[name] = [int(figure.replace(",", "")) for figure in figures[:6]]
    return found


def test_rounds_of_every_game_are_played_and_summed(options: tuple[str, ...], journal: Journal) -> None:
    ran = dealproof(*options, "play", "--direct", "--rounds", "24", "--seed", "5")

    assert (ran.status, ran.stderr) == (0, "")
    figures = table(ran.stdout)
    assert list(figures) == NAMES
    assert sum(row[0] for row in figures.values()) == journal.count_rounds() == 24
    events = sum(len(bodies) for _, bodies in journal.read_rounds())
    assert ran.stdout.startswith(f"24 rounds, {events} events (amounts in minor units)\n")
    for _, _, _, turnover, returned, ggr in figures.values():
        assert turnover - returned == ggr
    percents = re.findall(r"(\d+)\.(\d\d) %", ran.stdout)
    for (whole, part), row in zip(percents, figures.values(), strict=True):
        assert int(whole + part) == 10_000 * row[4] // row[3]


def test_one_game_only_is_played_when_named(options: tuple[str, ...], journal: Journal) -> None:
    ran = dealproof(*options, "play", "--direct", "--rounds", "5", "--ruleset", "five-card-poker@1")

    assert ran.status == 0
    assert {name: row[0] for name, row in table(ran.stdout).items()} == {"five-card-poker@1": 5}
    assert {identity.table_id for identity in journal.last_rounds(9)} == {"five-card-poker-1", "five-card-poker-2"}


def test_playing_again_goes_on_in_the_same_journal(options: tuple[str, ...], journal: Journal) -> None:
    for _ in range(2):
        assert dealproof(*options, "play", "--direct", "--rounds", "8").status == 0

    assert journal.count_rounds() == 16
    assert dealproof(*options, "verify", "--all").stdout.startswith("16 rounds: 16 verified")


def test_the_demo_plays_verifies_shows_a_round_and_says_what_to_try(
    options: tuple[str, ...], journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # two workers take a second to start
    ran = dealproof(*options, "demo", "--rounds", "12", "--seed", "1")

    assert (ran.status, ran.stderr) == (0, "")
    assert journal.count_rounds() == 12
    assert "12 rounds: 12 verified, 0 with a discrepancy, 0 not checkable" in ran.stdout
    assert "REPLAY" in ran.stdout
    tried = re.findall(r"^  dealproof (.+)$", ran.stdout, re.M)
    assert len(tried) >= 5
    for line in tried:
        words = line.partition(" | ")[0].split()
        assert dealproof(*options, *words).status in (0, 1 if words[1] == "diff" else 0), line


# -- killed


PLAYS_SLOWLY = """
import time
from ops.cli.main import main
from ops import journal
append = journal.Journal.append
def slowly(self, *arguments):
    appended = append(self, *arguments)
    if appended.positions[-1] > 170:
        print("playing", flush=True)
        time.sleep(60)
    return appended
journal.Journal.append = slowly
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_a_killed_play_leaves_is_true_and_can_be_ended(
    options: tuple[str, ...], journal: Journal, number: signal.Signals
) -> None:
    """Rule 10.2: its open rounds are listed, voided one by one, and then all is verified."""
    process = subprocess.Popen(
        [sys.executable, "-c", PLAYS_SLOWLY, *options, "play", "--direct", "--rounds", "50"], cwd=REPOSITORY,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"playing\n"
    process.send_signal(number)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
    assert b"Traceback" not in complaint

    listed = dealproof(*options, "rounds", "--open", "--json")
    assert listed.status == 0
    still_open = re.findall(r'"round":"([0-9a-f]{32})"', listed.stdout)
    assert len(still_open) >= 4
    for name in still_open:
        assert dealproof(*options, "void", name, "--reason", "the house was killed").status == 0
    count = journal.count_rounds()
    assert dealproof(*options, "verify", "--all").stdout.startswith(f"{count} rounds: {count} verified")
    assert dealproof(*options, "play", "--direct", "--rounds", "8").status == 0


def test_a_terminal_gets_a_progress_bar_and_the_pipe_does_not(options: tuple[str, ...]) -> None:
    if not hasattr(os, "openpty"):
        pytest.skip("needs a terminal")
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        command(*options, "play", "--direct", "--rounds", "20", "--seed", "3"), cwd=REPOSITORY, stdout=subprocess.PIPE,
        stderr=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    told = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        told += part
    os.close(ours)
    out, _ = process.communicate(timeout=30)

    assert b"Playing 20 rounds (players' seed 3)" in told
    assert b"20/20" in told
    assert b"\x1b" not in out
    assert b"Playing" not in out


# -- over HTTP


def test_rounds_are_played_through_the_api_by_many_game_servers(options: tuple[str, ...], journal: Journal) -> None:
    """The real server in processes of its own; the keys of the session are revoked in the end."""
    ran = dealproof(*options, "play", "--rounds", "30", "--seed", "5", "--threads", "3")

    assert (ran.status, ran.stderr) == (0, "")
    assert sum(row[0] for row in table(ran.stdout).values()) == journal.count_rounds() == 30
    assert dealproof(*options, "rounds", "--open").stdout == "No open rounds.\n"
    assert dealproof(*options, "verify", "--all").stdout.startswith("30 rounds: 30 verified")
    keys = dealproof(*options, "keys", "list", "--json").stdout.splitlines()
    assert len(keys) == 2
    assert all('"reason":"the session is over"' in line for line in keys)


def test_an_interrupted_session_ends_its_rounds_and_stops_the_server(
    options: tuple[str, ...], journal: Journal
) -> None:
    process = subprocess.Popen(
        command(*options, "play", "--rounds", "100000"), cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while journal.count_rounds() < 5 and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)

    assert process.returncode == 130
    assert complaint.strip() == b"dealproof: interrupted"
    assert journal.open_rounds() == []
