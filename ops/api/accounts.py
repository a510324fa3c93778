"""Accounts: opened, paid into, paid out of, set right, and read.

Not here: what may be done (`domain.account`), how it is done once (`ops.cashier`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec
from flask import Response
from marshmallow import Schema

from domain.access import Role
from domain.account import CASH_EVENTS, AccountEvent, Against, RoundFinished
from ops.api import fields, shapes
from ops.api.area import Area
from ops.api.problems import refused
from ops.api.serving import caller, carried_out, command, floor, reply
from ops.api.views import account_funds
from ops.api_keys import may_approve
from ops.cashier import AccountDone, unknown_account

area = Area("accounts", "Players' accounts")

ACCOUNT: Final = "/accounts/<currency:currency>/<name:player>"


class NewAccount(Schema):
    player = fields.name(required=True)
    currency = fields.currency(required=True)
    test = fields.Flag(load_default=False)


class Payment(Schema):
    amount = fields.money(required=True)
    reference = fields.RecordText(required=True)


class Adjustment(Schema):
    amount = fields.signed_money(required=True)
    against = fields.one_of(*Against, required=True)
    approver = fields.RecordText(required=True)
    reason = fields.RecordText(required=True)
    reference = fields.RecordText(required=True)


class Reversal(Schema):
    event = fields.place(required=True)
    approver = fields.RecordText(required=True)
    reason = fields.RecordText(required=True)
    reference = fields.RecordText(required=True)


class AccountPageQuery(Schema):
    limit = fields.limit()
    after = fields.QueryWhole(0, 2**53 - 1)


# -- commands


@area.command("/accounts", NewAccount(), shapes.Account, status=201)
def open_account(body: dict[str, Any]) -> Response:
    """Open an account."""
    currency, player = body["currency"], body["player"]
    done = carried_out(floor().cashier.open_account(command(), currency, player, test=body["test"]), body)
    return reply(account_view(done), 201, location=f"/v1/accounts/{currency}/{player}")


@area.command(f"{ACCOUNT}/deposits", Payment(), shapes.Account)
def deposit(body: dict[str, Any], currency: str, player: str) -> Response:
    """Pay money in."""
    done = floor().cashier.deposit(command(), currency, player, body["amount"], body["reference"])
    return reply(account_view(carried_out(done, body)))


@area.command(f"{ACCOUNT}/withdrawals", Payment(), shapes.Account)
def withdraw(body: dict[str, Any], currency: str, player: str) -> Response:
    """Pay money out."""
    done = floor().cashier.withdraw(command(), currency, player, body["amount"], body["reference"])
    return reply(account_view(carried_out(done, body)))


@area.command(f"{ACCOUNT}/adjustments", Adjustment(), shapes.Account)
def adjust(body: dict[str, Any], currency: str, player: str) -> Response:
    """Give money or take it, with a second person's approval."""
    done = floor().cashier.adjust(
        command(),
        currency,
        player,
        body["amount"],
        against=Against(body["against"]),
        approver=body["approver"],
        reason=body["reason"],
        reference=body["reference"],
        may_approve=partial(may_approve, floor().journal),
    )
    return reply(account_view(carried_out(done, body)))


@area.command(f"{ACCOUNT}/reversals", Reversal(), shapes.Account)
def reverse(body: dict[str, Any], currency: str, player: str) -> Response:
    """Undo a deposit, a withdrawal or an adjustment, once."""
    done = floor().cashier.reverse(
        command(),
        currency,
        player,
        body["event"],
        approver=body["approver"],
        reason=body["reason"],
        reference=body["reference"],
        may_approve=partial(may_approve, floor().journal),
    )
    return reply(account_view(carried_out(done, body)))


# -- reads


@area.read(ACCOUNT, shapes.Account)
def read_account(_: dict[str, Any], currency: str, player: str) -> Response:
    """An account as it stands."""
    done = _known(currency, player)
    return reply(account_view(done), etag=str(done.seq))


@area.read(f"{ACCOUNT}/statement", shapes.AccountPage, query=AccountPageQuery())
def statement(query: dict[str, Any], currency: str, player: str) -> Response:
    """Every event of an account."""
    return _history(query, currency, player, ())


@area.read(f"{ACCOUNT}/cash-history", shapes.AccountPage, query=AccountPageQuery())
def cash_history(query: dict[str, Any], currency: str, player: str) -> Response:
    """Deposits, withdrawals, adjustments and reversals of an account."""
    return _history(query, currency, player, CASH_EVENTS)


@area.read(f"{ACCOUNT}/game-history", shapes.AccountPage, query=AccountPageQuery())
def game_history(query: dict[str, Any], currency: str, player: str) -> Response:
    """Rounds that an account's player has finished."""
    return _history(query, currency, player, (RoundFinished,))


def _history(
    query: dict[str, Any], currency: str, player: str, kinds: tuple[type[AccountEvent], ...]
) -> Response:
    running = {play.round for play in _known(currency, player).state.in_play}
    # What a round does is a regulator's to read when it has ended.
    hidden = running if caller().role is Role.REGULATOR else set[str]()
    limit, before = query["limit"], query.get("after")
    found = floor().cashier.statement(currency, player, limit + 1, before, kinds)
    shown = found[:limit]
    items = [entry_view(done) for done in shown if getattr(done.event, "round", None) not in hidden]
    return reply({"items": items, "next": shown[-1].seq if len(found) > limit else None})


def _known(currency: str, player: str) -> AccountDone:
    done = floor().cashier.account(currency, player)
    if done is None:
        raise refused(unknown_account(currency, player), {})
    return done


# -- views


def account_view(done: AccountDone) -> dict[str, Any]:
    """An account after an event of its own."""
    return {
        "currency": done.currency,
        "player": done.player,
        **account_funds(done.state),
        "in_play": msgspec.to_builtins(done.state.in_play),
        "seq": done.seq,
        "at": done.at,
    }


def entry_view(done: AccountDone) -> dict[str, Any]:
    """An event of an account."""
    data = msgspec.to_builtins(done.event)
    del data["after"]
    return {"seq": done.seq, "at": done.at, "type": done.event.NAME, **account_funds(done.state), **data}
