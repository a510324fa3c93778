"""The ledger and the balances against the journal.

The projection adds up the lines of entries.  Here a balance is what its account's newest event says it is, and an
amount what the kind of the event makes of it; so the two agree only where both are right.

Not here: whether each event follows from the one before (`replay.accounts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from domain import account as a
from domain import jackpot as j
from domain.ledger import BANK, BONUS, CASH, PLAYER
from ops.reconciling.held import Check, Held, Line, moment, same_rows
from projections.feed import Fact
from projections.reading import Reading
from replay.verdict import Discrepancy

_JACKPOTS: Final = "jackpots"
_POT: Final = "jackpot:"
_ACCOUNTS: Final = (PLAYER, BANK, BONUS, CASH, _JACKPOTS)

Amounts = dict[str, int]
"""What each of _ACCOUNTS got."""


@dataclass(slots=True)
class _Currency:
    """Where everything of a currency is."""

    balances: dict[str, tuple[int, int, bool]] = field(default_factory=dict)
    """Player -> balance, in play, test."""
    pots: dict[str, int] = field(default_factory=dict)
    """As each jackpot's newest event says."""
    moved: Counter[str] = field(default_factory=Counter)
    """What the house's accounts have got, each jackpot by its own name."""
    players: int = 0
    in_play: int = 0


class Books(Check):
    PROJECTION: ClassVar[str] = "balances"

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._held = Held("ledger_entry", _COLUMNS, reading.stream(_ENTRIES))
        self._currencies: dict[str, _Currency] = {}

    def take(self, fact: Fact) -> Iterator[Discrepancy]:
        """An event of an account or a jackpot is one entry."""
        if isinstance(fact.event, a.AccountEvent):
            yield from self._account(fact)
        elif isinstance(fact.event, j.JackpotEvent):
            yield from self._jackpot(fact)

    def _account(self, fact: Fact) -> Iterator[Discrepancy]:
        event: Any = fact.event
        _, currency, player = fact.stream.split(":", 2)
        house = self._of(currency)
        balance, in_play, test = house.balances.get(player, (0, 0, False))
        test = event.test if isinstance(event, a.AccountOpened) else test
        after = event.after.balance, sum(play.staked for play in event.after.in_play)
        house.balances[player] = (*after, test)
        house.players += after[0] - balance
        house.in_play += after[1] - in_play
        pot = next((line.account.removeprefix(_POT) for line in _lines(event) if line.account.startswith(_POT)), None)
        amounts = _amounts(event)
        self._move(house, amounts, pot)
        yield from self._entry(fact, currency, player, pot, test, amounts, after)

    def _jackpot(self, fact: Fact) -> Iterator[Discrepancy]:
        event: Any = fact.event
        currency, pot = event.after.currency, fact.stream.removeprefix(_POT)
        house = self._of(currency)
        house.pots[pot] = event.after.pot
        into = _into_pot(event)
        amounts = {PLAYER: 0, BANK: -into, BONUS: 0, CASH: 0, _JACKPOTS: into}
        self._move(house, amounts, pot)
        yield from self._entry(fact, currency, None, pot, False, amounts, (None, None))

    def _entry(
        self, fact: Fact, currency: str, player: str | None, pot: str | None, test: bool, amounts: Amounts,
        after: tuple[int | None, int | None],
    ) -> Iterator[Discrepancy]:  # fmt: skip
        house = self._of(currency)
        pots = sum(amount for name, amount in house.moved.items() if name.startswith(_POT))
        return self._held.expect(fact.position, (
            moment(fact.at), currency, fact.event.NAME, player, pot, getattr(fact.event, "round", None), test,
            *(amounts[name] for name in _ACCOUNTS), *after,
            house.players, house.in_play, house.moved[BANK], house.moved[BONUS], house.moved[CASH], pots,
        ))  # fmt: skip

    def _move(self, house: _Currency, amounts: Amounts, pot: str | None) -> None:
        for name in (BANK, BONUS, CASH):
            if amounts[name]:
                house.moved[name] += amounts[name]
        if pot is not None:
            house.moved[_POT + pot] += amounts[_JACKPOTS]

    def _of(self, currency: str) -> _Currency:
        return self._currencies.setdefault(currency, _Currency())

    # -- now

    def finish(self) -> Iterator[Discrepancy]:
        """Balances of now."""
        yield from self._held.rest()
        wanted: dict[tuple[str, str], tuple[object, ...]] = {}
        for currency, house in self._currencies.items():
            for player, (balance, in_play, test) in house.balances.items():
                wanted[currency, f"{PLAYER}:{player}"] = (balance, in_play, test)
            for name, amount in house.moved.items():
                wanted[currency, name] = (amount, 0, False)
        rows = (((currency, account), *rest) for currency, account, *rest in self._reading.stream(_BALANCES))
        yield from same_rows("balance", "account", ("amount", "in_play", "test"), rows, wanted)

    def lines(self) -> list[Line]:
        """Who has what, by the newest events here and by the balances there."""
        kept: Counter[tuple[str, str]] = Counter()
        for currency, account, amount, in_play in self._reading.rows(_SUMS):
            name = PLAYER if account == PLAYER else _JACKPOTS if account == "jackpot" else account
            kept[currency, name] += int(amount)
            kept[currency, "in play"] += int(in_play)
        found = []
        for currency in sorted(self._currencies.keys() | {currency for currency, _ in kept}):
            house = self._of(currency)
            journal = {
                PLAYER: house.players, BANK: house.moved[BANK], BONUS: house.moved[BONUS], CASH: house.moved[CASH],
                _JACKPOTS: sum(house.pots.values()),
            }  # fmt: skip
            found += [Line(currency, _WORDS[name], journal[name], kept[currency, name], True) for name in _ACCOUNTS]
            both = sum(journal.values()), sum(kept[currency, name] for name in _ACCOUNTS)
            found += [
                Line(currency, "all of them together, 0", both[0], 0, True),
                Line(currency, "all balances together, 0", 0, both[1], True),
                Line(currency, "funds in play", house.in_play, kept[currency, "in play"], True),
            ]
        return found


def _lines(event: Any) -> list[Any]:
    return getattr(event, "lines", None) or []


def _amounts(event: Any) -> Amounts:
    """What an account's event moves, as its kind and its amounts have it."""
    amounts = dict.fromkeys(_ACCOUNTS, 0)
    match event:
        case a.FundsDeposited():
            amounts[PLAYER], other = event.amount, CASH
        case a.FundsWithdrawn():
            amounts[PLAYER], other = -event.amount, CASH
        case a.FundsAdjusted():
            amounts[PLAYER], other = event.amount, event.against.value
        case a.FundsReversed():
            # Which account stands against it is that of what it undoes.
            names = [line.account for line in event.lines if line.account != PLAYER]
            amounts[PLAYER], other = event.amount, names[0] if names else CASH
        case a.RoundEntry():
            sign = 1 if isinstance(event, a.FundsReturned | a.FundsWon) else -1
            amounts[PLAYER], other = sign * sum(posting.amount for posting in event.postings), BANK
            amounts[_JACKPOTS] = sum(line.amount for line in event.lines if line.account.startswith(_POT))
        case _:
            return amounts
    amounts[other] -= amounts[PLAYER] + amounts[_JACKPOTS]
    return amounts


def _into_pot(event: j.JackpotEvent) -> int:
    """What the bank puts into a pot; winnings move with the winners' accounts."""
    match event:
        case j.JackpotOpened():
            return event.after.seed_amount
        case j.JackpotFed() | j.JackpotRestarted():
            return event.amount
        case j.JackpotReversed():
            return -event.contributions
        case _:
            return 0


_WORDS: Final = {
    PLAYER: "players' balances", BANK: "bank", BONUS: "bonus money", CASH: "cashier's desk", _JACKPOTS: "jackpots",
}  # fmt: skip

_COLUMNS: Final = (
    "at", "currency", "type", "player", "jackpot", "round", "test", "to_player", "to_bank", "to_bonus", "to_cash",
    "to_jackpots", "balance_after", "in_play_after", "players_total", "in_play_total", "bank_total", "bonus_total",
    "cash_total", "jackpots_total",
)  # fmt: skip

_ENTRIES: Final = """
select position, at, currency, type, player, jackpot, round, test, to_player, to_bank, to_bonus, to_cash,
    to_jackpots, balance_after, in_play_after, players_total, in_play_total, bank_total, bonus_total, cash_total,
    jackpots_total
from {ledger_entry} order by position
"""

_BALANCES: Final = "select currency, account, amount, in_play, test from {balance} order by currency, account"

_SUMS: Final = """
select currency, split_part(account, ':', 1), sum(amount), sum(in_play) from {balance} group by 1, 2
"""
