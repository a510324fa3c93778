"""The HTTP API as a process of its own, for a command that drives it.

Not here: what it serves (`ops.api`), serving for good (`ops.cli.serve`).
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ops.settings import Settings

SECONDS_TO_START: Final = 60
SECONDS_TO_STOP: Final = 20


class ServerFailed(Exception):
    """The API did not start; one line, in its own words."""


@contextmanager
def api_server(settings: Settings, url: str, workers: int = 2, *, log: bool = True) -> Iterator[str]:
    """The address of a server on a free port of this machine, stopped in the end.  Raises ServerFailed.

    `log`: whether it builds the log and gives receipts, as every server that isn't only measured does.
    """
    port = _free_port()
    command = [
        sys.executable, "-m", "ops.cli.main", "--home", str(settings.home), "--database-url", url,
        "--key-file", str(settings.key_file), "--trust", str(settings.trust_file),
        "serve", "--port", str(port), "--workers", str(workers),
        "--requests-per-minute", "1000000000",  # whoever starts it for himself needs no limit
        *([] if log else ["--no-log"]),
    ]  # fmt: skip
    # A group of its own: an interrupt at the terminal is for us, who then stop it.
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, process_group=0)
    try:
        _wait_until_ready(process)
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_until_ready(process: subprocess.Popen[str]) -> None:
    """Read what the server says until it is ready; go on reading behind our back, so that it never blocks."""
    assert process.stderr is not None
    alarm = threading.Timer(SECONDS_TO_START, process.kill)
    alarm.start()
    said = ""
    for line in process.stderr:
        if "serving http://" in line:
            break
        said = line.strip() or said
    else:
        raise ServerFailed(f"the API did not start: {said.removeprefix('dealproof: ') or 'it said nothing'}")
    alarm.cancel()
    threading.Thread(target=_pass_on, args=(process,), daemon=True).start()


def _pass_on(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        sys.stderr.write(line)


def stop(process: subprocess.Popen[Any]) -> None:
    """End a process politely, else for sure."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
