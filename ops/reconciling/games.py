"""The sums of the games against the journal: by table, game, kind of account and quarter of an hour.

The sums by wager must come to the same as those of whole rounds; which wager had what is not held.

Not here: single rounds (`rounds`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar, Final

from domain.round import events as e
from ops.reconciling.held import Check, Line, plain, same_rows
from ops.reconciling.play import Play, TestAccounts
from projections.feed import Fact
from projections.projection import BLOCK
from projections.reading import Reading
from replay.verdict import Discrepancy

Key = tuple[Any, ...]
"""Block, quarter, currency, table, game, whether of test accounts."""


class Games(Check):
    PROJECTION: ClassVar[str] = "performance"

    def __init__(self, reading: Reading) -> None:
        self._reading, self._tests = reading, TestAccounts()
        self._open: dict[str, Play] = {}
        self._sums: dict[Key, list[int]] = {}
        self._closed: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        """By currency, what closed rounds say of themselves."""

    def take(self, fact: Fact) -> Iterator[Discrepancy]:
        """Only a closed round counts."""
        event = fact.event
        self._tests.take(fact)
        if isinstance(event, e.RoundOpened):
            self._open[fact.stream] = Play(event, fact.position, fact.at)
        elif fact.stream in self._open:
            self._open[fact.stream].take(event)
            if isinstance(event, e.RoundClosed | e.RoundVoided):
                play = self._open.pop(fact.stream)
                if isinstance(event, e.RoundClosed):
                    self._count(fact, play)
        yield from ()

    def _count(self, fact: Fact, play: Play) -> None:
        opened, at = play.opened, datetime.fromisoformat(fact.at)
        quarter = at.replace(minute=at.minute // 15 * 15, second=0, microsecond=0)
        place = fact.position // BLOCK, plain(quarter), opened.currency, opened.table, opened.ruleset
        of_currency = self._closed[opened.currency]
        of_currency[0] += fact.event.staked
        of_currency[1] += fact.event.returned
        for test in (False, True):
            boxes = [
                box for box in play.boxes.values() if self._tests.has(opened.currency, box.player) is test
            ]
            if boxes:
                row = self._sums.setdefault((*place, test), [0] * len(_COLUMNS))
                row[0] += 1
                row[1] += len(boxes)
                for box in boxes:
                    amounts = box.staked, box.fees, box.returned, box.contributed, box.won
                    for nth, amount in enumerate(amounts, 2):
                        row[nth] += amount

    def finish(self) -> Iterator[Discrepancy]:
        """Sum by sum; then those by wager, which must come to the same."""
        wanted = {key: tuple(row) for key, row in self._sums.items()}
        yield from same_rows("revenue", "sums of", _COLUMNS, self._keyed(_REVENUE), wanted)
        staked = {key: (row[2], row[4]) for key, row in self._sums.items()}
        yield from same_rows("wager_performance", "sums of", ("turnover", "returned"), self._keyed(_WAGERS), staked)

    def _keyed(self, query: Any) -> Iterator[tuple[Any, ...]]:
        for block, quarter, currency, table, ruleset, test, *sums in self._reading.stream(query):
            yield (block, plain(quarter), currency, table, ruleset, test), *map(int, sums)

    def lines(self) -> list[Line]:
        """Turnover and returns, by currency."""
        kept: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for _, _, currency, _, _, _, _, _, staked, _, returned, *_ in self._reading.rows(_REVENUE):
            kept[currency][0] += staked
            kept[currency][1] += returned
        return [
            Line(currency, words, self._closed[currency][nth], kept[currency][nth], True)
            for currency in sorted({*self._closed, *kept})
            for nth, words in enumerate(("turnover of the games", "returned by the games"))
        ]


_COLUMNS: Final = ("rounds", "boxes", "turnover", "fees", "returned", "jackpot_contributed", "jackpot_won")

_REVENUE: Final = """
select block, quarter, currency, table_name, ruleset, test, rounds, boxes, turnover, fees, returned,
    jackpot_contributed, jackpot_won
from {revenue}
"""

_WAGERS: Final = """
select block, quarter, currency, table_name, ruleset, test, sum(turnover), sum(returned)
from {wager_performance} group by block, quarter, currency, table_name, ruleset, test
"""
