"""Ruleset versions: read, proposed by one person, activated by another.

Not here: what a document says (`domain.ruleset`).
"""

from __future__ import annotations

from typing import Any

import msgspec
from flask import Response
from marshmallow import Schema

from domain.activation import ActivationProposed, RulesetActivated, unknown_ruleset
from ops.api import fields, shapes
from ops.api.area import Area
from ops.api.problems import refused
from ops.api.serving import carried_out, command, floor, page, reply
from ops.pit import RulesetDone

area = Area("rulesets", "Ruleset versions")


class Reason(Schema):
    reason = fields.RecordText(required=True)


class RulesetPageQuery(Schema):
    limit = fields.limit()
    after = fields.ruleset(load_default="")


@area.read("/rulesets", shapes.RulesetPage, query=RulesetPageQuery())
def list_rulesets(query: dict[str, Any]) -> Response:
    """All published ruleset versions."""
    found = floor().pit.rulesets(query["after"], query["limit"] + 1)
    return page(found, query["limit"], ruleset_view, lambda done: done.name)


@area.read("/rulesets/<ruleset:name>", shapes.Ruleset)
def read_ruleset(_: dict[str, Any], name: str) -> Response:
    """A ruleset version with its document."""
    done = floor().pit.ruleset(name)
    if done is None:
        raise refused(unknown_ruleset(name), {})
    known = floor().pit.known(name)
    document = None if known is None else msgspec.to_builtins(known.document)
    return reply(ruleset_view(done) | {"document": document}, etag=str(done.seq))


@area.command("/rulesets/<ruleset:name>/proposal", Reason(), shapes.RulesetSummary)
def propose(body: dict[str, Any], name: str) -> Response:
    """Propose that a ruleset version be played."""
    return reply(ruleset_view(carried_out(floor().pit.propose_ruleset(command(), name, body["reason"]), body)))


@area.command("/rulesets/<ruleset:name>/approval", Reason(), shapes.RulesetSummary)
def approve(body: dict[str, Any], name: str) -> Response:
    """Activate a ruleset version that another person has proposed."""
    return reply(ruleset_view(carried_out(floor().pit.approve_ruleset(command(), name, body["reason"]), body)))


def ruleset_view(done: RulesetDone) -> dict[str, Any]:
    """A ruleset version after an event of its own."""
    known, event = floor().pit.known(done.name), done.event
    view: dict[str, Any] = {
        "ruleset": done.name,
        "digest": None if known is None else known.digest.hex(),
        "state": "published",
        "proposed_by": None,
        "approved_by": None,
        "reason": None,
        "seq": done.seq,
        "at": done.at,
    }
    if isinstance(event, ActivationProposed):
        return view | {"state": "proposed", "proposed_by": event.by, "reason": event.reason}
    if isinstance(event, RulesetActivated):
        people = {"proposed_by": event.proposed_by, "approved_by": event.by}
        return view | {"state": "active", "reason": event.reason, **people}
    return view
