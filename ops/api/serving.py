"""One request at work: who asks, what the body says, the command it makes, the reply.

Not here: who may call what (`roles`), what the door checks first (`door`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import msgspec
from flask import Response, current_app, g, request
from marshmallow import Schema, ValidationError

from domain.round.refusals import Refusal
from ops.api import strict_json
from ops.api.patience import Patience
from ops.api.problems import Problem, refused
from ops.api_keys import Caller, Gatekeeper
from ops.commands import Command
from ops.floor import Floor
from ops.keys import DataKey
from ops.log.public import PublicLog

EXTENSION: Final = "dealproof"

Done = TypeVar("Done")


@dataclass(frozen=True)
class Served:
    """What an app serves.  `add_data_key` makes a new data key the newest, ready to seal with; `log`: if it has one."""

    floor: Floor
    gatekeeper: Gatekeeper
    patience: Patience
    add_data_key: Callable[[], DataKey]
    log: PublicLog | None = None


def served() -> Served:
    """What this app serves."""
    return cast("Served", current_app.extensions[EXTENSION])


def floor() -> Floor:
    """The casino floor."""
    return served().floor


def caller() -> Caller:
    """Who sent the request; the door has let him in."""
    return cast("Caller", g.caller)


# -- what came in


def command(*more: str) -> Command:
    """The request as a command: the caller's own name for it, and every byte that says what is asked for.

    `more`: headers that the outcome depends on.  The name belongs to a role and person, not to a key: a command that is
    sent again under a new key is still the same command.
    """
    asked = "\n".join([request.method, request.path, *more, ""]).encode() + request.get_data()
    return Command(f"api {caller().role} {caller().person} {idempotency_key()}", asked, caller().person)


def idempotency_key() -> str:
    """The caller's own name for the command.  Raises Problem."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        raise Problem(400, "idempotency-key-missing", "Idempotency-Key: is missing; every command needs its own.")
    if not _VISIBLE.fullmatch(key):
        text = "Idempotency-Key: must be 1 to 200 visible ASCII characters."
        raise Problem(400, "idempotency-key-malformed", text)
    return key


_VISIBLE: Final = re.compile("[!-~]{1,200}")


def read_body(schema: Schema) -> dict[str, Any]:
    """The body, held against its schema.  Raises Problem, BadJson, ValidationError."""
    return cast("dict[str, Any]", schema.load(read_json()))


def read_json() -> dict[str, Any]:
    """The object that the body is.  Raises Problem, BadJson, ValidationError."""
    if request.mimetype != "application/json" or request.mimetype_params.get("charset", "utf-8").lower() != "utf-8":
        raise Problem(415, "content-type-not-json", "Content-Type: must be application/json, in UTF-8.")
    value = strict_json.parse(request.get_data())
    if not isinstance(value, dict):
        raise ValidationError(["Must be an object."])
    return value


def read_query(schema: Schema) -> dict[str, Any]:
    """The query, held against its schema; a parameter that comes twice is refused."""
    doubled = {name: ["Comes more than once."] for name, values in request.args.lists() if len(values) > 1}
    if doubled:
        raise ValidationError(doubled)
    return cast("dict[str, Any]", schema.load(request.args.to_dict()))


def require_plain_tags() -> None:
    """The ETags that the caller has seen are plain text.  Raises Problem."""
    if not _TAGS.fullmatch(request.headers.get("If-None-Match", "")):
        text = "If-None-Match: must be at most 1,000 printable ASCII characters."
        raise Problem(400, "if-none-match-malformed", text)


TAGS: Final = "[ -~]{0,1000}"
_TAGS: Final = re.compile(TAGS)


# -- what goes out


def reply(
    body: Mapping[str, Any], status: int = 200, *, etag: str | None = None, location: str | None = None
) -> Response:
    """A JSON response; the same body has the same bytes.  `etag`: else it is made from the bytes."""
    response = Response(msgspec.json.encode(body), status, content_type="application/json")
    if etag is not None:
        response.set_etag(etag)
    if location is not None:
        response.headers["Location"] = location
    return response


def digest_etag(response: Response) -> None:
    """A tag for a reply that has no place in a stream to be known by."""
    response.set_etag(hashlib.sha256(response.get_data()).hexdigest()[:32])


def carried_out(done: Done | Refusal, body: Mapping[str, Any]) -> Done:
    """What a command led to.  Raises Problem where it was refused."""
    if isinstance(done, Refusal):
        raise refused(done, body)
    return done


def page(found: list[Done], limit: int, view: Callable[[Done], dict[str, Any]], key: Callable[[Done], Any]) -> Response:
    """A page of a list of which one more than `limit` was asked for; `next` is where the next page begins."""
    shown = found[:limit]
    following = key(shown[-1]) if len(found) > limit else None
    return reply({"items": [view(item) for item in shown], "next": following})
