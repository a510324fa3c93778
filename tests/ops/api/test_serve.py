"""`dealproof serve` as it runs: worker processes on a port, and callers who behave badly."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from domain.access import Role
from ops.api_keys import create_key, new_nonce, sign
from ops.journal import Journal
from ops.postgres_server import status as postgres_status
from ops.settings import Settings
from tests.conftest import open_folder
from tests.http import free_port
from tests.ops.api.houses import box
from tests.ops.cli.running import REPOSITORY, command, dealproof
from tests.ops.floor.casino import Casino


@dataclass
class Server:
    """A running `dealproof serve`."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def ask(
        self, key: str | None, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None,
        *, chunked: bool = False,
    ) -> tuple[int, Any]:  # fmt: skip
        """Status and JSON of a reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        signed = {} if key is None else sign(key, method, target, int(time.time()), new_nonce(), body)
        sent: Any = iter([body[:5], body[5:]]) if chunked else body or None
        connection.request(method, target, sent, {**signed, **(headers or {})}, encode_chunked=chunked)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, json.loads(content) if content else None

    def command(self, key: str, target: str, body: object, name: str, *, chunked: bool = False) -> tuple[int, Any]:
        """A command and its reply."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": name}
        if chunked:
            headers["Transfer-Encoding"] = "chunked"
        return self.ask(key, "POST", target, json.dumps(body).encode(), headers, chunked=chunked)

    def stop(self, with_signal: signal.Signals = signal.SIGTERM) -> int:
        """The exit status after a polite signal."""
        self.process.send_signal(with_signal)
        return self.process.wait(timeout=60)


@contextmanager
def serving(folder: Path, environment: dict[str, str]) -> Iterator[Server]:
    """A server with its own home, ready to answer."""
    port, log = free_port(), folder / "log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command("serve", "--port", str(port), "--workers", "2"),
            cwd=REPOSITORY, env={**os.environ, "DEALPROOF_HOME": str(folder / "home"), **environment}, stderr=stderr,
        )  # fmt: skip
    try:
        for _ in range(600):
            if re.search(rb"dealproof: serving .*\n", log.read_bytes()) or process.poll() is not None:
                break
            time.sleep(0.1)
        assert f"dealproof: serving http://127.0.0.1:{port}/v1\n" in log.read_text(), log.read_text()
        yield Server(process, port, log)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=60)


@dataclass
class Site:
    """A server on a furnished casino, and keys for it."""

    server: Server
    casino: Casino
    keys: dict[Role, str]


@pytest.fixture(scope="module")
def site(shared_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server for the tests below; they don't mind each other's traces."""
    environment = {"DEALPROOF_DATABASE_URL": shared_url, "DEALPROOF_LOG": "info"}
    with Journal.open(shared_url) as journal:
        casino = Casino(shared_url, journal)
        keys = {role: create_key(journal, role=role, person=f"{role} 1", label="", by="test").text for role in Role}
        with serving(tmp_path_factory.mktemp("serve"), environment) as server:
            yield Site(server, casino, keys)


def health(server: Server) -> float:
    """Seconds until the server said that it is well."""
    began = time.monotonic()
    assert server.ask(None, "GET", "/v1/health") == (200, {"status": "ok"})
    return time.monotonic() - began


def test_a_round_is_played_whichever_worker_answers(site: Site) -> None:
    """Two processes, each with its own memory; a command sent to the other one is known."""
    server, key = site.server, site.keys[Role.GAME_SERVER]
    opened = [server.command(key, "/v1/tables/russian-poker/rounds", {}, "serve-open") for _ in range(6)]
    assert opened[0][0] == 201 and all(again == opened[0] for again in opened)
    path = f"/v1/rounds/{opened[0][1]['round']}"
    steps = [
        ("boxes", {"boxes": [box(1)]}), ("deal", {}), ("decisions", {"box": 1, "player": "anna", "action": "fold"}),
    ]  # fmt: skip
    first = [server.command(key, f"{path}/{what}", body, f"serve-{what}") for what, body in steps]
    assert [status for status, _ in first] == [200] * 3 and first[-1][1]["phase"] == "ended"
    for _ in range(3):
        assert [server.command(key, f"{path}/{what}", body, f"serve-{what}") for what, body in steps] == first


def test_a_body_in_pieces_is_read_as_one(site: Site) -> None:
    """Transfer-Encoding: chunked."""
    key, path = site.keys[Role.CASHIER], "/v1/accounts/EUR/anna/deposits"
    body = {"amount": 5, "reference": "till 1"}

    assert site.server.command(key, path, body, "pieces", chunked=True)[0] == 200
    large = {"amount": 5, "reference": "x" * 100_000}
    status, found = site.server.command(key, path, large, "pieces-2", chunked=True)
    assert (status, found["code"]) == (413, "body-too-large")


def test_ten_megabytes_are_refused_before_they_are_read(site: Site) -> None:
    """Neither time nor memory."""
    key, body = site.keys[Role.CASHIER], b" " * 10_000_000
    began = time.monotonic()
    headers = {"Content-Type": "application/json", "Idempotency-Key": "large"}
    with socket.create_connection(("127.0.0.1", site.server.port)) as connection:
        signed = sign(key, "POST", "/v1/accounts", int(time.time()), new_nonce(), body)
        lines = [f"{name}: {value}" for name, value in {**signed, **headers, "Content-Length": str(len(body))}.items()]
        connection.sendall("\r\n".join(["POST /v1/accounts HTTP/1.1", "Host: house", *lines, "", ""]).encode())
        connection.sendall(body[:1000])
        connection.settimeout(10)
        answer = connection.recv(4096)
        while b"}" not in answer:
            answer += connection.recv(4096)

    assert answer.startswith(b"HTTP/1.1 413 ") and b"body-too-large" in answer
    assert time.monotonic() - began < 5


def test_a_thousand_connections_that_send_nothing_stop_nobody(site: Site) -> None:
    """Nor do hundreds that send half a head, or half a body without a key."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    head = b"POST /v1/accounts HTTP/1.1\r\nHost: house\r\n"
    stranger = b"Authorization: Dealproof dpk_0123456789abcdef_" + b"0" * 64 + b"\r\n"
    with ExitStack() as stack:
        for sent, count in (
            (b"", 1000), (head, 200), (head + b"Content-Length: 500\r\n\r\n{", 50),
            (head + stranger + b"Content-Length: 500\r\n\r\n{", 50),
            (head + stranger + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{", 50),
        ):  # fmt: skip
            for _ in range(count):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", site.server.port)))
                connection.sendall(sent)
            assert max(health(site.server) for _ in range(4)) < 5


@pytest.mark.parametrize("path", ["/v1/tables/%E4%B8%AD", "/v1/tables/%FF", "/v1/%00", "/v1/tables/a%2F..%2Fb", "/%"])
def test_an_odd_address_is_nowhere_for_the_real_server_too(site: Site, path: str) -> None:
    """It spells paths in its own way."""
    status, found = site.server.ask(None, "GET", path)

    assert (status, found["code"]) == (404, "not-found")


def test_a_query_is_signed_as_it_is_sent(site: Site) -> None:
    """Percent signs and all."""
    key = site.keys[Role.BACK_OFFICE]

    assert site.server.ask(key, "GET", "/v1/rounds?limit=%35&table=russian%2Dpoker")[0] == 200
    assert site.server.ask(key, "GET", "/v1/rulesets/russian-poker@1")[0] == 200
    assert site.server.ask(key, "GET", "/v1/rulesets?after=russian-poker%401")[0] == 200


def test_a_worker_that_is_killed_is_replaced(site: Site) -> None:
    """What it had in hand is lost with it; a caller who asks again is answered by the other one."""
    workers = workers_of(site.server)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)

    for _ in range(20):
        try:
            health(site.server)
        except (OSError, http.client.HTTPException):
            health(site.server)


def workers_of(server: Server) -> list[int]:
    """Process ids of the workers, without the log's sequencer."""
    parent = server.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    lines = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
    return [pid for pid, line in lines.items() if b"serve" in line and b"--companion-of" not in line]


SAID = re.compile("[a-z]+(_[a-z]+)+")


def test_the_log_names_what_happened_and_nobodys_secret(site: Site) -> None:
    """JSON lines, snake_case events; no key, no body, no seed, no player."""
    key = site.keys[Role.CASHIER]
    site.server.command(key, "/v1/accounts/EUR/anna/deposits", {"amount": 5, "reference": "unheard of"}, "logged")
    time.sleep(0.2)
    text = site.server.log.read_text()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    assert {"accounts.deposit"} <= {line.get("endpoint") for line in lines}
    assert all(SAID.fullmatch(line["event"]) for line in lines)
    assert all(key.split("_")[2] not in text for key in site.keys.values())
    assert "unheard of" not in text and "anna" not in text and "reference" not in text


# -- begin and end


@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGINT])
def test_a_server_without_a_database_brings_its_own_and_takes_it_along(with_signal: signal.Signals) -> None:
    """The embedded PostgreSQL; a polite end leaves nothing running and says nothing more."""
    folder = open_folder("dealproof-serve-")
    with serving(folder, {}) as server:
        health(server)
        assert server.stop(with_signal) == 0
        assert server.log.read_text().count("\n") == 1
    settings = Settings(folder / "home", None, folder / "home" / "keys" / "dealproof.key")
    assert postgres_status(settings.server_folder).pid is None


def test_an_embedded_postgresql_that_is_killed_runs_again() -> None:
    """With SIGKILL to its postmaster; the server answers again by itself."""
    folder = open_folder("dealproof-serve-")
    with serving(folder, {}) as server:
        health(server)
        settings = Settings(folder / "home", None, folder / "home" / "keys" / "dealproof.key")
        killed = postgres_status(settings.server_folder).pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while postgres_status(settings.server_folder).pid in (None, killed) and time.monotonic() < deadline:
            time.sleep(0.2)
        answered = False
        while not answered and time.monotonic() < deadline:
            with suppress(AssertionError, OSError, http.client.HTTPException):
                health(server)
                answered = True
        assert answered
        assert "runs again" in server.log.read_text()
        assert server.stop(signal.SIGTERM) == 0
    assert postgres_status(settings.server_folder).pid is None


def test_workers_end_when_their_server_is_killed(furnished_url: str, tmp_path: Path) -> None:
    """Nobody goes on serving beside the next server; the port is free for it."""
    with serving(tmp_path, {"DEALPROOF_DATABASE_URL": furnished_url}) as server:
        workers = workers_of(server)
        server.process.kill()
        server.process.wait()
        for _ in range(100):
            if not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers):
                break
            time.sleep(0.1)

    assert len(workers) == 2
    assert [pid for pid in workers if Path(f"/proc/{pid}").exists()] == []


def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path, migrated_database_url: str) -> None:
    """Exit status 2, before anything is opened."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = dealproof("--database-url", migrated_database_url, "serve", "--port", str(port))

    assert ran.status == 2
    assert ran.stderr == f"dealproof: --host 127.0.0.1 --port {port}: can't listen there: Address already in use\n"
