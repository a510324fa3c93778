"""Decide a recorded round again: from the record only what somebody chose, everything else from rules and deck.

Not here: comparing the outcome with the record (`checks`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from domain.deal.shuffle import Deck
from domain.round import choices as c
from domain.round import events as e
from domain.round.dealer import Dealer
from domain.round.decisions import reveal_seed, take
from domain.round.guards import opening_refusal
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from domain.round.state import RoundState
from domain.ruleset import Ruleset


class Redecided(NamedTuple):
    """The events as they should be, and the state after them; where a recorded choice is refused, its index and why."""

    events: list[e.RoundEvent]
    state: RoundState
    refused_at: int | None
    refusal: Refusal | None


def redecide(recorded: list[e.RoundEvent], ruleset: Ruleset, deck: Deck, server_seed: bytes) -> Redecided:
    """Play the recorded choices again, from the opening event on."""
    dealer = Dealer(RoundState(), ruleset, deck)
    for index, event in enumerate(recorded):
        choose = CHOICES.get(type(event))
        refusal = None
        if choose is not None:
            try:
                refusal = take(dealer, choose(event))
            except NotHex as error:
                refusal = Refusal(RefusalCode.TEXT_INVALID, f"{error}.")
        elif index == 0 and isinstance(event, e.RoundOpened):
            # How the round was opened is given, if a house may open one so; all else but choices comes by itself.
            refusal = opening_refusal(event.limits, event.number, event.table, event.currency)
            if refusal is None:
                dealer.note(event)
        if refusal is not None:
            return Redecided(dealer.events, dealer.state, index, refusal)
    if dealer.state.phase in (Phase.CLOSED, Phase.VOIDED):
        dealer.note(reveal_seed(server_seed))
    return Redecided(dealer.events, dealer.state, None, None)


class NotHex(ValueError):
    """A recorded client seed or beacon that is not bytes in hex."""


def _place(event: e.BoxPlaced) -> c.Choice:
    seed = _bytes("client seed", event.client_seed)
    return c.PlaceBox(event.box, event.player, event.mode, event.ante, event.bonus, seed)


def _deal(event: e.CardsDealt) -> c.Choice:
    return c.Deal(event.jackpot, None if event.beacon is None else _bytes("beacon", event.beacon))


def _bytes(what: str, text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise NotHex(f"The {what} {text!r} is not bytes in hex") from None


CHOICES: Final[dict[type[e.RoundEvent], Callable[[Any], c.Choice]]] = {
    e.BoxPlaced: _place,
    e.CardsDealt: _deal,
    e.ExchangeBought: lambda event: c.Exchange(box=event.box, by=event.by, discard=tuple(event.discard)),
    e.SixthCardBought: lambda event: c.SixthCard(box=event.box, by=event.by),
    e.SixthCardDeclined: lambda event: c.DeclineSixthCard(box=event.box, by=event.by),
    e.InsuranceBought: lambda event: c.Insure(box=event.box, by=event.by, stake=event.stake),
    e.BetMade: lambda event: c.Bet(box=event.box, by=event.by),
    e.BoxFolded: lambda event: c.Fold(box=event.box, by=event.by),
    e.DealerGameBought: lambda event: c.BuyDealerGame(box=event.box, by=event.by),
    e.AnteTaken: lambda event: c.TakeAnte(box=event.box, by=event.by),
    e.RoundVoided: lambda event: c.Void(event.reason),
}
"""Which facts are choices and what was chosen; of amounts only stakes are read from the record."""
