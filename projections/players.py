"""What did each player bring, stake, get back and take away, quarter by quarter of an hour?

Table: `player_activity`, sums in blocks as `performance` has them, by the time of each event of the account.  Rebuild:
dealproof project rebuild players.

Not here: single movements (`cash`, `rounds`), funds at a moment (`balances`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from domain import account as a
from domain.codec import Event
from domain.ledger import PLAYER
from projections.feed import Fact
from projections.projection import Handler, Projection, TestAccounts, block_of, quarter_of
from projections.store import Table, columns

PLAYER_ACTIVITY: Final = Table(
    "player_activity",
    columns(
        "block int, quarter time, currency text, player text, test bool, deposited int, withdrawn int, adjusted int,"
        "reversed int, to_games int, from_games int, rounds int"
    ),
    ("block", "quarter", "currency", "player", "test"),
    ("(currency, player, quarter)",),
)

_COLUMN: Final[dict[type[Event], int]] = {
    a.FundsDeposited: 0, a.FundsWithdrawn: 1, a.FundsAdjusted: 2, a.FundsReversed: 3,
    a.FundsStaked: 4, a.FundsReturned: 5, a.FundsWon: 5, a.FundsTakenBack: 5, a.RoundFinished: 6,
}  # fmt: skip


class Players(Projection):
    NAME: ClassVar[str] = "players"
    VERSION: ClassVar[int] = 1
    QUESTION: ClassVar[str] = "What did each player bring, stake, get back and take away?"
    TABLES: ClassVar[tuple[Table, ...]] = (PLAYER_ACTIVITY,)

    def __init__(self) -> None:
        self._tests = TestAccounts()
        self._sums: dict[tuple[object, ...], list[int]] = {}

    def handlers(self) -> Mapping[type[Event], Handler]:
        return {**dict.fromkeys(_COLUMN, self._moved), a.AccountOpened: self._opened}

    def forget(self) -> None:
        self._tests = TestAccounts()
        self._sums.clear()

    def write(self) -> None:
        self.store.sum_up("player_activity", [(*key, *row) for key, row in self._sums.items()])
        self._sums.clear()

    def _opened(self, fact: Fact) -> None:
        self._tests.opened(fact.stream, fact.event.test)

    def _moved(self, fact: Fact) -> None:
        _, currency, player = fact.stream.split(":", 2)
        test = self._tests.has(self.store, fact.stream)
        key = (block_of(fact.position), quarter_of(fact.at), currency, player, test)
        row = self._sums.setdefault(key, [0] * 7)
        row[_COLUMN[type(fact.event)]] += _amount(fact.event)


def _amount(event: Any) -> int:
    match event:
        case a.RoundFinished():
            return 1
        case a.FundsStaked():
            return -_to_player(event)
        case a.RoundEntry():
            return _to_player(event)
    amount: int = event.amount
    return amount


def _to_player(event: a.RoundEntry) -> int:
    return sum(line.amount for line in event.lines if line.account == PLAYER)
