"""The API about itself: whether it works, and its own description.

Not here: what the description says (each area documents itself).
"""

from __future__ import annotations

from typing import Any

from flask import Response, current_app
from marshmallow import Schema, fields

from ops.api import shapes
from ops.api.area import Area
from ops.api.serving import floor, reply

area = Area("meta", "The API itself")

DOCUMENT = "dealproof-openapi"


class AnyDocument(Schema):
    """An OpenAPI 3.1 document."""

    openapi = fields.Raw(metadata={"type": "string"}, required=True)

    class Meta:
        unknown = "include"


@area.read("/health", shapes.Health, signed=False)
def health(_: dict[str, Any]) -> Response:
    """Whether the server works and reaches its journal."""
    floor().journal.head_position()
    return reply({"status": "ok"})


@area.read("/openapi.json", AnyDocument, signed=False)
def openapi(_: dict[str, Any]) -> Response:
    """The OpenAPI document of this API."""
    return Response(current_app.extensions[DOCUMENT], content_type="application/json")
