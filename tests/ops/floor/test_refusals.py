"""Refusals of the casino floor: every code has a command that meets it, and a sentence that its reader understands.

Not here: the codes of a round, and which parts the list has (`tests/round/test_refusals.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from domain.account import LARGEST_BALANCE, Against
from domain.round import choices as c
from domain.round.refusals import Refusal, RefusalCode
from ops.rulesets import publish
from tests.ops.floor.casino import JACKPOT, OPEN, RUSSIAN, Casino, box, house_version, settings
from tests.round.test_refusals import OF_THE_FLOOR, complaints

Code = RefusalCode
DESK: dict[str, Any] = {"approver": "olga", "reason": "typo", "reference": "note 1"}
NO_ROUND = f"round:{'0' * 32}"


def reversed_twice(casino: Casino) -> object:
    """The deposit of the beginning, undone once too often."""
    for _ in range(2):
        answer = casino.floor.cashier.reverse(casino.command("kate"), "EUR", "anna", 1, **DESK)
    return answer


def unseen_change(casino: Casino) -> object:
    """A change by somebody who didn't see the last one."""
    casino.change(RUSSIAN, settings(RUSSIAN))
    return casino.floor.pit.change_table(casino.command(), RUSSIAN, settings(RUSSIAN), "r", expected=0)


def closed(casino: Casino) -> object:
    """A round at a table that was closed."""
    casino.floor.pit.close_table(casino.command(), RUSSIAN, "r")
    return casino.floor.open_round(casino.command(), RUSSIAN)


def published_only(casino: Casino) -> str:
    """A ruleset that nobody has proposed."""
    publish(casino.journal, ruleset := house_version(RUSSIAN, "spring"))
    return ruleset.name


def opened(casino: Casino, table: str, given: Any) -> object:
    return casino.floor.pit.open_table(casino.command(), table, given, "r")


def adjusted(casino: Casino, by: str) -> object:
    return casino.floor.cashier.adjust(casino.command(by), "EUR", "anna", 1, against=Against.BANK, **DESK)


MET: dict[RefusalCode, Callable[[Casino], object]] = {
    Code.CURRENCY_UNKNOWN: lambda x: x.floor.cashier.open_account(x.command(), "XXX", "dora"),
    Code.CURRENCY_OTHER: lambda x: opened(x, "vip", settings(OPEN, JACKPOT, currency="USD")),
    Code.ACCOUNT_EXISTS: lambda x: x.floor.cashier.open_account(x.command(), "EUR", "anna"),
    Code.ACCOUNT_UNKNOWN: lambda x: x.floor.choose(x.command(), x.open(RUSSIAN).stream, box(1, "dora")),
    Code.BALANCE_TOO_LARGE: lambda x: x.floor.cashier.deposit(x.command(), "EUR", "anna", LARGEST_BALANCE, "r"),
    Code.SAME_PERSON: lambda x: adjusted(x, "OLGA"),
    Code.NO_APPROVER: lambda x: x.floor.cashier.reverse(
        x.command(), "EUR", "anna", 1, **DESK, may_approve=lambda person: person != "olga"
    ),
    Code.NOT_REVERSIBLE: lambda x: x.floor.cashier.reverse(x.command(), "EUR", "anna", 0, **DESK),
    Code.ALREADY_REVERSED: reversed_twice,
    Code.TABLE_EXISTS: lambda x: opened(x, RUSSIAN, settings(RUSSIAN)),
    Code.TABLE_UNKNOWN: lambda x: x.floor.open_round(x.command(), "none"),
    Code.TABLE_CLOSED: closed,
    Code.TABLE_INVALID: lambda x: opened(x, "vip", settings(OPEN)),
    Code.TABLE_CHANGED: unseen_change,
    Code.RULESET_UNKNOWN: lambda x: opened(x, "vip", settings("none@1")),
    Code.RULESET_NOT_ACTIVE: lambda x: opened(x, "vip", settings(published_only(x))),
    Code.RULESET_ACTIVE: lambda x: x.floor.pit.propose_ruleset(x.command(), "russian-poker@1", "r"),
    Code.NOT_PROPOSED: lambda x: x.floor.pit.approve_ruleset(x.command(), published_only(x), "r"),
    Code.JACKPOT_EXISTS: lambda x: x.floor.pit.open_jackpot(x.command(), JACKPOT, "EUR", 1),
    Code.JACKPOT_UNKNOWN: lambda x: opened(x, "vip", settings(OPEN, "none")),
    Code.ROUND_UNKNOWN: lambda x: x.floor.choose(x.command(), NO_ROUND, c.Bet(box=1)),
    Code.NOT_ABANDONED: lambda x: x.floor.finish(x.command(), x.dealt(RUSSIAN, box(1)).stream),
}


def test_every_code_of_the_floor_is_met() -> None:
    """A code that nothing meets goes; a new code gets a row in MET."""
    assert set(MET) == set(OF_THE_FLOOR)


@pytest.mark.parametrize("code", list(MET))
def test_each_refusal_has_its_code_and_one_clear_sentence(casino: Casino, code: RefusalCode) -> None:
    """Whole sentences with the figures of the case; nothing that only a programmer reads."""
    refusal = MET[code](casino)

    assert isinstance(refusal, Refusal), refusal
    assert refusal.code is code
    assert complaints(refusal.text) == []
    assert refusal.clause is None
