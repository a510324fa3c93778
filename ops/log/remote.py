"""Somebody else's log over HTTP: its notes and tiles, and cosignatures that are brought to it.

    log = RemoteLog("https://play.example")
    note = log.checkpoint()

The server is not believed: each answer has a time and a size that it must keep to, redirects are not followed, and what
it says counts only once signatures and proofs say the same.  Proxies of the environment are not used.

Not here: what the notes mean (`domain.log.checkpoint`), what a witness makes of them (`ops.log.witness`).
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from domain.log.checkpoint import LARGEST_NOTE
from domain.log.merkle import HASH_SIZE
from domain.log.tiles import TILE_WIDTH, Tile

SECONDS: Final = 10
"""To wait for the connection, and for each piece of an answer."""

SECONDS_IN_ALL: Final = 30
"""For a whole answer, however it drips."""

LARGEST_TILE: Final = TILE_WIDTH * HASH_SIZE


class LogUnavailable(Exception):
    """The log can't be reached, or answers something that is none; another time may be better.  One line."""


class RemoteLog:
    """The public addresses of one log.  Its methods raise LogUnavailable."""

    def __init__(self, url: str, seconds_in_all: float = SECONDS_IN_ALL) -> None:
        """`url`: where the log's `/v1/log` is, as https://play.example.  Raises ValueError with the reason."""
        parts = _address(url)
        self._context = ssl.create_default_context() if parts.scheme == "https" else None
        self._host, self._port = parts.hostname or "", parts.port or (443 if self._context else 80)
        self._base = parts.path.rstrip("/") + "/v1/log/"
        self._seconds = seconds_in_all
        self.address: Final = f"{parts.scheme}://{parts.netloc}{self._base}"

    def checkpoint(self) -> bytes | None:
        """The newest note, None while the log has none."""
        return self._note("checkpoint")

    def cosigned(self) -> bytes | None:
        """The newest note that a witness has signed, None while the log has none."""
        return self._note("cosigned")

    def tile(self, tile: Tile) -> bytes:
        """A tile's bytes, as long as they happen to be."""
        return self._good(tile.path(), *self._ask("GET", tile.path(), LARGEST_TILE))

    def bring(self, note: bytes) -> None:
        """Hand in a note with our cosignature."""
        body = msgspec.json.encode({"note": note.decode()})
        self._good("cosignatures", *self._ask("POST", "cosignatures", LARGEST_NOTE, body))

    # -- answers

    def _note(self, name: str) -> bytes | None:
        status, answer = self._ask("GET", name, LARGEST_NOTE)
        if status == 404 and _problem(answer)[0] == "log-empty":
            return None
        return self._good(name, status, answer)

    def _good(self, name: str, status: int, answer: bytes) -> bytes:
        if status == 200:
            return answer
        if 300 <= status < 400:
            raise self._failed(name, f"answers {status}: redirects are not followed, name the log's own address")
        raise self._failed(name, " ".join(["answers", str(status), *filter(None, _problem(answer))]))

    def _ask(self, method: str, name: str, most: int, body: bytes | None = None) -> tuple[int, bytes]:
        """Status and body of an answer of at most so many bytes."""
        headers = {"Connection": "close", "User-Agent": "dealproof-witness"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            with self._connected() as connection:
                connection.request(method, self._base + name, body, headers)
                with connection.getresponse() as response:
                    answer, lacking = response.read(most + 1), response.length
        except (OSError, http.client.HTTPException) as error:
            raise self._failed(name, _words(error)) from None
        if len(answer) > most:
            raise self._failed(name, f"the answer is larger than {most} bytes")
        if lacking:
            raise self._failed(name, f"the answer is cut off, {lacking} bytes are missing")
        return response.status, answer

    @contextmanager
    def _connected(self) -> Iterator[http.client.HTTPConnection]:
        """A connection for one request.  It is cut when its time is up, for a server may send a byte now and then."""
        plain = socket.create_connection((self._host, self._port), SECONDS)
        with plain, plain.dup() as same:
            expired = threading.Event()
            timer = threading.Timer(self._seconds, _cut, (same, expired))
            timer.daemon = True
            timer.start()
            try:
                with closing(self._connection(plain)) as connection:
                    yield connection
            except (OSError, http.client.HTTPException):
                if not expired.is_set():
                    raise
            finally:
                timer.cancel()
            if expired.is_set():
                raise TimeoutError(f"no whole answer within {self._seconds} seconds")

    def _connection(self, plain: socket.socket) -> http.client.HTTPConnection:
        if self._context is None:
            connection = http.client.HTTPConnection(self._host, self._port)
            connection.sock = plain
            return connection
        connection = http.client.HTTPSConnection(self._host, self._port, context=self._context)
        connection.sock = self._context.wrap_socket(plain, server_hostname=self._host)
        return connection

    def _failed(self, name: str, reason: str) -> LogUnavailable:
        return LogUnavailable(f"{self.address}{name}: {reason}")


def _address(url: str) -> SplitResult:
    parts = urlsplit(url)  # ValueError of its own for brackets that are no address
    if not (url.isascii() and url.isprintable()) or " " in url:
        raise ValueError("has signs that no address has")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is not http://host or https://host")
    if parts.port == 0 or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("has more than a host, a port and a path")
    try:
        parts.hostname.encode("idna")
    except UnicodeError:
        raise ValueError("has a host that can't be one") from None
    return parts


def _cut(line: socket.socket, expired: threading.Event) -> None:
    expired.set()
    with suppress(OSError):  # it was closed at the same moment
        line.shutdown(socket.SHUT_RDWR)


def _problem(answer: bytes) -> tuple[str, str]:
    """Code and words of a problem document (RFC 9457), empty where the answer is none."""
    try:
        found = msgspec.json.decode(answer, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", ""
    code, detail = (found.get(field) for field in ("code", "detail"))
    return code[:40] if isinstance(code, str) else "", detail[:300] if isinstance(detail, str) else ""


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return f"answers no HTTP that can be read ({type(error).__name__})"
