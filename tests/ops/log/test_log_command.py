"""`dealproof log`: from nothing to a log, and what it says when something is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from domain.log.checkpoint import COSIGNATURE, Checkpoint, VerifierKey, parse_note
from ops.journal import Journal
from ops.log.daily import keep_daily
from ops.log.store import LogStore
from ops.log.trusting import read_trust
from tests.ops.cli.running import REPOSITORY, Ran, command, dealproof
from tests.ops.log.logged import flip, insert
from tests.ops.played import Owner

ORIGIN = "play.example/log"


class Site:
    """A home and a database, and the command line on them."""

    def __init__(self, url: str, home: Path) -> None:
        self.url, self.home = url, home
        self.store = LogStore(home / "log")

    def arguments(self, *arguments: str) -> list[str]:
        return ["--home", str(self.home), "--database-url", self.url, *arguments]

    def log(self, *arguments: str) -> Ran:
        return dealproof(*self.arguments("log", *arguments))

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        line = command(*self.arguments("log", "run", *arguments))
        return subprocess.Popen(line, cwd=REPOSITORY, stderr=subprocess.PIPE)

    def run_until(self, size: int) -> bytes:
        """Run the sequencer until the log has so many events; gives what it said."""
        process = self.start()
        wait_for(lambda: self.store.size() >= size, process)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0, said
        return said

    def status(self) -> dict[str, object]:
        ran = self.log("status", "--json")
        assert ran.status == 0, ran.stderr
        found: dict[str, object] = json.loads(ran.stdout)
        return found


def wait_for(done: object, process: subprocess.Popen[bytes] | None = None) -> None:
    deadline = time.monotonic() + 60
    assert callable(done)
    while not done():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def site(url: str, tmp_path: Path) -> Iterator[Site]:
    yield Site(url, tmp_path / "home")


def test_a_log_is_named_once(site: Site) -> None:
    ran = site.log("init", "--origin", ORIGIN)
    assert ran == (0, f"The log {ORIGIN} is pinned in {site.home}/trust.json\n", "")

    assert site.log("init").stdout == ran.stdout
    other = site.log("init", "--origin", "other.example/log")
    assert other.status == 2
    assert other.stderr == (
        f"dealproof: origin: this log is {ORIGIN} and keeps its name (trust file {site.home}/trust.json)\n"
    )


def test_a_name_that_is_none_is_refused_in_one_line(site: Site) -> None:
    ran = site.log("init", "--origin", "two words")

    assert ran.status == 2
    assert ran.stderr.startswith("dealproof: origin: ") and ran.stderr.count("\n") == 1


def test_the_keys_are_shown_as_others_need_them(site: Site) -> None:
    site.log("init", "--origin", ORIGIN)
    lines = dict(line.split() for line in site.log("key").stdout.splitlines())

    assert VerifierKey.from_text(lines["log"]).name == ORIGIN
    assert VerifierKey.from_text(lines["receipt"]).name == f"{ORIGIN}/receipts"
    trust = read_trust(Path(lines["trust"]))
    pinned = [known.key.to_text() for known in (*trust.log_keys, *trust.receipt_keys)]
    assert pinned == [lines["log"], lines["receipt"]]


def test_a_site_without_keys_says_so(site: Site) -> None:
    for arguments in (("key",), ("status",)):
        ran = site.log(*arguments)
        assert ran.status == 2
        assert ran.stderr.startswith(f"dealproof: trust file {site.home}/trust.json: is missing")


def test_the_sequencer_runs_until_it_is_told_to_end(site: Site, owner: Owner) -> None:
    """Keys are made and recorded, events taken in, nothing said; the status tells it all."""
    insert(owner, 1, 600)
    assert site.run_until(602) == b""

    status = site.status()
    newest = parse_note(site.store.checkpoint() or b"")
    assert status == {
        "origin": read_trust(site.home / "trust.json").origin, "sequencer": "stopped", "journal": 602, "size": 602,
        "behind": 0, "gap": None, "cosigned": None,
        "checkpoint": {"size": 602, "root": status["checkpoint"]["root"], "witnesses": []},  # type: ignore[index]
    }  # fmt: skip
    assert status["checkpoint"]["root"] == Checkpoint.from_body(newest.body).root.hex()  # type: ignore[index]
    lines = site.log("status").stdout.splitlines()
    assert lines[1:] == [
        "Journal: 602 events; log: 602, 0 behind.",
        f"Checkpoint: 602 events, root {status['checkpoint']['root']}",  # type: ignore[index]
        "Cosigned by nobody yet.",
    ]


def test_the_status_tells_a_gap_and_who_runs(site: Site, owner: Owner) -> None:
    site.log("init")
    insert(owner, 10, 12)
    process = site.start()
    wait_for(lambda: site.status()["sequencer"] == "running", process)
    wait_for(lambda: site.status()["journal"] == 14, process)
    status = site.status()

    assert (status["size"], status["behind"]) == (0, 14)
    gap = status["gap"]
    assert isinstance(gap, dict) and (gap["position"], gap["behind"]) == (1, 10) and gap["seconds"] > 0
    assert "Gap: there is no event at position 1, but one at 10, " in site.log("status").stdout
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0


def test_a_second_sequencer_is_refused_in_one_line(site: Site) -> None:
    site.log("init")
    process = site.start()
    wait_for(site.store.is_locked, process)
    ran = site.log("run")

    assert (ran.status, ran.stderr) == (2, f"dealproof: {site.home}/log/lock: another sequencer runs on this log\n")
    process.terminate()
    assert process.wait(30) == 0


def test_damage_is_told_in_one_line_and_is_a_discrepancy(site: Site, owner: Owner) -> None:
    """Exit status 1; the checkpoint stays as it was."""
    insert(owner, 1, 300)
    site.run_until(302)
    before = site.store.checkpoint()
    flip(site.home / "log/tile/0/001.p/46", 5)
    insert(owner, 303, 310)
    process = site.start()
    _, said = process.communicate(timeout=30)

    assert process.returncode == 1
    assert said.decode() == (
        f"dealproof: log: {site.home}/log/tile/0/001.p/46: "
        "is not a tile of the tree that the last checkpoint is signed over\n"
    )
    assert site.store.checkpoint() == before


def test_a_companion_ends_with_its_parent(site: Site) -> None:
    """Killed with SIGKILL, it has nobody to tell."""
    site.log("init")
    script = (
        "import os, subprocess, sys, time\n"
        f"line = {command(*site.arguments('log', 'run'))!r} + ['--companion-of', str(os.getpid())]\n"
        "print(subprocess.Popen(line).pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=REPOSITORY, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    companion = int(parent.stdout.readline())
    wait_for(site.store.is_locked, parent)
    parent.kill()
    parent.communicate()

    wait_for(lambda: not site.store.is_locked())
    wait_for(lambda: not is_alive(companion))


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]
    except FileNotFoundError:
        return False


def test_keys_are_rotated_as_the_runbook_says(site: Site, owner: Owner) -> None:
    """docs/runbooks/log.md, "another log key"."""
    insert(owner, 1, 10)
    site.log("init", "--origin", ORIGIN)
    site.run_until(12)
    old = site.log("key").stdout.split()[1]
    (site.home / "keys/log.key").rename(site.home / "keys/log.key.old")

    ran = site.log("keys", "add", "--use", "log", "--reason", "yearly", "--by", "clara")
    assert ran.status == 0, ran.stderr
    new = ran.stdout.strip()
    assert site.log("keys", "retire", old, "--reason", "yearly", "--by", "clara").status == 0
    refused = site.log("run")
    assert refused.status == 2 and "lacks the key" in refused.stderr

    trust = json.loads((site.home / "trust.json").read_text())
    trust["log_keys"] = [{"key": old, "last_size": 12}, {"key": new, "first_size": 13}]
    (site.home / "trust.json").write_text(json.dumps(trust))
    site.run_until(14)
    events = [json.loads(line) for line in site.log("keys", "list", "--json").stdout.splitlines()]
    assert [(event["type"], event.get("first_size"), event.get("last_size")) for event in events] == [
        ("log-key-added.v1", 0, None), ("log-key-added.v1", 0, None), ("log-key-added.v1", 13, None),
        ("log-key-retired.v1", None, 12),
    ]  # fmt: skip
    assert "retired after size 12: " in site.log("keys", "list").stdout

    late = site.log("keys", "compromised", old, "--last-size", "13", "--reason", "stolen")
    assert late.status == 2
    assert late.stderr == "dealproof: last size: the key has ended at size 12; it can't come to life again\n"
    nothing = site.log("keys", "compromised", new, "--last-size", "99", "--reason", "stolen")
    assert (nothing.status, nothing.stderr) == (
        2, "dealproof: --last-size: 99 limits nothing: the newest checkpoint has 14 events\n"
    )  # fmt: skip
    assert site.log("keys", "compromised", old, "--last-size", "5", "--reason", "stolen").status == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("add", "--use", "witness", "--reason", "r"), "KEY: is missing; a witness brings its own"),
        (("add", "nothing", "--use", "witness", "--reason", "r"), "key: "),
        (("add", "--use", "log", "--reason", "r"), "key: was added before"),
        (("add", "--use", "log", "--reason", " "), "Invalid value for '--reason'"),
        (("add", "--use", "dealer", "--reason", "r"), "Invalid value for '--use'"),
        (("retire", "nothing", "--reason", "r"), "key: was never added"),
        (("compromised", "nothing", "--reason", "r"), "Missing option '--last-size'"),
    ],
)
def test_a_change_that_is_none_is_refused_in_one_line(
    site: Site, journal: Journal, arguments: tuple[str, ...], reason: str
) -> None:
    from ops.log.keys import make_keys, record_first_keys
    from ops.settings import Settings

    record_first_keys(journal, make_keys(Settings(site.home, site.url, site.home / "x")), "clara")
    before = journal.head_position()
    ran = site.log("keys", *arguments)

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"dealproof: {reason}") and ran.stderr.count("\n") == 1
    assert journal.head_position() == before


def test_a_witness_is_recorded(site: Site) -> None:
    site.log("init")
    key = VerifierKey("witness.example", COSIGNATURE, b"w" * 32).to_text()
    ran = site.log("keys", "add", key, "--use", "witness", "--reason", "the regulator's")

    assert (ran.status, ran.stdout) == (0, f"{key}\n")


# -- daily duties


def test_a_duty_is_done_once_a_day_and_again_where_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that fails keeps nobody from his."""
    import threading

    monkeypatch.setattr("ops.log.daily.PAUSE_SECONDS", 0.01)
    until, today = threading.Event(), ["2026-12-01T23:59:59.000Z"]
    done: list[str] = []
    failures = iter([True, True])

    def unlucky() -> None:
        if next(failures, False):
            raise OSError("no")
        done.append(f"unlucky {today[0][:10]}")

    def lucky() -> None:
        done.append(f"lucky {today[0][:10]}")

    thread = threading.Thread(target=keep_daily, args=([unlucky, lucky], until, lambda: today[0]))
    thread.start()
    wait_for(lambda: len(done) == 2)
    time.sleep(0.1)
    today[0] = "2026-12-02T00:00:00.000Z"
    wait_for(lambda: len(done) == 4)
    until.set()
    thread.join()

    assert sorted(done) == [f"{who} 2026-12-0{day}" for who in ("lucky", "unlucky") for day in (1, 2)]


# -- beside `serve`


def test_serve_builds_the_log_and_goes_on_without_it(site: Site, owner: Owner) -> None:
    """A sequencer that was killed is told, not replaced; serving goes on; the next serve goes on with the log."""
    from tests.ops.api.test_serve import health, serving

    environment = {"DEALPROOF_DATABASE_URL": site.url}
    with serving(site.home.parent, environment) as server:
        wait_for(lambda: site.store.size() >= 2)
        os.kill(sequencer_of(server.process.pid), signal.SIGKILL)
        wait_for(lambda: "the log's sequencer has stopped with status -9" in server.log.read_text())
        health(server)
        assert not site.store.is_locked()
    with psycopg.connect(site.url) as connection:
        head = connection.execute("select max(notification_id) from dealproof.events").fetchone()
    insert(owner, head[0] + 1 if head else 0, head[0] + 10 if head else 0)
    with serving(site.home.parent, environment) as server:
        wait_for(lambda: site.status()["behind"] == 0)
        status, _ = ask_text(server.port, "/v1/log/checkpoint")
        assert status == 200
        companion = sequencer_of(server.process.pid)
        server.process.kill()
        server.process.wait()
        wait_for(lambda: not is_alive(companion))


def ask_text(port: int, path: str) -> tuple[int, bytes]:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, response.read()


def sequencer_of(parent: int) -> int:
    """The process id of the companion that builds the log; another one projects."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    [found] = [int(pid) for pid in children if b"\0log\0run\0" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return found
