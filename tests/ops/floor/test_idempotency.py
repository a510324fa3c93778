"""A command that is sent again gets its first answer, whoever asks, whenever, whatever has happened since.

Not here: the same at the same moment (`test_races`), faults between two writes (`tests/simulation`).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from domain.account import Against
from domain.hands import Combination
from domain.round import choices as c
from domain.round.refusals import Refusal, RefusalCode
from ops.commands import Command
from ops.floor import Floor
from ops.journal import CommandMismatch
from tests.ops.floor.casino import (
    JACKPOT,
    OPEN,
    PURSE,
    RUSSIAN,
    Casino,
    box,
    count_rows,
    done,
    house_version,
    refused,
    rendered,
    settings,
)

Ask = Callable[[Floor, Command], Any]


def asked(casino: Casino) -> dict[str, tuple[Ask, Callable[[], object]]]:
    """Every kind of command, and what happens between its two times."""
    desk: dict[str, Any] = {"approver": "olga", "reason": "r", "reference": "r"}
    waiting, dealt = casino.open(OPEN), casino.dealt(OPEN, box(1), box(2, "boris"))
    placed = casino.open(OPEN)
    casino.place(placed.stream, box(1), box(2, "boris"))
    casino.activate(house_version(RUSSIAN, "spring"))
    wide = settings("spring@1")

    def later() -> None:
        casino.deposit("anna", 7)

    def play_on() -> None:
        casino.deposit("anna", 7)
        for stream in (waiting.stream, placed.stream, dealt.stream):
            made = casino.floor.round(stream)
            if made is not None and made.state.boxes and made.state.upcard is None:
                made = casino.deal(stream)
            if made is not None and made.state.upcard is not None:
                casino.played_out(made, Random(1))

    return {
        "open account": (lambda f, k: f.cashier.open_account(k, "EUR", "dora"), lambda: casino.deposit("dora", 1)),
        "deposit": (lambda f, k: f.cashier.deposit(k, "EUR", "anna", 5, "r"), later),
        "withdraw": (lambda f, k: f.cashier.withdraw(k, "EUR", "anna", 5, "r"), later),
        "adjust": (lambda f, k: f.cashier.adjust(k, "EUR", "anna", 5, against=Against.BONUS, **desk), later),
        "reverse": (lambda f, k: f.cashier.reverse(k, "EUR", "clara", 1, **desk), lambda: casino.deposit("clara", 9)),
        "open jackpot": (lambda f, k: f.pit.open_jackpot(k, "other", "EUR", 5), later),
        "open table": (lambda f, k: f.pit.open_table(k, "vip", wide, "r"), lambda: casino.open("vip")),
        "change table": (
            lambda f, k: f.pit.change_table(k, RUSSIAN, wide, "r"),
            lambda: casino.change(RUSSIAN, settings(RUSSIAN)),
        ),
        "close table": (lambda f, k: f.pit.close_table(k, RUSSIAN, "r"), later),
        "open round": (lambda f, k: f.open_round(k, OPEN), lambda: casino.open(OPEN)),
        "place": (lambda f, k: f.choose(k, waiting.stream, box(3, "clara")), play_on),
        "deal": (lambda f, k: f.deal(k, placed.stream), play_on),
        "bet": (lambda f, k: f.choose(k, dealt.stream, c.Bet(box=1)), play_on),
        "void": (lambda f, k: f.choose(k, dealt.stream, c.Void("burst")), play_on),
    }


KINDS = (
    "open account", "deposit", "withdraw", "adjust", "reverse", "open jackpot", "open table", "change table",
    "close table", "open round", "place", "deal", "bet", "void",
)  # fmt: skip


def test_every_kind_of_command_is_here(casino: Casino) -> None:
    assert tuple(asked(casino)) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_sent_again_gets_its_first_answer(casino: Casino, kind: str) -> None:
    """At once, by another worker, after more has happened, and by a floor that was started since."""
    ask, meanwhile = asked(casino)[kind]
    command = casino.command("kate")
    first = rendered(done(ask(casino.floor, command)))
    with casino.another_worker() as other:
        assert rendered(ask(casino.floor, command)) == first
        meanwhile()
        before = casino.written()
        assert rendered(ask(casino.floor, command)) == first
        assert rendered(ask(other, command)) == first
    with casino.another_worker() as restarted:
        assert rendered(ask(restarted, command)) == first

    assert casino.written() == before
    assert count_rows(casino.url, "refusals") == 0
    casino.assert_balanced()


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_is_not_taken_for_another_request(casino: Casino, kind: str) -> None:
    """Whether it was carried out or refused before."""
    ask, _ = asked(casino)[kind]
    carried = casino.command("kate")
    done(ask(casino.floor, carried))
    kept = casino.command("kate")
    refused(casino.floor.open_round(kept, "none"), RefusalCode.TABLE_UNKNOWN)
    before = casino.written()

    for command in (carried, kept):
        with pytest.raises(CommandMismatch, match=f"^command {command.id} was used before for another request$"):
            ask(casino.floor, command._replace(request=b"something else"))
    assert casino.written() == before


def test_a_refused_command_stays_refused(casino: Casino) -> None:
    """Also when it would be allowed by now, and after a restart; under a new id it is asked anew."""
    casino.welcome("dora", 50)
    command = casino.command()

    def ask(floor: Floor, command: Command) -> object:
        return floor.cashier.withdraw(command, "EUR", "dora", 60, "till 1")

    first = refused(ask(casino.floor, command), RefusalCode.FUNDS_TOO_LOW)
    casino.deposit("dora", 100)
    before = casino.written()

    assert ask(casino.floor, command) == first
    with casino.another_worker() as restarted:
        assert ask(restarted, command) == first
    assert casino.written() == before
    done(ask(casino.floor, casino.command()))


def test_a_refusal_is_kept_with_its_figures_and_clause(casino: Casino) -> None:
    opened, command = casino.open(RUSSIAN), casino.command()
    first = casino.floor.choose(command, opened.stream, box(1, ante=1))

    with casino.another_worker() as restarted:
        again = restarted.choose(command, opened.stream, box(1, ante=1))

    assert isinstance(first, Refusal) and again == first
    assert (first.code, first.clause) == (RefusalCode.ANTE_OFF_LIMITS, "RP-3.4")


def test_a_decision_carried_out_is_no_refusal_when_its_round_has_gone_on(casino: Casino) -> None:
    """A retry decides from a state in which the box has decided; what the command led to goes before that."""
    made = casino.dealt(RUSSIAN, box(1), wanted=lambda hands: hands.dealer >= Combination.PAIR)
    command = casino.command()
    first = done(casino.floor.choose(command, made.stream, c.Bet(box=1)))
    assert first.state.server_seed is not None

    again = done(casino.floor.choose(command, made.stream, c.Bet(box=1)))

    assert rendered(again) == rendered(first)
    assert set(again.accounts) == {"anna"}
    assert again.events == first.events != []


def test_a_reply_shows_the_round_as_it_was_then(casino: Casino) -> None:
    """Not as it is now: no card of a later moment, and not the seed."""
    opened, command = casino.open(RUSSIAN), casino.command()
    first = done(casino.floor.choose(command, opened.stream, box(1)))
    casino.played_out(casino.deal(opened.stream), Random(1))

    again = done(casino.floor.choose(command, opened.stream, box(1)))

    assert again.state.server_seed is None and again.state.upcard is None and list(again.state.box(1).cards) == []  # type: ignore[union-attr]
    assert (again.seq, again.at) == (first.seq, first.at)
    assert again.accounts["anna"].balance == PURSE - 100


def test_choose_takes_neither_nothing_nor_a_deal(casino: Casino) -> None:
    """A deal has a pot, which is the floor's to look up, not the caller's to name."""
    opened = casino.open(OPEN)
    casino.place(opened.stream, box(1))

    for choices in ((), (c.Deal(jackpot=10**12),)):
        with pytest.raises(ValueError, match=r"^choose: at least one choice, none of them a deal$"):
            casino.floor.choose(casino.command(), opened.stream, *choices)
    assert casino.deal(opened.stream).state.jackpot == casino.pot(JACKPOT)
