"""Hands that the rule texts name and hands that are easy to get wrong.

Rules: design/rules.md, sections 1, 2 and 5, and the rule texts it calls seeds 000 and 002.

Each row is a clause, the cards in two-letter notation, and what they are.  The second is the highest combination that
may stand beside the main one, under `two_straights` and under `straight_and_pair`.

Not here: what a hand pays (`test_settlement`), all hands there are (`test_hands_exhaustive`).
"""

from typing import NamedTuple

import pytest

from domain.cards import parse_card
from domain.hands import Combination, Hand, evaluate

NO_GAME = Combination.NO_GAME
ACE_KING = Combination.ACE_KING
PAIR = Combination.PAIR
TWO_PAIR = Combination.TWO_PAIR
TRIPS = Combination.THREE_OF_A_KIND
STRAIGHT = Combination.STRAIGHT
FLUSH = Combination.FLUSH
FULL_HOUSE = Combination.FULL_HOUSE
QUADS = Combination.FOUR_OF_A_KIND
STRAIGHT_FLUSH = Combination.STRAIGHT_FLUSH
ROYAL_FLUSH = Combination.ROYAL_FLUSH


class Famous(NamedTuple):
    """A hand and what the rules say of it; `None` where no second combination stands."""

    clause: str
    cards: str
    main: Combination
    second: Combination | None
    second_if_straight_and_pair: Combination | None


FAMOUS = [
    Famous("5 trips and ace-king", "Ac Ad Ah Ks 7c", TRIPS, ACE_KING, ACE_KING),
    Famous("5 two pair of aces and kings only", "Ac Ad Kh Ks 7c", TWO_PAIR, None, None),
    Famous("5 two pair and ace-king", "Kc Kd 8h 8s Ac", TWO_PAIR, ACE_KING, ACE_KING),
    Famous("5 three pairs", "Qc Qd 8h 8s 5c 5d", TWO_PAIR, TWO_PAIR, TWO_PAIR),
    Famous("5 three pairs with aces and kings", "Ac Ad Kh Ks 5c 5d", TWO_PAIR, TWO_PAIR, TWO_PAIR),
    Famous("5 six in a row", "4c 5d 6h 7s 8c 9d", STRAIGHT, STRAIGHT, STRAIGHT),
    Famous("5 six in a row from the ace", "Ac 2d 3h 4s 5c 6d", STRAIGHT, STRAIGHT, STRAIGHT),
    Famous("5 six-card flush", "2h 5h 7h 9h Jh Ah", FLUSH, FLUSH, FLUSH),
    Famous("5 aces full of kings", "Ac Ad Ah Ks Kc", FULL_HOUSE, None, None),
    Famous("5 aces full of kings and a seventh rank", "Ac Ad Ah Ks Kc 7d", FULL_HOUSE, None, None),
    Famous("5 two full houses", "Ac Ad Ah Ks Kc Kd", FULL_HOUSE, FULL_HOUSE, FULL_HOUSE),
    Famous("5 five-high straight and ace-king", "Ac 2d 3h 4s 5c Kd", STRAIGHT, ACE_KING, ACE_KING),
    Famous("5 quads and full house", "9c 9d 9h 9s Ac Ad", QUADS, FULL_HOUSE, FULL_HOUSE),
    Famous("2 doubled nine", "Kc Qd Jh Ts 9c 9d", STRAIGHT, STRAIGHT, PAIR),
    Famous("2 doubled ace below", "Ac Ad 2h 3s 4c 5d", STRAIGHT, STRAIGHT, PAIR),
    Famous("2 doubled ace above", "Ac Ad Kh Qs Jc Td", STRAIGHT, STRAIGHT, PAIR),
    Famous("2.1 kickers form nothing", "7c 7d Ah Qs Jc", PAIR, None, None),
    Famous("2.3 trips inside quads", "9c 9d 9h 9s 4c 5d", QUADS, None, None),
    Famous("2.3 quads of aces and ace-king", "Ac Ad Ah As Kc", QUADS, ACE_KING, ACE_KING),
    Famous("2.3 quads of nines and ace-king", "9c 9d 9h 9s Ac Kd", QUADS, ACE_KING, ACE_KING),
    Famous("2.3 ace-king inside a full house", "Kc Kd Kh As Ac", FULL_HOUSE, None, None),
    Famous("2.3 full house and ace-king", "9c 9d 9h Ks Kc Ad", FULL_HOUSE, ACE_KING, ACE_KING),
    Famous("2.3 ace-king inside a straight", "Ac Kd Qh Js Tc", STRAIGHT, None, None),
    Famous("2.3 ace-king inside a flush", "Ah Kh 9h 5h 2h", FLUSH, None, None),
    Famous("2.3 flush and ace-king", "Ah 9h 7h 5h 2h Kc", FLUSH, ACE_KING, ACE_KING),
    Famous("2.3 flush and pair", "Ah Kh 7h 5h 2h Ac", FLUSH, PAIR, PAIR),
    Famous("2.3 flush and straight", "Kh 9h 8h 7h 6h 5c", FLUSH, STRAIGHT, STRAIGHT),
    Famous("2.3 straight flush and flush", "9h 8h 7h 6h 5h 2h", STRAIGHT_FLUSH, FLUSH, FLUSH),
    Famous("2.3 straight flush and next straight", "9h 8h 7h 6h 5h 4c", STRAIGHT_FLUSH, STRAIGHT, STRAIGHT),
    Famous("2.3 straight flush with a doubled rank", "9h 8h 7h 6h 5h 5c", STRAIGHT_FLUSH, STRAIGHT, PAIR),
    Famous("2.3 steel wheel and ace-king", "Ah 2h 3h 4h 5h Kc", STRAIGHT_FLUSH, ACE_KING, ACE_KING),
    Famous("2.3 steel wheel inside a longer run", "Ah 2h 3h 4h 5h 6h", STRAIGHT_FLUSH, STRAIGHT_FLUSH, STRAIGHT_FLUSH),
    Famous("2.3 royal flush and straight", "Ah Kh Qh Jh Th 9c", ROYAL_FLUSH, STRAIGHT, STRAIGHT),
    Famous("2.3 royal flush and flush", "Ah Kh Qh Jh Th 2h", ROYAL_FLUSH, FLUSH, FLUSH),
    Famous("2.3 royal flush with a doubled ace", "Ah Kh Qh Jh Th Ac", ROYAL_FLUSH, STRAIGHT, PAIR),
    Famous("seed 000 ace-king and a pair of sevens", "Ac Kd 7h 7s 2c", PAIR, ACE_KING, ACE_KING),
    Famous("seed 000 royal and straight flush", "As Ks Qs Js Ts 9s", ROYAL_FLUSH, STRAIGHT_FLUSH, STRAIGHT_FLUSH),
    Famous("seed 002 no wrap-around straight", "3c 2d Ah Ks Qc", ACE_KING, None, None),
    Famous("seed 002 no game", "Jc Td 7h 5s 2c", NO_GAME, None, None),
]


@pytest.mark.parametrize("famous", FAMOUS, ids=lambda famous: famous.clause)
def test_a_famous_hand_is_what_the_rules_call_it(famous: Famous) -> None:
    hand = judged(famous.cards)

    assert hand.main == famous.main
    assert highest(hand.seconds) == famous.second
    assert highest(hand.seconds_single_straight) == famous.second_if_straight_and_pair


STRONGER = [
    ("seed 002 the jack above the ten", "Ac Kd Jh 3s 2c", "Ad Kc Th 9s 8c"),
    ("seed 002 the paired rank first", "5c 5d 4h 3s 2c", "4c 4d Ah Ks Qc"),
    ("seed 002 then the highest kicker", "5c 5d Qh 3s 2c", "5h 5s Jh Ts 9c"),
    ("seed 002 the higher of two pairs first", "Ac Ad 2h 2s 3c", "Kc Kd Qh Qs Ac"),
    ("seed 002 the trips of a full house first", "3c 3d 3h 2s 2c", "2c 2d 2h As Ac"),
    ("seed 002 ace-high is the highest straight", "Ac Kd Qh Js Tc", "Kc Qd Jh Ts 9c"),
    ("seed 002 five-high is the lowest straight", "6c 5d 4h 3s 2c", "5c 4d 3h 2s Ac"),
    ("1 ace-king above no game", "Ac Kd 4h 3s 2c", "Ac Qd Jh Ts 9c"),
    ("1 a pair above ace-king", "2c 2d 3h 4s 5c", "Ac Kd Qh Js 9c"),
    ("2.2 five cards of six: the third pair is only a kicker", "Ac Ad Kh Ks 5c 5d", "Ac Ad Kh Ks 4c 3d"),
    ("2.2 a sixth card below five others changes nothing: the jack decides", "Ac Kd Jh 8s 7c 2d", "Ac Kd Th 9s 8c 7d"),
]


@pytest.mark.parametrize(("clause", "winner", "loser"), STRONGER, ids=lambda value: value)
def test_kickers_decide_within_a_combination(clause: str, winner: str, loser: str) -> None:
    assert judged(winner).strength > judged(loser).strength, clause


TIES = [
    ("seed 002 royal flushes of two suits", "Ah Kh Qh Jh Th", "Ac Kc Qc Jc Tc"),
    ("2.2 only five cards compare", "Kc Kd 9h 8s 7c 2d", "Kh Ks 9c 8d 7h 3s"),
    ("2.2 six cards on the scale of five", "Kc Kd 9h 8s 7c 2d", "Kh Ks 9c 8d 7h"),
    ("2.2 the second combination never compares", "Kc Qd Jh Ts 9c 9d", "Kd Qc Js Th 9h"),
    ("2.2 nor does the lower of two trips", "Ac Ad Ah Ks Kc Kd", "Ac Ad As Kh Kd"),
]


@pytest.mark.parametrize(("clause", "one", "other"), TIES, ids=lambda value: value)
def test_equal_five_card_hands_tie(clause: str, one: str, other: str) -> None:
    assert judged(one).strength == judged(other).strength, clause


def judged(cards: str) -> Hand:
    return evaluate([parse_card(card) for card in cards.split()])


def highest(mask: int) -> Combination | None:
    return Combination(mask.bit_length() - 1) if mask else None
