"""`dealproof serve`: the HTTP API on a port, for game servers and staff tools.

Not here: what it answers (`ops.api`), TLS (a proxy before it), one worker's app (`ops.api.worker`).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Final

import click

from ops.cli.metrics import read_address
from ops.cli.output import UsageError
from ops.serving_process import stop
from ops.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from granian.server.mp import MPServer

    from ops.journal import Journal

CONNECTIONS: Final = 16_384
"""Open connections a worker takes at once; whoever sends nothing costs a file descriptor and no thread."""

HEADER_SECONDS: Final = 30
"""A connection that has not sent a request's head by then is closed."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(1, 65_535), default=8080, show_default=True, help="Port to listen at.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
@click.option(
    "--blocking-threads", type=click.IntRange(1, 64), default=8, show_default=True, help="Requests at once in a worker."
)
@click.option(
    "--requests-per-minute", type=click.IntRange(1, 10**9), default=60_000, show_default=True,
    help="What one API key may send in a minute.",
)  # fmt: skip
@click.option("--metrics", metavar="[HOST:]PORT", help="Answer GET /metrics, /health and /ready there; else nowhere.")
@click.option(
    "--no-log", is_flag=True,
    help="Build no log, give no receipts, project nothing; only `bench api` does, to measure the API alone.",
)  # fmt: skip
@click.pass_obj
def serve(
    settings: Settings,
    host: str,
    port: int,
    workers: int,
    blocking_threads: int,
    requests_per_minute: int,
    metrics: str | None,
    no_log: bool,
) -> None:
    """Serve the HTTP API until it is interrupted; beside it build the log and bring the projections up."""
    from ops.api.worker import environment
    from ops.log.keys import make_keys
    from ops.site import current_data_key, open_journal

    _require_free(host, port, f"--host {host} --port {port}")
    if metrics is not None:
        _require_free(*read_address(metrics, "--metrics"), f"--metrics {metrics}")
    _allow_descriptors()
    with open_journal(settings) as (url, journal), ExitStack() as stack:
        _require_all_events(settings, journal)
        current_data_key(url, settings)  # a key file that is lost is told here, in one line
        if not no_log:
            make_keys(settings)  # and so are these
        os.environ |= environment(settings, url, requests_per_minute, with_log=not no_log)
        server = _server(host, port, workers, blocking_threads)
        threading.Thread(target=_announce, args=(host, port), daemon=True).start()
        if settings.database_url is None:
            stack.enter_context(_kept_running(settings.server_folder))
        if not no_log:
            stack.enter_context(_sequencer(settings, url))
            stack.enter_context(_companion(settings, url, _PROJECTOR_STOPPED, "project", "run"))
        if metrics is not None:
            stack.enter_context(_companion(settings, url, _METRICS_STOPPED, "metrics", "serve", "--listen", metrics))
        server.serve()


def _server(host: str, port: int, workers: int, blocking_threads: int) -> MPServer:
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels
    from granian.server.mp import MPServer


    return MPServer(
        "ops.api.worker:make_app",
        factory=True,
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        workers=workers,
        blocking_threads=blocking_threads,
        backpressure=CONNECTIONS,
        backlog=2048,
        http1_settings=HTTP1Settings(header_read_timeout=1000 * HEADER_SECONDS, max_buffer_size=65_536 + 16_384),
        log_level=LogLevels.error,
        respawn_failed_workers=True,
        workers_kill_timeout=10,
    )


def _require_free(host: str, port: int, option: str) -> None:
    """Raise UsageError where nobody can listen; the server itself would say it in many lines."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise UsageError(f"{option}: can't listen there: {error.strerror}") from None


def _require_all_events(settings: Settings, journal: Journal) -> None:
    """Raise UsageError where the journal has lost events that the log has: what is played then is a fork."""
    from ops.log.store import LogStore, StoreError

    try:
        size = LogStore(settings.log_folder).size()
    except (StoreError, OSError):
        return  # the log's sequencer says so, and serving goes on
    head = journal.head_position()
    if size > head:
        lost = f"the log has {size:,} events, the journal ends at position {head:,}; its last {size - head:,} are gone"
        raise UsageError(f"serve: {lost}: docs/runbooks/backup.md")


def _allow_descriptors() -> None:
    """A process may open as many files as its hard limit says; the soft one is 1,024 on most machines."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 2 * CONNECTIONS)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _sequencer(settings: Settings, url: str) -> AbstractContextManager[None]:
    """The log's sequencer."""
    embedded = ["--embedded"] if settings.database_url is None else []
    return _companion(settings, url, _SEQUENCER_STOPPED, "log", "run", *embedded)


_SEQUENCER_STOPPED: Final = "the log's sequencer has stopped with status {}; serving goes on, checkpoints stand still"
_PROJECTOR_STOPPED: Final = "the projector has stopped with status {}; serving goes on, reports stand still"
_METRICS_STOPPED: Final = "the metrics endpoint has stopped with status {}; serving goes on unwatched"


@contextmanager
def _companion(settings: Settings, url: str, stopped: str, *command: str) -> Iterator[None]:
    """A command as a process of its own.  Where it stops, serving goes on: what it found is for people."""
    line = [
        sys.executable, "-m", "ops.cli.main", "--home", str(settings.home), "--database-url", url,
        "--key-file", str(settings.key_file), "--trust", str(settings.trust_file),
        *command, "--companion-of", str(os.getpid()),
    ]  # fmt: skip
    process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    over = threading.Event()
    threading.Thread(target=_tell_end, args=(process, over, stopped), daemon=True).start()
    try:
        yield
    finally:
        over.set()
        stop(process)  # what it has in hand where it must be killed is done again by its next start


def _tell_end(process: subprocess.Popen[bytes], over: threading.Event, stopped: str) -> None:
    """Why it has stopped it has said itself, unless it was killed."""
    status = process.wait()
    if not over.is_set() and status != 0:
        print(f"dealproof: {stopped.format(status)}", file=sys.stderr, flush=True)


@contextmanager
def _kept_running(folder: Path) -> Iterator[None]:
    """Start the embedded PostgreSQL again when it was killed; we hold it in use, so that leaving doesn't stop it."""
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(folder, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        # It must not start again what we are about to stop.
        over.set()
        watch.join()


def _watch(folder: Path, over: threading.Event) -> None:
    from ops.postgres_server import EmbeddedPostgres, PostgresServerError, status

    while not over.wait(1):
        try:
            if status(folder).pid is None:
                with EmbeddedPostgres(folder):
                    print("dealproof: the embedded PostgreSQL was gone and runs again", file=sys.stderr, flush=True)
        except PostgresServerError as error:
            print(f"dealproof: {error}", file=sys.stderr, flush=True)


def _announce(host: str, port: int) -> None:
    """One line when the first worker answers."""
    pause = threading.Event()
    address = f"[{host}]" if ":" in host else host
    while not pause.wait(0.05):
        try:
            connection = HTTPConnection({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port, timeout=5)
            connection.request("GET", "/v1/health")
            status = connection.getresponse().status
            connection.close()
        except (OSError, HTTPException):
            continue
        if status == 200:
            print(f"dealproof: serving http://{address}:{port}/v1", file=sys.stderr, flush=True)
            return
