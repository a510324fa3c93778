"""Rounds that their players left: taken up again, finished by the table's published policy, or voided.

Not here: the list of stuck rounds (`tests/ops/cli/test_rounds`).
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from domain.hands import Combination
from domain.round import choices as c
from domain.round import events as e
from domain.round.phases import Phase
from domain.round.refusals import RefusalCode
from domain.table import Abandoned
from ops.floor import RoundDone
from ops.simulation import next_choice
from tests.ops.floor.casino import (
    FIVE,
    GAMES,
    JACKPOT,
    OPEN,
    PURSE,
    RUSSIAN,
    Casino,
    Hands,
    box,
    done,
    refused,
    settings,
)
from tests.ops.floor.test_rounds_and_money import GOOD, TRIPS

HOUSE = e.By.HOUSE
MINUTE = 60_000


@pytest.fixture(autouse=True)
def _still_clock(wall_clock: list[int]) -> None:
    """Time passes when a test says so."""


def made_by_the_house(ended: RoundDone) -> list[str]:
    """The decisions of a command that the house made, with their boxes; none may be another's."""
    decided: list[Any] = [event for event in ended.events if hasattr(event, "by")]
    assert all(event.by is HOUSE for event in decided)
    return [f"{event.NAME.partition('.')[0]} {event.box}" for event in decided]


def under(casino: Casino, game: str, policy: Abandoned, seconds: int = 60) -> None:
    casino.change(game, settings(game, JACKPOT if game == OPEN else None, abandoned=policy, abandoned_after=seconds))


def left(casino: Casino, wall_clock: list[int], stream: str) -> RoundDone:
    """The round, finished by the house after a minute."""
    wall_clock[0] += MINUTE
    return done(casino.floor.finish(casino.command(), stream))


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("policy", list(Abandoned))
def test_any_round_left_at_any_step_is_ended_by_the_policy(
    casino: Casino, wall_clock: list[int], game: str, policy: Abandoned
) -> None:
    """The verdict on it is that on any round, and every account has its end."""
    under(casino, game, policy)
    for seed in range(4):
        random = Random(f"{game} {seed}")
        made = casino.open(game)
        if seed:
            casino.place(made.stream, box(1, bonus=50))
            made = casino.deal(made.stream)
        for _ in range(seed - 1):
            if made.state.phase is not Phase.ENDED:
                made = step(casino, made, random)
        if made.state.phase is Phase.ENDED:
            continue
        ended = left(casino, wall_clock, made.stream)
        assert ended.state.phase is Phase.ENDED
        assert (ended.state.voided is not None) == (policy is Abandoned.VOID or not seed)
        made_by_the_house(ended)
        assert casino.status(ended.stream).value == "verified"
        assert casino.account().in_play == []
    casino.assert_balanced()


def step(casino: Casino, made: RoundDone, random: Random) -> RoundDone:
    return casino.choose(made.stream, next_choice(random, made.ruleset, made.state))


def test_a_round_is_abandoned_after_the_tables_time_and_no_sooner(casino: Casino, wall_clock: list[int]) -> None:
    made = casino.dealt(RUSSIAN, box(1))
    wall_clock[0] += MINUTE - 1

    answer = casino.floor.finish(casino.command(), made.stream)

    text = refused(answer, RefusalCode.NOT_ABANDONED).text
    assert text == "The last decision is 59 seconds old; the table calls a round abandoned after 60."
    wall_clock[0] += 1
    done(casino.floor.finish(casino.command(), made.stream))


def test_a_clock_that_was_set_back_abandons_nothing(casino: Casino, wall_clock: list[int]) -> None:
    made = casino.dealt(RUSSIAN, box(1))
    wall_clock[0] -= 3 * 24 * 3600 * 1000

    text = refused(casino.floor.finish(casino.command(), made.stream), RefusalCode.NOT_ABANDONED).text

    assert text.startswith("The last decision is 0 seconds old;")
    casino.choose(made.stream, c.Fold(box=1))
    assert casino.status(made.stream).value == "verified"


def test_an_abandoned_round_is_taken_up_by_its_player(casino: Casino, wall_clock: list[int]) -> None:
    """However late; and then it is not abandoned any more."""
    made = casino.dealt(OPEN, box(1), box(2, "boris"))
    wall_clock[0] += 100 * MINUTE
    casino.choose(made.stream, c.Bet(box=1))

    refused(casino.floor.finish(casino.command(), made.stream), RefusalCode.NOT_ABANDONED)


def test_by_the_policy_fold_each_box_folds_but_an_insured_one(casino: Casino, wall_clock: list[int]) -> None:
    """Rule 7.3: an insured box may not fold, so the house bets for it; it buys nothing."""
    under(casino, OPEN, Abandoned.FOLD)

    def insurable(hands: Hands) -> bool:
        return hands.main(1) == TRIPS and hands.dealer == Combination.NO_GAME

    made = casino.dealt(OPEN, box(1), box(2, "boris"), wanted=insurable)
    casino.choose(made.stream, c.Insure(box=1, stake=100))
    ended = left(casino, wall_clock, made.stream)

    assert made_by_the_house(ended) == ["bet-made 1", "box-folded 2", "ante-taken 1"]
    assert casino.balance("boris") == PURSE - 100
    casino.assert_balanced()


def test_by_the_policy_bet_each_box_bets_that_can(casino: Casino, wall_clock: list[int]) -> None:
    under(casino, OPEN, Abandoned.BET)
    casino.welcome("dora", 299)
    made = casino.dealt(
        OPEN, box(1), box(2, "dora"), box(3, "boris", dark=True), wanted=lambda hands: hands.dealer >= Combination.PAIR
    )
    ended = left(casino, wall_clock, made.stream)

    assert made_by_the_house(ended) == ["bet-made 1", "box-folded 2"]
    assert casino.balance("dora") == 199
    casino.assert_balanced()


def test_by_the_policy_bet_a_bonus_won_on_the_way_may_pay_the_next_bet(casino: Casino, wall_clock: list[int]) -> None:
    """Rule 3.7: the house's decisions are one command, and no state in it lies below zero."""
    under(casino, FIVE, Abandoned.BET)
    casino.welcome("dora", 1_120)
    opened = casino.open(FIVE)
    casino.place(opened.stream, box(1, "dora"), box(2, "dora", bonus=20))
    casino.withdraw("dora", 700)
    casino.deal(opened.stream, lambda hands: hands.main(1) < TRIPS and hands.main(2) in GOOD)

    ended = left(casino, wall_clock, opened.stream)

    assert made_by_the_house(ended) == ["bet-made 1", "bet-made 2"]
    assert all(event.after.balance >= 0 for event in casino.account_events("dora"))


def test_the_policy_is_that_of_the_moment_in_which_the_round_was_opened(
    casino: Casino, wall_clock: list[int]
) -> None:
    made = casino.dealt(RUSSIAN, box(1))
    under(casino, RUSSIAN, Abandoned.VOID, seconds=1)
    wall_clock[0] += 2_000

    refused(casino.floor.finish(casino.command(), made.stream), RefusalCode.NOT_ABANDONED)
    assert made_by_the_house(left(casino, wall_clock, made.stream)) == ["box-folded 1"]


def test_a_round_left_before_the_deal_is_voided_whatever_the_policy(casino: Casino, wall_clock: list[int]) -> None:
    """Rule 10.2: nobody has seen a card, so everybody gets the stake back."""
    opened = casino.open(RUSSIAN)
    casino.place(opened.stream, box(1, bonus=50))

    ended = left(casino, wall_clock, opened.stream)

    assert ended.state.voided is not None
    assert casino.balance() == PURSE


def test_a_finish_sent_again_gets_its_first_answer(casino: Casino, wall_clock: list[int]) -> None:
    made = casino.dealt(RUSSIAN, box(1))
    wall_clock[0] += MINUTE
    command = casino.command()
    first = done(casino.floor.finish(command, made.stream))

    with casino.another_worker() as other:
        again = done(other.finish(command, made.stream))

    assert (again.seq, again.events, again.accounts) == (first.seq, first.events, first.accounts)
    refused(casino.floor.finish(casino.command(), made.stream), RefusalCode.ROUND_ENDED)


def test_open_rounds_are_those_whose_seed_is_hidden(casino: Casino) -> None:
    ended = casino.played(RUSSIAN, Random(1))
    waiting, dealt = casino.open(OPEN), casino.dealt(RUSSIAN, box(1))

    assert casino.journal.open_rounds() == sorted([waiting.stream, dealt.stream])
    casino.choose(waiting.stream, c.Void("nobody came"))
    assert casino.journal.open_rounds() == [dealt.stream]
    assert ended.state.server_seed is not None
