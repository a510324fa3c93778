"""Rules 9.1 to 9.7: no game, win, tie, loss, fees, and the table's maximum payout.

Ante 10 and BET 20 unless a row says otherwise; `ante` and `bet` are what comes back of each.

Not here: the amounts that the pages work out in words (`test_worked_amounts.py`).
"""

from __future__ import annotations

import pytest

from domain.round import events as e
from tests.rules.table import ALL, NO_GAME, WITH_SECOND, Box, Laid, dark, game, limits

ROYAL = "As Ks Qs Js Ts"
TRIPS = "6c 6d 6h 4s 3c"
QUADS_AND_FULL_HOUSE = ("9c 9d 9h 9s Ac", "Ad")

# Rule 9.2: odds of the BET; two pair is 1:1 in ORP
PAYING = [
    ("royal-flush", ROYAL, 100),
    ("straight-flush", "9h 8h 7h 6h 5h", 50),
    ("four-of-a-kind", "5c 5d 5h 5s 9c", 20),
    ("full-house", "Ac Ad Ah Kc Kd", 7),
    ("flush", "3s 4s 6s 8s 9s", 5),
    ("straight", "Th 9d 8c 7d 6c", 4),
    ("three-of-a-kind", TRIPS, 3),
    ("two-pair", "Tc Td 8h 8s Ac", 2),
    ("pair", "Th Td 7c 6d 4h", 1),
]


@pytest.mark.parametrize(("page", "mode"), [*((page, "open") for page in ALL), ("ORP", "dark"), ("MRP", "dark")])
@pytest.mark.parametrize("hand", [*(row[1] for row in PAYING), "Ah Kh Qh Jd 9c", "Kd Qh Jh 9c 8c"])
def test_a_dealer_without_a_game_pays_the_ante_and_no_combination(page: str, hand: str, mode: str) -> None:
    """Rule 9.1: 1:1 on the ante, the BET comes back, whatever the box holds, in every game."""
    laid = Laid(game(page), Box(1, hand, mode=mode), dealer="Qc Jc 4d 3d 2c")
    if mode == "open":
        laid.say("1 bet")
    elif page == "MRP":
        laid.say("1 decline")
    if laid.state.closed is None:
        laid.say("1 ante")

    settled = laid.settled(1)
    assert (settled.outcome, settled.ante, settled.bet, settled.net) == (e.Outcome.NO_GAME, 20, 20, 10)


@pytest.mark.parametrize("page", ALL)
@pytest.mark.parametrize(("name", "hand", "odds"), PAYING, ids=[row[0] for row in PAYING])
def test_a_higher_hand_wins_the_odds_on_the_bet(page: str, name: str, hand: str, odds: int) -> None:
    """Rules 9.2 and 9.3: the BET by the table; the ante 1:1 in FCP and only returned elsewhere."""
    if name == "two-pair" and page == "ORP":
        odds = 1
    laid = Laid(game(page), Box(1, hand)).say("1 bet")

    settled = laid.settled(1)
    assert (settled.main, settled.second) == (name, None)
    assert settled.bet == 20 + 20 * odds
    assert settled.ante == (20 if page == "FCP" else 10)
    assert settled.net == 20 * odds + (10 if page == "FCP" else 0)


@pytest.mark.parametrize("page", ALL)
def test_ace_king_wins_one_to_one(page: str) -> None:
    """Rule 9.2: against a lower ace-king."""
    laid = Laid(game(page), Box(1, "Ah Kh Qh Jd 9c"), dealer="Ac Kd Qs Js 8c").say("1 bet")

    assert laid.settled(1).bet == 40


@pytest.mark.parametrize("page", ALL)
def test_equal_hands_get_both_stakes_back(page: str) -> None:
    """Rule 9.4: nothing is paid, nothing is lost, no second is paid."""
    laid = Laid(game(page), Box(1, "Ah Kh Kd 7c 4h"), dealer="Ad Kc Ks 7d 4c").say("1 bet")

    settled = laid.settled(1)
    assert (settled.outcome, settled.ante, settled.bet, settled.net) == (e.Outcome.TIED, 10, 20, 0)


@pytest.mark.parametrize("page", ALL)
@pytest.mark.parametrize(
    ("hand", "dealer"),
    [
        ("Ah Kh 3d 3c 4h", "4d 4c 7s 6s 2s"),  # ace-king beside the pair does not help
        ("Kd Qh Jh 9c 8c", "Ac Ks 4s 3s 2h"),
        ("Th 9d 8c 7d 6c", "Js Ts 9s 8h 7c"),
    ],
)
def test_a_lower_hand_loses_both_stakes(page: str, hand: str, dealer: str) -> None:
    """Rule 9.5."""
    laid = Laid(game(page), Box(1, hand), dealer=dealer).say("1 bet")

    settled = laid.settled(1)
    assert (settled.outcome, settled.returned, settled.net) == (e.Outcome.LOST, 0, -30)


# -- fees

FEES = [
    ("1 exchange 4", {"RP": 10, "ORP": 10, "FCP": 10, "MRP": 10}),
    ("1 exchange 3 4", {"RP": 10, "ORP": 10, "FCP": 15, "MRP": 10}),
    ("1 sixth", {"RP": 10, "ORP": 10, "MRP": 10}),
]
OUTCOMES = [
    ("a win", "5c 5d 9h 9s", "2c 2d Jh 8s 4c", "1 bet", e.Outcome.WON),
    ("a tie", "Ah Kh Qd Js", "Ac Kc Qh Jd 3c", "1 bet", e.Outcome.TIED),
    ("a loss", "5c 5d 9h 8h", "7c 7d Jh Ts 4c", "1 bet", e.Outcome.LOST),
    ("no game", "5c 5d 9h 8h", "Qc Jd Th 4c 2c", "1 bet", e.Outcome.NO_GAME),
    ("a fold", "5c 5d 9h 8h", "Qc Jd Th 4c 2c", "1 fold", e.Outcome.FOLDED),
]


@pytest.mark.parametrize(
    ("page", "draw", "fee"), [(page, draw, fee) for draw, fees in FEES for page, fee in fees.items()]
)
@pytest.mark.parametrize(("case", "hand", "dealer", "last", "outcome"), OUTCOMES, ids=[row[0] for row in OUTCOMES])
def test_a_fee_never_comes_back(
    page: str, draw: str, fee: int, case: str, hand: str, dealer: str, last: str, outcome: e.Outcome
) -> None:
    """Rule 9.6: on a win, a tie, no game, a loss or a fold alike."""
    if case == "a tie" and draw == "1 exchange 3 4":
        hand, drawn = "Ah Kh Qd 6s", "Js 3d"
    else:
        drawn = "3d" if draw != "1 exchange 3 4" else "6h 3d"
    laid = Laid(game(page), Box(1, f"{hand} 2h"), dealer=dealer, draws=drawn).say(f"{draw}; {last}")
    if laid.state.closed is None:
        laid.say("1 ante")

    settled = laid.settled(1)
    stakes = 10 if outcome is e.Outcome.FOLDED else 30
    assert settled.outcome is outcome
    assert settled.staked == stakes + fee
    assert settled.returned == settled.ante + settled.bet
    assert settled.net == settled.ante + settled.bet - stakes - fee
    if outcome is e.Outcome.TIED:
        assert settled.net == -fee


def test_a_dark_boxs_sixth_card_is_spent_too() -> None:
    """Rule 9.6 of MRP."""
    laid = Laid(game("MRP"), dark(1, TRIPS), dealer=NO_GAME, draws="Ts").say("1 sixth")

    assert laid.net(1) == 10 - 10


# -- the maximum payout

CAPS = [
    # page, maximum, hand, decisions, ante and BET that come back, net
    ("no maximum", "ORP", None, ROYAL, "1 bet", 10, 2020, 2000),
    ("the BET is cut", "ORP", 500, ROYAL, "1 bet", 10, 520, 500),
    ("exactly the win", "ORP", 60, TRIPS, "1 bet", 10, 80, 60),
    ("one below the win", "ORP", 59, TRIPS, "1 bet", 10, 79, 59),
    ("the BET is cut", "FCP", 1000, ROYAL, "1 bet", 20, 1020, 1010),
    ("the ante stays outside", "FCP", 1, TRIPS, "1 bet", 20, 21, 11),
    ("RP has none", "RP", 500, ROYAL, "1 bet", 10, 2020, 2000),
    ("MRP has none", "MRP", 500, ROYAL, "1 bet", 10, 2020, 2000),
    ("a lost insurance uses nothing up", "ORP", 60, TRIPS, "1 insure 60; 1 bet", 10, 80, 0),
]


@pytest.mark.parametrize(
    ("case", "page", "payout_max", "hand", "words", "ante", "bet", "net"), CAPS, ids=[f"{c[1]} {c[0]}" for c in CAPS]
)
def test_the_maximum_payout_cuts_the_win_on_the_bet(
    case: str, page: str, payout_max: int | None, hand: str, words: str, ante: int, bet: int, net: int
) -> None:
    """Rule 9.7: the win, never the stake; only ORP and FCP read it."""
    laid = Laid(game(page), Box(1, hand), limits=limits(payout_max=payout_max)).say(words)

    settled = laid.settled(1)
    assert (settled.ante, settled.bet, settled.net) == (ante, bet, net)
    cut = [line for line in laid.lines(1) if line.clause.endswith("-9.7")]
    assert len(cut) == (case in ("the BET is cut", "one below the win", "the ante stays outside"))


@pytest.mark.parametrize("page", WITH_SECOND)
def test_both_combinations_stand_under_one_maximum(page: str) -> None:
    """Rule 9.7 of ORP: 540 on four of a kind and full house is cut to 500 (the page's example)."""
    hand, sixth = QUADS_AND_FULL_HOUSE
    laid = Laid(game(page), Box(1, hand), draws=sixth, limits=limits(payout_max=500)).say("1 sixth; 1 bet")

    assert laid.settled(1).bet - 20 == (500 if page == "ORP" else 540)


AFTER_A_PURCHASE = [
    # insurance, BET win left of 540 under a maximum of 500
    (300, 200),  # the page's example
    (10, 490),
    (499, 1),
    (500, 0),
]


@pytest.mark.parametrize(("insurance", "left"), AFTER_A_PURCHASE)
def test_the_insurance_win_uses_the_maximum_up_first(insurance: int, left: int) -> None:
    """Rule 9.7 of ORP: the win paid at the first reveal, then the BET of the bought game within what is left."""
    hand, sixth = QUADS_AND_FULL_HOUSE
    laid = Laid(
        game("ORP"), Box(1, hand), dealer="Qc Jd Th 8s 2c", draws=f"{sixth} 8h", limits=limits(payout_max=500)
    )
    laid.say(f"1 sixth; 1 insure {insurance}; 1 bet; 1 buy")

    assert laid.all(e.InsuranceSettled)[0].returned == 2 * insurance
    assert (laid.settled(1).outcome, laid.settled(1).bet) == (e.Outcome.WON, 20 + left)
    assert laid.net(1) == insurance + left - 10 - 10
    assert laid.net(1) == 500 - 20


def test_the_maximum_payout_counts_for_each_box() -> None:
    """Rule 9.7: two winning boxes of one player, each cut by itself."""
    boxes = (Box(1, ROYAL), Box(2, "9h 8h 7h 6h 5h"))
    laid = Laid(game("ORP"), *boxes, limits=limits(payout_max=500)).say("1 bet; 2 bet")

    assert [laid.settled(n).bet for n in (1, 2)] == [520, 520]


@pytest.mark.parametrize("page", ["ORP", "FCP"])
def test_bonus_and_the_ante_without_a_game_stay_outside_the_maximum(page: str) -> None:
    """Rule 9.7: a full house's bonus is paid whole, and the 1:1 without a game too."""
    laid = Laid(
        game(page), Box(1, "Ac Ad Ah Kc Kd", ante=1000, bonus=100), dealer=NO_GAME.replace("Qc", "Qd"),
        limits=limits(payout_max=1),
    ).say("1 bet")  # fmt: skip
    if laid.state.closed is None:
        laid.say("1 ante")

    assert laid.net(1) == 1000 + 100 * (100 if page == "FCP" else 70)
