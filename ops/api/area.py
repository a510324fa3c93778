"""An area of the API: its addresses, each with the shape of its requests and of every reply it can give.

`command`, `read` and `plain` are all there is: they check body or query against the schema before the view runs, and
write each status into the OpenAPI document.  Nothing is answered that is not documented.

Not here: who may call (`roles`), the app around the areas (`app`).
"""

from __future__ import annotations

import http
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final

from flask import Response, request
from flask_smorest import Blueprint
from marshmallow import Schema

from ops.api.fields import Nothing
from ops.api.serving import idempotency_key, read_body, read_query, require_plain_tags

View = Callable[..., Response]
Load = Callable[[], dict[str, Any]]

COMMAND_PROBLEMS: Final = (400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503)
UNSIGNED_PROBLEMS: Final = (400, 404, 409, 413, 415, 422, 429, 500)
READ_PROBLEMS: Final = (400, 401, 403, 404, 413, 422, 429, 500, 503)
_NOTHING: Final = Nothing()


class Area(Blueprint):  # type: ignore[misc]  # flask-smorest has no types
    """A blueprint of commands and reads."""

    def __init__(self, name: str, description: str) -> None:
        super().__init__(name, __name__, url_prefix="/v1", description=description)

    def command(
        self,
        rule: str,
        body: Schema | Mapping[str, Any],
        reply: type[Schema],
        *,
        status: int = 200,
        load: Load | None = None,
        method: str = "POST",
        conditional: bool = False,
        signed: bool = True,
    ) -> Callable[[View], View]:
        """A POST or PUT.  `body`: its schema, or how the document says it where `load` reads it.

        `signed`: whether it needs a key, and with it a name of its own; else doing it twice must be doing it once.
        """

        def decorate(view: View) -> View:
            @wraps(view)
            def carried(**path: Any) -> Response:
                if signed:
                    idempotency_key()
                if request.query_string:
                    read_query(_NOTHING)  # a command says all it asks for in its body
                return view(load() if load else read_body(body), **path)  # type: ignore[arg-type]

            parameters = [*(["IdempotencyKey"] if signed else []), *(["IfMatch"] if conditional else [])]
            problems = (*(COMMAND_PROBLEMS if signed else UNSIGNED_PROBLEMS), *((412, 428) if conditional else ()))
            content = {"application/json": {"schema": body}}
            document = {"parameters": parameters, "requestBody": {"content": content, "required": True}}
            document |= {} if signed else {"security": []}
            self._publish(rule, method, view.__name__, carried, document, _replies(method, status, reply, problems))
            return view

        return decorate

    def read(
        self, rule: str, reply: type[Schema], *, query: Schema = _NOTHING, signed: bool = True, ended: bool = False
    ) -> Callable[[View], View]:
        """A GET.  `signed`: whether it needs a key; `ended`: whether it answers 409 until a round has ended."""

        def decorate(view: View) -> View:
            @wraps(view)
            def answered(**path: Any) -> Response:
                require_plain_tags()
                return view(read_query(query), **path)

            problems = READ_PROBLEMS if signed else (400, 422, 500, 503)
            replies = _replies("GET", 200, reply, (*problems, *((409,) if ended else ())))
            document: dict[str, Any] = {"parameters": [{"in": "query", "schema": query}, "IfNoneMatch"]}
            document |= {} if signed else {"security": []}
            self._publish(rule, "GET", view.__name__, answered, document, {**replies, "304": "NotModified"})
            return view

        return decorate

    def plain(self, rule: str, media_type: str) -> Callable[[View], View]:
        """A GET that anybody may send, of something that is no JSON; 404 while it is not there."""

        def decorate(view: View) -> View:
            @wraps(view)
            def answered(**path: Any) -> Response:
                require_plain_tags()
                read_query(_NOTHING)
                return view(**path)

            content = {media_type: {"schema": {"type": "string"}}}
            done = {"description": "OK", "headers": _headers("GET", 200), "content": content}
            problems = {str(problem): f"Problem{problem}" for problem in (400, 404, 422, 500)}
            document = {"parameters": ["IfNoneMatch"], "security": []}
            replies = {"200": done, **problems, "304": "NotModified"}
            self._publish(rule, "GET", view.__name__, answered, document, replies)
            return view

        return decorate

    def _publish(
        self, rule: str, method: str, name: str, view: View, document: dict[str, Any], replies: dict[str, Any]
    ) -> None:
        self.route(rule, methods=[method])(self.doc(operationId=name, responses=replies, **document)(view))


def _replies(method: str, status: int, reply: type[Schema], problems: Sequence[int]) -> dict[str, Any]:
    """Each status with what it says."""
    content = {"application/json": {"schema": reply}}
    done = {"description": http.HTTPStatus(status).phrase, "headers": _headers(method, status), "content": content}
    return {str(status): done, **{str(problem): f"Problem{problem}" for problem in problems}}


def _headers(method: str, status: int) -> dict[str, Any]:
    found = {}
    if method == "GET":
        found["ETag"] = {"schema": {"type": "string"}, "required": True, "description": "Changes with the reply."}
    if status == 201:
        found["Location"] = {"schema": {"type": "string"}, "required": True, "description": "Where the new thing is."}
    return found
