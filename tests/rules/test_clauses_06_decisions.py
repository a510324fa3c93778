"""Rules 6.1 to 6.8: who decides when, folding, the BET, exchanges, sixth cards and dark boxes.

Ante 10 throughout, so BET 20 and one ante of fee 10.

Not here: insurance (section 7), the dealer's game (section 8), what must be at hand (rule 3.7).
"""

from __future__ import annotations

import pytest

from domain.round import choices as c
from domain.round import events as e
from domain.round.decisions import advance
from domain.round.refusals import Refusal, RefusalCode
from tests.rules.table import ALL, NO_GAME, WITH_SECOND, Box, Laid, cards, dark, game, house_version

Code = RefusalCode

# A box that has paid for cards and waits for them: whether it "has decided" or is "out of turn" is a matter of words.
NOT_NOW = {Code.OUT_OF_TURN, Code.ALREADY_DECIDED}


# -- order


@pytest.mark.parametrize("page", ["ORP", "FCP", "MRP"])
def test_boxes_decide_in_ascending_order_whoever_owns_them(page: str) -> None:
    """Rule 6.1: out of turn is refused, decided is decided."""
    laid = Laid(game(page), Box(1, player="p2"), Box(2, player="p1"), Box(3, player="p3"))

    assert laid.refused("2 bet") is Code.OUT_OF_TURN
    assert laid.refused("3 fold") is Code.OUT_OF_TURN
    laid.say("1 bet")
    assert laid.refused("1 fold") is Code.ALREADY_DECIDED
    assert laid.refused("3 bet") is Code.OUT_OF_TURN
    laid.say("2 fold")
    assert laid.refused("2 bet") is Code.ALREADY_DECIDED
    assert laid.refusal("2 exchange 0").clause == f"{page}-6.1"


@pytest.mark.parametrize("page", ALL)
@pytest.mark.parametrize("first", ["1 bet", "1 fold"])
@pytest.mark.parametrize("then", ["1 bet", "1 fold", "1 exchange 0"])
def test_a_decision_cannot_be_taken_back(page: str, first: str, then: str) -> None:
    """Rules 6.1 to 6.3: a BET and a fold are final, though the dealer's game is still being asked about."""
    laid = Laid(game(page), Box(1, player="p1"), *([] if page == "RP" else [Box(2, player="p2")]), dealer=NO_GAME)
    laid.say(first)

    assert laid.refused(then) is (Code.ROUND_ENDED if laid.state.closed else Code.ALREADY_DECIDED)


def test_nobody_decides_for_another_player() -> None:
    """Rule 6.1: the box's own player, by name, or the house."""
    laid = Laid(game("ORP"), Box(1, player="alice"))
    other = advance(laid.state, laid.ruleset, laid.deck, c.Bet(box=1, player="bob"))

    assert isinstance(other, Refusal)
    assert other.code is Code.NOT_YOUR_BOX
    assert "alice" not in other.text
    made = advance(laid.state, laid.ruleset, laid.deck, c.Bet(box=1, player="alice"))
    assert not isinstance(made, Refusal)


def test_a_box_that_nobody_plays_decides_nothing() -> None:
    """Rule 6.1 with 3.1."""
    laid = Laid(game("ORP"), Box(2))

    assert [laid.refused(f"{box} bet") for box in (0, 1, 3, 5)] == [Code.BOX_UNKNOWN] * 4


def test_the_house_decides_only_under_its_own_name() -> None:
    """Rule 6.1: a decision of the house's policy is recorded as the house's."""
    laid = Laid(game("RP"), Box(1))
    laid.choose(c.Fold(box=1, by=e.By.HOUSE))

    assert laid.all(e.BoxFolded) == [e.BoxFolded(box=1, by=e.By.HOUSE)]


# -- fold and BET


FOLDS = [("1 fold", -10, ALL), ("1 exchange 0; 1 fold", -20, ALL), ("1 sixth; 1 fold", -20, WITH_SECOND)]


@pytest.mark.parametrize(
    ("page", "decisions", "net"), [(page, words, net) for words, net, pages in FOLDS for page in pages]
)
def test_a_fold_loses_the_ante_and_the_fee(page: str, decisions: str, net: int) -> None:
    """Rule 6.2: even a hand that would have won; no BET is placed."""
    laid = Laid(game(page), Box(1, "Ac Ad Ah As 3c"), dealer=NO_GAME).say(decisions)

    assert laid.net(1) == net
    assert (laid.settled(1).outcome, laid.settled(1).returned, laid.box(1).bet) == (e.Outcome.FOLDED, 0, 0)


@pytest.mark.parametrize("page", ALL)
@pytest.mark.parametrize("ante", [2, 10, 99_998])
def test_a_bet_is_exactly_two_antes(page: str, ante: int) -> None:
    """Rule 6.3."""
    laid = Laid(game(page), Box(1, ante=ante)).say("1 bet")

    assert laid.all(e.BetMade) == [e.BetMade(bet=2 * ante, box=1, by=e.By.PLAYER)]


# -- exchange

PRICES = [(page, count, 10) for page in WITH_SECOND for count in (1, 2, 3, 4, 5)] + [("FCP", 1, 10), ("FCP", 2, 15)]


@pytest.mark.parametrize(("page", "count", "fee"), PRICES)
def test_an_exchange_has_its_price(page: str, count: int, fee: int) -> None:
    """Rule 6.4: one ante whatever the number; in FCP one card 1 ante, two cards 1.5 antes."""
    laid = Laid(game(page), Box(1)).say(f"1 exchange {' '.join(str(p) for p in range(count))}; 1 fold")

    assert laid.all(e.ExchangeBought)[0].fee == fee
    assert laid.net(1) == -10 - fee
    assert len(laid.all(e.CardsDrawn)[0].cards) == count


@pytest.mark.parametrize("page", ALL)
@pytest.mark.parametrize(
    ("discard", "hand"),
    [
        ("0", "Qh Kd 3h 4s 5c"),
        ("4", "Ac Kd 3h 4s Qh"),
        ("1 3", "Ac Qh 3h Jh 5c"),
        ("3 1", "Ac Jh 3h Qh 5c"),
    ],
)
def test_new_cards_take_their_places_in_the_order_named(page: str, discard: str, hand: str) -> None:
    """Rule 6.4: the first named place gets the first new card."""
    laid = Laid(game(page), Box(1, "Ac Kd 3h 4s 5c"), draws="Qh Jh").say(f"1 exchange {discard}")

    assert laid.box(1).cards == cards(hand)


WRONG_DISCARDS = [
    ((), Code.DISCARD_INVALID),
    ((0, 0), Code.DISCARD_INVALID),
    ((5,), Code.DISCARD_INVALID),
    ((-1,), Code.DISCARD_INVALID),
    ((0, 1, 2, 3, 4, 0), Code.DISCARD_INVALID),
    ((True, 2), Code.DISCARD_INVALID),
    ((1.0,), Code.DISCARD_INVALID),
]


@pytest.mark.parametrize("page", ALL)
@pytest.mark.parametrize(("discard", "code"), WRONG_DISCARDS, ids=[str(w[0]) for w in WRONG_DISCARDS])
def test_a_wrong_discard_is_refused(page: str, discard: tuple[int, ...], code: Code) -> None:
    """Rule 6.4: no card, a card twice, or a place that the hand hasn't got."""
    laid = Laid(game(page), Box(1))
    answer = advance(laid.state, laid.ruleset, laid.deck, c.Exchange(box=1, discard=discard))

    assert isinstance(answer, Refusal)
    assert (answer.code, answer.clause) == (code, f"{page}-6.4")


@pytest.mark.parametrize("discard", ["0 1 2", "0 1 2 3 4"])
def test_classic_five_card_poker_exchanges_two_cards_at_most(discard: str) -> None:
    """Rule 6.4 of FCP."""
    assert Laid(game("FCP"), Box(1)).refused(f"1 exchange {discard}") is Code.TOO_MANY_CARDS


def test_a_game_without_draws_refuses_them() -> None:
    """Rules 6.4 and 6.5: a stud is a ruleset too."""
    stud = house_version("RP", exchange_half_antes=[], sixth_card_half_antes=None)
    laid = Laid(stud, Box(1))

    assert [laid.refused(words) for words in ("1 exchange 0", "1 sixth")] == [Code.NOT_OFFERED] * 2


# -- sixth card


@pytest.mark.parametrize("page", WITH_SECOND)
def test_a_sixth_card_costs_one_ante_and_all_six_count(page: str) -> None:
    """Rule 6.5: nothing is discarded."""
    laid = Laid(game(page), Box(1, "6c 6d Kh 7d 3h"), draws="6h").say("1 sixth; 1 bet")

    assert laid.all(e.SixthCardBought)[0].fee == 10
    assert laid.box(1).cards == cards("6c 6d Kh 7d 3h 6h")
    assert (laid.settled(1).main, laid.net(1)) == ("three-of-a-kind", 3 * 20 - 10)


def test_classic_five_card_poker_has_no_sixth_card() -> None:
    """Rule 6.5 of FCP."""
    refusal = Laid(game("FCP"), Box(1)).refusal("1 sixth")

    assert (refusal.code, refusal.clause) == (Code.NOT_OFFERED, "FCP-6.5")


@pytest.mark.parametrize("page", WITH_SECOND)
@pytest.mark.parametrize("first", ["1 exchange 0", "1 sixth"])
@pytest.mark.parametrize("second", ["1 exchange 1", "1 exchange 0", "1 sixth"])
def test_a_box_draws_once(page: str, first: str, second: str) -> None:
    """Rule 6.6: one exchange or one sixth card, not both and not twice."""
    laid = Laid(game(page), Box(1)).say(first)

    assert laid.refused(second) is Code.ALREADY_DREW
    assert laid.refusal(second).clause == f"{page}-6.6"


def test_classic_five_card_poker_exchanges_once() -> None:
    """Rule 6.6 of FCP."""
    assert Laid(game("FCP"), Box(1)).say("1 exchange 0").refused("1 exchange 1") is Code.ALREADY_DREW


# -- when draws are dealt


@pytest.mark.parametrize("page", ["ORP", "MRP"])
def test_draws_wait_until_every_box_has_decided(page: str) -> None:
    """Rule 6.7: then each box's cards together in ascending order, then those boxes decide again."""
    boxes = [Box(n, player=f"p{n}") for n in (1, 2, 3, 4)]
    laid = Laid(game(page), *boxes, dealer="2c 2d 9h 8s 7c", draws="3c 4c 5c 6c")

    laid.say("1 exchange 0 1; 2 bet; 3 sixth")
    assert laid.all(e.CardsDrawn) == []
    assert {laid.refused(words) for words in ("1 bet", "3 bet")} <= NOT_NOW
    laid.say("4 exchange 2")
    assert laid.all(e.CardsDrawn) == [
        e.CardsDrawn(box=1, cards=["3c", "4c"]),
        e.CardsDrawn(box=3, cards=["5c"]),
        e.CardsDrawn(box=4, cards=["6c"]),
    ]
    assert laid.refused("3 bet") is Code.OUT_OF_TURN
    assert laid.refused("2 bet") is Code.ALREADY_DECIDED
    laid.say("1 bet; 3 fold; 4 bet")
    assert laid.state.closed is not None


@pytest.mark.parametrize("page", ["RP", "FCP"])
def test_a_draw_is_dealt_at_once(page: str) -> None:
    """Rule 6.7: the box decides again before anyone else does."""
    laid = Laid(game(page), Box(1, player="p1"), *([] if page == "RP" else [Box(2, player="p2")]), draws="Ts")
    laid.say("1 exchange 0")

    assert laid.all(e.CardsDrawn) == [e.CardsDrawn(box=1, cards=["Ts"])]
    if page == "FCP":
        assert laid.refused("2 bet") is Code.OUT_OF_TURN
    laid.say("1 bet")


def test_the_last_box_to_fold_does_not_hold_the_draws_back() -> None:
    """Rule 6.7: a fold is a decision too."""
    laid = Laid(game("ORP"), Box(1), Box(2)).say("1 sixth; 2 fold")

    assert laid.story(e.BoxFolded, e.CardsDrawn) == ["box-folded 2", "cards-drawn 1"]


# -- dark boxes


@pytest.mark.parametrize("words", ["2 exchange 0", "2 sixth"])
def test_a_dark_box_of_open_russian_poker_makes_no_draw(words: str) -> None:
    """Rule 6.8 of ORP, before its neighbour decides and after."""
    laid = Laid(game("ORP"), Box(1), dark(2), dealer=NO_GAME)
    refusals = [laid.refusal(words), laid.say("1 bet").refusal(words)]

    assert [(r.code, r.clause) for r in refusals] == [(Code.DARK_BOX, "ORP-6.8")] * 2


def test_a_dark_box_of_multi_box_russian_poker_chooses_in_its_place() -> None:
    """Rules 6.7 and 6.8 of MRP: blind, in ascending order, the card dealt in that order and hidden."""
    laid = Laid(game("MRP"), dark(1), Box(2), dark(3), draws="Ts Js Qs")

    assert [laid.refused(words) for words in ("2 bet", "3 sixth", "3 decline")] == [Code.OUT_OF_TURN] * 3
    assert laid.refused("1 exchange 0") is Code.DARK_BOX
    laid.say("1 sixth")
    assert [laid.refused(words) for words in ("1 sixth", "1 decline")] == [Code.ALREADY_DECIDED] * 2
    laid.say("2 exchange 0")
    assert laid.story(e.CardsDrawn, e.HiddenCardDrawn) == []
    laid.say("3 sixth")
    assert laid.story(e.CardsDrawn, e.HiddenCardDrawn) == [
        "hidden-card-drawn 1", "cards-drawn 2", "hidden-card-drawn 3"
    ]  # fmt: skip
    assert laid.all(e.CardsDrawn)[0].cards == ["Js"]
    laid.say("2 bet")
    assert [shown.cards[5] for shown in laid.all(e.HandShown)[1:]] == ["Ts", "Qs"]


def test_a_dark_boxs_sixth_card_is_paid_for_and_counts() -> None:
    """Rule 6.8 of MRP: 1 ante, and the six cards make the hand."""
    laid = Laid(game("MRP"), dark(1, "6c 6d Kh 7d 3h"), draws="6h").say("1 sixth")

    assert (laid.settled(1).main, laid.settled(1).staked) == ("three-of-a-kind", 10 + 20 + 10)
    assert laid.net(1) == 3 * 20 - 10


def test_dark_boxes_alone_are_played_to_the_end() -> None:
    """Rules 3.2 and 6.1: with nobody left to decide the dealer opens at once."""
    orp = Laid(game("ORP"), dark(1), dark(2))
    mrp = Laid(game("MRP"), dark(1), dark(2)).say("1 decline; 2 sixth")

    assert orp.state.closed is not None
    assert mrp.state.closed is not None


@pytest.mark.parametrize("page", ["RP", "ORP", "FCP", "MRP"])
def test_nobody_declines_a_sixth_card_that_is_not_offered_blind(page: str) -> None:
    """Rule 6.8: an open box just decides otherwise, and the other games have no such question."""
    laid = Laid(game(page), Box(1))

    assert (laid.refused("1 decline"), laid.refusal("1 decline").clause) == (Code.NOT_OFFERED, f"{page}-6.8")
