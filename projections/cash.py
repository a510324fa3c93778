"""What went over the cashier's desk?  Deposits, withdrawals, adjustments and reversals, with who did them and why.

Table: `cash`, one row an event.  An amount is what the player got.  Rebuild: dealproof project rebuild cash.

Not here: balances (`balances`), what games did (`rounds`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from domain import account as a
from domain.codec import Event
from projections.feed import Fact
from projections.projection import Handler, Projection, TestAccounts, flush
from projections.store import Table, columns

CASH: Final = Table(
    "cash",
    columns(
        "position int, at time, currency text, player text, type text, amount int, balance_after int, by text,"
        "approver text?, against text?, reason text?, reference text, reverses int?, test bool"
    ),
    ("position",),
    ("(currency, at)", "(currency, player, position)"),
)


class Cash(Projection):
    NAME: ClassVar[str] = "cash"
    VERSION: ClassVar[int] = 1
    QUESTION: ClassVar[str] = "What went over the cashier's desk?"
    TABLES: ClassVar[tuple[Table, ...]] = (CASH,)

    def __init__(self) -> None:
        self._tests = TestAccounts()
        self._rows: list[tuple[object, ...]] = []

    def handlers(self) -> Mapping[type[Event], Handler]:
        return {**dict.fromkeys(a.CASH_EVENTS, self._moved), a.AccountOpened: self._opened}

    def forget(self) -> None:
        self._tests = TestAccounts()
        self._rows.clear()

    def write(self) -> None:
        self.store.add("cash", flush(self._rows))

    def _opened(self, fact: Fact) -> None:
        self._tests.opened(fact.stream, fact.event.test)

    def _moved(self, fact: Fact) -> None:
        event: Any = fact.event
        _, currency, player = fact.stream.split(":", 2)
        against = getattr(event, "against", None)
        self._rows.append((
            fact.position, fact.at, currency, player, event.NAME, to_player(event), event.after.balance, event.by,
            getattr(event, "approver", None), None if against is None else against.value,
            getattr(event, "reason", None), event.reference, getattr(event, "reverses", None),
            self._tests.has(self.store, fact.stream),
        ))  # fmt: skip


def to_player(event: a.CashEvent) -> int:
    """What a player got by a movement at the desk; less than nothing where he gave."""
    return -event.amount if isinstance(event, a.FundsWithdrawn) else event.amount
