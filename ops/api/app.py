"""The HTTP API: one Flask app over one casino floor.

    app = create_app(floor, gatekeeper, add_data_key)

Everything is below /v1, all JSON; errors are problem+json.  What each address does stands in its area; docs/api.md
shows a game server at work.

Not here: serving it (`worker`, `ops.cli.serve`), the areas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

from flask import Flask
from flask_smorest import Api
from werkzeug.routing import BaseConverter

from ops.api import (
    accounts,
    door,
    evidence,
    fields,
    jackpots,
    keys,
    log,
    meta,
    problems,
    rounds,
    rulesets,
    shapes,
    tables,
)
from ops.api.area import COMMAND_PROBLEMS
from ops.api.patience import Patience
from ops.api.roles import ANYBODY, ROLES
from ops.api.serving import EXTENSION, TAGS, Served
from ops.api_keys import Gatekeeper
from ops.floor import Floor
from ops.keys import DataKey
from ops.log.public import PublicLog

AREAS: Final = (
    rounds.area, evidence.area, accounts.area, tables.area, rulesets.area, jackpots.area, keys.area, log.area,
    meta.area,
)  # fmt: skip

PATHS: Final = {
    "name": fields.NAME,
    "currency": fields.CURRENCY,
    "round": fields.ROUND,
    "ruleset": fields.RULESET,
    "key": fields.KEY,
    "tile": fields.TILE,
}
"""Parts of an address: what does not match is not found."""


class _Api(Api):  # type: ignore[misc]  # flask-smorest has no types
    """flask-smorest with our own errors: its handler answers with a body that is no problem+json."""

    DEFAULT_ERROR_RESPONSE_NAME = None
    ERROR_SCHEMA = shapes.Problem

    def _register_error_handlers(self) -> None:
        problems.register(self._app)


def create_app(
    floor: Floor, gatekeeper: Gatekeeper, add_data_key: Callable[[], DataKey], public_log: PublicLog | None = None
) -> Flask:
    """An app that serves this floor.  `add_data_key`: makes a data key the newest one; `public_log`: if it has one."""
    app = Flask("dealproof", static_folder=None)
    app.config.update(
        API_TITLE="Dealproof", API_VERSION="v1", OPENAPI_VERSION="3.1.0", PROVIDE_AUTOMATIC_OPTIONS=False
    )
    app.url_map.merge_slashes = False
    app.url_map.converters |= {name: _converter(pattern) for name, pattern in PATHS.items()}
    app.extensions[EXTENSION] = Served(floor, gatekeeper, Patience(floor.journal), add_data_key, public_log)
    door.register(app)
    app.extensions[meta.DOCUMENT] = _document(app)
    _require_roles(app)
    return app


def _converter(pattern: str) -> type[BaseConverter]:
    return type("Converter", (BaseConverter,), {"regex": pattern})


def _require_roles(app: Flask) -> None:
    """No address without a row in the table of roles, and no row without an address."""
    served = {rule.endpoint for rule in app.url_map.iter_rules()}
    unknown = served ^ (set(ROLES) | ANYBODY)
    if unknown:
        raise ValueError(f"roles: {', '.join(sorted(unknown))}: an endpoint and its row in roles.py go together")


# -- the OpenAPI document


def _document(app: Flask) -> bytes:
    api = _Api(app, spec_kwargs={"info": {"description": _DESCRIPTION, "x-version": version("dealproof")}})
    for name, converter in app.url_map.converters.items():
        if name in PATHS:
            shape = {"type": "string", "pattern": f"^{PATHS[name]}$"}
            api.register_converter(converter, lambda _, shape=shape: dict(shape))
    _add_components(api.spec.components)
    for area in AREAS:
        api.register_blueprint(area)
    document: dict[str, Any] = api.spec.to_dict()
    # That is flask-smorest's, for pages of another kind.
    document["components"]["schemas"].pop("PaginationMetadata", None)
    document["security"] = [{scheme: [] for scheme in SECURITY}]
    return json.dumps(document, indent=1).encode()


_DESCRIPTION: Final = "Rounds of casino poker against the house: provable deals, money that balances, exact replay."

SECURITY: Final = {
    "Key": ("Authorization", "The word Dealproof and the API key: docs/formats/request-signing.md."),
    "Timestamp": ("Dealproof-Timestamp", "When the request was signed, in Unix seconds."),
    "Nonce": ("Dealproof-Nonce", "16 to 64 of A-Z a-z 0-9 _ -, new for each request."),
    "Signature": ("Dealproof-Signature", "HMAC-SHA256 of the request under the key's secret, in hex."),
}

_HEADERS: Final = {
    "IdempotencyKey": ("Idempotency-Key", True, "[!-~]{1,200}", "The command's own name: sent again, the same reply."),
    "IfMatch": ("If-Match", True, tables.IF_MATCH, "The ETag that the sender has seen."),
    "IfNoneMatch": ("If-None-Match", False, TAGS, "An ETag: if the reply still has it, 304 and no body."),
}


def _add_components(components: Any) -> None:
    for scheme, (header, words) in SECURITY.items():
        components.security_scheme(scheme, {"type": "apiKey", "in": "header", "name": header, "description": words})
    for name, (header, required, pattern, words) in _HEADERS.items():
        shape = {"type": "string", "pattern": f"^{pattern}$"}
        components.parameter(
            name, "header", {"name": header, "required": required, "schema": shape, "description": words}
        )
    components.response("NotModified", {"description": "The caller has the reply already."})
    for status in sorted({*COMMAND_PROBLEMS, 412, 428}):
        content = {problems.MEDIA_TYPE: {"schema": shapes.Problem}}
        description = {"description": problems.MEANINGS[status], "content": content}
        if status in (429, 503):
            retry = {"schema": {"type": "string", "pattern": "^[0-9]+$"}, "required": True}
            description["headers"] = {"Retry-After": {**retry, "description": "Seconds."}}
        components.response(f"Problem{status}", description)


# -- for docs/api.md


def table_of_routes(app: Flask) -> str:
    """Every address with what it does and who may, as a Markdown table."""
    paths = json.loads(app.extensions[meta.DOCUMENT])["paths"]
    rules = {rule.endpoint: rule for rule in app.url_map.iter_rules()}
    rows = ["| request | what it does | roles |", "|---|---|---|"]
    for endpoint in (*ROLES, *sorted(ANYBODY)):
        template = re.sub(r"<\w+:(\w+)>", r"{\1}", rules[endpoint].rule)
        [(method, operation)] = [
            (method, operation)
            for method, operation in paths[template].items()
            if method != "parameters" and operation["operationId"] == endpoint.partition(".")[2]
        ]
        roles = ", ".join(sorted(ROLES[endpoint])) if endpoint in ROLES else "anybody, unsigned"
        rows.append(f"| `{method.upper()} {template}` | {operation['summary']} | {roles} |")
    return "\n".join(rows) + "\n"
