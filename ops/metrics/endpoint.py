"""The endpoint: GET /metrics, /health and /ready over HTTP, for those who watch.

    with endpoint(watch, "127.0.0.1", 9464) as address: ...

It is for the inside of a house: no TLS, no key.  It tells no money and nobody's name, and takes nothing in.

Not here: what is told (`families`, `readiness`), the API (`ops.api`).
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import CollectorRegistry

from ops.logs import logger
from ops.metrics.families import registry
from ops.metrics.looking import Watch
from ops.metrics.readiness import checks

REQUEST_SECONDS: Final = 10
"""For each piece of a request and of its answer."""

MOST_REQUESTS: Final = 32
"""At once; whoever comes beyond that is hung up on."""


class Answer(NamedTuple):
    """Status, type and bytes of an answer."""

    status: int
    content_type: str
    body: bytes


@contextmanager
def endpoint(watch: Watch, host: str, port: int) -> Iterator[str]:
    """Answer in threads of this process; gives the address.  Raises OSError where nobody can listen."""
    server = _Server(watch, host, port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        at = f"[{host}]" if ":" in host else host
        yield f"http://{at}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 2 * MOST_REQUESTS

    def __init__(self, watch: Watch, host: str, port: int) -> None:
        self.watch, self.registry = watch, registry(watch)
        self._room = threading.BoundedSemaphore(MOST_REQUESTS)
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        self.address_family = found[0][0]
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        # The base class asks for the name that belongs to the address, which may take long and is of no use.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):  # who hung up early misses nothing
            logger().exception("metrics_request_failed")


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = REQUEST_SECONDS
    server_version, sys_version = "dealproof", ""

    def do_GET(self) -> None:
        answer = answer_to(urlsplit(self.path).path, self.server.watch, self.server.registry)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_HEAD = do_GET

    def log_message(self, format: str, *_: Any) -> None:
        """A scrape every few seconds is nothing to write down."""


def answer_to(path: str, watch: Watch, metrics: CollectorRegistry) -> Answer:
    """What is answered at a path."""
    if path == "/metrics":
        return Answer(200, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(metrics))
    if path == "/health":
        return _json(200, {"status": "ok"})
    if path == "/ready":
        found = checks(watch.latest())
        ready = all(check.ok for check in found)
        return _json(200 if ready else 503, {"ready": ready, "checks": [check.as_json() for check in found]})
    return _json(404, {"error": "there are /metrics, /health and /ready"})


def _json(status: int, value: object) -> Answer:
    return Answer(status, "application/json", msgspec.json.encode(value))
