"""Accounts: opened, paid in and out, adjusted, reversed; each entry balances, and an old account answers as a new one.

Not here: money that rounds move (`test_rounds_and_money`), retries (`test_idempotency`), threads (`test_races`).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from random import Random
from typing import Any

import psycopg
import pytest

from domain import account as a
from domain.account import LARGEST_BALANCE, NEW_ACCOUNT, AccountState, Against
from domain.ledger import Line
from domain.record import Record
from domain.round.refusals import Refusal, RefusalCode
from ops.cashier import AccountDone, Cashier
from ops.commands import head_of
from ops.journal import BelowZero
from tests.ops.floor.casino import GAMES, PURSE, RUSSIAN, Casino, box, done, refused

Code = RefusalCode


def lines_of(made: AccountDone) -> list[tuple[str, int]]:
    """The entry of an event."""
    entry: list[Line] = getattr(made.event, "lines", [])
    return [(line.account, line.amount) for line in entry]


# -- each kind of event


def test_an_account_is_opened_empty(casino: Casino) -> None:
    made = done(casino.floor.cashier.open_account(casino.command("kate"), "JPY", "dora", test=True))

    assert made.state == NEW_ACCOUNT and lines_of(made) == []
    assert made.event == a.AccountOpened(NEW_ACCOUNT, "kate", "JPY", "dora", True)
    assert casino.floor.cashier.account("JPY", "dora") == made


def test_every_entry_balances_between_the_player_and_the_house(casino: Casino) -> None:
    cashier, command = casino.floor.cashier, casino.command
    desk: dict[str, Any] = {"approver": "olga", "reason": "a broken glass", "reference": "note 4"}

    deposited = done(cashier.deposit(command("kate"), "EUR", "anna", 700, "receipt 1"))
    withdrawn = done(cashier.withdraw(command("kate"), "EUR", "anna", 300, "receipt 2"))
    given = done(cashier.adjust(command("kate"), "EUR", "anna", 50, against=Against.BONUS, **desk))
    charged = done(cashier.adjust(command("kate"), "EUR", "anna", -70, against=Against.BANK, **desk))
    undone = done(cashier.reverse(command("kate"), "EUR", "anna", deposited.seq, **desk))

    assert [lines_of(made) for made in (deposited, withdrawn, given, charged, undone)] == [
        [("cash", -700), ("player", 700)],
        [("cash", 300), ("player", -300)],
        [("bonus", -50), ("player", 50)],
        [("bank", 70), ("player", -70)],
        [("cash", 700), ("player", -700)],
    ]
    assert casino.balance() == PURSE + 700 - 300 + 50 - 70 - 700
    casino.assert_balanced()


def test_an_adjustment_says_who_approved_it_why_and_by_what_reference(casino: Casino) -> None:
    made = done(
        casino.floor.cashier.adjust(
            casino.command("kate"), "EUR", "anna", 50, against=Against.BONUS, approver="olga", reason="birthday",
            reference="note 4",
        )
    )  # fmt: skip

    event = made.event
    assert isinstance(event, a.FundsAdjusted)
    assert (event.by, event.approver, event.reason, event.reference) == ("kate", "olga", "birthday", "note 4")


def test_two_deposits_with_one_reference_are_two_deposits(casino: Casino) -> None:
    """A reference is the cashier's free text; what makes a retry one deposit is the command's id."""
    for _ in range(2):
        done(casino.floor.cashier.deposit(casino.command(), "EUR", "anna", 100, "receipt 1"))

    assert casino.balance() == PURSE + 200


@pytest.mark.parametrize("kind", ["deposit", "withdrawal", "gift", "charge"])
def test_a_mistake_is_set_right_by_an_event_that_reverses_it_once(casino: Casino, kind: str) -> None:
    cashier = casino.floor.cashier
    desk: dict[str, Any] = {"approver": "olga", "reason": "typo", "reference": "n"}
    made: dict[str, Callable[[], AccountDone | Refusal]] = {
        "deposit": lambda: cashier.deposit(casino.command(), "EUR", "anna", 100, "r"),
        "withdrawal": lambda: cashier.withdraw(casino.command(), "EUR", "anna", 100, "r"),
        "gift": lambda: cashier.adjust(casino.command(), "EUR", "anna", 100, against=Against.BONUS, **desk),
        "charge": lambda: cashier.adjust(casino.command(), "EUR", "anna", -100, against=Against.BANK, **desk),
    }
    mistake = done(made[kind]())
    for _ in range(300 if kind == "gift" else 1):
        casino.deposit("anna", 1)
        casino.withdraw("anna", 1)

    undone = done(cashier.reverse(casino.command("kate"), "EUR", "anna", mistake.seq, **desk))

    assert casino.balance() == PURSE
    assert isinstance(undone.event, a.FundsReversed) and undone.event.reverses == mistake.seq
    for target, code in ((mistake.seq, Code.ALREADY_REVERSED), (undone.seq, Code.NOT_REVERSIBLE)):
        refused(cashier.reverse(casino.command("kate"), "EUR", "anna", target, **desk), code)
    assert casino.balance() == PURSE
    casino.assert_balanced()


def test_only_a_cash_event_of_this_account_is_reversed(casino: Casino) -> None:
    casino.dealt(RUSSIAN, box(1))
    desk: dict[str, Any] = {"approver": "olga", "reason": "typo", "reference": "n"}

    # The opening, a stake, what does not exist, what no number of an event can be.
    for seq in (0, 2, 99, -1, 2**63, 10**30):
        answer = casino.floor.cashier.reverse(casino.command("kate"), "EUR", "anna", seq, **desk)
        refused(answer, Code.NOT_REVERSIBLE)


def test_a_deposit_that_was_spent_is_not_reversed(casino: Casino) -> None:
    casino.withdraw("anna", PURSE - 1)
    desk: dict[str, Any] = {"approver": "olga", "reason": "typo", "reference": "n"}

    refused(casino.floor.cashier.reverse(casino.command("kate"), "EUR", "anna", 1, **desk), Code.FUNDS_TOO_LOW)


# -- what is refused, each without a trace


def corrected(casino: Casino, **given: object) -> AccountDone | Refusal:
    """An adjustment with one thing wrong."""
    known = {"amount": 1, "against": Against.BANK, "approver": "olga", "reason": "r", "reference": "r"} | given
    return casino.floor.cashier.adjust(casino.command("kate"), "EUR", "anna", **known)  # type: ignore[arg-type]


REFUSED: dict[str, tuple[Code, Callable[[Casino, Cashier], object]]] = {
    "no account": (Code.ACCOUNT_UNKNOWN, lambda x, desk: desk.deposit(x.command(), "EUR", "dora", 1, "r")),
    "another currency": (Code.ACCOUNT_UNKNOWN, lambda x, desk: desk.withdraw(x.command(), "USD", "anna", 1, "r")),
    "no currency": (Code.CURRENCY_UNKNOWN, lambda x, desk: desk.open_account(x.command(), "XXX", "anna")),
    "small letters": (Code.CURRENCY_UNKNOWN, lambda x, desk: desk.open_account(x.command(), "eur", "anna")),
    "deposit in none": (Code.CURRENCY_UNKNOWN, lambda x, desk: desk.deposit(x.command(), "\0", "anna", 1, "r")),
    "an account twice": (Code.ACCOUNT_EXISTS, lambda x, desk: desk.open_account(x.command(), "EUR", "anna")),
    "a bad name": (Code.TEXT_INVALID, lambda x, desk: desk.open_account(x.command(), "EUR", "a:b")),
    "no name": (Code.TEXT_INVALID, lambda x, desk: desk.open_account(x.command(), "EUR", "")),
    "a NUL": (Code.TEXT_INVALID, lambda x, desk: desk.deposit(x.command(), "EUR", "a\0", 1, "r")),
    "half a pair": (Code.TEXT_INVALID, lambda x, desk: desk.deposit(x.command(), "EUR", "\ud800", 1, "r")),
    "no reference": (Code.TEXT_INVALID, lambda x, desk: desk.deposit(x.command(), "EUR", "anna", 1, " ")),
    "a bad reference": (Code.TEXT_INVALID, lambda x, desk: desk.withdraw(x.command(), "EUR", "anna", 1, "\ud800")),
    "too much": (Code.FUNDS_TOO_LOW, lambda x, desk: desk.withdraw(x.command(), "EUR", "anna", PURSE + 1, "r")),
    "too large": (
        Code.BALANCE_TOO_LARGE, lambda x, desk: desk.deposit(x.command(), "EUR", "anna", LARGEST_BALANCE, "r")
    ),
    "charged too much": (Code.FUNDS_TOO_LOW, lambda x, _: corrected(x, amount=-PURSE - 1)),
    "own approval": (Code.SAME_PERSON, lambda x, _: corrected(x, approver="kate")),
    "no reason": (Code.REASON_MISSING, lambda x, _: corrected(x, reason="")),
    "no approver": (Code.TEXT_INVALID, lambda x, _: corrected(x, approver="")),
    "nothing": (Code.NOT_WHOLE, lambda x, _: corrected(x, amount=0)),
    "text": (Code.NOT_WHOLE, lambda x, _: corrected(x, amount="100")),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_no_trace(casino: Casino, case: str) -> None:
    code, ask = REFUSED[case]
    before = casino.written()

    refused(ask(casino, casino.floor.cashier), code)

    assert casino.written() == before


@pytest.mark.parametrize("amount", [100.5, 1e2, "100", True, None, 0, -1, LARGEST_BALANCE + 1, 2**70], ids=repr)
def test_only_a_whole_number_above_zero_is_money(casino: Casino, amount: object) -> None:
    for move in (casino.floor.cashier.deposit, casino.floor.cashier.withdraw):
        refused(move(casino.command(), "EUR", "anna", amount, "r"), Code.NOT_WHOLE)  # type: ignore[arg-type]
    assert casino.balance() == PURSE


def test_nobody_is_known_by_a_name_that_can_be_none(casino: Casino) -> None:
    for currency, player in (("EUR", "\0"), ("\ud800", "anna"), ("EUR", "x" * 5_000), ("EUR", "dora")):
        assert casino.floor.cashier.account(currency, player) is None


def test_accounts_of_one_player_in_two_currencies_are_two(casino: Casino) -> None:
    casino.welcome("anna", 5, "KWD")

    assert (casino.account("anna", "KWD").balance, casino.balance()) == (5, PURSE)
    casino.assert_balanced()


# -- reading


def test_a_statement_is_read_page_by_page_from_the_newest(casino: Casino) -> None:
    casino.played_out(casino.dealt(RUSSIAN, box(1)), Random(1))
    casino.withdraw("anna", 10)
    cashier, seqs, before = casino.floor.cashier, [], None
    while page := cashier.statement("EUR", "anna", 2, before):
        assert len(page) <= 2
        seqs += [each.seq for each in page]
        before = seqs[-1]

    assert seqs == list(range(len(casino.account_events())))[::-1]
    cash = cashier.statement("EUR", "anna", 9, kinds=a.CASH_EVENTS)
    assert [type(each.event) for each in cash] == [a.FundsWithdrawn, a.FundsDeposited]
    games = cashier.statement("EUR", "anna", 9, kinds=(a.RoundFinished,))
    assert [each.event.table for each in games if isinstance(each.event, a.RoundFinished)] == [RUSSIAN]


# -- the store's own guard


def below_zero(casino: Casino, stream: str) -> Record:
    """The next event of a stream, with a state that nobody may have."""
    head = casino.journal.heads([stream])[stream].record
    if stream.startswith("jackpot:"):
        body = head.body.replace(b'"pot":100000', b'"pot":-1').replace(b'"seq":0', b'"seq":1')
        return Record(stream, 1, head.type, body)
    event = a.FundsWithdrawn(AccountState(-1, []), PURSE + 1, "eve", [], "by hand")
    return a.CODEC.append_to(stream, head_of(head), [event], a.CODEC.decode(head.body).at)[0]


@pytest.mark.parametrize("stream", ["account:EUR:anna", "jackpot:grand"])
def test_the_store_itself_refuses_a_state_below_zero(casino: Casino, stream: str) -> None:
    """Whoever computes a negative balance can't append it, nor anything that stands beside it."""
    boris = casino.journal.heads(["account:EUR:boris"])["account:EUR:boris"].record
    honest = done(a.deposit(casino.account("boris"), amount=1, by="eve", reference="by hand"))
    beside = a.CODEC.append_to(boris.stream, head_of(boris), [honest], a.CODEC.decode(boris.body).at)
    before = casino.written()

    with pytest.raises(BelowZero, match=f"^stream {stream} seq [0-9]: would fall below zero$"):
        casino.journal.append("by hand", b"", [*beside, below_zero(casino, stream)])

    assert casino.written() == before
    assert casino.journal.answered("by hand", b"") is None


def test_words_about_a_negative_balance_are_not_one(casino: Casino) -> None:
    """The guard looks at bytes; text in them has its quotes escaped."""
    casino.deposit("anna", 1)
    made = casino.floor.cashier.deposit(casino.command(), "EUR", "anna", 1, '"balance":-5 {"pot":-5')

    assert done(made).state.balance == PURSE + 2


# -- age


EVENTS = 100_000


def test_an_account_with_a_hundred_thousand_events_answers_as_fast_as_a_new_one(casino: Casino) -> None:
    """Medians of one run, by turns: a look at the account, and a deposit."""
    grow(casino, "anna", EVENTS)
    assert casino.account_at("anna").seq > EVENTS
    taken: dict[tuple[str, str], list[int]] = {}
    for turn in range(150):
        for player in ("anna", "boris") if turn % 2 else ("boris", "anna"):
            begin = time.perf_counter_ns()
            casino.account_at(player)
            looked = time.perf_counter_ns()
            casino.deposit(player, 1)
            taken.setdefault((player, "look"), []).append(looked - begin)
            taken.setdefault((player, "deposit"), []).append(time.perf_counter_ns() - looked)

    medians = {key: statistics.median(values) for key, values in taken.items()}
    for what in ("look", "deposit"):
        assert medians["anna", what] < 1.5 * medians["boris", what], medians


def grow(casino: Casino, player: str, events: int) -> None:
    """So many deposits and withdrawals, chained and canonical, put into the table at once by its owner."""
    stream = f"account:EUR:{player}"
    head = casino.journal.heads([stream])[stream]
    state, made = casino.account(player), list[a.AccountEvent]()
    for number in range(events):
        move = a.withdraw if number % 2 else a.deposit
        made.append(done(move(state, amount=5, by="kate", reference="till 1")))
        state = made[-1].after
    records = a.CODEC.append_to(stream, head_of(head.record), made, a.CODEC.decode(head.record.body).at)
    first = casino.written() + 1
    with psycopg.connect(casino.url) as connection, connection.cursor() as cursor:
        columns = "originator_id, originator_version, topic, state, notification_id"
        with cursor.copy(f"copy dealproof.events ({columns}) from stdin".encode()) as copy:
            for position, record in enumerate(records, first):
                copy.write_row((*record, position))
        cursor.execute("analyze dealproof.events")


def test_there_is_a_table_of_each_game(casino: Casino) -> None:
    """The casino that all these tests play in."""
    assert [table.table for table in casino.floor.pit.tables("", 99)] == sorted(GAMES)
