"""What may be done in a round next: whose turn it is, what the box in turn may do and at which price.

Follows from the round's public facts and its ruleset alone, so it is the same whenever it is asked.  Whether a player
can pay is not asked here.  Source: docs/rules, clauses 6 to 8; each offer is one that `domain.round.guards` lets pass.

Not here: who may see an offer (`views`).
"""

from __future__ import annotations

from typing import Any

from domain.money import half_antes
from domain.round.dealer import whose_turn
from domain.round.phases import Phase
from domain.round.state import BoxState, RoundState
from domain.ruleset import Ruleset
from domain.settlement import insurance_limits


def next_step(state: RoundState, ruleset: Ruleset) -> dict[str, Any] | None:
    """The box in turn with its offers; before the deal no box is; None after the end."""
    if state.phase is Phase.BETTING:
        return _step(None, ["place_boxes", "deal"] if state.boxes else ["place_boxes"])
    box = whose_turn(state, ruleset)
    if box is None:
        return None
    if state.phase is Phase.REVEALED:
        # Rule 8.1
        price = half_antes(box.ante, ruleset.dealer_game_half_antes or 0)
        return _step(box.box, ["buy_dealer_game", "take_ante"], {"buy_dealer_game": price})
    return _of_dark_box(box, ruleset) if box.dark else _of_open_box(state, box, ruleset)


def _step(
    box: int | None, actions: list[str], prices: dict[str, Any] | None = None, insurance: dict[str, int] | None = None
) -> dict[str, Any]:
    return {"box": box, "actions": actions, "prices": prices or {}, "insurance": insurance}


def _of_dark_box(box: BoxState, ruleset: Ruleset) -> dict[str, Any]:
    # Rule 6.8
    price = half_antes(box.ante, ruleset.sixth_card_half_antes or 0)
    return _step(box.box, ["sixth_card", "decline_sixth_card"], {"sixth_card": price})


def _of_open_box(state: RoundState, box: BoxState, ruleset: Ruleset) -> dict[str, Any]:
    actions, prices = ["bet"], dict[str, Any]()
    prices["bet"] = ruleset.bet_antes * box.ante
    if box.insurance:
        # Rule 7.3: an insured box must bet.
        return _step(box.box, actions, prices)
    actions.append("fold")
    if not box.drew:
        # Clauses 6.4 to 6.6
        if ruleset.exchange_half_antes:
            actions.append("exchange")
            prices["exchange"] = [half_antes(box.ante, halves) for halves in ruleset.exchange_half_antes]
        if ruleset.sixth_card_half_antes is not None:
            actions.append("sixth_card")
            prices["sixth_card"] = half_antes(box.ante, ruleset.sixth_card_half_antes)
    insurance = _insurance(state, box, ruleset)
    if insurance is not None:
        actions.append("insure")
    return _step(box.box, actions, prices, insurance)


def _insurance(state: RoundState, box: BoxState, ruleset: Ruleset) -> dict[str, int] | None:
    """Clauses 7.1 and 7.2: the stakes between which the hand can be insured."""
    if ruleset.insurance_from is None:
        return None
    hand = box.final_hand()
    second = ruleset.second(hand)
    if hand.main < ruleset.insurance_from and (second is None or second < ruleset.insurance_from):
        return None
    payout_max = None if state.opened is None else state.opened.limits.payout_max
    least, most = insurance_limits(ruleset, box.ante, ruleset.bet_antes * box.ante, hand, payout_max)
    return None if most < least else {"min": least, "max": most}
