"""Rounds: opened, staked, dealt, decided, ended, and read by whoever may.

Not here: the rules (`domain.round`), what a reader sees (`views`), what is hidden before the end (`evidence`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import marshmallow
from flask import Response
from marshmallow import Schema, ValidationError, validate

from domain.access import Role
from domain.round import choices as c
from domain.round.events import Mode
from domain.round.refusals import Refusal, RefusalCode
from ops import clock
from ops.api import fields, shapes
from ops.api.area import Area
from ops.api.fields import Nothing
from ops.api.problems import Problem, refused
from ops.api.reading import ReadRound, find_round, read_round
from ops.api.rulesets import Reason
from ops.api.serving import caller, carried_out, command, floor, read_json, reply
from ops.api.views import command_view, open_summary, round_view, summary
from ops.floor import RoundDone

area = Area("rounds", "Rounds")

ROUND: Final = "/rounds/<round:round_id>"
MOST_BOXES: Final = 7
"""No table has more."""


class NewBox(Schema):
    box = fields.Whole(1, MOST_BOXES, required=True)
    player = fields.name(required=True)
    mode = fields.one_of(*Mode, required=True)
    ante = fields.stake(required=True)
    bonus = fields.stake(0, load_default=0)
    client_seed = fields.octets(0, 255, load_default="")


class NewBoxes(Schema):
    boxes = marshmallow.fields.List(
        marshmallow.fields.Nested(NewBox),
        required=True,
        validate=validate.Length(1, MOST_BOXES, error=f"Must have 1 to {MOST_BOXES} boxes."),
    )


class TheDeal(Schema):
    beacon = fields.octets(32, 32, load_default=None, allow_none=True)


# -- decisions

_PLAIN: Final[dict[str, Callable[..., c.Choice]]] = {
    "sixth_card": c.SixthCard,
    "decline_sixth_card": c.DeclineSixthCard,
    "bet": c.Bet,
    "fold": c.Fold,
    "buy_dealer_game": c.BuyDealerGame,
    "take_ante": c.TakeAnte,
}


class PlainDecision(Schema):
    box = fields.Whole(1, MOST_BOXES, required=True)
    player = fields.name(required=True)
    action = fields.one_of(*_PLAIN, required=True)


class ExchangeDecision(PlainDecision):
    action = fields.one_of("exchange", required=True)
    discard = marshmallow.fields.List(
        fields.Whole(0, 4),
        required=True,
        validate=validate.Length(1, 5, error="Must name 1 to 5 cards."),
        metadata={"uniqueItems": True},
    )

    @marshmallow.validates("discard")
    def _distinct(self, discard: list[int], **_: Any) -> None:
        if len(set(discard)) != len(discard):
            raise ValidationError("Must name different cards.")


class InsuranceDecision(PlainDecision):
    action = fields.one_of("insure", required=True)
    stake = fields.pot(1, required=True)


_DECISION, _EXCHANGE, _INSURANCE = PlainDecision(), ExchangeDecision(), InsuranceDecision()
DECISIONS: Final = {"oneOf": [_DECISION, _EXCHANGE, _INSURANCE]}


def load_decision(value: Mapping[str, Any]) -> dict[str, Any]:
    """A decision, held against the schema of its action."""
    action = value.get("action")
    if isinstance(action, str) and action not in (*_PLAIN, "exchange", "insure"):
        raise ValidationError({"action": [f"Must be one of {', '.join((*_PLAIN, 'exchange', 'insure'))}."]})
    schema = {"exchange": _EXCHANGE, "insure": _INSURANCE}.get(str(action), _DECISION)
    loaded: dict[str, Any] = schema.load(value)
    return loaded


def _choice(body: dict[str, Any]) -> c.Choice:
    box, player = body["box"], body["player"]
    if body["action"] == "exchange":
        return c.Exchange(box=box, player=player, discard=tuple(body["discard"]))
    if body["action"] == "insure":
        return c.Insure(box=box, player=player, stake=body["stake"])
    return _PLAIN[body["action"]](box=box, player=player)


# -- commands


@area.command("/tables/<name:table>/rounds", Nothing(), shapes.RoundAfter, status=201)
def open_round(body: dict[str, Any], table: str) -> Response:
    """Open a table's next round; the reply has the commitment to its deck."""
    done = carried_out(floor().open_round(command(), table), body)
    return reply(command_view(done, caller().role), 201, location=f"/v1/rounds/{done.round_id}")


@area.command(f"{ROUND}/boxes", NewBoxes(), shapes.RoundAfter)
def place_boxes(body: dict[str, Any], round_id: str) -> Response:
    """Stake one or several boxes: all of them, or none."""
    boxes = [
        c.PlaceBox(
            box=box["box"],
            player=box["player"],
            mode=Mode(box["mode"]),
            ante=box["ante"],
            bonus=box["bonus"],
            client_seed=bytes.fromhex(box["client_seed"]),
        )
        for box in body["boxes"]
    ]
    return _moved(floor().choose(command(), f"round:{round_id}", *boxes), body)


@area.command(f"{ROUND}/deal", TheDeal(), shapes.RoundAfter)
def deal(body: dict[str, Any], round_id: str) -> Response:
    """Close the bets and deal."""
    beacon = None if body["beacon"] is None else bytes.fromhex(body["beacon"])
    return _moved(floor().deal(command(), f"round:{round_id}", beacon), body)


@area.command(f"{ROUND}/decisions", DECISIONS, shapes.RoundAfter, load=lambda: load_decision(read_json()))
def decide(body: dict[str, Any], round_id: str) -> Response:
    """Decide for the box in turn."""
    return _moved(floor().choose(command(), f"round:{round_id}", _choice(body)), body)


@area.command(f"{ROUND}/void", Reason(), shapes.RoundAfter)
def void(body: dict[str, Any], round_id: str) -> Response:
    """End a round without a result: everything goes back.  A game server may only while the dealer's hand is hidden."""
    asked, stream = command(), f"round:{round_id}"
    if caller().role is Role.GAME_SERVER:
        return _moved(floor().void_before_reveal(asked, stream, body["reason"]), body)
    return _moved(floor().choose(asked, stream, c.Void(body["reason"])), body)


@area.command(f"{ROUND}/finish", Nothing(), shapes.RoundAfter)
def finish(body: dict[str, Any], round_id: str) -> Response:
    """End an abandoned round by its table's published policy."""
    return _moved(floor().finish(command(), f"round:{round_id}"), body)


def _moved(done: RoundDone | Refusal, body: dict[str, Any]) -> Response:
    return reply(command_view(carried_out(done, body), caller().role))


# -- reads


class RoundQuery(Schema):
    box = fields.QueryWhole(1, MOST_BOXES)
    player = fields.name()


class RoundPageQuery(Schema):
    limit = fields.limit()
    after = fields.round_id()
    open = fields.QueryFlag(load_default=False)
    table = fields.name()


@area.read(ROUND, shapes.Round, query=RoundQuery())
def read_one(query: dict[str, Any], round_id: str) -> Response:
    """A round as its reader may see it; a game server asks with box and player for what that player may see."""
    player = _asked_player(query)
    found = read_round(round_id)
    if player is not None:
        _require_own(found.done, query["box"], player)
    view = round_view(found.done, caller().role, player=player, opened_at=found.opened_at)
    return reply(view, etag=str(found.done.seq))


def _asked_player(query: dict[str, Any]) -> str | None:
    """The player for whom a game server asks.  Raises Problem."""
    asked = {"box", "player"} & set(query)
    if len(asked) == 1:
        raise Problem(422, "box-and-player", "A player's view needs both box and player.")
    if asked and caller().role is not Role.GAME_SERVER:
        raise Problem(403, "role-not-allowed", "Only a game server asks for a player's view.")
    return query.get("player")


def _require_own(done: RoundDone, number: int, player: str) -> None:
    box = done.state.box(number)
    if box is None:
        raise refused(Refusal(RefusalCode.BOX_UNKNOWN, f"Nobody plays box {number} in this round."), {})
    if box.player != player:
        raise refused(Refusal(RefusalCode.NOT_YOUR_BOX, f"Box {number} is another player's."), {})


@area.read("/rounds", shapes.RoundPage, query=RoundPageQuery())
def list_rounds(query: dict[str, Any]) -> Response:
    """Rounds, newest first; with open=true those that have not ended, oldest first."""
    limit, after, table = query["limit"], query.get("after"), query.get("table")
    stream = None if after is None else f"round:{after}"
    if query["open"]:
        return _page(floor().journal.open_rounds(stream or "", limit + 1, table), limit, _open_summary)
    identities = floor().journal.last_rounds(limit + 1, table, before=stream)
    return _page([identity.stream for identity in identities], limit, _summary)


def _page(streams: list[str], limit: int, view: Callable[[ReadRound], dict[str, Any]]) -> Response:
    """A page of these rounds, but for those whose ruleset isn't known here; the next one begins behind the last."""
    shown = streams[:limit]
    items = [view(found) for stream in shown if (found := find_round(stream)) is not None]
    following = shown[-1].removeprefix("round:") if len(streams) > limit else None
    return reply({"items": items, "next": following})


def _summary(found: ReadRound) -> dict[str, Any]:
    return summary(found.done, caller().role, found.opened_at)


def _open_summary(found: ReadRound) -> dict[str, Any]:
    idle = clock.milliseconds(clock.now()) - clock.milliseconds(found.done.at)
    return open_summary(found.done, caller().role, found.opened_at, max(idle, 0) // 1000)
