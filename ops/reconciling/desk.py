"""What went over the cashier's desk, against the journal.

Not here: balances (`books`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from domain import account as a
from ops.reconciling.held import Check, Held, Line, moment
from ops.reconciling.play import TestAccounts
from projections.feed import Fact
from projections.reading import Reading
from replay.verdict import Discrepancy

_WORDS: Final = {
    a.FundsDeposited.NAME: "deposits", a.FundsWithdrawn.NAME: "withdrawals", a.FundsAdjusted.NAME: "adjustments",
    a.FundsReversed.NAME: "reversals",
}  # fmt: skip


class Desk(Check):
    PROJECTION: ClassVar[str] = "cash"

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._held = Held("cash", _COLUMNS, reading.stream(_ROWS))
        self._tests = TestAccounts()
        self._sums: Counter[tuple[str, str]] = Counter()

    def take(self, fact: Fact) -> Iterator[Discrepancy]:
        """A movement at the desk is one row; its amount is what the player got."""
        event: Any = fact.event
        self._tests.take(fact)
        if not isinstance(event, a.CASH_EVENTS):
            return
        _, currency, player = fact.stream.split(":", 2)
        amount = -event.amount if isinstance(event, a.FundsWithdrawn) else event.amount
        self._sums[currency, event.NAME] += amount
        yield from self._held.expect(fact.position, (
            moment(fact.at), currency, player, event.NAME, amount, event.after.balance, event.by,
            getattr(event, "approver", None), event.against.value if isinstance(event, a.FundsAdjusted) else None,
            getattr(event, "reason", None), event.reference, getattr(event, "reverses", None),
            self._tests.has(currency, player),
        ))  # fmt: skip

    def finish(self) -> Iterator[Discrepancy]:
        """Rows beyond the last movement."""
        yield from self._held.rest()

    def lines(self) -> list[Line]:
        """By currency and kind."""
        kept = {(currency, kind): int(amount) for currency, kind, amount in self._reading.rows(_SUMS)}
        currencies = sorted({currency for currency, _ in (*self._sums, *kept)})
        return [
            Line(currency, words, self._sums[currency, kind], kept.get((currency, kind), 0), True)
            for currency in currencies
            for kind, words in _WORDS.items()
        ]


_COLUMNS: Final = (
    "at", "currency", "player", "type", "amount", "balance_after", "by", "approver", "against", "reason", "reference",
    "reverses", "test",
)  # fmt: skip

_ROWS: Final = """
select position, at, currency, player, type, amount, balance_after, by, approver, against, reason, reference, reverses,
    test
from {cash} order by position
"""

_SUMS: Final = "select currency, type, sum(amount) from {cash} group by currency, type"
