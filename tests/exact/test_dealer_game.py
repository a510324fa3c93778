"""How often a bought dealer's game gives the dealer one: rules.md, section 6.  Page: exact-numbers.md.

The player's cards are left out: 1,135,260 dealer hands without a game, 47 cards that may replace the highest, 46 for
the free repeat.  Which card goes, whether it goes once more and what the dealer then has is told by the engine itself.

Hands that differ only in the names of suits stand once; all 55,650 take half a minute and more, so they run with
`-m slow`.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

import pytest

from domain.cards import CARD_TEXTS, parse_cards
from domain.deal.shuffle import FixedDeck
from domain.hands import COMBINATION_BY_NAME, Combination, evaluate
from domain.round.dealer import Dealer
from domain.round.events import DealerCardReplaced
from domain.round.state import RoundState
from domain.rulesets import released_rulesets
from tests.reference.hands import SUIT_LENGTHS, FoldedHand, suit_folded

ONCE = released_rulesets()["russian-poker@1"]
WITH_REPEAT = released_rulesets()["open-russian-poker@1"]


def replaced(cards: tuple[int, ...], *drawn: int, repeat: bool) -> list[DealerCardReplaced]:
    """What the engine does to this dealer hand when these cards come next."""
    state = RoundState()
    state.dealer = list(cards)
    # Private, but it is the very move of a round; a whole round would need a player's cards.
    Dealer(state, WITH_REPEAT if repeat else ONCE, FixedDeck(drawn))._replace_dealer_card()
    return list(state.replaced)


def has_game(event: DealerCardReplaced) -> bool:
    return COMBINATION_BY_NAME[event.combination] >= ONCE.qualifier


def undealt(*cards: int) -> list[int]:
    return [card for card in range(52) if card not in cards]


def hands_without_a_game() -> Iterator[FoldedHand]:
    for lengths in SUIT_LENGTHS[5]:
        for hand in suit_folded(lengths):
            if evaluate(hand.cards).main is Combination.NO_GAME:
                yield hand


def game_by_card(cards: tuple[int, ...]) -> dict[int, bool]:
    """For each of the 47 cards whether it gives the dealer a game."""
    return {card: has_game(replaced(cards, card, repeat=False)[0]) for card in undealt(*cards)}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_bought_game_comes_as_often_as_published() -> None:
    weight = once = with_repeat = 0
    for hand in hands_without_a_game():
        game = game_by_card(hand.cards)
        helpful = sum(game.values())
        highest = max(card >> 2 for card in hand.cards)
        repeats = sum(card >> 2 == highest and not game[card] for card in game)
        weight += hand.weight
        once += hand.weight * helpful
        # In a repeat the same four cards stay, so the same cards help (next test).
        with_repeat += hand.weight * (46 * helpful + repeats * helpful)

    assert weight == 1_135_260
    assert Fraction(once, weight * 47) == Fraction(14_455_224, 53_357_220)
    assert once == 14_455_224
    assert Fraction(with_repeat, weight * 47 * 46) == Fraction(708_019_200, 2_454_432_120)
    assert with_repeat == 708_019_200


def test_the_free_repeat_comes_with_the_same_rank_and_no_game_and_the_same_cards_help() -> None:
    """The engine's own repeat, for hands of all kinds: every first card, every second one."""
    for hand in islice(hands_without_a_game(), 0, None, 499):
        game = game_by_card(hand.cards)
        highest = max(hand.cards)
        for first in game:
            for second in undealt(*hand.cards, first):
                events = replaced(hand.cards, first, second, repeat=True)
                assert events[0].old == CARD_TEXTS[highest]
                assert has_game(events[0]) == game[first]
                assert (len(events) == 2) == (first >> 2 == highest >> 2 and not game[first])
                if len(events) == 1:
                    break  # the second card is not drawn
                assert has_game(events[1]) == game[second]


@pytest.mark.parametrize(
    ("dealer", "drawn", "told"),
    [
        ("Qc Jd 9h 8s 2c", "9d", [("Qc", "9d", "pair")]),
        ("Qc Jd 9h 8s 2c", "Ts", [("Qc", "Ts", "no-game")]),
        ("Qc Jd 9h 8s 7c", "Ts", [("Qc", "Ts", "straight")]),
        ("Kc Jd 9d 8d 2d", "Ad", [("Kc", "Ad", "flush")]),
        ("Ac Qd 9h 8s 2c", "Kd", [("Ac", "Kd", "no-game")]),  # never ace-king: the ace has gone
        ("Qc Jd 9h 8s 2c", "Qd Jh", [("Qc", "Qd", "no-game"), ("Qd", "Jh", "pair")]),
        ("Qc Jd 9h 8s 2c", "Qd Qh", [("Qc", "Qd", "no-game"), ("Qd", "Qh", "no-game")]),  # once only
    ],
)
def test_replaced_cards_are_told(dealer: str, drawn: str, told: list[tuple[str, str, str]]) -> None:
    events = replaced(tuple(parse_cards(dealer.split())), *parse_cards(drawn.split()), repeat=True)

    assert [(event.old, event.new, event.combination) for event in events] == told
