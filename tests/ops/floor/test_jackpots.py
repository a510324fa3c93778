"""Jackpots: fed by several tables, paid once, started again from the seed amount, put back by a void.

    pairs@1   a game in which a pair takes the whole pot; hands are shown at the deal
    late@1    the same with two boxes of one player, one of them dark: it is shown when the dealer opens

Not here: what a box's share is (`tests/rules`).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from domain import jackpot as j
from domain.account import AccountState
from domain.hands import Combination
from domain.ledger import Line
from domain.money import LARGEST_POT
from domain.round import choices as c
from domain.round.refusals import RefusalCode
from ops.floor import Floor, RoundDone
from tests.ops.floor.casino import (
    JACKPOT,
    OPEN,
    PURSE,
    Casino,
    Hands,
    all_at_once,
    box,
    done,
    house_version,
    refused,
    settings,
)

SEED = 100_000
PAIR = Combination.PAIR


@pytest.fixture
def pairs(casino: Casino) -> Casino:
    """With tables `pairs-1`, `pairs-2`, `late-1` and `late-2` that feed one jackpot."""
    shares = {"pair": [1, 1], "two-pair": [1, 10]}
    for name, shown in (("pairs", "at-deal"), ("late", "in-turn")):
        ruleset = house_version("frequent-jackpot", name, jackpot_shares=shares, hands_shown=shown)
        casino.activate(ruleset)
        for number in (1, 2):
            casino.open_table(f"{name}-{number}", settings(ruleset.name, JACKPOT))
    return casino


def wins(number: int) -> Callable[[Hands], bool]:
    """A deal in which this box, and no other one, takes the pot."""
    return lambda hands: [hands.main(each) == PAIR for each in hands.boxes] == [
        each == number for each in hands.boxes
    ] and all(hands.main(each) < Combination.TWO_PAIR for each in hands.boxes)


def nobody_wins(hands: Hands) -> bool:
    return all(hands.main(each) < PAIR for each in hands.boxes)


def kinds(casino: Casino) -> list[str]:
    """The facts of the jackpot by name."""
    return [type(event).__name__ for event in casino.jackpot_events()]


# -- the pot


def test_a_pot_begins_with_its_seed_amount_from_the_bank(casino: Casino) -> None:
    [opened] = casino.jackpot_events()

    assert opened == j.JackpotOpened(
        j.JackpotState("EUR", SEED, SEED), "server-1", [Line("bank", -SEED), Line("jackpot:grand", SEED)]
    )
    casino.assert_balanced()


def test_a_jackpot_that_could_not_be_paid_is_not_opened(casino: Casino) -> None:
    pit, command = casino.floor.pit, casino.command
    refused(pit.open_jackpot(command(), JACKPOT, "EUR", 1), RefusalCode.JACKPOT_EXISTS)
    refused(pit.open_jackpot(command(), "other", "XXX", 1), RefusalCode.CURRENCY_UNKNOWN)
    for amount in (-1, LARGEST_POT + 1, 1.5, "1"):
        refused(pit.open_jackpot(command(), "other", "EUR", amount), RefusalCode.NOT_WHOLE)  # type: ignore[arg-type]
    for name in ("a:b", "", "\0", "\ud800"):
        refused(pit.open_jackpot(command(), name, "EUR", 1), RefusalCode.TEXT_INVALID)
        assert pit.jackpot(name) is None


def test_bonus_stakes_of_several_tables_feed_one_pot(pairs: Casino) -> None:
    """Rule 5.3: a third of each bonus, rounded down; the bank passes it on."""
    for table in ("pairs-1", "pairs-2"):
        pairs.dealt(table, box(1, bonus=100), box(2, bonus=101), wanted=nobody_wins)

    assert pairs.pot() == SEED + 2 * (33 + 33)
    assert [event.amount for event in pairs.jackpot_events()[1:]] == [66, 66]
    pairs.assert_balanced()


def test_a_pot_that_was_won_is_paid_and_starts_again(pairs: Casino) -> None:
    """Rule 5.3: the share is that of the pot before the deal; the bank fills up what is missing."""
    made = pairs.dealt("pairs-1", box(1, bonus=300), box(2, "boris"), wanted=wins(1))

    fed, paid, restarted = pairs.jackpot_events()[1:]
    assert (fed.amount, fed.after.pot) == (100, SEED + 100)
    assert (paid.from_pot, paid.from_bank, paid.box, paid.after.pot) == (SEED, 0, 1, 100)
    assert (restarted.amount, restarted.after.pot) == (SEED - 100, SEED)
    # Antes aside: the bonus came back, and the pot.
    assert pairs.balance() == PURSE - 100 + SEED
    assert pairs.account().playing(made.round_id).returned == SEED + 300  # type: ignore[union-attr]
    pairs.assert_balanced()


def test_a_share_of_the_pot_leaves_the_rest(pairs: Casino) -> None:
    pairs.dealt("pairs-1", box(1, bonus=300), wanted=lambda hands: hands.main(1) == Combination.TWO_PAIR)

    assert kinds(pairs)[1:] == ["JackpotFed", "JackpotPaid"]
    assert pairs.pot() == SEED + 100 - SEED // 10
    pairs.assert_balanced()


def test_a_round_without_a_bonus_leaves_the_pot_alone(pairs: Casino) -> None:
    made = pairs.dealt("pairs-1", box(1), wanted=wins(1))

    assert kinds(pairs) == ["JackpotOpened"]
    assert made.state.jackpot == SEED


def test_a_pot_that_went_meanwhile_is_made_up_by_the_bank(pairs: Casino) -> None:
    """A dark box is shown late: what it was promised at the deal is paid, by the pot as far as it has it."""
    late = pairs.dealt("late-1", box(1), box(2, dark=True, bonus=300), wanted=wins(2))
    promised = late.state.jackpot
    pairs.dealt("pairs-1", box(1, "boris", bonus=300), wanted=wins(1))
    assert pairs.pot() == SEED

    # At the late table everybody has decided but box 1.
    made = to_the_reveal(pairs.floor, pairs, late)

    paid = [event for event in pairs.jackpot_events() if isinstance(event, j.JackpotPaid)]
    assert [(event.from_pot, event.from_bank) for event in paid] == [(SEED + 100, 0), (SEED, promised - SEED)]
    assert made.state.box(2).jackpot == promised  # type: ignore[union-attr]
    assert pairs.pot() == SEED
    pairs.assert_balanced()


def to_the_reveal(floor: Floor, casino: Casino, made: RoundDone) -> RoundDone:
    """Box 1 bets and the dark box 2 declines, so that the dealer opens."""
    made = done(floor.choose(casino.command(), made.stream, c.Bet(box=1)))
    return done(floor.choose(casino.command(), made.stream, c.DeclineSixthCard(box=2)))


# -- voids


def test_a_void_reverses_what_its_round_did_to_the_pot(pairs: Casino) -> None:
    """Rule 10.2: the contribution back to the bank, the pot that was won back from the player."""
    made = pairs.dealt("pairs-1", box(1, bonus=300), box(2, "boris", bonus=300), wanted=wins(1))
    assert pairs.balance() > PURSE

    pairs.choose(made.stream, c.Void("the shoe has burst"))

    reversed_ = pairs.jackpot_events()[-1]
    assert (reversed_.contributions, reversed_.winnings) == (200, SEED)
    assert pairs.account() == AccountState(PURSE, []) == pairs.account("boris")
    # It had started again, and got back what was won.
    assert pairs.pot() == SEED + SEED - 200
    pairs.assert_balanced()


def test_a_pot_that_was_won_can_not_be_withdrawn_before_the_end(pairs: Casino) -> None:
    """Rule 10.2: a void must be able to take it back."""
    made = pairs.dealt("pairs-1", box(1, bonus=300), wanted=wins(1))

    answer = pairs.floor.cashier.withdraw(pairs.command(), "EUR", "anna", PURSE + 1, "till 1")
    refused(answer, RefusalCode.FUNDS_TOO_LOW)
    pairs.withdraw("anna", PURSE)
    pairs.choose(made.stream, c.Void("the shoe has burst"))
    assert pairs.account() == AccountState(0, [])


def test_a_void_after_others_emptied_the_pot_takes_no_more_than_there_is(pairs: Casino) -> None:
    """Rule 10.2: the contribution is gone with the pot; it never falls below nothing."""
    done(pairs.floor.pit.open_jackpot(pairs.command(), "empty", "EUR", 0))
    for table in ("first", "second"):
        pairs.open_table(table, settings("pairs@1", "empty"))
    waiting = pairs.dealt("first", box(1, bonus=300), wanted=nobody_wins)
    pairs.dealt("second", box(1, "boris", bonus=3), wanted=wins(1))
    assert pairs.pot("empty") == 1

    pairs.choose(waiting.stream, c.Void("the shoe has burst"))

    assert pairs.pot("empty") == 0
    assert pairs.account() == AccountState(PURSE, [])
    pairs.assert_balanced()


def test_a_pot_won_and_voided_in_one_command_is_as_it_was(pairs: Casino) -> None:
    """Rule 10.2: the bet of box 1 shows box 2, which takes the pot; the void right behind it gives it back."""
    made = pairs.dealt("late-1", box(1), box(2, bonus=300), wanted=wins(2))
    assert pairs.pot() == SEED + 100

    pairs.choose(made.stream, c.Bet(box=1), c.Void("the shoe has burst"))

    assert kinds(pairs)[-3:] == ["JackpotPaid", "JackpotRestarted", "JackpotReversed"]
    assert pairs.status(made.stream).value == "verified"
    assert pairs.account() == AccountState(PURSE, [])
    pairs.assert_balanced()


# -- at once


def test_fifty_settlements_of_one_winning_round_pay_once(pairs: Casino) -> None:
    """Two workers, fifty threads, each with a command of its own; then fifty with one command."""
    made = pairs.dealt("late-1", box(1), box(2, dark=True, bonus=300), wanted=wins(2))
    pairs.choose(made.stream, c.Bet(box=1))
    last = c.DeclineSixthCard(box=2)
    with pairs.another_worker() as other:
        commands = [pairs.command() for _ in range(50)]
        answers = all_at_once(
            *(
                lambda floor=floor, command=command: floor.choose(command, made.stream, last)
                for floor, command in zip([pairs.floor, other] * 25, commands, strict=True)
            )
        )
        assert sum(isinstance(answer, RoundDone) for answer in answers) == 1
        once = commands[[isinstance(answer, RoundDone) for answer in answers].index(True)]
        again = all_at_once(
            *(lambda floor=floor: floor.choose(once, made.stream, last) for floor in [pairs.floor, other] * 25)
        )

    assert all(isinstance(answer, RoundDone) for answer in again)
    assert kinds(pairs).count("JackpotPaid") == 1
    postings = [each for event in pairs.account_events() for each in getattr(event, "postings", ())]
    assert [each.amount for each in postings if each.wager == "jackpot"] == [SEED]
    pairs.assert_balanced()


def test_of_fifty_rounds_that_win_at_once_each_gets_the_pot_of_its_place_in_the_journal(pairs: Casino) -> None:
    """Rule 5.3: fifty deals in fifty threads; the first takes the pot, the next what it started again with."""
    opened = [pairs.open(f"pairs-{1 + number % 2}") for number in range(50)]
    for each in opened:
        pairs.place(each.stream, box(1, bonus=300))
    beacons = [pairs.beacon(each.stream, wins(1)) for each in opened]
    with pairs.another_worker() as other:
        answers = all_at_once(
            *(
                lambda floor=floor, each=each, beacon=beacon: done(floor.deal(pairs.command(), each.stream, beacon))
                for floor, each, beacon in zip([pairs.floor, other] * 25, opened, beacons, strict=True)
            )
        )

    assert all(isinstance(answer, RoundDone) for answer in answers), answers
    paid = [event for event in pairs.jackpot_events() if isinstance(event, j.JackpotPaid)]
    assert [(event.from_pot, event.from_bank) for event in paid] == [(SEED, 0)] * 50
    assert len({event.round for event in paid}) == 50
    assert kinds(pairs)[1:] == ["JackpotFed", "JackpotPaid", "JackpotRestarted"] * 50
    assert pairs.balance() == PURSE + 50 * (SEED - 100)
    pairs.assert_balanced()


def test_of_fifty_rounds_that_were_promised_one_pot_the_first_empties_it(pairs: Casino) -> None:
    """All are dealt, then fifty dark boxes are shown at once: the pot pays what it has, the bank the rest."""
    dealt = [
        pairs.dealt(f"late-{1 + number % 2}", box(1), box(2, dark=True, bonus=30), wanted=wins(2))
        for number in range(50)
    ]
    promised = {each.round_id: each.state.jackpot for each in dealt}
    assert sorted(promised.values()) == [SEED + 10 * number for number in range(50)]
    for each in dealt:
        pairs.choose(each.stream, c.Bet(box=1))
    with pairs.another_worker() as other:
        answers = all_at_once(
            *(
                lambda floor=floor, each=each: done(
                    floor.choose(pairs.command(), each.stream, c.DeclineSixthCard(box=2))
                )
                for floor, each in zip([pairs.floor, other] * 25, dealt, strict=True)
            )
        )

    assert all(isinstance(answer, RoundDone) for answer in answers), answers
    paid = [event for event in pairs.jackpot_events() if isinstance(event, j.JackpotPaid)]
    assert {event.round: event.from_pot + event.from_bank for event in paid} == promised
    assert len(paid) == 50
    # The pot was never paid out twice: what left it had come in.
    assert sum(event.from_pot for event in paid) == SEED + 500 + sum(
        event.amount for event in pairs.jackpot_events() if isinstance(event, j.JackpotRestarted)
    ) - pairs.pot()
    pairs.assert_balanced()


def test_the_released_game_feeds_its_pot(casino: Casino) -> None:
    casino.dealt(OPEN, box(1, bonus=1_000), wanted=lambda hands: hands.main(1) < Combination.STRAIGHT_FLUSH)

    assert casino.pot() == SEED + 100
