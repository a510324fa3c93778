"""Every reply that a test gets is held against the OpenAPI document: its status, its media type, its shape.

Not here: asking on purpose what the document forbids (`test_openapi`).
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs
from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

from ops.api.meta import DOCUMENT


def hold(app: Flask, method: str, path: str, answer: TestResponse) -> None:
    """The test is wrong, or the document is, where a reply is not documented."""
    try:
        rule, _ = app.url_map.bind("house").match(path, method, return_rule=True)
    except HTTPException:
        assert answer.status_code in (404, 405)
        return
    template = re.sub(r"<\w+:(\w+)>", r"{\1}", rule.rule)
    operation = document(app.extensions[DOCUMENT])["paths"][template]["get" if method == "HEAD" else method.lower()]
    status = str(answer.status_code)
    assert status in operation["responses"], f"{method} {template}: {status} is not documented"
    if method == "HEAD" or status == "304":
        assert answer.get_data() == b""
        return
    [(media_type, shape)] = reply_of(app, operation["responses"][status])["content"].items()
    assert answer.content_type == media_type
    if not media_type.endswith("json"):
        assert shape["schema"] == {"type": "string"}
        return
    found = validator(app, shape).iter_errors(answer.get_json())
    errors = [f"{error.instance_path}: {error.message}" for error in found]
    assert errors == [], f"{method} {template} {status}: {errors}"


def reply_of(app: Flask, reply: dict[str, Any]) -> dict[str, Any]:
    """A documented reply, wherever it is written."""
    if "$ref" not in reply:
        return reply
    found: dict[str, Any] = document(app.extensions[DOCUMENT])["components"]["responses"][reply["$ref"].split("/")[-1]]
    return found


def validator(app: Flask, shape: dict[str, Any]) -> Any:
    return compiled(json.dumps(shape["schema"]), app.extensions[DOCUMENT])


@cache
def document(text: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def compiled(shape: str, text: bytes) -> Any:
    return jsonschema_rs.Draft202012Validator({**json.loads(shape), "components": document(text)["components"]})
