"""A round that has ended, as its facts tell it: stakes by kind, what came back, times, combinations.

The facts of a round are kept until its last one; then all is counted in one go.  So an open round takes no state of its
own, and one that was begun before the reader was is read again from the journal.

Money of a voided round is nothing: what had been staked came back.

Not here: rows (`rounds`, `performance`, `combinations`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from domain.codec import Event
from domain.ledger import Wager
from domain.round import events as e
from projections.feed import Fact
from projections.store import Store


@dataclass(slots=True)
class Box:
    """A box: what was staked on each kind of wager, how often, and what came back of it."""

    box: int
    player: str
    mode: str
    stakes: dict[str, int] = field(default_factory=dict)
    bets: Counter[str] = field(default_factory=Counter)
    back: dict[str, int] = field(default_factory=dict)
    contributed: int = 0

    def stake(self, wager: Wager, amount: int) -> None:
        """A stake or a fee, made once; none of nothing."""
        if amount:
            self.stakes[wager] = self.stakes.get(wager, 0) + amount
            self.bets[wager] += 1

    @property
    def staked(self) -> int:
        """Stakes and fees."""
        return sum(self.stakes.values())

    @property
    def fees(self) -> int:
        """For cards: they never come back."""
        return sum(self.stakes.get(wager, 0) for wager in FEES)

    @property
    def returned(self) -> int:
        """All that came back, the jackpot with it."""
        return sum(self.back.values())


@dataclass(slots=True)
class Ended:
    """A round from its opening to its end."""

    round: str
    opened: e.RoundOpened
    opened_position: int
    opened_at: str
    ended_position: int = 0
    ended_at: str = ""
    first_stake_at: str | None = None
    dealt_at: str | None = None
    dealer_shown_at: str | None = None
    reason: str | None = None
    voided: bool = False
    events: int = 0
    automatic: int = 0
    boxes: dict[int, Box] = field(default_factory=dict)
    combinations: Counter[tuple[str, str]] = field(default_factory=Counter)


FEES: Final = (Wager.EXCHANGE, Wager.SIXTH_CARD, Wager.DEALER_GAME)
ENDINGS: Final = (e.RoundClosed, e.RoundVoided)


class OpenRounds:
    """Keeps the facts of open rounds, and gives all of a round's when its last one comes."""

    def __init__(self) -> None:
        self._facts: dict[str, list[Fact]] = {}

    def take(self, store: Store, fact: Fact) -> list[Fact] | None:
        """The next fact of a round but the reveal of its seed; the round's facts if it is the last one."""
        facts = self._facts.get(fact.stream)
        if facts is None:
            earlier = store.earlier.below(fact.stream, fact.seq) if fact.seq else []
            facts = self._facts[fact.stream] = earlier
        facts.append(fact)
        if type(fact.event) in ENDINGS:
            return self._facts.pop(fact.stream)
        return None

    def facts(self, stream: str) -> list[Fact]:
        """What is known of an open round so far."""
        return self._facts[stream]

    def forget(self) -> None:
        """The reader stands somewhere else now."""
        self._facts.clear()


KEPT: Final = tuple(event for event in e.ROUND_EVENTS if event is not e.SeedRevealed)
"""What `OpenRounds` takes."""


def ended(facts: list[Fact]) -> Ended:
    """Count a round from its opening to its end.  Raises LookupError where the first fact opens no round."""
    first = facts[0]
    if not isinstance(first.event, e.RoundOpened):
        raise LookupError(f"stream {first.stream}: begins with {first.event.NAME}, not with the opening of a round")
    whole = Ended(first.stream.removeprefix("round:"), first.event, first.position, first.at)
    for fact in facts:
        handle = _HANDLERS.get(type(fact.event))
        if handle is not None:
            handle(whole, fact, fact.event)
    last = facts[-1]
    whole.ended_position, whole.ended_at, whole.events = last.position, last.at, last.seq + 1
    return whole


def _placed(whole: Ended, fact: Fact, event: e.BoxPlaced) -> None:
    box = whole.boxes[event.box] = Box(event.box, event.player, event.mode.value)
    whole.first_stake_at = whole.first_stake_at or fact.at
    for wager, amount in ((Wager.ANTE, event.ante), (Wager.BET, event.bet), (Wager.BONUS, event.bonus)):
        box.stake(wager, amount)


def _dealt(whole: Ended, fact: Fact, _: e.CardsDealt) -> None:
    whole.dealt_at = fact.at


def _contributed(whole: Ended, _: Fact, event: e.JackpotContributed) -> None:
    whole.boxes[event.box].contributed += event.amount


def _bonus(whole: Ended, _: Fact, event: e.BonusSettled) -> None:
    whole.boxes[event.box].back[Wager.BONUS] = event.returned
    whole.combinations["bonus", event.combination] += 1


def _jackpot(whole: Ended, _: Fact, event: e.JackpotWon) -> None:
    box = whole.boxes[event.box]
    box.back[Wager.JACKPOT] = box.back.get(Wager.JACKPOT, 0) + event.amount
    box.bets[Wager.JACKPOT] += 1


def _exchange(whole: Ended, _: Fact, event: e.ExchangeBought) -> None:
    _decided(whole, event)
    whole.boxes[event.box].stake(Wager.EXCHANGE, event.fee)


def _sixth_card(whole: Ended, _: Fact, event: e.SixthCardBought) -> None:
    _decided(whole, event)
    whole.boxes[event.box].stake(Wager.SIXTH_CARD, event.fee)


def _insured(whole: Ended, _: Fact, event: e.InsuranceBought) -> None:
    _decided(whole, event)
    whole.boxes[event.box].stake(Wager.INSURANCE, event.stake)


def _bet(whole: Ended, _: Fact, event: e.BetMade) -> None:
    _decided(whole, event)
    whole.boxes[event.box].stake(Wager.BET, event.bet)


def _dealer_game(whole: Ended, _: Fact, event: e.DealerGameBought) -> None:
    _decided(whole, event)
    whole.boxes[event.box].stake(Wager.DEALER_GAME, event.fee)


def _chosen(whole: Ended, _: Fact, event: e.SixthCardDeclined | e.BoxFolded | e.AnteTaken) -> None:
    _decided(whole, event)


def _decided(whole: Ended, event: Any) -> None:
    whole.automatic += event.by is e.By.HOUSE


def _dealer_shown(whole: Ended, fact: Fact, event: e.DealerRevealed) -> None:
    whole.dealer_shown_at = fact.at
    whole.combinations["dealer", event.combination] += 1


def _insurance(whole: Ended, _: Fact, event: e.InsuranceSettled) -> None:
    whole.boxes[event.box].back[Wager.INSURANCE] = event.returned


def _settled(whole: Ended, _: Fact, event: e.BoxSettled) -> None:
    back = whole.boxes[event.box].back
    back[Wager.ANTE], back[Wager.BET] = event.ante, event.bet
    if event.main is not None:
        whole.combinations["box", event.main] += 1


def _voided(whole: Ended, _: Fact, event: e.RoundVoided) -> None:
    # Rule 10.2: stakes and fees went back, winnings and contributions as well.
    whole.voided, whole.reason = True, event.reason
    whole.combinations.clear()
    for box in whole.boxes.values():
        box.back, box.contributed = dict(box.stakes), 0


_HANDLERS: Final[Mapping[type[Event], Any]] = {
    e.BoxPlaced: _placed,
    e.CardsDealt: _dealt,
    e.JackpotContributed: _contributed,
    e.BonusSettled: _bonus,
    e.JackpotWon: _jackpot,
    e.ExchangeBought: _exchange,
    e.SixthCardBought: _sixth_card,
    e.SixthCardDeclined: _chosen,
    e.InsuranceBought: _insured,
    e.BetMade: _bet,
    e.BoxFolded: _chosen,
    e.DealerRevealed: _dealer_shown,
    e.InsuranceSettled: _insurance,
    e.DealerGameBought: _dealer_game,
    e.AnteTaken: _chosen,
    e.BoxSettled: _settled,
    e.RoundVoided: _voided,
}


def wagers_of(whole: Ended, is_test: Mapping[str, bool]) -> dict[tuple[bool, str, str], list[int]]:
    """(test account, mode, wager) -> how many bets, staked, returned; of a round that was not voided."""
    sums: dict[tuple[bool, str, str], list[int]] = {}
    for box in whole.boxes.values():
        test = is_test[box.player]
        for wager, bets in box.bets.items():
            row = sums.setdefault((test, box.mode, wager), [0, 0, 0])
            row[0] += bets
            row[1] += box.stakes.get(wager, 0)
            row[2] += box.back.get(wager, 0)
    return sums
