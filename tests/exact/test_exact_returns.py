"""Exact returns of games without draws (rules, section 6) over 19,933,230,517,200 deals.  Page: docs/exact-numbers.md.

The full count takes half a minute to a minute of one core, so it runs with `-m slow`; every run holds the way of
counting against plain enumeration, dealer hand by dealer hand.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from operator import mul

import pytest

from domain.cards import parse_card, parse_cards
from domain.hands import Combination, Hand, evaluate
from domain.ruleset import Ruleset
from domain.settlement import settle
from tests.exact.games import unreleased_rulesets
from tests.exact.returns import ANTE, Player, best, bet_from, nets_of, returns, to_places
from tests.exact.showdowns import DEALER_HANDS, DEALS, HANDS, Against, against_in, ranked, suited

STUD = unreleased_rulesets()["caribbean-stud@1"]
DARK_BOX = unreleased_rulesets()["dark-box@1"]
ONE_COMBINATION = unreleased_rulesets()["dark-box-one-combination@1"]
OPEN_BOX = unreleased_rulesets()["open-box@1"]

PLAYERS = {
    "stud, best play": Player(STUD, best),
    "stud, BET from a pair": Player(STUD, bet_from(Combination.PAIR)),
    "stud, BET from ace-king": Player(STUD, bet_from(Combination.ACE_KING)),
    "stud, BET always": Player(STUD, bet_from(Combination.NO_GAME)),
    "dark box": Player(DARK_BOX, bet_from(Combination.NO_GAME)),
    "dark box, one combination": Player(ONE_COMBINATION, bet_from(Combination.NO_GAME)),
    "open box, best play": Player(OPEN_BOX, best),
}

PUBLISHED = {  # section 6: percent with seven decimals, antes with nine
    "stud, best play": "-5.2243058 %",
    "stud, BET from a pair": "-5.4696207 %",
    "stud, BET from ace-king": "-5.6819701 %",
    "stud, BET always": "-16.6072445 %",
    "dark box": "-0.300207808",
    "dark box, one combination": "-0.324796807",
    "open box, best play": "-0.185496968",
}

EXACT = {  # antes over all deals; the first is published, the others are what the same count gives
    "stud, best play": -1_041_372_912_372,
    "stud, BET from a pair": -1_090_272_101_460,
    "stud, BET from ace-king": -1_132_600_203_540,
    "stud, BET always": -3_310_360_338_060,
    "dark box": -5_984_111_439_500,
    "dark box, one combination": -6_474_249_622_620,
    "open box, best play": -3_697_553_816_432,
}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_games_without_draws_return_what_is_published() -> None:
    everything = {"every deal once": Player(STUD, lambda deals, nets: sum(deals.altogether))}

    found = returns(PLAYERS | everything)

    assert found.pop("every deal once") == 1
    assert found == {name: Fraction(total, DEALS) for name, total in EXACT.items()}
    assert {name: printed(value, PUBLISHED[name]) for name, value in found.items()} == PUBLISHED


def printed(value: Fraction, like: str) -> str:
    return f"{to_places(100 * value, 7)} %" if like.endswith("%") else to_places(value, 9)


def test_the_published_denominator_is_the_number_of_deals() -> None:
    assert HANDS == 2_598_960
    assert DEALS == 19_933_230_517_200


# The way of counting.


def test_player_hands_are_told_apart_by_ranks_and_flush_alone() -> None:
    assert len(ranked()) == 6_175
    assert len(suited()) == 1_287
    assert len({hand.strength for hand in (*ranked().values(), *suited().values())}) == 7_462


@pytest.mark.parametrize(
    ("cards", "upcard"),
    [
        ("2c 3c 4d 5h 7s", "As"),  # nothing at all
        ("Ac Kd 9h 8s 2c", "9c"),  # ace-king, the open card pairs one of its cards
        ("Ac As Kd 9h 8s", "Kc"),  # pair and ace-king
        ("Kc Kd 8h 8s Ac", "8c"),  # two pair and ace-king
        ("9c Tc Jc Qd Kc", "Ac"),  # a straight with four cards of the open card's suit
        ("2h 5h 9h Jh Kh", "Ah"),  # a flush, the open card of its suit
        ("2h 5h 9h Jh Kh", "As"),  # the same, the open card of another
        ("9c 9d 9h 9s Ac", "Kd"),  # four of a kind
        ("Ts Js Qs Ks As", "9s"),  # the highest there is
    ],
)
def test_counted_dealer_hands_are_the_enumerated_ones(cards: str, upcard: str) -> None:
    """Each of the 163,185 dealer hands settled by itself brings what the four counts bring."""
    own, up = parse_cards(cards.split()), parse_card(upcard)
    hand = evaluate(own)

    kinds, net = enumerated(OPEN_BOX, hand, own, up)
    counted = against_in(own, up, OPEN_BOX.qualifier)

    assert counted == kinds
    assert sum(counted) == DEALER_HANDS
    assert sum(map(mul, nets_of(OPEN_BOX, hand), counted)) == net


def enumerated(ruleset: Ruleset, hand: Hand, own: list[int], upcard: int) -> tuple[Against, int]:
    """Every dealer hand with the open card, one by one: the four kinds and the sum of the nets."""
    bet, net = ruleset.bet_antes * ANTE, 0
    kinds: Counter[str] = Counter()
    undealt = [card for card in range(52) if card not in own and card != upcard]
    for four in combinations(undealt, 4):
        dealer = evaluate((upcard, *four))
        kinds[kind(ruleset, hand, dealer)] += 1
        settled = settle(ruleset, ANTE, bet, hand, dealer, None, 0)
        net += settled.ante + settled.bet - ANTE - bet
    return Against(**{name: kinds[name] for name in Against._fields}), net


def kind(ruleset: Ruleset, hand: Hand, dealer: Hand) -> str:
    if dealer.main < ruleset.qualifier:
        return "no_game"
    if dealer.strength < hand.strength:
        return "lower"
    return "equal" if dealer.strength == hand.strength else "higher"


@pytest.mark.parametrize(
    ("ruleset", "cards", "nets"),
    [  # against no game, a lower hand, an equal one, a higher one; antes
        (STUD, "2c 3c 4d 5h 7s", (1, 0, 0, -3)),
        (STUD, "2h 5h 9h Jh Kh", (1, 1 + 2 * 5, 0, -3)),
        (STUD, "Ac As Kd 9h 8s", (1, 1 + 2 * 1, 0, -3)),
        (STUD, "Ts Js Qs Ks As", (1, 1 + 2 * 100, 0, 0)),
        (DARK_BOX, "2h 5h 9h Jh Kh", (1, 2 * 5, 0, -3)),
        (DARK_BOX, "Ac As Kd 9h 8s", (1, 2 * (1 + 1), 0, -3)),
        (ONE_COMBINATION, "Ac As Kd 9h 8s", (1, 2 * 1, 0, -3)),
    ],
)
def test_a_hand_nets_by_the_rules(ruleset: Ruleset, cards: str, nets: tuple[int, ...]) -> None:
    assert nets_of(ruleset, evaluate(parse_cards(cards.split()))) == nets
