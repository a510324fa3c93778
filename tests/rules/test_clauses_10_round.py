"""Rules 10.1 to 10.3: interruption, void, and the end of a round.

Not here: a server that stops between two appends (`tests/ops`).
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from domain.round import choices as c
from domain.round import events as e
from domain.round.dealer import whose_turn
from domain.round.decisions import advance, decide, reveal_seed
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from domain.round.state import apply, fold
from tests.rules.table import ALL, NO_GAME, Box, Laid, dark, game, opened_state, picture, spoken

TRIPS = "6c 6d 6h 4s 3c"

# page, boxes, the dealer, cards to draw, every decision of a whole round
ROUNDS: dict[str, tuple[list[Box], str, str, str]] = {
    "RP": ([Box(1, TRIPS, bonus=5)], NO_GAME, "Ts 9s", "1 sixth; 1 insure 20; 1 bet; 1 buy"),
    "ORP": (
        [Box(1, TRIPS, bonus=10), dark(2, "9h 8h 7h 6s 5h", bonus=10), Box(3, "As Ks Qs Js Ts", bonus=10)],
        "Qc Jd Th 8s 2c", "Tc 4d 4h Qd Td",
        "1 exchange 3 4; 3 sixth; 1 insure 10; 1 bet; 3 insure 50; 3 bet; 1 ante; 3 buy",
    ),
    "FCP": (
        [Box(1, TRIPS, bonus=5), Box(3, "Kd Ks 9d 8d 4c", bonus=5)], "Ac Kc 9h 8s 2c", "Td 9c",
        "1 exchange 3 4; 1 bet; 3 exchange 4; 3 fold",
    ),
    "MRP": (
        [dark(1, "9d 8d 7d 6s 5d", bonus=5), Box(2, TRIPS, bonus=5), dark(4, "Ah Kh Qh Jh Tc")], NO_GAME, "Th 9s Td",
        "1 sixth; 2 exchange 3 4; 4 decline; 2 insure 30; 2 bet",
    ),
}  # fmt: skip
STEPS = [
    (page, count) for page, (_, _, _, words) in ROUNDS.items() for count in range(len(words.split(";")) + 1)
]


def played(page: str, count: int) -> Laid:
    """The page's round after so many decisions."""
    boxes, dealer, draws, words = ROUNDS[page]
    laid = Laid(game(page), *boxes, dealer=dealer, draws=draws, jackpot=100_007)
    for decision in words.split(";")[:count]:
        laid.say(decision)
    return laid


@pytest.mark.parametrize("page", ALL)
def test_the_rounds_of_this_file_are_whole(page: str) -> None:
    """Rule 10.3: the last decision closes them, the one before does not."""
    last = len(ROUNDS[page][3].split(";"))

    assert played(page, last).state.phase is Phase.CLOSED
    assert played(page, last - 1).state.phase not in (Phase.CLOSED, Phase.ENDED)


@pytest.mark.parametrize(("page", "count"), STEPS)
def test_an_interrupted_round_resumes_at_the_same_decision(page: str, count: int) -> None:
    """Rule 10.1: folded from its facts it is the same round, with the same cards and the same box to decide."""
    before = played(page, count)
    resumed = fold(before.events)
    assert picture(resumed) == picture(before.state)

    turn, again = whose_turn(before.state, before.ruleset), whose_turn(resumed, before.ruleset)
    assert (turn and turn.box) == (again and again.box)

    rest = ROUNDS[page][3].split(";")[count:]
    events = list(before.events)
    for decision in rest:
        made = advance(resumed, before.ruleset, before.deck, spoken(decision.strip()))
        assert not isinstance(made, Refusal)
        events += made
    assert events == played(page, count + len(rest)).events


# -- void


@pytest.mark.parametrize(("page", "count"), STEPS)
def test_a_void_brings_every_box_to_net_zero(page: str, count: int) -> None:
    """Rule 10.2: whatever was staked goes back, whatever was paid is set against it; not once the round is closed."""
    laid = played(page, count)
    answer = decide(laid.state, laid.ruleset, laid.deck, c.Void("the shoe broke"))
    if laid.state.phase is Phase.CLOSED:
        assert isinstance(answer, Refusal)
        assert (answer.code, answer.clause) == (RefusalCode.TOO_LATE_TO_VOID, f"{page}-10.2")
        return

    assert not isinstance(answer, Refusal)
    (voided,) = answer
    assert isinstance(voided, e.RoundVoided)
    assert voided.reason == "the shoe broke"
    moved = dict.fromkeys({refund.box for refund in voided.refunds}, 0)
    for event in laid.events:
        moved = _money(moved, event)
    assert {refund.box: moved[refund.box] + refund.amount for refund in voided.refunds} == dict.fromkeys(moved, 0)
    assert sorted(moved) == [box.box for box in laid.state.boxes]
    assert voided.jackpot_reversed == sum(event.amount for event in laid.all(e.JackpotContributed))


def _money(moved: dict[int, int], event: e.RoundEvent) -> dict[int, int]:
    """What a fact moved on its box, negative towards the house; written apart from the engine."""
    match event:
        case e.BoxPlaced():
            amount = -event.ante - event.bet - event.bonus
        case e.ExchangeBought() | e.SixthCardBought() | e.DealerGameBought():
            amount = -event.fee
        case e.InsuranceBought():
            amount = -event.stake
        case e.BetMade():
            amount = -event.bet
        case e.BonusSettled() | e.InsuranceSettled():
            amount = event.returned
        case e.JackpotWon():
            amount = event.amount
        case _:
            return moved
    return moved | {event.box: moved[event.box] + amount}


EXAMPLES = [("RP", 105), ("ORP", 15), ("FCP", 80), ("MRP", 105)]


@pytest.mark.parametrize(("page", "taken_back"), EXAMPLES)
def test_the_pages_example_of_a_void(page: str, taken_back: int) -> None:
    """Rule 10.2: ante 10, bonus 5 and exchange 10; three of a kind was paid, the void takes back what is above 25."""
    laid = Laid(game(page), Box(1, TRIPS, ante=10, bonus=5)).say("1 exchange 4; void the page's example")

    assert laid.all(e.RoundVoided)[0].refunds == [e.Refund(amount=-taken_back, box=1)]


@pytest.mark.parametrize("page", ALL)
def test_a_round_can_be_void_before_the_deal(page: str) -> None:
    """Rule 10.2: the stakes go back, no card was shown."""
    state, ruleset = opened_state(game(page)), game(page)
    assert not isinstance(advance(state, ruleset, None, Box(1, ante=10, bonus=5).place()), Refusal)
    made = advance(state, ruleset, None, c.Void("no dealer"))

    assert made == [e.RoundVoided(jackpot_reversed=0, reason="no dealer", refunds=[e.Refund(amount=15, box=1)])]
    assert state.phase is Phase.VOIDED


@pytest.mark.parametrize("reason", ["", " ", "\n\t"])
def test_a_void_needs_its_reason(reason: str) -> None:
    """Rule 10.2: it is recorded."""
    refusal = Laid(game("RP"), Box(1)).refusal(f"void{reason}")

    assert (refusal.code, refusal.clause) == (RefusalCode.REASON_MISSING, "RP-10.2")


@pytest.mark.parametrize(
    "event",
    [
        e.DealerCardReplaced(combination="no-game", free=False, new="3s", old="Qc"),
        e.BoxSettled(ante=20, bet=20, box=1, main="pair", net=10, outcome=e.Outcome.NO_GAME, returned=40, second=None,
                     staked=30),
    ],
    ids=["a card was replaced", "a box was settled"],
)  # fmt: skip
def test_a_round_is_finished_once_the_showdown_has_begun(event: e.RoundEvent) -> None:
    """Rule 10.2: from the first replaced card or settled box on there is no void."""
    laid = Laid(game("ORP"), Box(1, TRIPS), dealer=NO_GAME).say("1 bet")
    assert not isinstance(decide(laid.state, laid.ruleset, laid.deck, c.Void("still possible")), Refusal)
    apply(laid.state, event)

    assert laid.refused("void too late") is RefusalCode.TOO_LATE_TO_VOID


def test_a_void_round_goes_no_further() -> None:
    """Rule 10.2: no decision, no stake, no second void."""
    laid = Laid(game("ORP"), Box(1, TRIPS)).say("void a fault")

    assert [laid.refused(words) for words in ("1 bet", "1 fold", "1 buy")] == [RefusalCode.ROUND_ENDED] * 3
    assert laid.refused("void again") is RefusalCode.TOO_LATE_TO_VOID
    placed = advance(laid.state, laid.ruleset, laid.deck, Box(2).place())
    dealt = advance(laid.state, laid.ruleset, laid.deck, c.Deal())
    assert [answer.code for answer in (placed, dealt) if isinstance(answer, Refusal)] == [RefusalCode.ROUND_ENDED] * 2


# -- the end


@pytest.mark.parametrize("page", ALL)
def test_a_round_in_which_every_box_folded_is_played_to_its_end(page: str) -> None:
    """Rule 10.3: the dealer's cards are opened all the same."""
    boxes = [Box(1)] if page == "RP" else [Box(1, player="p1"), Box(2, player="p2")]
    laid = Laid(game(page), *boxes, dealer=NO_GAME).say("; ".join(f"{box.number} fold" for box in boxes))

    assert laid.all(e.DealerRevealed)[0].cards == NO_GAME.split()
    assert laid.all(e.RoundClosed) == [e.RoundClosed(net=-10 * len(boxes), returned=0, staked=10 * len(boxes))]


def test_the_seed_is_revealed_after_the_end() -> None:
    """Rule 10.3: closed or void, then ended; nothing follows."""
    closed = Laid(game("RP"), Box(1)).say("1 fold")
    voided = Laid(game("RP"), Box(1)).say("void a fault")

    for laid in (closed, voided):
        apply(laid.state, reveal_seed(bytes(range(32))))
        assert laid.state.phase is Phase.ENDED
        assert laid.state.server_seed == bytes(range(32)).hex()
        assert laid.refused("1 bet") is RefusalCode.ROUND_ENDED


@pytest.mark.parametrize("page", ALL)
def test_boxes_are_settled_in_ascending_order(page: str) -> None:
    """Rule 10.3 with 9.1 to 9.5: box by box, then the sums."""
    laid = played(page, len(ROUNDS[page][3].split(";")))
    told = laid.story(e.BoxSettled, e.RoundClosed)

    assert told[-1] == "round-closed"
    if page != "ORP":  # there the buyers come last (rule 8.1)
        assert all(one < other for one, other in pairwise(told[:-1]))
