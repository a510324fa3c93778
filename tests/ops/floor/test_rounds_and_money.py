"""Rounds at tables: every unit that a round moves is in the accounts, in the same append, and never below zero.

Not here: which hand wins what (`tests/rules`), the jackpot (`test_jackpots`), threads (`test_races`).
"""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from domain import account as a
from domain.account import LARGEST_BALANCE, AccountState
from domain.hands import Combination
from domain.round import choices as c
from domain.round.phases import Phase
from domain.round.refusals import RefusalCode
from ops.floor import RoundDone
from ops.simulation import next_choice
from replay.verdict import Status
from tests.ops.floor.casino import (
    FIVE,
    GAMES,
    MULTIBOX,
    OPEN,
    PURSE,
    RUSSIAN,
    Casino,
    Hands,
    box,
    done,
    limits,
    refused,
    settings,
)

TRIPS = Combination.THREE_OF_A_KIND
GOOD = range(TRIPS, Combination.FULL_HOUSE + 1)
"""Hands whose bonus is paid by the odds."""


# -- every game, whole rounds


@pytest.mark.parametrize("game", GAMES)
def test_a_balance_moves_by_what_its_rounds_came_to(casino: Casino, game: str) -> None:
    """Rule 9: what a box staked and got back, as its own settlement says it, is what its player's account says."""
    expected = dict.fromkeys(("anna", "boris", "clara"), PURSE)
    for seed in range(12):
        ended = casino.played(game, Random(f"{game} {seed}"))
        for each in ended.state.boxes:
            expected[each.player] += 0 if each.settled is None else each.settled.net
        assert {player: casino.balance(player) for player in expected} == expected
        assert casino.status(ended.stream) is Status.VERIFIED

    assert expected != dict.fromkeys(expected, PURSE)
    assert all(casino.account(player).in_play == [] for player in expected)
    casino.assert_balanced()


@pytest.mark.parametrize("game", GAMES)
def test_a_finished_round_stands_in_the_account_with_its_sums(casino: Casino, game: str) -> None:
    before = casino.balance()
    casino.deposit("anna", 5)
    ended = casino.played_out(casino.dealt(game, box(1)), Random(7))

    finished = casino.account_events()[-1]

    [settled] = [each.settled for each in ended.state.boxes]
    assert settled is not None and isinstance(finished, a.RoundFinished)
    assert (finished.staked, finished.returned, finished.net) == (settled.staked, settled.returned, settled.net)
    assert (finished.before, finished.after.balance) == (before + 5, before + 5 + settled.net)
    assert (finished.round, finished.table, finished.number) == (ended.round_id, game, 1)
    assert finished.ending is a.Ending.CLOSED
    assert isinstance(casino.account_events()[finished.since], a.FundsStaked)


def test_the_facts_of_a_round_and_its_money_are_one_append(casino: Casino) -> None:
    """No position lies between a fact that moves money and the posting that it leads to."""
    opened = casino.open(MULTIBOX)
    before = casino.written()
    command = casino.command()
    done(casino.floor.choose(command, opened.stream, box(1), box(2, "boris", dark=True)))

    appended = casino.journal.answered(command.id, command.request)
    assert appended is not None and appended.positions == tuple(range(before + 1, before + 5))
    streams = [record.stream for _, record in casino.everything()[before:]]

    assert streams == [opened.stream] * 2 + ["account:EUR:anna", "account:EUR:boris"]


def test_stakes_in_an_open_round_are_shown_as_funds_in_play(casino: Casino) -> None:
    made = casino.dealt(MULTIBOX, box(1, bonus=50), box(2, dark=True))

    account = casino.account()

    # An ante and a bonus, and a dark box with its BET of two antes.
    assert account.funds_in_play == 150 + 300
    assert account.balance + account.funds_in_play - account.in_play[0].returned == PURSE
    assert account.in_play[0].round == made.round_id
    assert made.accounts in ({}, {"anna": account})


def test_insurance_of_an_odd_amount_is_paid_one_to_one(casino: Casino) -> None:
    """Rules 7.2 and 7.4: nothing is rounded; 101 wins 101 when the dealer has no game."""
    def insurable(hands: Hands) -> bool:
        return hands.main(1) == TRIPS and hands.dealer == Combination.NO_GAME

    made = casino.dealt(RUSSIAN, box(1), wanted=insurable)
    casino.choose(made.stream, c.Insure(box=1, stake=101))
    assert casino.account().in_play[0].reserved == 200
    casino.choose(made.stream, c.Bet(box=1))

    entries = [event for event in casino.account_events() if isinstance(event, a.RoundEntry)]
    insured = [(type(event), each.amount) for event in entries for each in event.postings if each.wager == "insurance"]

    assert insured == [(a.FundsStaked, 101), (a.FundsReturned, 101), (a.FundsWon, 101)]
    casino.choose(made.stream, c.TakeAnte(box=1))
    # The ante of 100 wins as much.
    assert casino.balance() == PURSE + 101 + 100
    casino.assert_balanced()


# -- who may stake, and what


def test_a_box_of_another_player_is_not_decided(casino: Casino) -> None:
    made = casino.dealt(OPEN, box(1, "anna"), box(2, "boris"))

    answer = casino.floor.choose(casino.command(), made.stream, c.Bet(box=1, player="boris"))

    refused(answer, RefusalCode.NOT_YOUR_BOX)
    assert casino.balance("boris") == PURSE - 100


def test_a_player_without_an_account_in_the_tables_currency_gets_no_box(casino: Casino) -> None:
    casino.welcome("dora", currency="USD")
    opened = casino.open(OPEN)

    for player in ("dora", "nobody", "a:b", "\ud800", "\0", ""):
        answer = casino.floor.choose(casino.command(), opened.stream, box(1, player))
        refused(answer, RefusalCode.ACCOUNT_UNKNOWN if player in ("dora", "nobody") else RefusalCode.TEXT_INVALID)


def test_stakes_beyond_the_balance_are_refused_together(casino: Casino) -> None:
    """Rule 3.7: of boxes that are placed together all are kept or none, and the funds are those of the account."""
    casino.welcome("dora", 250)
    opened = casino.open(OPEN)
    before = casino.written()

    answer = casino.floor.choose(casino.command(), opened.stream, *(box(n, "dora") for n in (1, 2, 3)))

    assert "there is 50." in refused(answer, RefusalCode.FUNDS_TOO_LOW).text
    assert casino.written() == before
    casino.place(opened.stream, box(1, "dora"), box(2, "dora"))
    assert casino.balance("dora") == 50


def test_funds_that_a_caller_claims_count_for_nothing(casino: Casino) -> None:
    casino.welcome("dora", 50)
    opened = casino.open(OPEN)

    claimed = msgspec.structs.replace(box(1, "dora"), funds=10**9)

    refused(casino.floor.choose(casino.command(), opened.stream, claimed), RefusalCode.FUNDS_TOO_LOW)


def test_each_decision_is_asked_whether_its_player_can_pay(casino: Casino) -> None:
    """Rule 3.7: an exchange needs its fee and the BET after it; the BET alone is less."""
    casino.welcome("dora", 399)
    made = casino.dealt(RUSSIAN, box(1, "dora"))

    answer = casino.floor.choose(casino.command(), made.stream, c.Exchange(box=1, discard=(0,)))

    assert "needs 300 at hand" in refused(answer, RefusalCode.FUNDS_TOO_LOW).text
    casino.deposit("dora", 1)
    casino.choose(made.stream, c.Exchange(box=1, discard=(0,)))
    assert casino.balance("dora") == 200


def test_a_balance_too_large_to_count_with_stakes_nothing(casino: Casino) -> None:
    """What a round can win more must stay below 2^53: the account is to be paid out first."""
    casino.welcome("dora", LARGEST_BALANCE)
    made = casino.dealt(RUSSIAN, box(1, "dora"), wanted=lambda hands: hands.main(1) == TRIPS)
    casino.choose(made.stream, c.Void("to bring it back"))
    ended = casino.dealt(
        RUSSIAN,
        box(1, "dora", bonus=100),
        wanted=lambda hands: hands.main(1) == TRIPS and hands.dealer < TRIPS,
    )
    casino.played_out(ended, Random(1))
    assert casino.balance("dora") > LARGEST_BALANCE
    opened = casino.open(RUSSIAN)

    refused(casino.floor.choose(casino.command(), opened.stream, box(1, "dora")), RefusalCode.BALANCE_TOO_LARGE)
    casino.withdraw("dora", LARGEST_BALANCE)
    casino.place(opened.stream, box(1, "dora"))


# -- mid-hand


def test_a_refresh_in_mid_hand_deals_no_new_hand(casino: Casino) -> None:
    """Rule 10.1: a floor that never heard of the round finds the same cards at the same decision."""
    made = casino.dealt(OPEN, box(1, "anna"), box(2, "boris"))
    shown = [list(each.cards) for each in made.state.boxes]
    for step in (c.SixthCard(box=1, player="anna"), c.Bet(box=2, player="boris"), c.Bet(box=1, player="anna")):
        with casino.another_worker() as other:
            again = other.round(made.stream)
            assert again is not None
            assert [list(each.cards)[:5] for each in again.state.boxes] == shown
            assert again.seq == made.seq
            made = done(other.choose(casino.command(), made.stream, step))
    ended = casino.played_out(made, Random(3))

    assert casino.status(ended.stream) is Status.VERIFIED
    casino.assert_balanced()


def test_limits_changed_in_mid_round_do_not_touch_it(casino: Casino) -> None:
    """Stakes, payout maximum and policy are those of the moment in which the round was opened."""
    opened = casino.open(RUSSIAN)
    casino.change(RUSSIAN, settings(RUSSIAN, limits=limits(ante_min=5_000, payout_max=1)))

    casino.place(opened.stream, box(1, ante=100))
    later = casino.open(RUSSIAN)

    refused(casino.floor.choose(casino.command(), later.stream, box(1, ante=100)), RefusalCode.ANTE_OFF_LIMITS)
    ended = casino.played_out(casino.deal(opened.stream), Random(1))
    assert ended.settings is not None and ended.settings.limits == limits()
    assert casino.status(ended.stream) is Status.VERIFIED


def test_a_decision_repeated_under_a_new_id_is_refused_and_pays_nothing(casino: Casino) -> None:
    """A retry under a new id is a new decision: the box has decided."""
    made = casino.dealt(OPEN, box(1, "anna"), box(2, "boris"))
    casino.choose(made.stream, c.Bet(box=1))
    balance = casino.balance()

    refused(casino.floor.choose(casino.command(), made.stream, c.Bet(box=1)), RefusalCode.ALREADY_DECIDED)
    assert casino.balance() == balance


def test_a_claim_after_the_payment_is_refused(casino: Casino) -> None:
    """A round is settled once; whatever is asked of it afterwards, the account stays as it is."""
    ended = casino.played_out(casino.dealt(RUSSIAN, box(1)), Random(1))
    before = casino.written()

    for claim in (c.Bet(box=1), c.TakeAnte(box=1), c.BuyDealerGame(box=1), c.Fold(box=1)):
        refused(casino.floor.choose(casino.command(), ended.stream, claim), RefusalCode.ROUND_ENDED)
    refused(casino.floor.deal(casino.command(), ended.stream), RefusalCode.ROUND_ENDED)
    refused(casino.floor.finish(casino.command(), ended.stream), RefusalCode.ROUND_ENDED)
    refused(
        casino.floor.choose(casino.command(), ended.stream, c.Void("I want it back")), RefusalCode.TOO_LATE_TO_VOID
    )
    assert casino.written() == before


@pytest.mark.parametrize("stream", ["round:00", "round:", "account:EUR:anna", "round:\0", "x" * 10_000])
def test_a_round_that_is_none_is_named(casino: Casino, stream: str) -> None:
    refused(casino.floor.choose(casino.command(), stream, c.Bet(box=1)), RefusalCode.ROUND_UNKNOWN)
    refused(casino.floor.deal(casino.command(), stream), RefusalCode.ROUND_UNKNOWN)
    refused(casino.floor.finish(casino.command(), stream), RefusalCode.ROUND_UNKNOWN)
    assert casino.floor.round(stream) is None


# -- a void


@pytest.mark.parametrize("game", GAMES)
def test_a_void_brings_each_player_back_to_before(casino: Casino, game: str) -> None:
    """Rule 10.2: stakes and fees back, whatever was paid already taken back, at any step of the round."""
    voided = 0
    for seed in range(10):
        random = Random(f"{game} {seed}")
        before = {player: casino.balance(player) for player in ("anna", "boris", "clara")}
        made = casino.dealt(game, *(box(n, p, bonus=100) for n, p in enumerate(before, 1) if n <= _boxes(game)))
        for _ in range(random.randrange(5)):
            if made.state.phase is not Phase.ENDED:
                made = casino.choose(made.stream, _step(made, random))
        if made.state.phase is Phase.ENDED:
            continue
        voided += 1
        made = casino.choose(made.stream, c.Void("the shoe has burst"))
        assert {player: casino.balance(player) for player in before} == before
        assert casino.account_events()[-1].ending is a.Ending.VOIDED
        assert casino.account_events()[-1].net == 0
        assert casino.status(made.stream) is Status.VERIFIED
    assert voided
    casino.assert_balanced()


def _boxes(game: str) -> int:
    return {RUSSIAN: 1, FIVE: 3}.get(game, 4)


def _step(made: RoundDone, random: Random) -> c.Choice:
    return next_choice(random, made.ruleset, made.state)


def won_early(casino: Casino, table: str = RUSSIAN, player: str = "dora", ante: int = 100) -> RoundDone:
    """A round that has paid its bonus at the deal, and waits for its box."""
    return casino.dealt(
        table,
        box(1, player, ante, bonus=20),
        wanted=lambda hands: hands.main(1) == TRIPS and hands.dealer == Combination.NO_GAME,
    )


def test_what_a_round_has_paid_early_is_neither_withdrawn_nor_staked_elsewhere(casino: Casino) -> None:
    """So a void can always take it back: a bonus of 20 at 25 to 1 is paid at the deal."""
    casino.welcome("dora", 120)
    made = won_early(casino)
    assert casino.balance("dora") == 520
    other = casino.open(FIVE)

    answer = casino.floor.cashier.withdraw(casino.command(), "EUR", "dora", 121, "till 1")
    assert "held by open rounds" in refused(answer, RefusalCode.FUNDS_TOO_LOW).text
    refused(casino.floor.choose(casino.command(), other.stream, box(1, "dora", 200)), RefusalCode.FUNDS_TOO_LOW)
    charged = casino.floor.cashier.adjust(
        casino.command("kate"), "EUR", "dora", -121, against=a.Against.BANK, approver="olga", reason="r", reference="r"
    )
    refused(charged, RefusalCode.FUNDS_TOO_LOW)

    casino.choose(made.stream, c.Void("the shoe has burst"))
    assert casino.account("dora") == AccountState(120, [])


def test_after_the_end_what_was_paid_early_is_free(casino: Casino) -> None:
    casino.welcome("dora", 120)
    made = won_early(casino)
    casino.choose(made.stream, c.Fold(box=1))

    assert casino.withdraw("dora", 520)
    assert casino.balance("dora") == 0


def test_a_player_may_stake_what_a_round_has_paid_in_that_round(casino: Casino) -> None:
    casino.welcome("dora", 120)
    made = won_early(casino)

    casino.choose(made.stream, c.Bet(box=1))
    assert casino.balance("dora") == 520 - 200
    casino.choose(made.stream, c.Void("the shoe has burst"))
    assert casino.account("dora") == AccountState(120, [])


def test_money_restaked_in_its_round_does_not_bind_a_later_deposit(casino: Casino) -> None:
    """What a void would take is all that a round may hold."""
    casino.welcome("dora", 120)
    made = won_early(casino)
    casino.choose(made.stream, c.Bet(box=1))
    casino.deposit("dora", 300)
    assert casino.account("dora").available() >= 300

    casino.withdraw("dora", 300)
    casino.choose(made.stream, c.Void("the shoe has burst"))
    assert casino.account("dora") == AccountState(120, [])


def test_what_one_round_restakes_does_not_block_another(casino: Casino) -> None:
    """Rule 7.3: an insured box must bet, and its BET was reserved; another round of the player can't use that up."""
    casino.welcome("dora", 540)
    insured = casino.dealt(
        RUSSIAN, box(1, "dora"), wanted=lambda hands: hands.main(1) == TRIPS and hands.dealer == Combination.NO_GAME
    )
    casino.choose(insured.stream, c.Insure(box=1, stake=100))
    casino.open_table("second", settings(RUSSIAN))
    other = won_early(casino, "second")
    casino.choose(other.stream, c.Bet(box=1))
    assert casino.account("dora").available() >= 0

    insured = casino.choose(insured.stream, c.Bet(box=1))
    casino.choose(insured.stream, c.TakeAnte(box=1))
    casino.choose(other.stream, c.Void("the shoe has burst"))
    # Insurance and ante have won 100 each.
    assert casino.balance("dora") == 540 + 200
    casino.assert_balanced()


def test_taking_the_ante_costs_nothing_however_poor_the_player_is(casino: Casino) -> None:
    """Rule 8.1: a box that can't buy can always take its ante."""
    casino.welcome("dora", 420)
    asked = casino.dealt(RUSSIAN, box(1, "dora"), wanted=lambda hands: hands.dealer == Combination.NO_GAME)
    casino.choose(asked.stream, c.Bet(box=1))
    casino.open_table("second", settings(RUSSIAN))
    other = won_early(casino, "second")
    casino.choose(other.stream, c.Bet(box=1))
    casino.withdraw("dora", casino.account("dora").available())

    refused(casino.floor.choose(casino.command(), asked.stream, c.BuyDealerGame(box=1)), RefusalCode.FUNDS_TOO_LOW)
    casino.choose(asked.stream, c.TakeAnte(box=1))


def test_a_reserved_bet_of_an_insured_box_can_not_be_withdrawn(casino: Casino) -> None:
    """Rule 7.3"""
    casino.welcome("dora", 420)
    made = casino.dealt(RUSSIAN, box(1, "dora"), wanted=lambda hands: hands.main(1) == TRIPS)
    casino.choose(made.stream, c.Insure(box=1, stake=100))

    refused(
        casino.floor.cashier.withdraw(casino.command(), "EUR", "dora", 21, "till 1"), RefusalCode.FUNDS_TOO_LOW
    )
    casino.withdraw("dora", 20)
    casino.choose(made.stream, c.Bet(box=1))


# -- several choices in one append


def test_money_won_by_one_choice_may_be_staked_by_the_next_one_of_the_same_command(casino: Casino) -> None:
    """Rule 3.7: the second BET is paid by a bonus that the first one's showing has won; no state lies below zero."""
    casino.welcome("dora", 1_120)
    opened = casino.open(FIVE)
    casino.place(opened.stream, box(1, "dora"), box(2, "dora", bonus=20))
    casino.withdraw("dora", 700)
    casino.deal(opened.stream, lambda hands: hands.main(1) < TRIPS and hands.main(2) in GOOD)
    assert casino.balance("dora") == 200

    ended = casino.choose(opened.stream, c.Bet(box=1), c.Bet(box=2))

    assert all(event.after.balance >= 0 for event in casino.account_events("dora"))
    assert casino.status(ended.stream) is Status.VERIFIED
    casino.assert_balanced()


def test_a_void_right_behind_a_win_in_one_command_takes_it_back(casino: Casino) -> None:
    """Rule 10.2"""
    made = casino.dealt(
        FIVE, box(1), box(2, bonus=20), wanted=lambda hands: hands.main(1) < TRIPS and hands.main(2) in GOOD
    )

    ended = casino.choose(made.stream, c.Bet(box=1), c.Void("the shoe has burst"))

    assert casino.account() == AccountState(PURSE, [])
    assert casino.status(ended.stream) is Status.VERIFIED
    casino.assert_balanced()


def test_the_money_of_a_table_that_is_not_kept_stands_in_no_account(casino: Casino) -> None:
    """Rounds of before there were accounts are finished without any."""
    ruleset = casino.floor.pit.known("russian-poker@1")
    assert ruleset is not None
    live = done(casino.floor.house.open_round(ruleset, table="old", number=1, limits=limits(), currency="EUR"))
    casino.place(live.stream, box(1, "nobody"))
    made = casino.deal(live.stream)

    assert made.settings is None
    ended = casino.played_out(made, Random(1))
    assert ended.accounts == {} and casino.account("anna") == AccountState(PURSE, [])
