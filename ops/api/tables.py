"""Tables: opened, changed for the rounds to come, closed, and read.

Not here: the rounds at a table (`rounds`).
"""

from __future__ import annotations

import re
from typing import Any, Final

import marshmallow
import msgspec
from flask import Response, request
from marshmallow import Schema

from domain.ruleset import Limits
from domain.table import LONGEST_WAIT, Abandoned, TableSettings
from ops.api import fields, shapes
from ops.api.area import Area
from ops.api.jackpots import NamePageQuery
from ops.api.problems import Problem, refused
from ops.api.rulesets import Reason
from ops.api.serving import carried_out, command, floor, page, reply
from ops.pit import TableDone, unknown_table

area = Area("tables", "Tables")


class TableLimits(Schema):
    ante_max = fields.stake(required=True)
    ante_min = fields.stake(required=True)
    ante_step = fields.stake(required=True)
    bonus_max = fields.stake(required=True)
    bonus_min = fields.stake(required=True)
    payout_max = fields.pot(1, required=True, allow_none=True)


class Settings(Schema):
    ruleset = fields.ruleset(required=True)
    currency = fields.currency(required=True)
    limits = marshmallow.fields.Nested(TableLimits, required=True)
    jackpot = fields.name(load_default=None, allow_none=True)
    abandoned = fields.one_of(*Abandoned, required=True)
    abandoned_after = fields.Whole(1, LONGEST_WAIT, required=True)
    reason = fields.RecordText(required=True)


class NewTable(Settings):
    table = fields.name(required=True)


@area.command("/tables", NewTable(), shapes.Table, status=201)
def open_table(body: dict[str, Any]) -> Response:
    """Open a table."""
    done = carried_out(floor().pit.open_table(command(), body["table"], _settings(body), body["reason"]), body)
    return reply(table_view(done), 201, etag=_tag(done), location=f"/v1/tables/{body['table']}")


@area.command("/tables/<name:table>", Settings(), shapes.Table, method="PUT", conditional=True)
def change_table(body: dict[str, Any], table: str) -> Response:
    """Change a table for the rounds opened from now on."""
    seen = _seen()
    settings = _settings(body)
    asked = command(f"If-Match: {seen}")
    done = carried_out(floor().pit.change_table(asked, table, settings, body["reason"], seen), body)
    return reply(table_view(done), etag=_tag(done))


@area.command("/tables/<name:table>/closing", Reason(), shapes.Table)
def close_table(body: dict[str, Any], table: str) -> Response:
    """Open no more rounds at a table."""
    done = carried_out(floor().pit.close_table(command(), table, body["reason"]), body)
    return reply(table_view(done), etag=_tag(done))


@area.read("/tables", shapes.TablePage, query=NamePageQuery())
def list_tables(query: dict[str, Any]) -> Response:
    """All tables, in the order of their names."""
    found = floor().pit.tables(query["after"], query["limit"] + 1)
    return page(found, query["limit"], table_view, lambda done: done.table)


@area.read("/tables/<name:table>", shapes.Table)
def read_table(_: dict[str, Any], table: str) -> Response:
    """A table with its settings."""
    done = floor().pit.table(table)
    if done is None:
        raise refused(unknown_table(table), {})
    return reply(table_view(done), etag=_tag(done))


def _settings(body: dict[str, Any]) -> TableSettings:
    return TableSettings(
        abandoned=Abandoned(body["abandoned"]),
        abandoned_after=body["abandoned_after"],
        currency=body["currency"],
        jackpot=body["jackpot"],
        limits=Limits(**body["limits"]),
        ruleset=body["ruleset"],
    )


# -- which settings the sender has seen


def _tag(done: TableDone) -> str:
    """Settings and whether it is closed are all that a table shows; each has its tag."""
    return f"{done.state.settings}-closed" if done.state.closed else str(done.state.settings)


def _seen() -> int:
    """The settings that the sender of a change has seen.  Raises Problem."""
    text = request.headers.get("If-Match")
    if text is None:
        words = "If-Match: is missing; send the ETag of the settings that you have seen."
        raise Problem(428, "if-match-missing", words)
    found = _TAG.fullmatch(text)
    if found is None:
        raise Problem(400, "if-match-malformed", 'If-Match: must be one ETag of this table, as "3".')
    return int(found[1])


IF_MATCH: Final = '"(0|[1-9][0-9]{0,14})(-closed)?"'
_TAG: Final = re.compile(IF_MATCH, re.ASCII)


def table_view(done: TableDone) -> dict[str, Any]:
    """A table with the settings that hold."""
    settings: dict[str, Any] = msgspec.to_builtins(done.settings)
    return {
        "table": done.table,
        "closed": done.state.closed,
        "settings_seq": done.state.settings,
        "ruleset": settings["ruleset"],
        "currency": settings["currency"],
        "limits": settings["limits"],
        "jackpot": settings["jackpot"],
        "abandoned": settings["abandoned"],
        "abandoned_after": settings["abandoned_after"],
    }
