"""Everything that is refused, as problem+json (RFC 9457): a status, a stable code, a sentence, the field to blame.

    {"type": "https://dealproof.invalid/problems/out-of-turn", "title": "Out of turn", "status": 409,
     "detail": "It is not the turn of box 2; it is box 1's.", "code": "out-of-turn", "clause": "RP-6.1", …}

Codes outlive their sentences: callers may store them.  docs/api.md lists them all.

Not here: when a rule forbids something (`domain`), who is turned away at the door (`ops.api_keys`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec
from flask import Flask, Response, request
from marshmallow import ValidationError
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from domain.record import BodyError
from domain.round.refusals import Refusal, RefusalCode
from ops.api.strict_json import BadJson
from ops.api_keys import Denial, DenialCode
from ops.commands import Busy
from ops.journal import CommandMismatch, EnvelopeMismatch, JournalUnavailable
from ops.log.store import StoreError
from ops.logs import logger
from ops.receipts import LogBehind

MEDIA_TYPE: Final = "application/problem+json"
TYPES: Final = "https://dealproof.invalid/problems/"


class Problem(Exception):
    """A request that is not carried out; becomes the reply."""

    def __init__(self, status: int, code: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any):
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.headers, self.more = headers or {}, more

    def reply(self) -> Response:
        """The problem as a response."""
        body = {
            "type": f"{TYPES}{self.code}",
            "title": self.code.replace("-", " ").capitalize(),
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "instance": quote(request.path),
            **{name: value for name, value in self.more.items() if value is not None},
        }
        return Response(msgspec.json.encode(body), self.status, dict(self.headers), content_type=MEDIA_TYPE)


# -- what the rules refuse

UNKNOWN: Final = frozenset({
    RefusalCode.ACCOUNT_UNKNOWN, RefusalCode.JACKPOT_UNKNOWN, RefusalCode.KEY_UNKNOWN, RefusalCode.ROUND_UNKNOWN,
    RefusalCode.RULESET_UNKNOWN, RefusalCode.TABLE_UNKNOWN,
})  # fmt: skip

CONFLICTS: Final = frozenset({
    RefusalCode.ACCOUNT_EXISTS, RefusalCode.ALREADY_DECIDED, RefusalCode.ALREADY_DREW, RefusalCode.ALREADY_REVERSED,
    RefusalCode.BETS_CLOSED, RefusalCode.BOX_TAKEN, RefusalCode.DEALER_GAME_NOT_FOR_SALE,
    RefusalCode.DECISION_MISSING, RefusalCode.INSURED, RefusalCode.JACKPOT_EXISTS, RefusalCode.KEY_REVOKED,
    RefusalCode.NOT_ABANDONED, RefusalCode.NOT_DEALT, RefusalCode.NOT_PROPOSED, RefusalCode.NO_BOXES,
    RefusalCode.OUT_OF_TURN, RefusalCode.ROUND_ENDED, RefusalCode.RULESET_ACTIVE, RefusalCode.RULESET_NOT_ACTIVE,
    RefusalCode.TABLE_CLOSED, RefusalCode.TABLE_EXISTS, RefusalCode.TOO_LATE_TO_VOID,
})  # fmt: skip

TO_BLAME: Final[Mapping[RefusalCode, str]] = {
    RefusalCode.ALREADY_REVERSED: "event",
    RefusalCode.ANTES_NOT_EQUAL: "ante",
    RefusalCode.ANTE_NOT_DIVISIBLE: "ante",
    RefusalCode.ANTE_OFF_LIMITS: "ante",
    RefusalCode.BALANCE_TOO_LARGE: "amount",
    RefusalCode.BEACON_INVALID: "beacon",
    RefusalCode.BONUS_NOT_OFFERED: "bonus",
    RefusalCode.BONUS_OFF_LIMITS: "bonus",
    RefusalCode.BOXES_NOT_ADJACENT: "box",
    RefusalCode.BOX_TAKEN: "box",
    RefusalCode.BOX_UNKNOWN: "box",
    RefusalCode.CURRENCY_OTHER: "currency",
    RefusalCode.CURRENCY_UNKNOWN: "currency",
    RefusalCode.DARK_BOX: "action",
    RefusalCode.DISCARD_INVALID: "discard",
    RefusalCode.HAND_TOO_LOW: "action",
    RefusalCode.INSURANCE_OFF_LIMITS: "stake",
    RefusalCode.JACKPOT_UNKNOWN: "jackpot",
    RefusalCode.LIMITS_INVALID: "limits",
    RefusalCode.NOT_OFFERED: "action",
    RefusalCode.NOT_REVERSIBLE: "event",
    RefusalCode.NOT_YOUR_BOX: "box",
    RefusalCode.RULESET_NOT_ACTIVE: "ruleset",
    RefusalCode.RULESET_UNKNOWN: "ruleset",
    RefusalCode.NO_APPROVER: "approver",
    RefusalCode.SAME_PERSON: "approver",
    RefusalCode.TOO_MANY_BOXES: "box",
    RefusalCode.TOO_MANY_CARDS: "discard",
    RefusalCode.TOO_MANY_DARK_BOXES: "mode",
    RefusalCode.TOO_MANY_OPEN_BOXES: "mode",
}
"""The field of a request that a refusal blames, where one alone is to blame."""


def status_of(code: RefusalCode) -> int:
    """404 for what is not there, 409 for what is past or taken, 412 for what was changed meanwhile, else 422."""
    if code in UNKNOWN:
        return 404
    if code in CONFLICTS:
        return 409
    return 412 if code is RefusalCode.TABLE_CHANGED else 422


def refused(refusal: Refusal, body: Mapping[str, Any]) -> Problem:
    """A refusal as a problem.  `body`: the request's, to point into it."""
    pointer = _pointer(refusal, body)
    return Problem(
        status_of(refusal.code), refusal.code.value, refusal.text, clause=refusal.clause, pointer=pointer
    )


def _pointer(refusal: Refusal, body: Mapping[str, Any]) -> str | None:
    field = TO_BLAME.get(refusal.code)
    if field is None:
        return None
    if field in body:
        return f"/{field}"
    boxes = body.get("boxes", [])
    blamed = [index for index, box in enumerate(boxes) if len(boxes) == 1 or _names(refusal.text, box["box"])]
    return f"/boxes/{blamed[-1]}/{field}" if blamed else None


def _names(text: str, box: int) -> bool:
    return re.search(rf"\bbox {box}\b", text, re.IGNORECASE) is not None


# -- what a request lacks


def denied(denial: Denial) -> Problem:
    """Somebody who is turned away at the door."""
    if denial.code is DenialCode.TOO_MANY_REQUESTS:
        headers = {"Retry-After": str(denial.retry_after)}
        return Problem(429, denial.code.value, denial.text, headers=headers)
    return Problem(401, denial.code.value, denial.text, headers={"WWW-Authenticate": "Dealproof"})


def invalid(error: ValidationError) -> Problem:
    """Fields that are missing, unknown or not what they must be: all of them, each with its place (RFC 6901)."""
    errors = [{"pointer": pointer, "reason": reason} for pointer, reason in _reasons("", error.messages)]
    words = "; ".join(f"{found['pointer'] or 'the body'}: {found['reason']}" for found in errors)
    return Problem(422, "invalid-field", words[:1000], pointer=errors[0]["pointer"], errors=errors)


def _reasons(pointer: str, messages: Any) -> list[tuple[str, str]]:
    if isinstance(messages, Mapping):
        found = []
        for key, inner in messages.items():
            part = str(key).replace("~", "~0").replace("/", "~1")
            found += _reasons(pointer if key == "_schema" else f"{pointer}/{part}", inner)
        return found
    return [(pointer, str(message)) for message in messages]


MEANINGS: Final[Mapping[int, str]] = {
    400: "The body is no JSON, or a header is not what it must be.",
    401: "Nobody whom we know has signed this request.",
    403: "The key's role may not do this.",
    404: "There is no such thing.",
    409: "What is asked for is past, taken or not yet possible.",
    412: "What was to be changed was changed meanwhile.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "A field or a query parameter is not what it must be, or a rule of the house forbids it.",
    428: "The header If-Match is missing.",
    429: "The key has sent too many requests in this minute.",
    500: "Something is broken here.",
    503: "The journal can't be reached, the log is behind, or others were faster; the request may be sent again.",
}

# -- handlers

_HTTP: Final[Mapping[int, tuple[str, str]]] = {
    404: ("not-found", "There is nothing at this address."),
    405: ("method-not-allowed", "This address knows other methods; the header Allow names them."),
    413: ("body-too-large", "A body has at most 65,536 bytes."),
}


def _of_http(error: HTTPException) -> Response:
    status = error.code or 500
    if status not in _HTTP:
        return Problem(status, "bad-request", error.name).reply()
    code, text = _HTTP[status]
    headers = {}
    if isinstance(error, MethodNotAllowed):
        headers = {"Allow": ", ".join(sorted(error.valid_methods or ()))}
    return Problem(status, code, text, headers=headers).reply()


def _of_database(error: Exception) -> Response:
    logger().warning("journal_unavailable", reason=type(error).__name__)
    text = "The journal can't be reached; nothing is known to be done.  Send the same request again, signed anew."
    return Problem(503, "journal-unavailable", text, headers={"Retry-After": "1"}).reply()


def _of_busy(_: Exception) -> Response:
    text = "Others were faster each time; nothing was done.  Send the same request again, signed anew."
    return Problem(503, "busy", text, headers={"Retry-After": "1"}).reply()


def _of_log(error: Exception) -> Response:
    logger().warning("log_behind", reason=str(error))
    text = "The log has no checkpoint with this round's commitment yet, and no wager is taken before; nothing was done."
    return Problem(503, "log-behind", text, headers={"Retry-After": "1"}).reply()


def _of_mismatch(_: Exception) -> Response:
    text = "Idempotency-Key: was used before for another request; a new request needs a new key."
    return Problem(422, "idempotency-key-reused", text).reply()


def _of_damage(error: Exception) -> Response:
    logger().error("record_damaged", endpoint=request.endpoint, reason=str(error))
    text = "A stored record can't be read: it was changed or damaged.  Its verdict says where."
    return Problem(500, "record-damaged", text).reply()


def _of_bug(_: Exception) -> Response:
    # The traceback goes to the log, without the frames' local variables: they may hold a seed.
    logger().error("request_failed", endpoint=request.endpoint, exc_info=True)
    return Problem(500, "internal-error", "Something is broken here; it is in our log.").reply()


def register(app: Flask) -> None:
    """Make every error of an app a problem."""
    app.register_error_handler(Problem, Problem.reply)
    app.register_error_handler(ValidationError, lambda error: invalid(error).reply())
    app.register_error_handler(BadJson, lambda error: Problem(400, "body-not-json", str(error)).reply())
    app.register_error_handler(HTTPException, _of_http)
    app.register_error_handler(JournalUnavailable, _of_database)
    app.register_error_handler(Busy, _of_busy)
    app.register_error_handler(LogBehind, _of_log)
    app.register_error_handler(CommandMismatch, _of_mismatch)
    app.register_error_handler(BodyError, _of_damage)
    app.register_error_handler(EnvelopeMismatch, _of_damage)
    app.register_error_handler(StoreError, _of_damage)
    app.register_error_handler(Exception, _of_bug)
