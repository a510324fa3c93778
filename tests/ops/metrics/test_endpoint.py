"""The endpoint over HTTP, in this process and as a command."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ops.metrics.endpoint import MOST_REQUESTS, endpoint
from ops.metrics.families import FAMILIES
from ops.metrics.looking import Seen, Watch
from ops.settings import Settings
from tests.http import free_port
from tests.ops.cli.running import REPOSITORY, command, dealproof


class CountingWatch(Watch):
    """Knows how often it looked."""

    looks = 0

    def _look(self) -> Seen:
        self.looks += 1
        time.sleep(0.05)
        return super()._look()


@contextmanager
def answering(settings: Settings, url: str) -> Iterator[tuple[CountingWatch, str]]:
    with closing(CountingWatch(settings, url)) as watch, endpoint(watch, "127.0.0.1", 0) as address:
        yield watch, address


def ask(address: str, path: str, method: str = "GET") -> tuple[int, str, bytes]:
    """Status, type and body."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    connection.request(method, path)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, response.headers["Content-Type"], body


def test_prometheus_reads_the_metrics(settings: Settings, url: str) -> None:
    """In its text format; HEAD has no body."""
    with answering(settings, url) as (_, address):
        status, kind, body = ask(address, "/metrics?collect=all")

        assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
        names = set(re.findall(r"^# TYPE (\S+) ", body.decode(), re.M))
        assert {"dealproof_up", "dealproof_journal_events_total"} <= names <= {family.name for family in FAMILIES}
        assert ask(address, "/metrics", "HEAD")[::2] == (200, b"")


def test_ready_says_what_is_missing(settings: Settings, url: str, bare_url: str) -> None:
    """200 or 503, each check with its name."""
    with answering(settings, url) as (_, address):
        status, kind, body = ask(address, "/ready")
        assert (status, kind, json.loads(body)["ready"]) == (200, "application/json", True)
    with answering(settings, bare_url) as (_, address):
        status, _, body = ask(address, "/ready")
        found = json.loads(body)
    assert (status, found["ready"]) == (503, False)
    assert {"name": "database", "ok": True, "reason": ""} in found["checks"]
    assert {"name": "projection cash", "ok": False, "reason": "was never run"} in found["checks"]


def test_the_process_is_healthy_whatever_the_database_does(settings: Settings) -> None:
    """An outage is told with 200, for Prometheus throws away everything else."""
    with answering(settings, "postgresql://127.0.0.1:1/house") as (watch, address):
        assert ask(address, "/health") == (200, "application/json", b'{"status":"ok"}')
        assert watch.looks == 0
        assert ask(address, "/metrics")[0] == 200
        assert ask(address, "/ready")[0] == 503
        assert ask(address, "/")[0] == 404


def test_all_who_ask_within_a_second_share_one_look(settings: Settings, url: str) -> None:
    """Twenty at once, of both kinds."""
    with answering(settings, url) as (watch, address):
        statuses: list[int] = []
        paths = ("/metrics", "/ready") * 10
        threads = [threading.Thread(target=lambda path=path: statuses.append(ask(address, path)[0])) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert statuses == [200] * 20
        assert watch.looks == 1


def test_callers_who_send_nothing_take_no_more_than_their_places(settings: Settings, url: str) -> None:
    """Whoever comes beyond them is hung up on; when they leave, there is room again."""
    with answering(settings, url) as (_, address):
        place = ("127.0.0.1", urlsplit(address).port or 0)
        silent = [socket.create_connection(place) for _ in range(MOST_REQUESTS)]
        with pytest.raises((OSError, http.client.HTTPException)):
            for _ in range(20):
                ask(address, "/health")
                time.sleep(0.05)
        for connection in silent:
            connection.close()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                assert ask(address, "/health")[0] == 200
                break
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
        else:
            raise AssertionError("there is no room again")


# -- as a command


@contextmanager
def running(folder: Path, expected: bytes, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command as a process of its own that has said what is expected."""
    said = folder / "said"
    with said.open("wb") as stderr:
        process = subprocess.Popen(command("--home", str(folder / "home"), *arguments), cwd=REPOSITORY, stderr=stderr)
    try:
        deadline = time.monotonic() + 60
        while not re.search(expected, said.read_bytes()):
            assert process.poll() is None and time.monotonic() < deadline, said.read_text()
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_the_command_answers_and_ends_when_it_is_told_to(url: str, tmp_path: Path) -> None:
    """Alone, beside whatever else runs."""
    port = free_port()
    arguments = ("--database-url", url, "metrics", "serve", "--listen", str(port))
    with running(tmp_path, rb"metrics at http://127.0.0.1:\d+/metrics\n", *arguments) as process:
        assert b"\ndealproof_up 1.0\n" in ask(f"http://127.0.0.1:{port}", "/metrics")[2]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("listen", "reason"),
    [
        ("70000", "'70000' is not a port from 1 to 65535"),
        ("here", "'here' is not a port from 1 to 65535"),
        (":9464", "names no host before the colon"),
        ("::1:9464", "stands in brackets"),
        ("192.0.2.1:9464", "can't listen there"),
    ],
)
def test_an_address_where_nobody_can_listen_is_named(listen: str, reason: str, url: str, tmp_path: Path) -> None:
    """In one line, for either command."""
    for option, words in (("--listen", ("metrics", "serve")), ("--metrics", ("serve", "--port", str(free_port())))):
        ran = dealproof("--home", str(tmp_path), "--database-url", url, *words, option, listen)
        assert ran.status == 2
        assert ran.stderr.startswith(f"dealproof: {option} {listen}: ") and reason in ran.stderr
        assert ran.stderr.count("\n") == 1


def test_serve_answers_beside_the_api(url: str, tmp_path: Path) -> None:
    """And takes the endpoint along when it ends, also when it is killed."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    arguments = (
        "--database-url", url, "serve", "--workers", "1", "--no-log", "--port", str(free_port()),
        "--metrics", f"127.0.0.1:{port}",
    )  # fmt: skip
    with running(tmp_path, rb"(?s)metrics at .*serving |serving .*metrics at ", *arguments) as process:
        assert b"\ndealproof_up 1.0\n" in ask(address, "/metrics")[2]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                ask(address, "/health")
            except OSError:
                return
            time.sleep(0.1)
    raise AssertionError("the endpoint has outlived its server")
