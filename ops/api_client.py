"""Ask the HTTP API as a game server does: every request signed, every command safe to send again.

    client = Client("http://127.0.0.1:8080", key_text)
    opened = client.post("/v1/tables/table-1/rounds", {})

A command whose answer was lost (a broken connection, 503) is sent again under the same Idempotency-Key: it is carried
out once and answered the same.  One client is for one thread.

Not here: what the routes are (docs/api.md), how requests are signed (`ops.api_keys`).
"""

from __future__ import annotations

import http.client
import secrets
import time
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from ops.api_keys import new_nonce, sign

TRIES: Final = 8
SECONDS: Final = 30
"""To wait for an answer."""


class ApiProblem(Exception):
    """The API said no: status, code and its words."""

    def __init__(self, status: int, body: bytes) -> None:
        try:
            problem = msgspec.json.decode(body, type=dict[str, Any])
        except msgspec.DecodeError:
            problem = {}
        self.status = status
        self.code = str(problem.get("code", ""))
        self.problem = problem
        super().__init__(f"{status} {self.code}: {problem.get('detail', body[:200].decode(errors='replace'))}")


class ApiUnavailable(Exception):
    """No answer after several tries; what a command led to is not known, and it may be sent again."""


class Client:
    """One connection to one server, under one key.  The key never shows in a repr."""

    def __init__(self, address: str, key_text: str) -> None:
        parts = urlsplit(address)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"address {address!r}: is not http://host:port")
        self._key = key_text
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=SECONDS)

    def __repr__(self) -> str:
        return f"Client({self._connection.host}:{self._connection.port})"

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._connection.close()

    def get(self, target: str) -> Any:
        """What is read at a path with its query.  Raises ApiProblem, ApiUnavailable."""
        return self._ask("GET", target, b"", {})

    def post(self, target: str, body: dict[str, Any], idempotency_key: str | None = None) -> Any:
        """What a command is answered.  Raises ApiProblem, ApiUnavailable."""
        return self._command("POST", target, body, {}, idempotency_key)

    def put(self, target: str, body: dict[str, Any], etag: str, idempotency_key: str | None = None) -> Any:
        """What a change of what was read under `etag` is answered.  Raises ApiProblem, ApiUnavailable."""
        return self._command("PUT", target, body, {"If-Match": etag}, idempotency_key)

    def _command(
        self, method: str, target: str, body: dict[str, Any], headers: dict[str, str], idempotency_key: str | None
    ) -> Any:
        headers |= {"Idempotency-Key": idempotency_key or secrets.token_hex(16), "Content-Type": "application/json"}
        return self._ask(method, target, msgspec.json.encode(body), headers)

    def _ask(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> Any:
        for attempt in range(TRIES):
            if attempt:
                time.sleep(min(0.05 * 2**attempt, 2.0))
            try:
                status, answer = self._once(method, target, body, headers)
            except (OSError, http.client.HTTPException):
                self._connection.close()
                continue
            if status not in (429, 503):
                break
        else:
            raise ApiUnavailable(f"{method} {target}: no answer after {TRIES} tries")
        if status >= 400:
            raise ApiProblem(status, answer)
        return msgspec.json.decode(answer) if answer else None

    def _once(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        signed = sign(self._key, method, target, int(time.time()), new_nonce(), body)
        self._connection.request(method, target, body or None, {**headers, **signed})
        response = self._connection.getresponse()
        return response.status, response.read()
