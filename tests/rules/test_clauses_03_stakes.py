"""Rules 3.1 to 3.7: which boxes, in which mode, with which stakes, and what must be at hand.

A row places boxes one after the other; the code says why the last one is refused, None that it is accepted.

Not here: what the stakes win (sections 5 and 9).
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from domain.deal.shuffle import FixedDeck
from domain.money import LARGEST_STAKE
from domain.round import choices as c
from domain.round import events as e
from domain.round.decisions import advance
from domain.round.refusals import Refusal, RefusalCode
from domain.ruleset import Limits, Ruleset
from tests.rules.table import ALL, LIMITS, Box, Laid, dark, game, house_version, limits, opened_state, spoken

Code = RefusalCode


def place(ruleset: Ruleset, boxes: list[Box], table: Limits = LIMITS) -> Refusal | None:
    """Place all boxes; every one but the last must be accepted."""
    state = opened_state(ruleset, table)
    for number, box in enumerate(boxes):
        answer = advance(state, ruleset, None, box.place())
        if isinstance(answer, Refusal):
            assert number == len(boxes) - 1, f"{box} was refused too early: {answer}"
            return answer
    return None


def _row(box: Box) -> str:
    return f"{box.number}{box.mode[0]}{box.ante}+{box.bonus}{box.player}"


BOXES: list[tuple[str, str, list[Box], Code | None]] = [
    ("3.1", "RP", [Box(1)], None),
    ("3.1", "RP", [Box(2)], Code.BOX_UNKNOWN),
    ("3.1", "RP", [Box(0)], Code.BOX_UNKNOWN),
    ("3.1", "RP", [Box(1), Box(1)], Code.BOX_TAKEN),
    ("3.1", "RP", [Box(1, player="")], Code.PLAYER_MISSING),
    # four boxes, all of one player, next to each other
    ("3.1", "ORP", [Box(1), Box(2), Box(3), Box(4)], None),
    ("3.1", "ORP", [Box(5)], Code.BOX_UNKNOWN),
    ("3.1", "ORP", [Box(1), Box(3)], Code.BOXES_NOT_ADJACENT),
    ("3.1", "ORP", [Box(1), dark(3)], Code.BOXES_NOT_ADJACENT),
    ("3.1", "ORP", [Box(2), Box(1), dark(3)], None),
    ("3.1", "ORP", [Box(1), Box(2, player="p2"), Box(3)], Code.BOXES_NOT_ADJACENT),
    ("3.1", "ORP", [Box(1), Box(2, player="p2"), Box(3, player="p2"), Box(4, player="p2")], None),
    # any two of three
    ("3.1", "FCP", [Box(1), Box(3)], None),
    ("3.1", "FCP", [Box(1), Box(2), Box(3)], Code.TOO_MANY_BOXES),
    ("3.1", "FCP", [Box(1), Box(2), Box(3, player="p2")], None),
    ("3.1", "FCP", [Box(4)], Code.BOX_UNKNOWN),
    # any of four
    ("3.1", "MRP", [Box(1), dark(3)], None),
    ("3.1", "MRP", [dark(1), dark(4)], None),
    # modes
    ("3.2", "RP", [dark(1)], Code.TOO_MANY_DARK_BOXES),
    ("3.2", "FCP", [dark(1)], Code.TOO_MANY_DARK_BOXES),
    ("3.2", "ORP", [dark(1), dark(2), dark(3), dark(4)], None),
    ("3.2", "ORP", [Box(1), dark(2), Box(3), dark(4)], None),
    ("3.2", "MRP", [Box(1), Box(2)], Code.TOO_MANY_OPEN_BOXES),
    ("3.2", "MRP", [Box(1), Box(2, player="p2")], None),
    ("3.2", "MRP", [dark(1), dark(2), dark(3), dark(4)], None),
    ("3.2", "MRP", [dark(1), Box(2), dark(3), dark(4)], None),
    # antes across a player's boxes
    ("3.3", "ORP", [Box(1, ante=10), Box(2, ante=12)], Code.ANTES_NOT_EQUAL),
    ("3.3", "ORP", [Box(1, ante=10), dark(2, ante=12), Box(3, ante=10)], None),
    ("3.3", "ORP", [Box(1, ante=10), dark(2, ante=12), Box(3, ante=12)], Code.ANTES_NOT_EQUAL),
    ("3.3", "ORP", [Box(1, ante=10), Box(2, ante=12, player="p2")], None),
    ("3.3", "FCP", [Box(1, ante=10), Box(2, ante=12)], None),
    ("3.3", "MRP", [Box(1, ante=10), dark(2, ante=12), dark(3, ante=11)], None),
    # whole prices
    ("3.4", "FCP", [Box(1, ante=11)], Code.ANTE_NOT_DIVISIBLE),
    ("3.4", "FCP", [Box(1, ante=1)], Code.ANTE_NOT_DIVISIBLE),
    ("3.4", "FCP", [Box(1, ante=12)], None),
    ("3.4", "RP", [Box(1, ante=11)], None),
    ("3.4", "ORP", [Box(1, ante=11)], None),
    ("3.4", "MRP", [Box(1, ante=11)], None),
    # the bonus needs an ante and, in RP, is at most the ante
    ("3.5", "RP", [Box(1, ante=10, bonus=1)], None),
    ("3.5", "RP", [Box(1, ante=10, bonus=10)], None),
    ("3.5", "RP", [Box(1, ante=10, bonus=11)], Code.BONUS_OFF_LIMITS),
    ("3.5", "FCP", [Box(1, ante=10, bonus=11)], None),
    ("3.5", "ORP", [dark(1, ante=10, bonus=1000)], None),
]


@pytest.mark.parametrize(
    ("clause", "page", "boxes", "code"),
    BOXES,
    ids=[f"{page}-{clause} {' '.join(map(_row, boxes))}" for clause, page, boxes, _ in BOXES],
)
def test_boxes_are_placed_as_the_game_allows(clause: str, page: str, boxes: list[Box], code: Code | None) -> None:
    """Rules 3.1 to 3.5: the last box of the row is refused with the code and the clause of the game's own page."""
    refusal = place(game(page), boxes)

    assert (None if refusal is None else refusal.code) is code
    if refusal is not None and code is not Code.PLAYER_MISSING:
        assert refusal.clause == f"{page}-{clause}"


TABLE = limits(ante_min=100, ante_max=500, ante_step=50, bonus_min=20, bonus_max=60)

STAKES: list[tuple[str, object, object, Code | None]] = [
    ("3.4", 100, 0, None),
    ("3.4", 500, 0, None),
    ("3.4", 150, 0, None),
    ("3.4", 50, 0, Code.ANTE_OFF_LIMITS),
    ("3.4", 99, 0, Code.ANTE_OFF_LIMITS),
    ("3.4", 125, 0, Code.ANTE_OFF_LIMITS),
    ("3.4", 550, 0, Code.ANTE_OFF_LIMITS),
    ("3.4", 0, 0, Code.ANTE_OFF_LIMITS),
    ("3.4", -100, 0, Code.NOT_WHOLE),
    ("3.4", 100.0, 0, Code.NOT_WHOLE),
    ("3.4", True, 0, Code.NOT_WHOLE),
    ("3.4", "100", 0, Code.NOT_WHOLE),
    ("3.4", None, 0, Code.NOT_WHOLE),
    ("3.4", LARGEST_STAKE + 50, 0, Code.NOT_WHOLE),
    ("3.5", 100, 20, None),
    ("3.5", 100, 60, None),
    ("3.5", 100, 19, Code.BONUS_OFF_LIMITS),
    ("3.5", 100, 61, Code.BONUS_OFF_LIMITS),
    ("3.5", 100, -1, Code.NOT_WHOLE),
    ("3.5", 100, 20.0, Code.NOT_WHOLE),
    ("3.5", 100, True, Code.NOT_WHOLE),
    ("3.4", 0, 20, Code.ANTE_OFF_LIMITS),
]


@pytest.mark.parametrize("page", ["ORP", "FCP", "MRP"])
@pytest.mark.parametrize(("clause", "ante", "bonus", "code"), STAKES, ids=[f"{s[0]} {s[1]!r}+{s[2]!r}" for s in STAKES])
def test_stakes_keep_to_the_table(page: str, clause: str, ante: Any, bonus: Any, code: Code | None) -> None:
    """Rules 3.4 and 3.5: limits, step, whole amounts only, and no bonus without an ante."""
    refusal = place(game(page), [Box(1, ante=ante, bonus=bonus)], TABLE)

    assert (None if refusal is None else (refusal.code, refusal.clause)) == (code and (code, f"{page}-{clause}"))


def test_a_step_keeps_the_ante_even_when_it_is_even_itself() -> None:
    """Rule 3.4 of FCP: with an odd step every second ante is refused, in the words of the one and a half antes."""
    refusals = [place(game("FCP"), [Box(1, ante=ante)], limits(ante_min=5, ante_step=5)) for ante in (5, 10, 15, 20)]

    assert [r and r.code for r in refusals] == [Code.ANTE_NOT_DIVISIBLE, None, Code.ANTE_NOT_DIVISIBLE, None]
    assert refusals[0] is not None
    assert "one and a half antes" in refusals[0].text


@pytest.mark.parametrize("page", ALL)
def test_no_box_is_placed_or_changed_after_the_deal(page: str) -> None:
    """Rule 4.1 with 3.4: stakes close before the first card."""
    laid = Laid(game(page), Box(1))
    answer = advance(laid.state, laid.ruleset, laid.deck, Box(1, player="p2").place())

    assert isinstance(answer, Refusal)
    assert answer.code is Code.BETS_CLOSED


def test_a_game_without_a_bonus_takes_none() -> None:
    """Rule 3.5: in a house's own version without it."""
    refusal = place(house_version("RP", bonus_stake=None), [Box(1, bonus=1)])

    assert refusal is not None
    assert (refusal.code, refusal.clause) == (Code.BONUS_NOT_OFFERED, "RP-3.5")


# -- dark boxes


@pytest.mark.parametrize("page", ["ORP", "MRP"])
def test_a_dark_box_brings_its_bet_along(page: str) -> None:
    """Rule 3.6: ante and BET are placed before the deal, an open box brings its ante alone."""
    laid = Laid(game(page), Box(1, ante=10, bonus=3), dark(2, ante=30, bonus=4))

    placed = laid.all(e.BoxPlaced)
    assert [(p.box, p.ante, p.bet, p.bonus) for p in placed] == [(1, 10, 0, 3), (2, 30, 60, 4)]


@pytest.mark.parametrize("words", ["2 bet", "2 fold", "2 insure 10", "2 exchange 0", "2 buy", "2 ante"])
def test_a_dark_box_of_open_russian_poker_decides_nothing(words: str) -> None:
    """Rule 3.6 of ORP: no fold, no draw, no insurance, no purchase."""
    laid = Laid(game("ORP"), Box(1), dark(2, "9c 9d 9h 4s 3c"), dealer="Qc Jd Th 8s 2c")
    before = laid.refused(words)
    laid.say("1 bet")  # the dealer opens and has no game

    assert (before, laid.refused(words)) == (Code.DARK_BOX, Code.DARK_BOX)


@pytest.mark.parametrize("words", ["2 bet", "2 fold", "2 insure 10", "2 exchange 0"])
def test_a_dark_box_of_multi_box_russian_poker_has_its_sixth_card_only(words: str) -> None:
    """Rule 3.6 of MRP."""
    laid = Laid(game("MRP"), Box(1), dark(2, "Tc Td Th 4s 3c")).say("1 bet")

    assert laid.refused(words) is Code.DARK_BOX
    assert laid.refused("2 buy") is Code.NOT_OFFERED


# -- funds


FUNDS_AT_DEAL = [
    # page, the player's boxes so far, the new box, what must be at hand for it
    ("RP", [], Box(1, ante=10, bonus=5), 15),
    ("ORP", [], Box(1, ante=10), 10),
    ("ORP", [], dark(1, ante=10, bonus=5), 35),
    ("ORP", [dark(1, ante=100)], Box(2, ante=10), 10),
    ("MRP", [Box(1, ante=100)], dark(2, ante=10), 30),
    ("FCP", [], Box(1, ante=10), 45),
    ("FCP", [], Box(1, ante=10, bonus=5), 50),
    # 140 in all by the page's example; 15 of them have left the account with the first box
    ("FCP", [Box(1, ante=10, bonus=5)], Box(2, ante=20), 125),
    ("FCP", [Box(1, ante=10, bonus=5, player="p2")], Box(2, ante=20), 90),
]


@pytest.mark.parametrize(("page", "own", "box", "needed"), FUNDS_AT_DEAL)
def test_the_account_holds_what_the_deal_wants(page: str, own: list[Box], box: Box, needed: int) -> None:
    """Rule 3.7: the stakes now, and in FCP 4.5 antes for each box; one unit less is refused."""
    ruleset = game(page)
    for funds, code in ((needed - 1, Code.FUNDS_TOO_LOW), (0, Code.FUNDS_TOO_LOW), (needed, None)):
        state = opened_state(ruleset)
        for earlier in own:
            assert not isinstance(advance(state, ruleset, None, earlier.place()), Refusal)
        answer = advance(state, ruleset, None, replace(box.place(), funds=funds))

        assert (answer.code if isinstance(answer, Refusal) else None) is code
        if isinstance(answer, Refusal):
            assert answer.clause == f"{page}-3.7"


TRIPS = "9c 9d 9h 4s 3c"

FUNDS_LATER = [
    ("a draw leaves 2 antes for the BET", "RP", "", "1 exchange 0", 30),
    ("five cards cost one ante too", "RP", "", "1 exchange 0 1 2 3 4", 30),
    ("a sixth card leaves 2 antes", "ORP", "", "1 sixth", 30),
    ("one card in FCP", "FCP", "", "1 exchange 0", 30),
    ("two cards in FCP cost one and a half", "FCP", "", "1 exchange 0 1", 35),
    ("a BET", "RP", "", "1 bet", 20),
    ("a BET after a draw", "FCP", "1 exchange 0", "1 bet", 20),
    ("an insurance leaves 2 antes", "RP", "", "1 insure 10", 30),
    ("the largest insurance leaves 2 antes", "ORP", "", "1 insure 60", 80),
    ("an insurance in MRP", "MRP", "", "1 insure 30", 50),
    ("a BET after an insurance", "MRP", "1 insure 30", "1 bet", 20),
    ("the dealer's game", "RP", "1 bet", "1 buy", 10),
    ("the dealer's game, insured", "ORP", "1 insure 10; 1 bet", "1 buy", 10),
]


@pytest.mark.parametrize(("case", "page", "before", "words", "needed"), FUNDS_LATER, ids=[f[0] for f in FUNDS_LATER])
def test_a_decision_needs_its_price_and_what_it_obliges_to(
    case: str, page: str, before: str, words: str, needed: int
) -> None:
    """Rule 3.7: one unit less is refused, exactly enough is taken."""
    laid = Laid(game(page), Box(1, TRIPS), dealer="Qc Jd Th 8s 2c").say(before)

    assert laid.refused(words, funds=needed - 1) is Code.FUNDS_TOO_LOW
    assert laid.refusal(words, funds=0).clause == f"{page}-3.7"
    choice: Any = spoken(words)
    assert not isinstance(advance(laid.state, laid.ruleset, laid.deck, replace(choice, funds=needed)), Refusal)


def test_a_fold_and_the_ante_cost_nothing() -> None:
    """Rule 3.7: an empty account can still give up, or take the ante."""
    folding = Laid(game("RP"), Box(1))
    answering = Laid(game("RP"), Box(1), dealer="Qc Jd Th 8s 2c").say("1 bet")

    for laid, choice in ((folding, c.Fold(box=1, funds=0)), (answering, c.TakeAnte(box=1, funds=0))):
        assert not isinstance(advance(laid.state, laid.ruleset, laid.deck, choice), Refusal)


def test_a_dark_boxs_sixth_card_needs_its_fee_alone() -> None:
    """Rule 3.7 of MRP: its BET is placed already."""
    laid = Laid(game("MRP"), dark(1))

    assert laid.refused("1 sixth", funds=9) is Code.FUNDS_TOO_LOW
    assert not isinstance(advance(laid.state, laid.ruleset, laid.deck, c.SixthCard(box=1, funds=10)), Refusal)


def test_a_deck_is_not_needed_before_the_deal() -> None:
    """Rule 4.4 with 3.4: stakes are taken while the deck is a secret; a deal without one is a broken program."""
    ruleset = game("RP")
    state = opened_state(ruleset)
    assert not isinstance(advance(state, ruleset, None, Box(1).place()), Refusal)

    with pytest.raises(ValueError, match="a deck is needed"):
        advance(state.copy(), ruleset, None, c.Deal())
    assert not isinstance(advance(state, ruleset, FixedDeck(range(52)), c.Deal()), Refusal)
