"""The transparency log for everybody: checkpoints, tiles, and cosignatures that a witness brings.

No key is asked for: who checks us must not need us.  Formats: docs/formats/log.md.

Not here: what is taken and why not (`ops.log.public`), who builds the log (`ops.log.sequencer`).
"""

from __future__ import annotations

import threading
from typing import Any, Final

from flask import Response, request
from marshmallow import Schema, fields, validate
from werkzeug.exceptions import RequestEntityTooLarge

from domain.log.tiles import TILE_WIDTH
from domain.log.trust import TrustError
from ops.api.area import Area
from ops.api.door import LARGEST_BODY
from ops.api.problems import Problem
from ops.api.serving import read_body, reply, served
from ops.log.public import NoteRefusal, NoteRefused, PublicLog
from ops.logs import logger

area = Area("log", "The transparency log")

NOTE: Final = "text/plain; charset=utf-8"
OCTETS: Final = "application/octet-stream"
FOR_EVER: Final = "public, max-age=31536000, immutable"
NOT_LONG: Final = "public, no-cache"

LONGEST_NOTE: Final = 4_096
"""Characters of a note: the lines of the log and of one witness.  However they are spelled, they fit into a body."""

STRANGERS: Final = 2
"""Bodies of unknown callers that a worker waits for at once: so many of its threads they can keep waiting, no more."""

_strangers: Final = threading.BoundedSemaphore(STRANGERS)


class NoteBody(Schema):
    note = fields.String(required=True, validate=validate.Length(1, LONGEST_NOTE))


class NoteTaken(Schema):
    """The size that was cosigned, and by whom."""

    size = fields.Integer(required=True)
    witnesses = fields.List(fields.String(), required=True)


@area.plain("/log/checkpoint", NOTE)
def checkpoint() -> Response:
    """The newest checkpoint of the log, as a signed note."""
    return _note(_log().checkpoint())


@area.plain("/log/cosigned", NOTE)
def cosigned() -> Response:
    """The newest checkpoint that a witness has signed too."""
    return _note(_log().cosigned())


@area.plain("/log/tile/<tile:path>", OCTETS)
def tile(path: str) -> Response:
    """A tile of hashes (C2SP tlog-tiles); one of 256 never changes."""
    found = _log().tile(f"tile/{path}")
    if found is None:
        raise Problem(404, "tile-unknown", "No checkpoint of the log covers such a tile.")
    response = Response(found[1], content_type=OCTETS)
    response.headers["Cache-Control"] = FOR_EVER if found[0].width == TILE_WIDTH else NOT_LONG
    return response


def _read_note() -> dict[str, Any]:
    """The body of somebody whom we don't know.  Raises Problem, BadJson, ValidationError."""
    if not _strangers.acquire(blocking=False):
        text = "Too many strangers are bringing notes at this moment."
        raise Problem(429, "too-many-requests", text, headers={"Retry-After": "1"})
    try:
        if len(request.get_data()) > LARGEST_BODY:
            raise RequestEntityTooLarge
    finally:
        _strangers.release()
    return read_body(_NOTE_BODY)


_NOTE_BODY: Final = NoteBody()


@area.command("/log/cosignatures", _NOTE_BODY, NoteTaken, load=_read_note, signed=False)
def cosign(body: dict[str, Any]) -> Response:
    """Bring a checkpoint with a witness's signature; it is kept if the witness is pinned here."""
    log = _log()
    if log.checkpoint() is None:
        raise _empty()
    try:
        taken, witnesses = log.take(body["note"].encode())
    except NoteRefused as refused:
        raise _PROBLEMS[refused.code](str(refused)) from None
    except TrustError as error:
        logger().error("trust_file_unreadable", reason=str(error))
        raise Problem(500, "internal-error", "Something is broken here; it is in our log.") from None
    return reply({"size": taken.size, "witnesses": witnesses})


_PROBLEMS: Final = {
    NoteRefusal.MALFORMED: lambda text: Problem(422, "note-malformed", text, pointer="/note"),
    NoteRefusal.REFUSED: lambda text: Problem(422, "note-refused", text, pointer="/note"),
    NoteRefusal.FORK: lambda text: Problem(409, "log-fork", text, pointer="/note"),
}


def _log() -> PublicLog:
    log = served().log
    if log is None:
        raise _empty()
    return log


def _empty() -> Problem:
    return Problem(404, "log-empty", "The log has no such checkpoint yet.")


def _note(note: bytes | None) -> Response:
    if note is None:
        raise _empty()
    response = Response(note, content_type=NOTE)
    response.headers["Cache-Control"] = NOT_LONG
    return response
