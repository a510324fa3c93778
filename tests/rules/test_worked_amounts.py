"""Worked amounts that players and pit bosses know by heart: section 5 of the rules, each as a whole round.

Every round goes in as the JSON of a scenario with all 52 cards and comes out as its report (docs/formats/scenario.md).
Amounts in minor units.  `bet_back` is what the BET hands back, stake included; `net` counts every stake and fee.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from domain.cards import card_texts
from domain.ruleset import Ruleset
from domain.rulesets import released_rulesets
from replay.scenario import run_scenario
from tests.exact.games import unreleased_rulesets
from tests.rules.table import laid_deck

RULESETS: Mapping[str, Ruleset] = released_rulesets() | unreleased_rulesets()

PAIR_OF_TWOS = "2c 2d 7h 8s Jc"
PAIR_OF_SEVENS = "7c 7s 8s Jc Qd"
NO_GAME = "Qc Jd 9h 8s 2c"


class Round(NamedTuple):
    """One box with one ante, its decisions in order, and the cards that decide."""

    game: str
    ante: int
    hand: str
    dealer: str
    actions: tuple[dict[str, Any], ...] = ({"action": "bet"},)
    draws: str = ""


def played(laid: Round) -> dict[str, Any]:
    """The report of the box."""
    deck = laid_deck(RULESETS[laid.game], [laid.hand, laid.dealer], laid.draws)
    scenario = {
        "ruleset": laid.game,
        "table": {"ante_min": 1, "ante_max": 100, "ante_step": 1, "payout_max": None},
        "deck": card_texts(deck),
        "boxes": [{"box": 1, "player": "p1", "mode": "open", "ante": laid.ante}],
        "decisions": [{"box": 1, **action} for action in laid.actions],
    }
    report = run_scenario(json.dumps(scenario), RULESETS)
    assert report["refusal"] is None
    (box,) = report["boxes"]
    assert sum(line["amount"] for line in box["lines"]) == box["net"] == box["returned"] - box["staked"]
    return dict(box)


def back(box: dict[str, Any], words: str) -> int:
    """The amount of the one line that begins with these words."""
    (amount,) = [line["amount"] for line in box["lines"] if line["text"].startswith(words)]
    return int(amount)


# Classic Five-Card Poker: the ante is paid as well.


@pytest.mark.parametrize(
    ("hand", "main", "net"),
    [
        ("9c 9d 9h 4s 4c", "full-house", 10 + 7 * 20),  # 150
        ("Ts Js Qs Ks As", "royal-flush", 10 + 100 * 20),  # 2010
    ],
)
def test_five_card_poker_pays_bet_and_ante(hand: str, main: str, net: int) -> None:
    box = played(Round("five-card-poker@1", 10, hand, PAIR_OF_TWOS))

    assert (box["main"], box["second"]) == (main, None)
    assert (box["staked"], box["returned"], box["net"]) == (30, 30 + net, net)


# Russian Poker: what a stake of 10 hands back.


@pytest.mark.parametrize(
    ("hand", "main", "bet_back"),
    [
        ("9c 9d 4h 5s 7c", "pair", 20),  # 1:1
        ("4c 5d 6h 7s 8c", "straight", 50),  # 4:1
    ],
)
def test_a_bet_of_ten_hands_back_its_odds_and_itself(hand: str, main: str, bet_back: int) -> None:
    box = played(Round("russian-poker@1", 5, hand, "2c 2d Th Js Qc"))

    assert (box["main"], box["second"]) == (main, None)
    assert back(box, "BET made") == -10
    assert back(box, "BET wins") == bet_back
    assert (box["staked"], box["returned"], box["net"]) == (15, 5 + bet_back, bet_back - 10)


def test_an_insurance_of_ten_against_no_game_hands_back_twenty() -> None:
    actions = ({"action": "insure", "stake": 10}, {"action": "bet"})

    box = played(Round("russian-poker@1", 10, "5c 5d 5h Ts 4c", NO_GAME, actions))

    assert box["main"] == "three-of-a-kind"
    assert back(box, "insurance wins") == 20
    # The ante pays 1 to 1 and the BET comes back.
    assert (box["staked"], box["returned"], box["net"]) == (40, 20 + 20 + 20, 20)


# The second combination: ante 10, BET 20, the sixth card 10.

SIXTH_CARD = ({"action": "sixth_card"}, {"action": "bet"})


@pytest.mark.parametrize(
    ("hand", "dealer", "main", "second", "odds"),
    [
        ("Ac Ad Ah Ks 7c", PAIR_OF_TWOS, "three-of-a-kind", "ace-king", 3 + 1),
        ("Ac Ad Kh Ks 7c", PAIR_OF_TWOS, "two-pair", None, 2),
        ("Kh Ks 8c 8d Ac", PAIR_OF_TWOS, "two-pair", "ace-king", 2 + 1),
        ("Ac Ad Ah Ks Kc", PAIR_OF_TWOS, "full-house", None, 7),
    ],
)
def test_five_cards_may_hold_a_second_combination(
    hand: str, dealer: str, main: str, second: str | None, odds: int
) -> None:
    box = played(Round("russian-poker@1", 10, hand, dealer))

    assert (box["main"], box["second"]) == (main, second)
    assert back(box, "BET wins") == 20 + 20 * odds
    assert (box["staked"], box["returned"], box["net"]) == (30, 30 + 20 * odds, 20 * odds)


@pytest.mark.parametrize(
    ("hand", "sixth", "dealer", "main", "second", "odds"),
    [
        ("9c 9d 9h 9s Ac", "Ad", PAIR_OF_TWOS, "four-of-a-kind", "full-house", 20 + 7),  # 540
        ("Kh Ks 8c 8d 5c", "5d", PAIR_OF_TWOS, "two-pair", "two-pair", 2 + 2),
        ("4c 5d 6h 7s 8c", "9d", "2c 2d Th Js Qc", "straight", "straight", 4 + 4),
        ("2h 5h 8h Jh Qh", "4h", PAIR_OF_SEVENS, "flush", "flush", 5 + 5),
        ("Ac Ad Ah Ks Kc", "Kd", PAIR_OF_TWOS, "full-house", "full-house", 7 + 7),
        ("Ac 2d 3h 4s 5c", "Kd", PAIR_OF_SEVENS, "straight", "ace-king", 4 + 1),
        ("Kc Qd Jh Ts 9c", "9d", PAIR_OF_TWOS, "straight", "straight", 4 + 4),
    ],
)
def test_six_cards_may_hold_a_second_combination(
    hand: str, sixth: str, dealer: str, main: str, second: str, odds: int
) -> None:
    box = played(Round("russian-poker@1", 10, hand, dealer, SIXTH_CARD, sixth))

    assert (box["main"], box["second"]) == (main, second)
    assert back(box, "sixth card bought") == -10
    assert back(box, "BET wins") == 20 + 20 * odds
    assert (box["staked"], box["returned"], box["net"]) == (40, 30 + 20 * odds, 20 * odds - 10)


def test_quads_and_full_house_win_540_on_a_bet_of_20() -> None:
    """The win on the BET; the sixth card's price of one ante goes off it in the box's net."""
    box = played(Round("russian-poker@1", 10, "9c 9d 9h 9s Ac", PAIR_OF_TWOS, SIXTH_CARD, "Ad"))

    assert back(box, "BET wins") - 20 == 540
    assert box["net"] == 540 - 10


def test_a_doubled_straight_pays_four_and_one_where_the_house_says_so() -> None:
    box = played(Round("straight-and-pair@1", 10, "Kc Qd Jh Ts 9c", PAIR_OF_TWOS, SIXTH_CARD, "9d"))

    assert (box["main"], box["second"]) == ("straight", "pair")
    assert back(box, "BET wins") == 20 + 20 * (4 + 1)
    assert (box["staked"], box["returned"], box["net"]) == (40, 130, 90)


# What the exact returns are made of: the same hands in the games without draws.


@pytest.mark.parametrize(
    ("game", "hand", "dealer", "net"),
    [
        ("caribbean-stud@1", "2h 5h 9h Jh Kh", "7c 7d 8s Jc Qd", 10 + 5 * 20),
        ("caribbean-stud@1", "2h 5h 9h Jh Kh", "Qc Jd 9d 8s 2c", 10),
        ("caribbean-stud@1", "2h 5h 9h Jh Kh", "Ac Ad Ah 7c 7d", -30),
        ("caribbean-stud@1", "Ac As Kd 9h 8s", "2c 2d 7h 8c Jc", 10 + 20),
        ("open-box@1", "Ac As Kd 9h 8s", "2c 2d 7h 8c Jc", 2 * 20),
        ("open-box@1", "2h 5h 9h Jh Kh", "7c 7d 8s Jc Qd", 5 * 20),
    ],
)
def test_games_without_draws_pay_by_the_rules(game: str, hand: str, dealer: str, net: int) -> None:
    assert played(Round(game, 10, hand, dealer))["net"] == net


def test_a_fold_loses_the_ante() -> None:
    box = played(Round("caribbean-stud@1", 10, "2c 3c 4d 5h 7s", "7c 7d 8s Jc Qd", ({"action": "fold"},)))

    assert (box["staked"], box["returned"], box["net"]) == (10, 0, -10)
