"""Jackpots: opened and read.

Not here: how a pot is fed, won and started again (`domain.jackpot`, with the rounds).
"""

from __future__ import annotations

from typing import Any

from flask import Response
from marshmallow import Schema

from domain.round.refusals import Refusal, RefusalCode
from ops.api import fields, shapes
from ops.api.area import Area
from ops.api.problems import refused
from ops.api.serving import carried_out, command, floor, page, reply
from ops.pit import JackpotDone

area = Area("jackpots", "Jackpots")


class NewJackpot(Schema):
    jackpot = fields.name(required=True)
    currency = fields.currency(required=True)
    seed_amount = fields.pot(required=True)


class NamePageQuery(Schema):
    limit = fields.limit()
    after = fields.name(load_default="")


@area.command("/jackpots", NewJackpot(), shapes.Jackpot, status=201)
def open_jackpot(body: dict[str, Any]) -> Response:
    """Open a jackpot; the bank puts the seed amount into its pot."""
    done = floor().pit.open_jackpot(command(), body["jackpot"], body["currency"], body["seed_amount"])
    return reply(jackpot_view(carried_out(done, body)), 201, location=f"/v1/jackpots/{body['jackpot']}")


@area.read("/jackpots", shapes.JackpotPage, query=NamePageQuery())
def list_jackpots(query: dict[str, Any]) -> Response:
    """All jackpots, in the order of their names."""
    found = floor().pit.jackpots(query["after"], query["limit"] + 1)
    return page(found, query["limit"], jackpot_view, lambda done: done.jackpot)


@area.read("/jackpots/<name:jackpot>", shapes.Jackpot)
def read_jackpot(_: dict[str, Any], jackpot: str) -> Response:
    """A jackpot as it stands."""
    done = floor().pit.jackpot(jackpot)
    if done is None:
        raise refused(Refusal(RefusalCode.JACKPOT_UNKNOWN, f"There is no jackpot {jackpot}."), {})
    return reply(jackpot_view(done), etag=str(done.seq))


def jackpot_view(done: JackpotDone) -> dict[str, Any]:
    """A pot after an event of its own."""
    return {
        "jackpot": done.jackpot,
        "currency": done.state.currency,
        "pot": done.state.pot,
        "seed_amount": done.state.seed_amount,
        "seq": done.seq,
        "at": done.at,
    }
