"""Rules 5.1 to 5.4: when the bonus is judged, what it pays, the jackpot, and the announcement a house may want.

Amounts are what comes back of a bonus of 10, the stake in it.

Not here: who may stake a bonus (rule 3.5), the pot between rounds (the jackpot's own stream).
"""

from __future__ import annotations

import pytest

from domain.round import events as e
from tests.rules.table import ALL, NO_GAME, WITH_SECOND, Box, Laid, dark, game, house_version, limits

HANDS = {
    "royal-flush": "As Ks Qs Js Ts",
    "straight-flush": "9h 8h 7h 6h 5h",
    "four-of-a-kind": "5c 5d 5h 5s 9c",
    "full-house": "Ac Ad Ah Kc Kd",
    "flush": "3s 4s 6s 8s 9s",
    "straight": "Th 9d 8c 7d 6c",
    "three-of-a-kind": "Ac Ad Ah Ks 9c",  # ace-king beside it is no bonus
    "two-pair": "Kc Kd 8h 8s Ac",
    "pair": "Ah Kd 7c 7d 4h",
    "ace-king": "Ad Kh Qh Jh 9c",
    "no-game": "Kd Qh Jh 9c 8c",
}

# Rule 5.2, the tables of the pages; None is a jackpot row, 0 loses
RETURNED = {
    #      royal  s.flush  four  f.h.  flush straight three  2 pair
    "RP": (10_010, 5_010, 2_010, 710, 510, 410, 260, 0, 0, 0, 0),
    "MRP": (10_010, 5_010, 2_010, 710, 510, 410, 260, 0, 0, 0, 0),
    "FCP": (50_010, 10_010, 2_510, 1_010, 510, 410, 210, 0, 0, 0, 0),
    "ORP": (10, 10, 2_010, 710, 510, 410, 80, 30, 0, 0, 0),
}
ROWS = [(page, name, amount) for page in ALL for name, amount in zip(HANDS, RETURNED[page], strict=True)]


@pytest.mark.parametrize("decisions", ["1 bet", "1 fold", "1 exchange 0; 1 fold"])
@pytest.mark.parametrize(("page", "name", "amount"), ROWS, ids=[f"{r[0]} {r[1]}" for r in ROWS])
def test_the_bonus_pays_by_the_first_five_cards_whatever_follows(
    page: str, name: str, amount: int, decisions: str
) -> None:
    """Rules 5.1 and 5.2: settled before any decision; no draw and no fold changes it, a second plays no part."""
    laid = Laid(game(page), Box(1, HANDS[name], bonus=10), dealer="2c 2d Jc 3h 4d", draws="2h")
    at_the_deal = laid.all(e.BonusSettled)
    laid.say(decisions)

    assert at_the_deal == [e.BonusSettled(box=1, combination=name, returned=amount, stake=10)]
    assert laid.all(e.BonusSettled) == at_the_deal
    assert laid.settled(1).returned == amount + laid.settled(1).ante + laid.settled(1).bet


@pytest.mark.parametrize("page", ALL)
def test_a_bonus_that_was_paid_stays_paid_after_a_fold(page: str) -> None:
    """Rule 5.1: the fold loses the ante, nothing else."""
    laid = Laid(game(page), Box(1, HANDS["full-house"], ante=10, bonus=10)).say("1 fold")

    bonus = 1000 if page == "FCP" else 700
    assert laid.net(1) == bonus - 10


@pytest.mark.parametrize("page", ALL)
def test_a_losing_bonus_is_not_saved_by_a_draw(page: str) -> None:
    """Rule 5.1: four to a royal flush, and the exchange brings the fifth."""
    laid = Laid(game(page), Box(1, "As Ks Qs Js 3d", bonus=10), draws="Ts", jackpot=1000).say("1 exchange 4; 1 bet")

    assert laid.settled(1).main == "royal-flush"
    assert laid.all(e.BonusSettled)[0].returned == 0
    assert laid.all(e.JackpotWon) == []


def test_the_bonus_of_a_further_box_waits_for_its_turn() -> None:
    """Rule 5.1 of FCP: settled when the box is shown, after the box before has finished."""
    boxes = (Box(1, HANDS["flush"], bonus=10), Box(2, HANDS["full-house"], bonus=10))
    laid = Laid(game("FCP"), *boxes)

    assert laid.story(e.BonusSettled) == ["bonus-settled 1"]
    assert laid.say("1 exchange 0").story(e.BonusSettled) == ["bonus-settled 1"]
    assert laid.say("1 fold").story(e.BonusSettled) == ["bonus-settled 1", "bonus-settled 2"]


@pytest.mark.parametrize("page", ["ORP", "MRP"])
def test_a_dark_boxs_bonus_is_settled_when_it_is_shown(page: str) -> None:
    """Rule 5.1: after the dealer has opened, right after the box's own cards."""
    laid = Laid(game(page), dark(1, HANDS["straight"], bonus=10), Box(2, HANDS["flush"], bonus=10))
    laid.say("2 bet" if page == "ORP" else "1 decline; 2 bet")

    order = laid.story(e.HandShown, e.BonusSettled, e.DealerRevealed)
    assert order[:2] == ["hand-shown 2", "bonus-settled 2"]
    assert order[2:] == ["dealer-revealed", "hand-shown 1", "bonus-settled 1"]


@pytest.mark.parametrize(
    ("hand", "sixth", "combination", "returned"),
    [
        ("As Ks Qs Js 3d", "Ts", "ace-king", 0),
        ("6c 6d 6h 3c 4s", "6s", "three-of-a-kind", 260),
        ("6c 6d 7h 7c 4s", "7s", "two-pair", 0),
    ],
)
def test_a_dark_boxs_sixth_card_is_not_in_its_bonus(hand: str, sixth: str, combination: str, returned: int) -> None:
    """Rule 5.1 of MRP: judged on the first five of six."""
    laid = Laid(game("MRP"), dark(1, hand, bonus=10), draws=sixth).say("1 sixth")

    assert laid.all(e.BonusSettled) == [
        e.BonusSettled(box=1, combination=combination, returned=returned, stake=10)
    ]


@pytest.mark.parametrize("page", ALL)
def test_a_box_without_a_bonus_has_none_settled(page: str) -> None:
    """Rule 5.1: a royal flush without a bonus stake pays no bonus and no jackpot."""
    laid = Laid(game(page), Box(1, HANDS["royal-flush"]), jackpot=1000).say("1 bet")

    assert laid.all(e.BonusSettled) == []
    assert laid.all(e.JackpotWon) == []


# -- jackpot

ROYAL = HANDS["royal-flush"]
STRAIGHT_FLUSH = HANDS["straight-flush"]
OTHER_ROYAL = "Ac Kc Qc Jc Tc"
OTHER_STRAIGHT_FLUSH = "9d 8d 7d 6d 5d"

JACKPOTS: list[tuple[str, list[Box], int, dict[int, int]]] = [
    ("straight flush on 1, royal flush on 3 (the page's example)",
     [Box(1, STRAIGHT_FLUSH, bonus=10), Box(2), Box(3, ROYAL, bonus=10)], 100_007, {1: 10_000, 3: 90_007}),
    ("royal flush on 1, straight flush on 3 (the page's example)",
     [Box(1, ROYAL, bonus=10), Box(2), Box(3, STRAIGHT_FLUSH, bonus=10)], 100_007, {1: 100_007, 3: 0}),
    ("two royal flushes: the first takes all",
     [Box(1, ROYAL, bonus=10), Box(2, OTHER_ROYAL, bonus=10)], 500, {1: 500, 2: 0}),
    ("two straight flushes: each a tenth of the pot at the deal",
     [Box(1, STRAIGHT_FLUSH, bonus=10), Box(2, OTHER_STRAIGHT_FLUSH, bonus=10)], 1000, {1: 100, 2: 100}),
    ("a tenth is rounded down", [Box(1, STRAIGHT_FLUSH, bonus=10)], 99, {1: 9}),
    ("a pot below ten pays a straight flush nothing", [Box(1, STRAIGHT_FLUSH, bonus=10)], 9, {1: 0}),
    ("an empty pot", [Box(1, ROYAL, bonus=10)], 0, {1: 0}),
    ("a dark box first: its place counts, not when it is shown",
     [dark(1, ROYAL, bonus=10), Box(2, STRAIGHT_FLUSH, bonus=10)], 100_007, {1: 100_007, 2: 0}),
    ("a dark box after", [Box(1, STRAIGHT_FLUSH, bonus=10), dark(2, ROYAL, bonus=10)], 100_007, {1: 10_000, 2: 90_007}),
    ("a royal flush without a bonus leaves the pot",
     [Box(1, ROYAL), Box(2, STRAIGHT_FLUSH, bonus=10)], 100_007, {2: 10_000}),
    ("contributions of the round are not in the pot", [Box(1, ROYAL, bonus=1000)], 100, {1: 100}),
]  # fmt: skip


@pytest.mark.parametrize(("case", "boxes", "pot", "amounts"), JACKPOTS, ids=[j[0] for j in JACKPOTS])
@pytest.mark.parametrize("action", ["bet", "fold"])
def test_the_jackpot_is_shared_in_box_order_from_the_pot_at_the_deal(
    case: str, boxes: list[Box], pot: int, amounts: dict[int, int], action: str
) -> None:
    """Rule 5.3: floor(share x pot), never more than is left, each paid once, the stake comes back; a fold keeps it."""
    laid = Laid(game("ORP"), *boxes, jackpot=pot)
    laid.say("; ".join(f"{box.number} {action}" for box in boxes if box.mode == "open"))

    won = laid.all(e.JackpotWon)
    assert {event.box: event.amount for event in won} == amounts
    assert len(won) == len(amounts)
    assert {event.pot for event in won} == {pot}
    for box in amounts:
        assert laid.box(box).bonus_returned == laid.box(box).bonus
    assert sum(amounts.values()) <= pot


@pytest.mark.parametrize(("bonus", "amount"), [(0, 0), (1, 0), (9, 0), (10, 1), (19, 1), (1000, 100)])
def test_a_tenth_of_a_bonus_goes_to_the_pot(bonus: int, amount: int) -> None:
    """Rule 5.3: right after the deal, rounded down, on dark boxes too; the player pays nothing extra."""
    laid = Laid(game("ORP"), Box(1, NO_GAME, bonus=bonus), dark(2, bonus=bonus), dealer="2h 2d 3c 4s 5h")

    contributed = {event.box: event.amount for event in laid.all(e.JackpotContributed)}
    assert contributed == ({1: amount, 2: amount} if amount else {})
    assert laid.story(e.CardsDealt, e.JackpotContributed, e.HandShown)[-1] == "hand-shown 1"
    assert laid.say("1 fold").settled(1).staked == 10 + bonus


@pytest.mark.parametrize("page", ["RP", "FCP", "MRP"])
def test_games_without_a_jackpot_take_nothing_from_a_pot(page: str) -> None:
    """Rule 5.3: whatever the deal says stands in the pot."""
    laid = Laid(game(page), Box(1, ROYAL, bonus=10), jackpot=1_000_000).say("1 bet")

    assert laid.all(e.JackpotWon) == []
    assert laid.all(e.JackpotContributed) == []


def test_the_pot_restarts_from_a_million_minor_units() -> None:
    """Rule 5.3 of ORP: the figure that the jackpot's stream restarts from."""
    assert game("ORP").jackpot_seed_amount == 1_000_000
    assert [game(page).jackpot_seed_amount for page in ("RP", "FCP", "MRP")] == [0, 0, 0]


def test_the_maximum_payout_leaves_bonus_and_jackpot_alone() -> None:
    """Rules 5.3 and 9.7: the BET of a royal flush is cut, its jackpot is not."""
    laid = Laid(game("ORP"), Box(1, ROYAL, bonus=10), limits=limits(payout_max=500), jackpot=100_000).say("1 bet")

    assert laid.settled(1).bet == 20 + 500
    assert laid.settled(1).returned == 10 + 520 + 100_000 + 10


# -- announcement


ANNOUNCED = [
    ("1 fold", False, ALL),
    ("1 bet", True, ALL),
    ("1 exchange 0; 1 fold", True, ALL),
    ("1 exchange 0; 1 bet", True, ALL),
    ("1 sixth; 1 fold", True, WITH_SECOND),
    ("1 insure 10; 1 bet", True, WITH_SECOND),
]


@pytest.mark.parametrize(
    ("page", "decisions", "paid"), [(page, words, paid) for words, paid, pages in ANNOUNCED for page in pages]
)
def test_where_a_bonus_must_be_announced_a_fold_before_a_draw_loses_it(page: str, decisions: str, paid: bool) -> None:
    """Rule 5.4: a draw, an insurance or a BET announces it; as released a fold never loses it."""
    box = Box(1, "6c 6d 6h 3c 4s", bonus=10)
    strict = Laid(house_version(page, bonus_needs_announcement=True), box, draws="Ts")
    before = strict.all(e.BonusSettled)
    released = Laid(game(page), box, draws="Ts")
    strict.say(decisions)
    released.say(decisions)

    full = released.all(e.BonusSettled)[0].returned
    assert full > 10
    assert before == []
    assert [event.returned for event in strict.all(e.BonusSettled)] == [full if paid else 0]
    assert strict.net(1) == released.net(1) - (0 if paid else full)
    if not paid:
        assert [line.clause for line in strict.lines(1) if "announced" in line.text] == [f"{page}-5.4"]


def test_the_bonus_is_settled_at_the_decision_that_announces_it() -> None:
    """Rule 5.4: with the draw, before its cards come; judged on the five cards of the deal."""
    laid = Laid(house_version("MRP", bonus_needs_announcement=True), Box(1, "6c 6d 6h 3c 4s", bonus=10))
    laid.say("1 exchange 0 1")

    told = laid.story(e.BonusSettled, e.ExchangeBought, e.CardsDrawn)
    assert sorted(told[:2]) == ["bonus-settled 1", "exchange-bought 1"]
    assert told[2:] == ["cards-drawn 1"]
    assert laid.all(e.BonusSettled)[0].combination == "three-of-a-kind"


def test_a_dark_box_need_not_announce() -> None:
    """Rule 5.4: only the bonus of an open box can be lost by silence."""
    laid = Laid(house_version("MRP", bonus_needs_announcement=True), dark(1, "6c 6d 6h 3c 4s", bonus=10))
    laid.say("1 decline")

    assert laid.all(e.BonusSettled)[0].returned == 260
