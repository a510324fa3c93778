"""Rules 8.1 to 8.5: who may buy the dealer's game, the one shared card, the free repeat, and the showdown after it.

Ante 10, BET 20, price 10.  The dealer of most rows is `Qc Jd 9h 8s 2c`: the queen goes.

Not here: insurance beside a purchase (rule 7.4), the cap after one (rule 9.7).
"""

from __future__ import annotations

import json
from itertools import combinations
from random import Random

import pytest

from domain.cards import CARD_TEXTS
from domain.hands import Combination, evaluate
from domain.round import events as e
from domain.round.refusals import RefusalCode
from domain.rulesets import released_rulesets
from replay.scenario import run_scenario
from tests.rules.table import GAMES, NO_GAME, Box, Laid, dark, game, laid_deck

Code = RefusalCode
SELLING = ("RP", "ORP")
TRIPS = "6c 6d 6h 4s 3c"


@pytest.mark.parametrize("page", SELLING)
@pytest.mark.parametrize("hand", [TRIPS, "Kc 7d 5c 4d 3c", "As Ks Qs Js Ts"])
def test_a_box_with_a_bet_may_buy_whatever_it_holds(page: str, hand: str) -> None:
    """Rule 8.1: it is asked after the dealer opened without a game."""
    laid = Laid(game(page), Box(1, hand), dealer=NO_GAME).say("1 bet")

    assert laid.state.closed is None
    assert laid.all(e.BoxSettled) == []
    laid.say("1 buy")
    assert laid.all(e.DealerGameBought) == [e.DealerGameBought(box=1, by=e.By.PLAYER, fee=10)]


NOT_FOR_SALE = [
    ("before the reveal", "RP", [Box(1, TRIPS)], NO_GAME, "", "1 buy", Code.DEALER_GAME_NOT_FOR_SALE),
    ("a folded box", "ORP", [Box(1), Box(2)], NO_GAME, "1 fold; 2 bet", "1 buy", Code.DEALER_GAME_NOT_FOR_SALE),
    ("a dark box", "ORP", [Box(1), dark(2)], NO_GAME, "1 bet", "2 buy", Code.DARK_BOX),
    ("a dark box taking the ante", "ORP", [Box(1), dark(2)], NO_GAME, "1 bet", "2 ante", Code.DARK_BOX),
    ("out of turn", "ORP", [Box(1), Box(2)], NO_GAME, "1 bet; 2 bet", "2 buy", Code.OUT_OF_TURN),
    ("twice", "ORP", [Box(1), Box(2)], NO_GAME, "1 bet; 2 bet; 1 buy", "1 buy", Code.ALREADY_DECIDED),
    ("after taking the ante", "ORP", [Box(1), Box(2)], NO_GAME, "1 bet; 2 bet; 1 ante", "1 buy", Code.ALREADY_DECIDED),
    ("the ante after buying", "ORP", [Box(1), Box(2)], NO_GAME, "1 bet; 2 bet; 1 buy", "1 ante", Code.ALREADY_DECIDED),
    ("a box of nobody", "ORP", [Box(1)], NO_GAME, "1 bet", "2 buy", Code.BOX_UNKNOWN),
    ("a dealer who qualifies", "RP", [Box(1, TRIPS)], "Ac Kd 9h 8s 2c", "1 bet", "1 buy", Code.ROUND_ENDED),
    ("in FCP", "FCP", [Box(1), Box(2)], NO_GAME, "1 bet", "1 buy", Code.NOT_OFFERED),
    ("in FCP, the ante", "FCP", [Box(1), Box(2)], NO_GAME, "1 bet", "1 ante", Code.NOT_OFFERED),
    ("in MRP", "MRP", [Box(1), Box(2, player="p2")], NO_GAME, "1 bet", "1 buy", Code.NOT_OFFERED),
]


@pytest.mark.parametrize(
    ("case", "page", "boxes", "dealer", "before", "words", "code"), NOT_FOR_SALE, ids=[n[0] for n in NOT_FOR_SALE]
)
def test_the_dealers_game_is_not_sold_to(
    case: str, page: str, boxes: list[Box], dealer: str, before: str, words: str, code: Code
) -> None:
    """Rule 8.1, and rules 8.1 to 8.5 of FCP and MRP: no other box, no other moment, no other game."""
    assert Laid(game(page), *boxes, dealer=dealer).say(before).refused(words) is code


def test_boxes_are_asked_in_ascending_order() -> None:
    """Rule 8.1: folded and dark boxes are passed over."""
    boxes = (Box(1), dark(2), Box(3), Box(4))
    laid = Laid(game("ORP"), *boxes, dealer=NO_GAME).say("1 bet; 3 fold; 4 bet")

    assert [laid.refused(words) for words in ("4 buy", "4 ante")] == [Code.OUT_OF_TURN] * 2
    laid.say("1 ante; 4 buy")
    assert laid.story(e.AnteTaken, e.DealerGameBought) == ["ante-taken 1", "dealer-game-bought 4"]


@pytest.mark.parametrize("page", SELLING)
def test_a_box_that_says_nothing_takes_the_ante(page: str) -> None:
    """Rule 8.1: in a scenario silence is an answer of the house's policy."""
    deck = laid_deck(game(page), [TRIPS, NO_GAME])
    scenario = {
        "ruleset": GAMES[page],
        "table": {"ante_min": 1, "ante_step": 1},
        "deck": [CARD_TEXTS[card] for card in deck],
        "boxes": [{"box": 1, "player": "p1", "mode": "open", "ante": 10}],
        "decisions": [{"box": 1, "action": "bet"}],
    }

    assert run_scenario(json.dumps(scenario), released_rulesets())["boxes"][0]["net"] == 10


# -- the replacement

REPLACED = [
    # dealer, next card, the card that goes, the game then
    ("Qc Jd 9h 8s 2c", "9s", "Qc", "pair"),
    ("2c 8s Qc Jd 9h", "9s", "Qc", "pair"),
    ("Ac Qd 9h 8s 2c", "Kd", "Ac", "no-game"),
    ("Kc Qd 9h 8s 2c", "Ad", "Kc", "no-game"),
    ("Kc Jd Th 9s 8c", "Qs", "Kc", "straight"),
    ("Qc 9h 7h 4h 2h", "Ah", "Qc", "flush"),
    ("7c 5d 4h 3s 2c", "Ad", "7c", "straight"),
]


@pytest.mark.parametrize("page", SELLING)
@pytest.mark.parametrize(("dealer", "card", "old", "combination"), REPLACED)
def test_the_highest_card_is_replaced_by_the_next_undealt_one(
    page: str, dealer: str, card: str, old: str, combination: str
) -> None:
    """Rule 8.2: whichever place it has; it takes one card from the deck."""
    laid = Laid(game(page), Box(1, "Tc Td 6c 6d Ts"), dealer=dealer, draws=card).say("1 bet; 1 buy")

    assert laid.all(e.DealerCardReplaced) == [
        e.DealerCardReplaced(combination=combination, free=False, new=card, old=old)
    ]
    assert laid.state.next_card == 11


def test_the_replacement_comes_after_all_draws() -> None:
    """Rule 8.2: two drawn cards lie before it in the deck."""
    laid = Laid(game("ORP"), Box(1, TRIPS), Box(2), dealer=NO_GAME, draws="Tc Th 3s")
    laid.say("1 sixth; 2 sixth; 1 bet; 2 bet; 1 ante; 2 buy")

    assert laid.all(e.DealerCardReplaced)[0].new == "3s"


def test_a_replacement_never_makes_ace_king() -> None:
    """Rule 8.2: every hand without a game has one highest card, and no card in its place gives ace and king."""
    random = Random(82)
    hands = [hand for hand in combinations(range(52), 5) if random.random() < 0.004]
    without = [hand for hand in hands if evaluate(hand).main is Combination.NO_GAME]
    assert len(without) > 3000

    for hand in without:
        ranks = [card >> 2 for card in hand]
        assert ranks.count(max(ranks)) == 1
        rest = [card for card in hand if card >> 2 != max(ranks)]
        for card in set(range(52)) - set(hand):
            assert evaluate([*rest, card]).main is not Combination.ACE_KING


def test_three_buyers_share_one_card_and_each_pays() -> None:
    """Rules 8.1, 8.2 and 8.5: the boxes that do not buy are settled before the card is turned."""
    boxes = (
        Box(1, "6c 6d 6h 4s 3c", ante=10),
        Box(2, "Tc Ts 5h 4d 3d", ante=10, player="p2"),
        Box(3, "8c 8d 5c 4c 3h", ante=10, player="p3"),
        Box(4, "Kc Kd Kh 4h 3s", ante=10, player="p4"),
    )
    laid = Laid(game("ORP"), *boxes, dealer="Qc Jd 9h 8s 2c", draws="9s")
    laid.say("1 bet; 2 bet; 3 bet; 4 bet; 1 buy; 2 buy; 3 buy; 4 ante")

    assert laid.story(e.DealerGameBought, e.AnteTaken, e.DealerCardReplaced, e.BoxSettled) == [
        "dealer-game-bought 1", "dealer-game-bought 2", "dealer-game-bought 3", "ante-taken 4",
        "box-settled 4", "dealer-card-replaced", "box-settled 1", "box-settled 2", "box-settled 3",
    ]  # fmt: skip
    # trips 60 - 10, a higher pair 20 - 10, a lower pair loses 30 and the price, the ante of the fourth
    assert [laid.net(n) for n in (1, 2, 3, 4)] == [50, 10, -40, 10]
    assert laid.state.next_card == 26


def test_dark_and_silent_boxes_are_settled_before_the_card_is_turned() -> None:
    """Rule 8.1: a dark box with four of a kind gets its ante and no more."""
    boxes = (dark(1, "Kc Kd Kh Ks 3s"), Box(2, TRIPS), Box(3, "Tc Td 5h 4d 3d"))
    laid = Laid(game("ORP"), *boxes, dealer=NO_GAME, draws="9s").say("2 bet; 3 fold; 2 buy")

    assert laid.story(e.DealerCardReplaced, e.BoxSettled) == [
        "box-settled 1", "box-settled 3", "dealer-card-replaced", "box-settled 2"
    ]  # fmt: skip
    assert (laid.settled(1).outcome, laid.net(1)) == (e.Outcome.NO_GAME, 10)
    assert laid.net(3) == -10


# -- still no game


@pytest.mark.parametrize("page", SELLING)
def test_a_price_that_brings_no_game_is_lost(page: str) -> None:
    """Rule 8.3: ante and BET come back, nothing is paid, not even the 1:1 of the ante."""
    laid = Laid(game(page), Box(1, "As Ks Qs Js Ts"), dealer=NO_GAME, draws="7s").say("1 bet; 1 buy")

    settled = laid.settled(1)
    assert (settled.outcome, settled.ante, settled.bet, settled.net) == (e.Outcome.NO_GAME, 10, 20, -10)
    assert [line.clause for line in laid.lines(1) if line.amount > 0] == [f"{page}-8.3"] * 2


REPEATS = [
    # next cards of the deck, what is replaced in ORP, in RP
    ("same rank, then a game", "Qh 9s", ["Qc Qh", "Qh 9s"], ["Qc Qh"]),
    ("same rank, then none", "Qh 7s", ["Qc Qh", "Qh 7s"], ["Qc Qh"]),
    ("same rank twice: once only", "Qh Qd Qs", ["Qc Qh", "Qh Qd"], ["Qc Qh"]),
    ("another rank and no game", "7s 9s", ["Qc 7s"], ["Qc 7s"]),
    ("a game at once", "9s Qh", ["Qc 9s"], ["Qc 9s"]),
]


@pytest.mark.parametrize("page", SELLING)
@pytest.mark.parametrize(("case", "draws", "orp", "rp"), REPEATS, ids=[r[0] for r in REPEATS])
def test_the_same_rank_again_is_replaced_once_more_free(
    page: str, case: str, draws: str, orp: list[str], rp: list[str]
) -> None:
    """Rule 8.4: in ORP, and whatever then comes stands; RP has no repeat."""
    laid = Laid(game(page), Box(1, TRIPS), dealer=NO_GAME, draws=draws).say("1 bet; 1 buy")
    replaced = laid.all(e.DealerCardReplaced)

    assert [f"{r.old} {r.new}" for r in replaced] == (orp if page == "ORP" else rp)
    assert [r.free for r in replaced] == [False, True][: len(replaced)]
    assert laid.settled(1).staked == 10 + 20 + 10


def test_the_same_rank_that_makes_a_flush_is_not_replaced() -> None:
    """Rule 8.4: the repeat needs a dealer who still has no game."""
    laid = Laid(game("ORP"), Box(1, TRIPS), dealer="Qc Jh 9h 8h 2h", draws="Qh 7s").say("1 bet; 1 buy")

    assert [(r.new, r.combination) for r in laid.all(e.DealerCardReplaced)] == [("Qh", "flush")]
    assert laid.net(1) == -40


def test_the_free_repeat_is_shared_too() -> None:
    """Rules 8.2 and 8.4: one replacement and one repeat for two buyers."""
    boxes = (Box(1, TRIPS), Box(2, "Tc Td 5h 4d 3d"))
    laid = Laid(game("ORP"), *boxes, dealer=NO_GAME, draws="Qh 9s").say("1 bet; 2 bet; 1 buy; 2 buy")

    assert len(laid.all(e.DealerCardReplaced)) == 2
    assert [laid.settled(n).staked for n in (1, 2)] == [40, 40]
    assert [laid.net(n) for n in (1, 2)] == [50, 10]


# -- the showdown after it

SHOWDOWNS = [
    ("a win returns the ante", TRIPS, e.Outcome.WON, 10, 80, 50),
    ("a win with a second", "As Ad Ah Ks 3c", e.Outcome.WON, 10, 100, 70),
    ("a tie returns both", "9c 9d Js 8h 2h", e.Outcome.TIED, 10, 20, -10),
    ("a loss takes all", "7c 7d Ts 4s 3c", e.Outcome.LOST, 0, 0, -40),
    ("no combination loses", "Kc 7d 5c 4d 3c", e.Outcome.LOST, 0, 0, -40),
]


@pytest.mark.parametrize("page", SELLING)
@pytest.mark.parametrize(("case", "hand", "outcome", "ante", "bet", "net"), SHOWDOWNS, ids=[s[0] for s in SHOWDOWNS])
def test_a_bought_game_is_an_ordinary_showdown(
    page: str, case: str, hand: str, outcome: e.Outcome, ante: int, bet: int, net: int
) -> None:
    """Rule 8.5: against a pair of nines; the price stays spent."""
    laid = Laid(game(page), Box(1, hand), dealer="Qc Jd 9h 8s 2c", draws="9s").say("1 bet; 1 buy")

    settled = laid.settled(1)
    assert (settled.outcome, settled.ante, settled.bet, settled.net) == (outcome, ante, bet, net)
