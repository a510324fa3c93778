"""Rules 7.1 to 7.5: from which hand, for how much, when, and how it is settled at the first reveal.

Ante 10 and BET 20 unless a row says otherwise; `NO_GAME` is a dealer without a game.

Not here: the cap on the win after a purchase (rule 9.7).
"""

from __future__ import annotations

from typing import Any

import pytest

from domain.round import choices as c
from domain.round import events as e
from domain.round.decisions import advance
from domain.round.refusals import Refusal, RefusalCode
from domain.ruleset import Ruleset
from tests.rules.table import NO_GAME, WITH_SECOND, Box, Laid, dark, game, house_version, limits

Code = RefusalCode
TRIPS = "6c 6d 6h 4s 3c"
TRIPS_AND_ACE_KING = "Ac Ad Ah Ks 3c"

LOWEST = [
    ("three of a kind", TRIPS, "", None),
    ("a straight", "7h 6d 5c 4d 3c", "", None),
    ("two pair", "Ts Th 6c 6d 3c", "", Code.HAND_TOO_LOW),
    ("two pair with ace-king", "Ks Kh 6c 6d Ac", "", Code.HAND_TOO_LOW),
    ("ace-king", "As Kh 6c 5d 3c", "", Code.HAND_TOO_LOW),
    ("no game", "Kh 7d 6c 5d 3c", "", Code.HAND_TOO_LOW),
    ("trips made by a sixth card", "6c 6d Ts 4s 3c", "1 sixth", None),
    ("trips made by an exchange", "6c 6d Ts 4s 3c", "1 exchange 2", None),
    ("trips discarded", "7c 7d 7h 4s 3c", "1 exchange 0", Code.HAND_TOO_LOW),
]


@pytest.mark.parametrize("page", WITH_SECOND)
@pytest.mark.parametrize(("case", "hand", "draw", "code"), LOWEST, ids=[row[0] for row in LOWEST])
def test_the_final_hand_must_be_three_of_a_kind_or_better(
    page: str, case: str, hand: str, draw: str, code: Code | None
) -> None:
    """Rule 7.1: as it is after the draw; main or second of two pair and less is too low."""
    draws = "Td" if case == "trips discarded" else "6h" if draw else ""
    laid = Laid(game(page), Box(1, hand), dealer=NO_GAME, draws=draws).say(draw)

    if code is None:
        laid.say("1 insure 10")
    else:
        assert (laid.refused("1 insure 10"), laid.refusal("1 insure 10").clause) == (code, f"{page}-7.1")


def test_classic_five_card_poker_has_no_insurance() -> None:
    """Rules 7.1 to 7.5 of FCP."""
    refusal = Laid(game("FCP"), Box(1, TRIPS)).refusal("1 insure 10")

    assert (refusal.code, refusal.clause) == (Code.NOT_OFFERED, "FCP-7.1")


@pytest.mark.parametrize("page", ["ORP", "MRP"])
def test_a_dark_box_cannot_be_insured(page: str) -> None:
    """Rule 7.1: whatever it holds."""
    assert Laid(game(page), dark(1, TRIPS), Box(2)).refused("1 insure 10") is Code.DARK_BOX


# -- stake

LIMITS_OF = [
    # hand, sixth card, ante, largest stake at share 1, at share 1/2
    (TRIPS, "", 10, 60, 30),
    (TRIPS_AND_ACE_KING, "", 10, 80, 40),
    (TRIPS_AND_ACE_KING, "", 11, 88, 44),
    ("7h 6d 5c 4d 3c", "", 10, 80, 40),
    ("7h 6d 5c 4d 3c", "8h", 10, 160, 80),
    ("9c 9d 9h 9s Ac", "Ad", 10, 540, 270),
    ("As Ks Qs Js Ts", "9s", 10, 3000, 1500),
]


@pytest.mark.parametrize("page", WITH_SECOND)
@pytest.mark.parametrize(("hand", "sixth", "ante", "whole", "half"), LIMITS_OF)
def test_the_stake_is_from_one_ante_to_a_share_of_what_the_bet_would_win(
    page: str, hand: str, sixth: str, ante: int, whole: int, half: int
) -> None:
    """Rule 7.2: main and second together, BET counted as 2 antes; both limits are inside."""
    largest = half if page == "MRP" else whole
    for stake, allowed in ((ante - 1, False), (ante, True), (largest, True), (largest + 1, False), (0, False)):
        laid = Laid(game(page), Box(1, hand, ante=ante), draws=sixth).say("1 sixth" if sixth else "")
        if allowed:
            laid.say(f"1 insure {stake}; 1 bet")
            assert laid.box(1).insurance == stake
        else:
            refusal = laid.refusal(f"1 insure {stake}")
            assert (refusal.code, refusal.clause) == (Code.INSURANCE_OFF_LIMITS, f"{page}-7.2")
            assert f"from {ante} to {largest}" in refusal.text


@pytest.mark.parametrize("stake", [-10, 10.0, True, "10", None, 10**20])
@pytest.mark.parametrize("page", WITH_SECOND)
def test_a_stake_is_a_whole_amount(page: str, stake: Any) -> None:
    """Rule 7.2."""
    laid = Laid(game(page), Box(1, TRIPS))
    answer = advance(laid.state, laid.ruleset, laid.deck, c.Insure(box=1, stake=stake))

    assert isinstance(answer, Refusal)
    assert answer.code is Code.INSURANCE_OFF_LIMITS


MAXIMUM = [
    ("ORP", 50, "10 to 50"),  # the page's example
    ("ORP", 60, "10 to 60"),
    ("ORP", 1000, "10 to 60"),
    ("RP", 50, "10 to 60"),
    ("MRP", 20, "10 to 30"),
]


@pytest.mark.parametrize(("page", "payout_max", "words"), MAXIMUM)
def test_the_maximum_payout_limits_the_stake_in_open_russian_poker(page: str, payout_max: int, words: str) -> None:
    """Rule 7.2: the smaller of two amounts in ORP; the other games have no maximum payout."""
    laid = Laid(game(page), Box(1, TRIPS), limits=limits(payout_max=payout_max))

    assert words in laid.refusal("1 insure 100000").text


def test_no_insurance_is_possible_where_the_maximum_is_below_the_minimum() -> None:
    """Rule 7.2: a maximum payout of 9 with an ante of 10."""
    laid = Laid(game("ORP"), Box(1, TRIPS), limits=limits(payout_max=9))

    assert [laid.refused(f"1 insure {stake}") for stake in (1, 9, 10)] == [Code.INSURANCE_OFF_LIMITS] * 3


@pytest.mark.parametrize(("share", "largest"), [((1, 2), 44), ((2, 3), 58), ((3, 4), 66), ((1, 1), 88)])
def test_a_share_of_the_stake_is_rounded_down(share: tuple[int, int], largest: int) -> None:
    """Rule 7.2 of RP: a casino may set a share from 1/2; 2/3 of 88 is 58."""
    version = house_version("RP", insurance_share=list(share))
    laid = Laid(version, Box(1, TRIPS_AND_ACE_KING, ante=11))

    assert laid.refused(f"1 insure {largest + 1}") is Code.INSURANCE_OFF_LIMITS
    laid.say(f"1 insure {largest}; 1 bet")


# -- place in the round


@pytest.mark.parametrize("page", WITH_SECOND)
@pytest.mark.parametrize("draw", ["", "1 exchange 3", "1 sixth"])
def test_an_insured_box_must_bet(page: str, draw: str) -> None:
    """Rule 7.3: no fold, no draw, no second insurance, and no other box before its BET."""
    others = [] if page == "RP" else [Box(2, player="p2")]
    laid = Laid(game(page), Box(1, TRIPS), *others, draws="Td").say(draw)
    laid.say("2 fold; 1 insure 20" if draw and others else "1 insure 20")

    assert laid.refused("1 fold") is Code.INSURED
    assert [laid.refused(words) for words in ("1 exchange 3", "1 sixth")] == [Code.INSURED] * 2
    assert [laid.refused(words) for words in ("1 insure 20", "1 insure 10")] == [Code.INSURED] * 2
    assert laid.refusal("1 fold").clause == f"{page}-7.3"
    if others and not draw:
        assert laid.refused("2 bet") is Code.OUT_OF_TURN
    laid.say("1 bet")
    assert laid.refused("1 insure 20") in (Code.ALREADY_DECIDED, Code.ROUND_ENDED)


@pytest.mark.parametrize("page", WITH_SECOND)
def test_insurance_comes_before_the_bet(page: str) -> None:
    """Rule 7.3: after the BET it is too late."""
    others = [] if page == "RP" else [Box(2, player="p2")]
    laid = Laid(game(page), Box(1, TRIPS), *others, dealer=NO_GAME).say("1 bet")

    assert laid.refused("1 insure 10") is Code.ALREADY_DECIDED


def test_a_box_that_waits_for_its_draw_is_not_insured_yet() -> None:
    """Rules 7.1 and 7.3: the final hand is the one after the draw."""
    laid = Laid(game("ORP"), Box(1, TRIPS), Box(2, player="p2")).say("1 sixth")

    assert laid.refused("1 insure 10") in (Code.OUT_OF_TURN, Code.ALREADY_DECIDED)


# -- settlement

DEALERS = [
    # dealer, what comes back of 20: in RP, in ORP and MRP
    ("no game", "Qc Jd 9h 8s 2c", (e.InsuranceOutcome.WON, 40), (e.InsuranceOutcome.WON, 40)),
    ("lower", "2c 2d 9h 8s Tc", (e.InsuranceOutcome.LOST, 0), (e.InsuranceOutcome.LOST, 0)),
    ("ace-king", "Ac Kd 9h 8s Tc", (e.InsuranceOutcome.LOST, 0), (e.InsuranceOutcome.LOST, 0)),
    ("higher", "7c 7d 7h 8s Tc", (e.InsuranceOutcome.LOST, 0), (e.InsuranceOutcome.RETURNED, 20)),
]


@pytest.mark.parametrize("page", WITH_SECOND)
@pytest.mark.parametrize(("case", "dealer", "rp", "others"), DEALERS, ids=[d[0] for d in DEALERS])
def test_insurance_is_settled_at_the_first_reveal(
    page: str, case: str, dealer: str, rp: tuple[e.InsuranceOutcome, int], others: tuple[e.InsuranceOutcome, int]
) -> None:
    """Rules 7.4 and 7.5: 1:1 without a game; in RP lost to any game, else returned to a box that is not higher."""
    laid = Laid(game(page), Box(1, TRIPS), dealer=dealer).say("1 insure 20; 1 bet")
    settled = laid.all(e.InsuranceSettled)

    assert [(s.outcome, s.returned, s.stake) for s in settled] == [(*(rp if page == "RP" else others), 20)]


@pytest.mark.parametrize("page", WITH_SECOND)
def test_equal_hands_return_the_insurance_except_in_russian_poker(page: str) -> None:
    """Rule 7.5: a tie of straights; the second combination of the box does not make it higher."""
    laid = Laid(game(page), Box(1, "7h 6d 5c 4d 3c"), dealer="7s 6h 5d 4h 3d").say("1 insure 20; 1 bet")

    assert laid.settled(1).outcome is e.Outcome.TIED
    assert laid.all(e.InsuranceSettled)[0].returned == (0 if page == "RP" else 20)
    assert laid.net(1) == (-20 if page == "RP" else 0)


NETS = [
    # dealer, decisions after insure 20 and BET, net in RP, ORP, MRP
    ("Qc Jd 9h 8s 2c", {"RP": 30, "ORP": 30, "MRP": 30}),  # 10 on the ante, 20 on the insurance
    ("2c 2d 9h 8s Tc", {"RP": 40, "ORP": 40, "MRP": 40}),  # 60 on the BET, 20 lost
    ("7c 7d 7h 8s Tc", {"RP": -50, "ORP": -30, "MRP": -30}),  # ante and BET lost; the insurance lost or returned
]


@pytest.mark.parametrize(("dealer", "nets"), NETS)
@pytest.mark.parametrize("page", WITH_SECOND)
def test_an_insured_box_nets(page: str, dealer: str, nets: dict[str, int]) -> None:
    """Rules 7.4, 7.5 and 9.1 to 9.5 together."""
    laid = Laid(game(page), Box(1, TRIPS), dealer=dealer).say("1 insure 20; 1 bet")
    if laid.state.closed is None:
        laid.say("1 ante")

    assert laid.net(1) == nets[page]


BUYING = [
    ("the purchase brings a lower game", "9s", 20 - 10 + 60),
    ("the purchase brings no game", "Ts", 20 - 10),
]


@pytest.mark.parametrize("page", ["RP", "ORP"])
@pytest.mark.parametrize(("case", "card", "net"), BUYING, ids=[b[0] for b in BUYING])
def test_a_purchase_never_reopens_the_insurance(page: str, case: str, card: str, net: int) -> None:
    """Rule 7.4: settled before the box is asked about the dealer's game, and for good."""
    laid = Laid(game(page), Box(1, TRIPS), dealer="Qc Jd 9h 8s 2c", draws=card).say("1 insure 20; 1 bet")
    settled = laid.all(e.InsuranceSettled)
    laid.say("1 buy")

    assert [(s.outcome, s.returned) for s in settled] == [(e.InsuranceOutcome.WON, 40)]
    assert laid.all(e.InsuranceSettled) == settled
    assert laid.story(e.DealerRevealed, e.InsuranceSettled, e.DealerGameBought, e.DealerCardReplaced) == [
        "dealer-revealed", "insurance-settled 1", "dealer-game-bought 1", "dealer-card-replaced"
    ]  # fmt: skip
    assert laid.net(1) == net


def test_a_purchase_that_beats_the_insured_box_leaves_the_insurance_won() -> None:
    """Rule 7.4: ante and BET are lost to the bought game, the insurance was paid."""
    laid = Laid(game("ORP"), Box(1, TRIPS), dealer="Qc Jh 9h 8h 2h", draws="3h").say("1 insure 20; 1 bet; 1 buy")

    assert laid.all(e.DealerCardReplaced)[0].combination == "flush"
    assert laid.net(1) == 20 - 10 - 10 - 20


def test_each_insurance_is_settled_by_its_own_box() -> None:
    """Rules 7.4 and 7.5: two insured boxes on either side of the dealer's hand."""
    boxes = (Box(1, TRIPS), Box(2, "8c 8d 8h 4h 3d"))
    laid = Laid(game("ORP"), *boxes, dealer="7c 7d 7h Js Tc").say("1 insure 10; 1 bet; 2 insure 60; 2 bet")

    assert [(s.box, s.outcome.value, s.returned) for s in laid.all(e.InsuranceSettled)] == [
        (1, "returned", 10), (2, "lost", 0)
    ]  # fmt: skip


def test_a_house_may_take_insurances_always() -> None:
    """Rule 7.5: the parameter of RP in a version of ORP."""
    version: Ruleset = house_version("ORP", insurance_loss="always")
    laid = Laid(version, Box(1, TRIPS), dealer="7c 7d 7h 8s Tc").say("1 insure 20; 1 bet")

    assert laid.all(e.InsuranceSettled)[0].returned == 0
