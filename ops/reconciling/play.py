"""A round that goes on, followed event by event: what each box has staked and got back so far.

Not here: what of it is remembered (`rounds`, `games`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from domain import account as a
from domain.round import events as e
from projections.feed import Fact

KINDS: Final = ("ante", "bet", "bonus", "insurance", "exchange", "sixth_card", "dealer_game")
_FEES: Final = ("exchange", "sixth_card", "dealer_game")


@dataclass(slots=True)
class Box:
    """`stakes`: by kind, fees among them."""

    player: str
    stakes: Counter[str] = field(default_factory=Counter)
    returned: int = 0
    contributed: int = 0
    won: int = 0

    @property
    def staked(self) -> int:
        return self.stakes.total()

    @property
    def fees(self) -> int:
        return sum(self.stakes[kind] for kind in _FEES)


@dataclass(slots=True)
class Play:
    """A round from its opening on."""

    opened: e.RoundOpened
    position: int
    at: str
    boxes: dict[int, Box] = field(default_factory=dict)

    def take(self, event: Any) -> None:
        """What an event of the round does to its boxes."""
        if isinstance(event, e.BoxPlaced):
            self.boxes[event.box] = Box(event.player)
        place = getattr(event, "box", None)
        if place in self.boxes:
            _take(self.boxes[place], event)

    def stakes(self, kind: str) -> int:
        return sum(box.stakes[kind] for box in self.boxes.values())

    @property
    def staked(self) -> int:
        return sum(box.staked for box in self.boxes.values())

    @property
    def contributed(self) -> int:
        return sum(box.contributed for box in self.boxes.values())

    @property
    def won(self) -> int:
        return sum(box.won for box in self.boxes.values())

    @property
    def players(self) -> set[str]:
        return {box.player for box in self.boxes.values()}


def _take(box: Box, event: Any) -> None:
    match event:
        case e.BoxPlaced():
            box.stakes.update(ante=event.ante, bet=event.bet, bonus=event.bonus)
        case e.BetMade():
            box.stakes["bet"] += event.bet
        case e.InsuranceBought():
            box.stakes["insurance"] += event.stake
        case e.ExchangeBought():
            box.stakes["exchange"] += event.fee
        case e.SixthCardBought():
            box.stakes["sixth_card"] += event.fee
        case e.DealerGameBought():
            box.stakes["dealer_game"] += event.fee
        case e.JackpotContributed():
            box.contributed += event.amount
        case e.JackpotWon():
            box.won += event.amount
            box.returned += event.amount
        case e.BonusSettled() | e.InsuranceSettled():
            box.returned += event.returned
        case e.BoxSettled():
            box.returned += event.ante + event.bet


class TestAccounts:
    """Which accounts are for tests, as their first events say."""

    __test__ = False  # for pytest, which takes the name for a test's

    def __init__(self) -> None:
        self._tests: set[tuple[str, str]] = set()

    def take(self, fact: Fact) -> None:
        """Hear of an account that is opened."""
        if isinstance(fact.event, a.AccountOpened) and fact.event.test:
            self._tests.add((fact.event.currency, fact.event.player))

    def has(self, currency: str, player: str) -> bool:
        return (currency, player) in self._tests
