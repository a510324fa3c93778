"""Rules 1.1 to 1.5: the deck, the eleven combinations, the ace, ties, and when the dealer qualifies.

Hands meet through the engine: what counts is who is settled as the winner.

Not here: every hand there is (`tests/domain/test_hands_exhaustive.py`), second combinations (section 2).
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from domain.round import events as e
from domain.round.decisions import advance
from tests.rules.table import ALL, NO_GAME, Box, Laid, cards, game, spoken

# Rule 1.1: the page of each game says how many cards a round needs at most; these rounds need them all.
LONGEST = {
    # 5 + 5, five exchanged, the dealer's card replaced
    "RP": ([Box(1)], "1 exchange 0 1 2 3 4; 1 bet; 1 buy", "", 16),
    # 4 boxes and the dealer, five exchanged four times, the replacement and its free repeat
    "ORP": (
        [Box(1), Box(2), Box(3), Box(4)],
        "; ".join([f"{n} exchange 0 1 2 3 4" for n in (1, 2, 3, 4)] + [f"{n} bet" for n in (1, 2, 3, 4)] + ["1 buy"])
        + "; 2 buy; 3 ante; 4 ante",
        " ".join(f"{rank}{suit}" for rank in "34567" for suit in "cdhs") + " Qd Qs",
        47,
    ),
    # 3 boxes and the dealer, two exchanged three times
    "FCP": (
        [Box(1, player="p1"), Box(2, player="p2"), Box(3, player="p3")],
        "1 exchange 0 1; 1 bet; 2 exchange 3 4; 2 bet; 3 exchange 0 4; 3 bet",
        "",
        26,
    ),
    # four players' open boxes and the dealer, five exchanged four times
    "MRP": (
        [Box(n, player=f"p{n}") for n in (1, 2, 3, 4)],
        "; ".join([f"{n} exchange 0 1 2 3 4" for n in (1, 2, 3, 4)] + [f"{n} bet" for n in (1, 2, 3, 4)]),
        "",
        45,
    ),
}


@pytest.mark.parametrize("page", ALL)
def test_the_longest_round_needs_as_many_cards_as_rule_1_1_says(page: str) -> None:
    """Rule 1.1: no card is dealt twice, no discarded card returns, and the deck does not run out."""
    boxes, words, draws, needed = LONGEST[page]
    laid = Laid(game(page), *boxes, dealer=NO_GAME, draws=draws).say(words)

    assert laid.state.next_card == needed
    shown = [card for event in laid.all(e.HandShown) for card in event.cards]
    shown += [card for drawn in laid.all(e.CardsDrawn) for card in drawn.cards]
    shown += laid.all(e.DealerRevealed)[0].cards + [replaced.new for replaced in laid.all(e.DealerCardReplaced)]
    assert len(shown) == len(set(shown)) == needed


def test_a_discarded_card_leaves_the_round() -> None:
    """Rule 1.1: discards are gone even when the whole hand is exchanged."""
    laid = Laid(game("RP"), Box(1, "Ac Ad Ah As Kc"), draws="2h 3h 4h 5h 7h").say("1 exchange 4 3 2 1 0")

    assert laid.all(e.CardsDrawn)[0].cards == ["2h", "3h", "4h", "5h", "7h"]
    assert laid.box(1).cards == cards("7h 5h 4h 3h 2h")


# Rule 1.2, strongest first; no two rows share a card with the row before or after.
STRONGEST_FIRST = [
    ("royal-flush", "As Ks Qs Js Ts"),
    ("straight-flush", "9h 8h 7h 6h 5h"),
    ("four-of-a-kind", "3c 3d 3h 3s 9c"),
    ("full-house", "Ac Ad Ah Kc Kd"),
    ("flush", "2s 4s 6s 8s 9s"),
    ("straight", "Th 9d 8c 7d 6c"),
    ("three-of-a-kind", "2c 2d 2h 9s Kc"),
    ("two-pair", "Qc Qd Jh Jc 4d"),
    ("pair", "Tc Td 9h 6s 4c"),
    ("ace-king", "Ad Kh Qh Jd 9c"),
]


@pytest.mark.parametrize("page", ALL)
@pytest.mark.parametrize(("stronger", "weaker"), list(pairwise(STRONGEST_FIRST)), ids=lambda row: str(row[0]))
def test_each_combination_beats_the_next_one_and_loses_to_the_one_before(
    page: str, stronger: tuple[str, str], weaker: tuple[str, str]
) -> None:
    """Rule 1.2: the order of the combinations, box against dealer both ways round."""
    won = Laid(game(page), Box(1, stronger[1]), dealer=weaker[1]).say("1 bet")
    lost = Laid(game(page), Box(1, weaker[1]), dealer=stronger[1]).say("1 bet")

    assert (won.settled(1).outcome, won.settled(1).main) == (e.Outcome.WON, stronger[0])
    assert (lost.settled(1).outcome, lost.settled(1).main) == (e.Outcome.LOST, weaker[0])
    assert lost.all(e.DealerRevealed)[0].combination == stronger[0]


W, L, T = e.Outcome.WON, e.Outcome.LOST, e.Outcome.TIED

TIES = [
    # Rule 1.3: the ace in a straight
    ("1.3", "the ace is high above a king", "Ac Kd Qh Js Tc", "Kc Qd Jh Ts 9c", W),
    ("1.3", "the ace is low below a six", "5c 4d 3h 2s Ac", "6c 5d 4h 3s 2c", L),
    ("1.3", "the wheel is still a straight", "5c 4d 3h 2s Ac", "Kc Kd Kh 9s 8c", W),
    ("1.3", "no straight around the corner", "3c 2d Ah Ks Qc", "4c 4d 6h 7s 9c", L),
    ("1.3", "no straight from four to king", "4c 3d 2h As Kc", "5c 5d 7h 8s 9c", L),
    ("1.3", "the straight flush wheel is the lowest", "5h 4h 3h 2h Ah", "6s 5s 4s 3s 2s", L),
    ("1.3", "two wheels are equal", "5c 4d 3h 2s Ac", "5d 4h 3s 2c Ad", T),
    # Rule 1.4: ties inside a combination
    ("1.4", "ace-king: third card", "Ac Kd Qh 4s 3c", "Ad Kh Js Tc 9d", W),
    ("1.4", "ace-king: last card", "Ac Kd Qh 4s 3c", "Ad Kh Qs 4c 2d", W),
    ("1.4", "ace-king: equal", "Ac Kd Qh 4s 3c", "Ad Kh Qs 4c 3d", T),
    ("1.4", "pair before kickers", "3c 3d 5h 6s 7c", "2c 2d Ah Ks Qc", W),
    ("1.4", "pair: third kicker", "8c 8d Ah Ks 3c", "8h 8s Ac Kd 4c", L),
    ("1.4", "pair: equal in other suits", "8c 8d Ah Ks 3c", "8h 8s Ac Kd 3h", T),
    ("1.4", "two pair: the higher pair first", "Ac Ad 2h 2s 3c", "Kc Kd Qh Qs Jc", W),
    ("1.4", "two pair: then the lower pair", "Ac Ad 2h 2s Kc", "Ah As 3c 3d 4h", L),
    ("1.4", "two pair: then the fifth card", "Ac Ad 2h 2s Kc", "Ah As 2c 2d Qh", W),
    ("1.4", "three of a kind", "9c 9d 9h 3s 2c", "8c 8d 8h As Kc", W),
    ("1.4", "flush: the fifth card", "Ah Qh 9h 5h 3h", "As Qs 9s 5s 2s", W),
    ("1.4", "flush: equal ranks, suits have no order", "Ac Qc 9c 5c 3c", "As Qs 9s 5s 3s", T),
    ("1.4", "full house: the three first", "3c 3d 3h 2s 2c", "2d 2h Ac Ad Ah", L),
    ("1.4", "four of a kind", "4c 4d 4h 4s 2c", "3c 3d 3h 3s Ac", W),
    ("1.4", "two royal flushes are equal", "Ah Kh Qh Jh Th", "As Ks Qs Js Ts", T),
    ("1.4", "no combination loses to ace-king", "Ac Qd Jh 9s 8c", "Ad Kh 4s 3c 2d", L),
    ("1.4", "no combination loses to a pair of twos", "Kc Qd Jh 9s 8c", "2c 2d 3h 4s 5c", L),
]


@pytest.mark.parametrize("page", ALL)
@pytest.mark.parametrize(("clause", "case", "hand", "dealer", "outcome"), TIES, ids=[f"{t[0]} {t[1]}" for t in TIES])
def test_hands_of_one_combination_compare_by_ranks(
    page: str, clause: str, case: str, hand: str, dealer: str, outcome: e.Outcome
) -> None:
    """Rules 1.3 and 1.4: the ace, the kickers, and that suits have no order."""
    laid = Laid(game(page), Box(1, hand), dealer=dealer).say("1 bet")

    assert laid.settled(1).outcome is outcome


QUALIFIES = [
    ("ace-king and nothing else", "Ac Kd 4h 3s 2c", "ace-king", True),
    ("a pair of twos", "2c 2d 3h 4s 5c", "pair", True),
    ("ace-queen", "Ac Qd Jh Ts 8c", "no-game", False),
    ("king-queen", "Kc Qd Jh Ts 8c", "no-game", False),
    ("seven high", "7c 5d 4h 3s 2c", "no-game", False),
    ("three suited and a wrap-around, king and ace apart", "3c 2d As Ks Qc", "ace-king", True),
    ("a wheel", "Ac 2d 3h 4s 5c", "straight", True),
]


@pytest.mark.parametrize("page", ALL)
@pytest.mark.parametrize(("case", "dealer", "combination", "qualifies"), QUALIFIES, ids=[q[0] for q in QUALIFIES])
def test_the_dealer_qualifies_with_ace_king_or_better(
    page: str, case: str, dealer: str, combination: str, qualifies: bool
) -> None:
    """Rule 1.5: ace-king or higher; the dealer plays five cards."""
    laid = Laid(game(page), Box(1, "Kh Kc 9d 8h 6c" if "Kc" not in dealer else "Kh Ks 9d 8h 6c"), dealer=dealer)
    laid.choose(spoken("1 bet"))

    revealed = laid.all(e.DealerRevealed)[0]
    assert (revealed.combination, len(revealed.cards)) == (combination, 5)
    if not qualifies and laid.state.closed is None:
        made = advance(laid.state, laid.ruleset, laid.deck, spoken("1 ante"))
        assert not hasattr(made, "code")
    assert (laid.settled(1).outcome is e.Outcome.NO_GAME) is not qualifies
