"""A WSGI program on a port of this machine, for tests that speak HTTP to it.

Not here: how the product serves (`ops.serving_process`).
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from waitress.server import create_server


@contextmanager
def served(program: Any) -> Iterator[str]:
    """Its address, while threads of this process answer there; left, nothing of it goes on.

    The server is stopped from within.  Closed under its threads it raises in them, and the error falls into whatever
    test runs then.
    """
    server = create_server(program, host="127.0.0.1", port=0, threads=4)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.task_dispatcher.shutdown()  # what is being answered is answered
        server.trigger.pull_trigger(server._map.clear)  # the loop ends when it has nothing to look at
        thread.join()
        server.close()


def free_port() -> int:
    """One that nobody listened at a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
