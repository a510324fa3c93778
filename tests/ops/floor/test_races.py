"""Many at once: two workers and their threads at one account, one round, one table; nothing is lost or done twice.

Not here: jackpots (`test_jackpots`), tables that are closed (`test_tables`), faults (`tests/simulation`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import cycle

import pytest

from domain import account as a
from domain.account import AccountState
from domain.hands import Combination
from domain.round import choices as c
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from ops.cashier import AccountDone
from ops.commands import Command
from ops.floor import Floor, RoundDone
from tests.ops.floor.casino import (
    MULTIBOX,
    PURSE,
    RUSSIAN,
    Casino,
    all_at_once,
    box,
    done,
    rendered,
)


def test_no_balance_falls_below_zero_however_many_take_from_it(casino: Casino) -> None:
    """Eight threads of two workers withdraw and stake; what they got and what is left is what there was."""
    casino.welcome("dora", 2_000)
    got: list[int] = []

    def take(floor: Floor, number: int) -> None:
        for turn in range(8):
            if (number + turn) % 2:
                made = floor.cashier.withdraw(casino.command(), "EUR", "dora", 130, "till 1")
                got.append(130 if isinstance(made, AccountDone) else 0)
            else:
                opened = done(floor.open_round(casino.command(), MULTIBOX))
                placed = floor.choose(casino.command(), opened.stream, box(1, "dora"))
                got.append(100 if isinstance(placed, RoundDone) else 0)

    with casino.another_worker() as other:
        failures = all_at_once(*(partial(take, floor, n) for n, floor in zip(range(8), cycle([casino.floor, other]))))

    assert failures == [None] * 8
    account = casino.account("dora")
    assert account.balance == 2_000 - sum(got) and 0 <= account.balance < 100
    assert account.funds_in_play == 100 * got.count(100)
    assert all(event.after.balance >= 0 for event in casino.account_events("dora"))
    casino.assert_balanced()


def test_two_workers_settle_a_round_once(casino: Casino) -> None:
    """One decision from two workers under two commands: one settles and pays, the other is refused."""
    for _ in range(6):
        made = casino.dealt(RUSSIAN, box(1), wanted=lambda hands: hands.dealer >= Combination.PAIR)
        before = casino.balance()
        with casino.another_worker() as other:
            assert other.round(made.stream) is not None
            answers = all_at_once(
                partial(casino.floor.choose, casino.command(), made.stream, c.Bet(box=1)),
                partial(other.choose, casino.command(), made.stream, c.Bet(box=1)),
            )
        settled = [answer for answer in answers if isinstance(answer, RoundDone)]
        [refusal] = [answer for answer in answers if isinstance(answer, Refusal)]
        assert refusal.code is RefusalCode.ROUND_ENDED
        [ended] = settled
        assert casino.balance() == before + ended.state.boxes[0].settled.net + 100  # type: ignore[union-attr]
    casino.assert_balanced()


@pytest.mark.parametrize("what", ["place", "deal", "bet", "deposit", "refused", "open"])
def test_one_command_sent_twenty_times_at_once_is_done_once(casino: Casino, what: str) -> None:
    """Every sender gets the same answer, refusals too."""
    made = casino.open(RUSSIAN)
    if what != "place":
        casino.place(made.stream, box(1))
    if what == "bet":
        casino.deal(made.stream, lambda hands: hands.dealer >= Combination.PAIR)
    asks: dict[str, Callable[[Floor, Command], object]] = {
        "place": lambda floor, command: floor.choose(command, made.stream, box(1)),
        "deal": lambda floor, command: floor.deal(command, made.stream),
        "bet": lambda floor, command: floor.choose(command, made.stream, c.Bet(box=1)),
        "deposit": lambda floor, command: floor.cashier.deposit(command, "EUR", "anna", 5, "r"),
        "refused": lambda floor, command: floor.cashier.withdraw(command, "EUR", "anna", PURSE, "r"),
        "open": lambda floor, command: floor.open_round(command, RUSSIAN),
    }
    command, ask, rounds = casino.command(), asks[what], casino.journal.count_rounds()
    with casino.another_worker() as other:
        answers = all_at_once(*(partial(ask, floor, command) for floor in [casino.floor, other] * 10))

    first = rendered(answers[0])
    assert not isinstance(first, Exception), first
    assert [rendered(answer) == first for answer in answers] == [True] * 20
    assert isinstance(answers[0], Refusal) == (what == "refused")
    assert casino.journal.count_rounds() == rounds + (what == "open")
    casino.assert_balanced()


def test_a_withdrawal_during_a_settlement_takes_what_there_was_or_what_there_is(casino: Casino) -> None:
    """It goes through before the win, or behind it; never is a void left without its money."""
    for turn in range(8):
        player = f"dora-{turn}"
        casino.welcome(player, 120)
        made = casino.dealt(
            RUSSIAN, box(1, player, bonus=20), wanted=lambda hands: hands.main(1) == Combination.THREE_OF_A_KIND
        )
        assert casino.balance(player) == 520
        ending: c.Choice = c.Void("burst") if turn % 2 else c.Fold(box=1)
        with casino.another_worker() as other:
            ended, withdrawn = all_at_once(
                partial[object](casino.floor.choose, casino.command(), made.stream, ending),
                partial(other.cashier.withdraw, casino.command(), "EUR", player, 300, "till 1"),
            )

        assert isinstance(ended, RoundDone)
        taken = 300 if isinstance(withdrawn, AccountDone) else 0
        expected = 120 if turn % 2 else 520
        assert casino.account(player) == AccountState(expected - taken, [])
        assert taken == 0 or not turn % 2
    casino.assert_balanced()


def test_a_void_and_a_decision_at_once_leave_the_round_at_one_of_both_ends(casino: Casino) -> None:
    for _ in range(6):
        before = casino.balance()
        made = casino.dealt(RUSSIAN, box(1, bonus=20), wanted=lambda hands: hands.dealer >= Combination.PAIR)
        with casino.another_worker() as other:
            all_at_once(
                partial(casino.floor.choose, casino.command(), made.stream, c.Void("burst")),
                partial(other.choose, casino.command(), made.stream, c.Bet(box=1)),
            )
        ended = casino.floor.round(made.stream)
        assert ended is not None and ended.state.phase is Phase.ENDED
        finished = casino.account_events()[-1]
        assert isinstance(finished, a.RoundFinished) and finished.round == made.round_id
        assert casino.balance() == before + finished.net
        assert (finished.net == 0) or ended.state.voided is None
        assert casino.status(made.stream).value == "verified"


def test_players_who_place_boxes_at_once_all_get_them_or_hear_why(casino: Casino) -> None:
    """Eight threads at four boxes: each box has one owner, each owner one stake."""
    for turn in range(3):
        opened = casino.open(MULTIBOX)
        with casino.another_worker() as other:
            answers = all_at_once(
                *(
                    partial(floor.choose, casino.command(), opened.stream, box(n, who))
                    for n, who, floor in zip(
                        [1, 2, 3, 4] * 2, ["anna", "boris", "clara", "anna"] * 2, [casino.floor, other] * 4, strict=True
                    )
                )
            )
        made = casino.floor.round(opened.stream)
        assert made is not None
        kept = [answer for answer in answers if isinstance(answer, RoundDone)]
        assert len(made.state.boxes) == len(kept) <= 4
        for player in ("anna", "boris", "clara"):
            own = sum(each.ante for each in made.state.boxes if each.player == player)
            playing = casino.account(player).playing(opened.round_id)
            assert (0 if playing is None else playing.staked) == own, turn
    casino.assert_balanced()


def test_threads_that_share_a_remembered_round_never_meet_in_its_deck(casino: Casino) -> None:
    """A deck is shuffled as far as it is asked for, which only one thread can do; what is remembered is shuffled."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            made = casino.dealt(RUSSIAN, box(1))
            deck = casino.floor._kept[made.stream].live.deck
            assert deck is not None
            answers = all_at_once(*(partial(deck.cards, 0, 52) for _ in range(8)))
            assert [answer for answer in answers if isinstance(answer, Exception)] == []
    finally:
        sys.setswitchinterval(before)


def test_of_sixteen_choices_for_one_box_at_once_one_is_made(casino: Casino) -> None:
    """All sixteen threads of one floor work from the same remembered round."""
    for _ in range(3):
        made = casino.dealt(RUSSIAN, box(1))
        answers = all_at_once(
            *(
                partial(casino.floor.choose, casino.command(), made.stream, c.Exchange(box=1, discard=(n % 5,)))
                for n in range(16)
            )
        )
        assert sum(isinstance(answer, RoundDone) for answer in answers) == 1
        codes = {answer.code for answer in answers if isinstance(answer, Refusal)}
        assert codes == {RefusalCode.ALREADY_DREW}
        casino.choose(made.stream, c.Void("that will do"))
