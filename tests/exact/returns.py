"""What a game without draws returns over all deals, every amount from the engine's own `settle`.

A hand is settled once against each kind of dealer that it can meet; `showdowns` says how often it meets it.

Not here: the published values (`test_exact_returns`).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from functools import cache
from operator import mul
from typing import NamedTuple

from domain.hands import Combination, Hand
from domain.ruleset import Ruleset
from domain.settlement import settle
from tests.exact.showdowns import DEALER_HANDS, DEALS, Against, Deals, every_hand, ranked, suited

ANTE = 1
FOLD = -ANTE * DEALER_HANDS  # rule 6.2: against every dealer hand alike

Nets = Against  # a net for each kind of dealer instead of a count; 0 where there is no such dealer


Total = Callable[[Deals, Nets], int]
"""What all deals of one hand bring to somebody who plays it in his way."""


class Player(NamedTuple):
    """A game and how it is played."""

    ruleset: Ruleset
    total: Total


def best(deals: Deals, nets: Nets) -> int:
    """BET wherever it brings more than a fold, open card by open card."""
    return sum(weight * max(sum(map(mul, nets, against)), FOLD) for weight, against in deals.situations)


def bet_from(lowest: Combination) -> Total:
    """BET with this combination or a higher one, whatever the open card."""

    def total(deals: Deals, nets: Nets) -> int:
        if deals.hand.main < lowest:
            return FOLD * sum(weight for weight, _ in deals.situations)
        return sum(map(mul, nets, deals.altogether))

    return total


def returns(players: Mapping[str, Player]) -> dict[str, Fraction]:
    """Each player's mean net in antes, all against dealers with the same qualifier."""
    (qualifier,) = {player.ruleset.qualifier for player in players.values()}
    totals = dict.fromkeys(players, 0)
    for deals in every_hand(qualifier):
        for name, player in players.items():
            totals[name] += player.total(deals, nets_of(player.ruleset, deals.hand))
    return {name: Fraction(total, DEALS * ANTE) for name, total in totals.items()}


def nets_of(ruleset: Ruleset, hand: Hand) -> Nets:
    """What the box nets against each kind of dealer, ante and BET counted."""
    bet = ruleset.bet_antes * ANTE
    nets = []
    for dealer in opponents(hand, ruleset.qualifier):
        settled = None if dealer is None else settle(ruleset, ANTE, bet, hand, dealer, None, 0)
        nets.append(0 if settled is None else settled.ante + settled.bet - ANTE - bet)
    return Nets(*nets)


def opponents(hand: Hand, qualifier: Combination) -> list[Hand | None]:
    """A dealer without a game, the closest lower one with a game, an equal one, the closest higher one."""
    dealers = dealers_by_strength()
    below = bisect_left(dealers, hand.strength, key=strength) - 1
    above = bisect_right(dealers, hand.strength, key=strength)
    game = bisect_left(dealers, qualifier, key=main)
    return [
        dealers[0] if game else None,
        dealers[below] if below >= game else None,
        hand if hand.main >= qualifier else None,
        dealers[max(above, game)] if above < len(dealers) else None,
    ]


@cache
def dealers_by_strength() -> list[Hand]:
    """One hand of every strength, weakest first."""
    by_strength = {hand.strength: hand for hand in (*ranked().values(), *suited().values())}
    return [by_strength[strength] for strength in sorted(by_strength)]


def strength(hand: Hand) -> int:
    return hand.strength


def main(hand: Hand) -> Combination:
    return hand.main


def to_places(value: Fraction, places: int) -> str:
    """A value rounded to so many decimals, the way it is printed in a table."""
    with localcontext() as context:
        context.prec = 50
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        return str(exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN))
