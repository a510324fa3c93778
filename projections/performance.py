"""What did the games take and give back?  Sums of closed rounds by game, table, kind of box and kind of wager.

Tables: `revenue` (whole rounds), `wager_performance` (by box mode and wager).  A sum is one of a block of positions and
a quarter of an hour, so that what held as of a position can be told later.  The squares are there for the confidence of
a return: a cluster, whose parts hang together, is what real accounts, or test accounts, did in one round.  Rebuild:
dealproof project rebuild performance.

Not here: single rounds (`rounds`), returns and bands (`ops.reports`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from domain import account as a
from domain.codec import Event
from domain.ledger import Wager
from projections.ended import KEPT, Ended, OpenRounds, ended, wagers_of
from projections.feed import Fact
from projections.projection import Handler, Projection, TestAccounts, block_of, quarter_of
from projections.store import Table, columns

REVENUE: Final = Table(
    "revenue",
    columns(
        "block int, quarter time, currency text, table_name text, ruleset text, test bool,"
        "rounds int, boxes int, turnover int, fees int, returned int, jackpot_contributed int, jackpot_won int,"
        "turnover_squared numeric, turnover_returned numeric, returned_squared numeric"
    ),
    ("block", "quarter", "currency", "table_name", "ruleset", "test"),
)
WAGER_PERFORMANCE: Final = Table(
    "wager_performance",
    columns(
        "block int, quarter time, currency text, table_name text, ruleset text, test bool, mode text, wager text,"
        "rounds int, bets int, turnover int, returned int,"
        "turnover_squared numeric, turnover_returned numeric, returned_squared numeric"
    ),
    ("block", "quarter", "currency", "table_name", "ruleset", "test", "mode", "wager"),
)

Key = tuple[object, ...]


class Performance(Projection):
    NAME: ClassVar[str] = "performance"
    VERSION: ClassVar[int] = 1
    QUESTION: ClassVar[str] = "What did the games take and give back?"
    TABLES: ClassVar[tuple[Table, ...]] = (REVENUE, WAGER_PERFORMANCE)

    def __init__(self) -> None:
        self._open, self._tests = OpenRounds(), TestAccounts()
        self._revenue: dict[Key, list[int]] = {}
        self._wagers: dict[Key, list[int]] = {}

    def handlers(self) -> Mapping[type[Event], Handler]:
        return {**dict.fromkeys(KEPT, self._round), a.AccountOpened: self._account_opened}

    def forget(self) -> None:
        self._open, self._tests = OpenRounds(), TestAccounts()
        self._revenue.clear()
        self._wagers.clear()

    def write(self) -> None:
        for table, sums in (("revenue", self._revenue), ("wager_performance", self._wagers)):
            self.store.sum_up(table, [(*key, *row) for key, row in sums.items()])
            sums.clear()

    def _account_opened(self, fact: Fact) -> None:
        self._tests.opened(fact.stream, fact.event.test)

    def _round(self, fact: Fact) -> None:
        facts = self._open.take(self.store, fact)
        if facts is None:
            return
        whole = ended(facts)
        if not whole.voided:
            self._count(whole)

    def _count(self, whole: Ended) -> None:
        opened = whole.opened
        place = (
            block_of(whole.ended_position), quarter_of(whole.ended_at), opened.currency, opened.table, opened.ruleset,
        )  # fmt: skip
        is_test = {
            box.player: self._tests.has(self.store, a.account_stream(opened.currency, box.player))
            for box in whole.boxes.values()
        }
        for test in sorted(set(is_test.values())):
            boxes = [box for box in whole.boxes.values() if is_test[box.player] is test]
            staked, returned = sum(box.staked for box in boxes), sum(box.returned for box in boxes)
            _add(self._revenue, (*place, test), [
                1, len(boxes), staked, sum(box.fees for box in boxes), returned,
                sum(box.contributed for box in boxes), sum(box.back.get(Wager.JACKPOT, 0) for box in boxes),
                *_squares(staked, returned),
            ])  # fmt: skip
        for (test, mode, wager), (bets, staked, returned) in wagers_of(whole, is_test).items():
            row = [1, bets, staked, returned, *_squares(staked, returned)]
            _add(self._wagers, (*place, test, mode, wager), row)


def _squares(staked: int, returned: int) -> tuple[int, int, int]:
    return staked * staked, staked * returned, returned * returned


def _add(sums: dict[Key, list[int]], key: Key, row: list[int]) -> None:
    kept = sums.get(key)
    sums[key] = row if kept is None else [one + other for one, other in zip(kept, row, strict=True)]
