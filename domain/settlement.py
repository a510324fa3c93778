"""Settle one box against the dealer, its bonus and its insurance.  Rules: docs/rules, clauses 5, 7 and 9.

Every branch cites the clause it implements, so that an auditor can read this module beside the rules and tick the
clauses off.  All amounts are whole minor units; `returned` amounts have the stake in them.

Not here: which cards were dealt (`deal`), when what is settled (`round.decisions`), the words of the derivation
(`derivation`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from domain.hands import Combination, Hand
from domain.money import floor_share
from domain.round.events import InsuranceOutcome, Outcome
from domain.ruleset import Ruleset


class Settlement(NamedTuple):
    """What comes back of ante and BET, and what the table's maximum cut off."""

    outcome: Outcome
    ante: int
    bet: int
    cut: int


def settle(
    ruleset: Ruleset, ante: int, bet: int, hand: Hand, dealer: Hand, payout_max: int | None, insurance_win: int
) -> Settlement:
    """Settle a box that stayed in.  `insurance_win` is what its insurance has won above its stake (rule 9.7)."""
    if dealer.main < ruleset.qualifier:
        # Rule 9.1: the dealer has no game; the ante pays 1 to 1 and the BET comes back, whatever the player holds.
        return Settlement(Outcome.NO_GAME, 2 * ante, bet, 0)
    if hand.strength < dealer.strength:
        # Rule 9.5
        return Settlement(Outcome.LOST, 0, 0, 0)
    if hand.strength == dealer.strength:
        # Rule 9.4
        return Settlement(Outcome.TIED, ante, bet, 0)
    # Rule 9.2; rule 2.4: a second combination pays on top, since the main one beats the dealer.
    full = bet * bet_odds(ruleset, hand)
    win = capped(ruleset, full, payout_max, insurance_win)
    # Rule 9.3
    return Settlement(Outcome.WON, 2 * ante if ruleset.ante_paid_on_win else ante, bet + win, full - win)


def no_game_after_purchase(ante: int, bet: int) -> Settlement:
    """Rule 8.3: the dealer's game was bought and there still is none: ante and BET come back, nothing is paid."""
    return Settlement(Outcome.NO_GAME, ante, bet, 0)


def bet_odds(ruleset: Ruleset, hand: Hand) -> int:
    """Rule 2.4: odds of the main combination and of the second one together."""
    second = ruleset.second(hand)
    return ruleset.bet_odds[hand.main] + (0 if second is None else ruleset.bet_odds[second])


def capped(ruleset: Ruleset, win: int, payout_max: int | None, insurance_win: int) -> int:
    """Rule 9.7: a BET win within the table's maximum, of which the insurance win is used up already."""
    if payout_max is None or not ruleset.caps_bet:
        return win
    left = payout_max - insurance_win if ruleset.caps_insurance else payout_max
    return min(win, max(left, 0))


def bonus_returned(ruleset: Ruleset, stake: int, first_five: Combination) -> int:
    """Rule 5.2: stake and winnings of a bonus; a jackpot row returns the stake, its share is paid apart (rule 5.3)."""
    odds = ruleset.bonus_odds[first_five]
    if odds is not None:
        return stake + stake * odds
    return stake if first_five in ruleset.jackpot_shares else 0


def jackpot_amounts(ruleset: Ruleset, pot: int, first_fives: Iterable[tuple[int, Combination]]) -> dict[int, int]:
    """Rule 5.3: what each box with a bonus takes of the pot at the deal, in box order, never more than is left."""
    left, amounts = pot, {}
    for box, combination in first_fives:
        share = ruleset.jackpot_shares.get(combination)
        if share is not None:
            amounts[box] = min(floor_share(pot, share), left)
            left -= amounts[box]
    return amounts


def insurance_limits(ruleset: Ruleset, ante: int, bet: int, hand: Hand, payout_max: int | None) -> tuple[int, int]:
    """Rule 7.2: the smallest and the largest stake; where the largest is below the smallest none can be placed."""
    largest = floor_share(bet * bet_odds(ruleset, hand), ruleset.insurance_share)
    if ruleset.insurance_within_payout_max and payout_max is not None:
        return ante, min(largest, payout_max)
    return ante, largest


def settle_insurance(ruleset: Ruleset, stake: int, hand: Hand, dealer: Hand) -> tuple[InsuranceOutcome, int]:
    """Settle an insurance at the first reveal; returns the outcome and what comes back."""
    if dealer.main < ruleset.qualifier:
        # Rule 7.4: the dealer has no game; it pays 1 to 1.
        return InsuranceOutcome.WON, 2 * stake
    if not ruleset.insurance_always_lost and dealer.strength >= hand.strength:
        # Rule 7.5: not taken where the dealer's hand is higher or equal.
        return InsuranceOutcome.RETURNED, stake
    # Rule 7.5: the dealer has a game.
    return InsuranceOutcome.LOST, 0
