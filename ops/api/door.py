"""The door: what is asked of every request before a view sees it, and what every reply carries.

In this order: is there such an address (404, 405), is the body small (413), who is it (401, 429), may he (403).

Not here: signatures (`ops.api_keys`), bodies and queries (`serving`).
"""

from __future__ import annotations

import time
from typing import Final

from flask import Flask, Response, g, request
from werkzeug.exceptions import RequestEntityTooLarge

from ops.api.problems import Problem, denied
from ops.api.roles import ANYBODY, ROLES
from ops.api.serving import digest_etag, served
from ops.api_keys import Denial
from ops.logs import logger

LARGEST_BODY: Final = 65_536

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def target() -> str:
    """Path and query as the request line has them.

    A server gives us the path without its percent signs.  No address of ours needs one, so a path that had any is
    either nowhere or signed as it should be spelled.
    """
    query = request.query_string.decode("latin-1")
    return f"{request.path}?{query}" if query else request.path


def admit() -> None:
    """Let the caller in or turn him away.  Raises Problem, JournalUnavailable."""
    g.began = time.perf_counter()
    if request.routing_exception is not None or request.endpoint in ANYBODY:
        return
    _require_known_key()
    body = request.get_data()
    if len(body) > LARGEST_BODY:
        raise RequestEntityTooLarge
    caller = served().gatekeeper.admit(request.method, target(), request.headers, body)
    if isinstance(caller, Denial):
        raise denied(caller)
    g.caller = caller
    if caller.role not in ROLES[request.endpoint or ""]:
        raise Problem(403, "role-not-allowed", f"A key for the role {caller.role} may not do this.")


def _require_known_key() -> None:
    """Wait for nobody's body but that of a key's holder.  Raises Problem."""
    if request.content_length or request.environ.get("HTTP_TRANSFER_ENCODING"):
        if (request.content_length or 0) > LARGEST_BODY:
            raise RequestEntityTooLarge
        denial = served().patience.denial(request.headers.get("Authorization"))
        if denial is not None:
            raise denied(denial)


def finish(response: Response) -> Response:
    """What every reply carries; a GET whose answer the caller has already is cut short."""
    public = response.headers.get("Cache-Control")  # of what is the same for everybody
    response.headers.update(HEADERS)
    if request.method in ("GET", "HEAD") and response.status_code == 200:
        response.headers["Cache-Control"] = public or "private, no-cache"
        if public is None:
            response.headers["Vary"] = "Authorization"
        if response.get_etag()[0] is None:
            digest_etag(response)
        response.make_conditional(request.environ)
    _log(response)
    return response


def _log(response: Response) -> None:
    """The rule of the address, not the address: nobody's name stands in a log."""
    caller = g.get("caller")
    logger().info(
        "request_answered",
        method=request.method,
        endpoint=request.endpoint,
        status=response.status_code,
        milliseconds=round((time.perf_counter() - g.get("began", time.perf_counter())) * 1000),
        key=None if caller is None else caller.key_id,
    )


def register(app: Flask) -> None:
    """Put the door before an app."""
    # werkzeug cuts a chunked body at this length without a word; one byte more shows that it was longer than allowed.
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_BODY + 1
    app.before_request(admit)
    app.after_request(finish)
