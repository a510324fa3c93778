"""Why a box ends with what it ends with: one line a movement of money, each with its clause; they add up to the net.

Rules: docs/rules, clauses 3 and 5 to 9.  A line's amount is what moved at that step, negative towards the house; a line
of 0 says why nothing came back.

Not here: the arithmetic itself (`settlement`); this module puts words to what was settled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from domain.hands import COMBINATION_WORDS, Combination, evaluate
from domain.round.events import InsuranceOutcome, Outcome
from domain.round.state import BoxState, RoundState
from domain.ruleset import Ruleset
from domain.settlement import bet_odds


class Line(NamedTuple):
    """One movement: the clause's id on the game's page, the words, the amount in minor units."""

    clause: str
    text: str
    amount: int


def derivation(ruleset: Ruleset, state: RoundState, box: BoxState) -> list[Line]:
    """The lines of a settled box; their sum is its net."""
    steps = [*_stakes(box), *_bonus(ruleset, state, box), *_insurance(box), *_showdown(ruleset, box)]
    return [Line(ruleset.clause(number), text, amount) for number, text, amount in steps]


Step = tuple[str, str, int]


def _stakes(box: BoxState) -> Iterator[Step]:
    yield "3.4", "ante staked", -box.ante
    if box.bonus:
        yield "3.5", "bonus staked", -box.bonus
    if box.dark:
        yield "3.6", "BET of the dark box, placed before the deal", -box.bet
    if box.draw_fee and box.sixth:
        yield "6.5", "sixth card bought", -box.draw_fee
    elif box.draw_fee:
        yield "6.4", f"{len(box.discard)} card(s) exchanged", -box.draw_fee
    if box.insurance:
        yield "7.2", "insurance staked", -box.insurance
    if box.bet and not box.dark:
        yield "6.3", "BET made", -box.bet
    if box.bought:
        yield "8.2", "the dealer's game bought", -box.bought


def _bonus(ruleset: Ruleset, state: RoundState, box: BoxState) -> Iterator[Step]:
    if not box.bonus_settled:
        return  # there is none, or the round was voided before it was judged
    main = evaluate(box.first_five).main
    name, odds = COMBINATION_WORDS[main], ruleset.bonus_odds[main]
    if box.bonus_returned and main in ruleset.jackpot_shares:
        yield "5.3", f"jackpot: share of {name} in a pot of {state.jackpot}", box.jackpot
        yield "5.3", f"bonus stake returned with the jackpot, {name}", box.bonus_returned
    elif box.bonus_returned:
        yield "5.2", f"bonus wins: {name} pays {odds} to 1 on {box.bonus}, stake returned", box.bonus_returned
    elif odds is not None or main in ruleset.jackpot_shares:
        yield "5.4", f"bonus lost: {name} was not announced before the fold", 0
    else:
        yield "5.2", f"bonus lost: {name} in the first five cards", 0


def _insurance(box: BoxState) -> Iterator[Step]:
    match box.insurance_outcome:
        case InsuranceOutcome.WON:
            yield "7.4", "insurance wins 1 to 1: the dealer has no game", box.insurance_returned
        case InsuranceOutcome.RETURNED:
            yield "7.5", "insurance returned: the dealer's hand is higher or equal", box.insurance_returned
        case InsuranceOutcome.LOST:
            yield "7.5", "insurance lost: the dealer has a game", 0


def _showdown(ruleset: Ruleset, box: BoxState) -> Iterator[Step]:
    settled = box.settled
    if settled is None:
        return
    match settled.outcome:
        case Outcome.FOLDED:
            yield "6.2", "folded: the ante and any fee are lost", 0
        case Outcome.NO_GAME if box.bought:
            yield "8.3", "still no game after the purchase: ante returned", settled.ante
            yield "8.3", "still no game after the purchase: BET returned", settled.bet
        case Outcome.NO_GAME:
            yield "9.1", "the dealer has no game: the ante pays 1 to 1", settled.ante
            yield "9.1", "the dealer has no game: BET returned", settled.bet
        case Outcome.TIED:
            yield "9.4", "tie: ante returned", settled.ante
            yield "9.4", "tie: BET returned", settled.bet
        case Outcome.LOST:
            yield "9.5", "the dealer's hand is higher: ante and BET are lost", 0
        case Outcome.WON:
            yield from _won(ruleset, box, settled.ante, settled.bet)


def _won(ruleset: Ruleset, box: BoxState, ante: int, bet: int) -> Iterator[Step]:
    hand = box.final_hand()
    second = ruleset.second(hand)
    full = box.bet + box.bet * bet_odds(ruleset, hand)
    yield ("9.2" if second is None else "2.4"), f"BET wins: {_odds_words(ruleset, hand.main, second)}", full
    if bet != full:
        yield "9.7", "cut to the table's maximum payout", bet - full
    yield "9.3", "ante pays 1 to 1" if ruleset.ante_paid_on_win else "ante returned", ante


def _odds_words(ruleset: Ruleset, main: Combination, second: Combination | None) -> str:
    words = f"{COMBINATION_WORDS[main]} {ruleset.bet_odds[main]} to 1"
    if second is not None:
        words += f" and {COMBINATION_WORDS[second]} {ruleset.bet_odds[second]} to 1"
    return words + ", stake returned"
