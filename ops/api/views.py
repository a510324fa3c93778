"""What each reader sees of a round: pure functions from a round to a reply.

    player of box n     the table's cards, his own money; the others are nobody and their money is left out
    game server         all that the table shows, all money
    dispute officer     as the game server; after the end the seed, the deck and the record besides (`evidence`)
    back office         all money; no card before the end
    regulator           before the end only that there is a round; after it everything

A view is made of the round's state, which knows no card that an event has not shown.  The seed, sealed or open, is in
none: it has an address of its own.

Not here: who may ask (`roles`), whether a box is the asker's (`rounds`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from domain.access import Role
from domain.account import AccountState
from domain.cards import card_texts
from domain.hands import COMBINATION_NAMES
from domain.round.phases import Phase
from domain.round.state import BoxState, RoundState, Stage
from domain.ruleset import Ruleset
from ops.api.offers import next_step
from ops.floor import RoundDone

NOBODY: Final = "(other)"
"""What a player is told instead of another one's name; it can't be a name."""


class Sight(StrEnum):
    """How far a reader sees."""

    EVERYTHING = "everything"
    MONEY = "money"
    EXISTENCE = "existence"


def sight_of(role: Role, state: RoundState) -> Sight:
    """How far a role sees into a round as it stands."""
    if state.phase is Phase.ENDED:
        return Sight.EVERYTHING
    return {Role.BACK_OFFICE: Sight.MONEY, Role.REGULATOR: Sight.EXISTENCE}.get(role, Sight.EVERYTHING)


def round_view(
    done: RoundDone, role: Role, *, player: str | None = None, opened_at: str | None = None
) -> dict[str, Any]:
    """A round as a role sees it, or (`player`) as one player at it does.

    `opened_at` stands in replies to reads; a reply to a command is made of that command's events.
    """
    state, sight = done.state, sight_of(role, done.state)
    view = existence(done, opened_at)
    if sight is Sight.EXISTENCE:
        return view
    cards = sight is Sight.EVERYTHING
    view["limits"] = msgspec.to_builtins(state.opened.limits) if state.opened else None
    view["jackpot"] = state.jackpot if state.upcard else None
    view["upcard"] = state.upcard if cards else None
    view["dealer"] = _dealer(state) if cards else None
    view["boxes"] = [_box(state, box, done.ruleset, cards, player in (None, box.player)) for box in state.boxes]
    view["next"] = _next(state, done.ruleset, cards, player)
    view["totals"] = _totals(state) if player is None else None
    view["voided"] = state.voided.reason if state.voided else None
    return view


def command_view(done: RoundDone, role: Role) -> dict[str, Any]:
    """A round after a command, with what the command led to."""
    view = round_view(done, role)
    view["events"] = [event.NAME for event in done.events]
    view["accounts"] = {player: account_funds(state) for player, state in sorted(done.accounts.items())}
    view["receipts"] = [{"box": box, "token": token} for box, token in done.receipts]
    return view


def existence(done: RoundDone, opened_at: str | None) -> dict[str, Any]:
    """That there is a round: where, under which rules, since when, and the commitment to its deck."""
    opened = done.state.opened
    assert opened is not None  # a round begins with its opening
    view = {
        "round": done.round_id,
        "table": opened.table,
        "number": opened.number,
        "ruleset": opened.ruleset,
        "ruleset_digest": opened.ruleset_digest,
        "currency": opened.currency,
        "commitment": opened.commitment,
        "phase": done.state.phase.value,
        "at": done.at,
        "seq": done.seq,
    }
    return view if opened_at is None else view | {"opened_at": opened_at}


def account_funds(state: AccountState) -> dict[str, int]:
    """A balance, what of it is free, and what is staked in open rounds."""
    return {"balance": state.balance, "available": state.available(), "funds_in_play": state.funds_in_play}


def _dealer(state: RoundState) -> dict[str, Any] | None:
    if not state.revealed:
        return None
    replaced = [{"old": card.old, "new": card.new, "free": card.free} for card in state.replaced]
    name = COMBINATION_NAMES[state.dealer_hand().main]
    return {"cards": card_texts(state.dealer), "combination": name, "replaced": replaced}


def _box(state: RoundState, box: BoxState, ruleset: Ruleset, cards: bool, own: bool) -> dict[str, Any]:
    view: dict[str, Any] = {
        "box": box.box,
        "player": box.player if own else NOBODY,
        "mode": "dark" if box.dark else "open",
        "decided": box.stage is Stage.DONE,
        "folded": box.folded,
        "drew": box.drew or box.hidden_draw is not None,
        "outcome": None if box.settled is None else box.settled.outcome.value,
    }
    if cards:
        view |= _hand(box, ruleset)
    return view | (_money(state, box) if own else {})


def _hand(box: BoxState, ruleset: Ruleset) -> dict[str, Any]:
    """The cards that were shown, and what they are worth."""
    if not box.cards:
        return {"cards": [], "combination": None, "second": None}
    hand = box.final_hand()
    second = ruleset.second(hand)
    return {
        "cards": card_texts(box.cards),
        "combination": COMBINATION_NAMES[hand.main],
        "second": None if second is None else COMBINATION_NAMES[second],
    }


def _money(state: RoundState, box: BoxState) -> dict[str, Any]:
    if state.voided is not None:
        returned = box.staked  # rule 10.2: every box ends at net zero
    elif box.settled is not None:
        returned = box.settled.returned
    else:
        returned = box.returned_before_showdown
    return {
        "ante": box.ante,
        "bet": box.bet,
        "bonus": box.bonus,
        "insurance": box.insurance,
        "fees": box.draw_fee + box.bought,
        "jackpot": box.jackpot,
        "staked": box.staked,
        "returned": returned,
        "net": returned - box.staked if state.phase is Phase.ENDED else None,
    }


def _next(state: RoundState, ruleset: Ruleset, cards: bool, player: str | None) -> dict[str, Any] | None:
    """What the box in turn may do; what it costs tells its stake, and what can be insured tells its hand."""
    step = next_step(state, ruleset)
    if step is None or step["box"] is None:
        return step
    box = state.box(step["box"])
    if not cards or (player is not None and (box is None or box.player != player)):
        return {"box": step["box"], "actions": [], "prices": {}, "insurance": None}
    return step


def _totals(state: RoundState) -> dict[str, int] | None:
    if state.closed is not None:
        return {"staked": state.closed.staked, "returned": state.closed.returned, "net": state.closed.net}
    if state.voided is not None:
        staked = sum(box.staked for box in state.boxes)
        return {"staked": staked, "returned": staked, "net": 0}
    return None


# -- lists


def summary(done: RoundDone, role: Role, opened_at: str) -> dict[str, Any]:
    """A round in a list."""
    view = existence(done, opened_at)
    sight = sight_of(role, done.state)
    if sight is Sight.EXISTENCE:
        return view
    view["boxes"] = len(done.state.boxes)
    view["voided"] = done.state.voided.reason if done.state.voided else None
    return view


def open_summary(done: RoundDone, role: Role, opened_at: str, age: int) -> dict[str, Any]:
    """A round that has not ended, in a list: how long nothing has happened in it (seconds), and what is to be done."""
    view: dict[str, Any] = summary(done, role, opened_at) | {"age": age}
    if sight_of(role, done.state) is not Sight.EXISTENCE:
        view["next"] = _next(done.state, done.ruleset, sight_of(role, done.state) is Sight.EVERYTHING, None)
    return view
