"""Who has what, and how did it get there?  Every account as double entry, with the funds in play at any moment.

Tables: `balance` (now), `ledger_entry` (one row an event of an account or a jackpot; it has the sums of the house after
it, so the row of any moment tells them).  An amount is what the account got.  Rebuild: dealproof project
rebuild balances.

Not here: what went over the desk (`cash`), pots (`jackpots`), sums of a period (`players`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from domain import account as a
from domain import jackpot as j
from domain.codec import Event
from domain.ledger import BANK, BONUS, CASH, PLAYER
from projections.feed import Fact
from projections.projection import Handler, Projection, flush
from projections.store import Table, columns

BALANCE: Final = Table(
    "balance",
    columns("currency text, account text, test bool, amount int, in_play int, entries int, position int"),
    ("currency", "account"),
)
LEDGER_ENTRY: Final = Table(
    "ledger_entry",
    columns(
        "position int, at time, currency text, type text, player text?, jackpot text?, round text?, test bool,"
        "to_player int, to_bank int, to_bonus int, to_cash int, to_jackpots int,"
        "balance_after int?, in_play_after int?,"
        "players_total int, in_play_total int, bank_total int, bonus_total int, cash_total int, jackpots_total int"
    ),
    ("position",),
    (
        "(currency, at, position)",
        "(currency, player, position) where player is not null",
        "(round) where round is not null",
    ),
)

_JACKPOT: Final = "jackpot:"
_PLAYER: Final = "player:"


class _Account:
    """A row of `balance`."""

    __slots__ = ("amount", "entries", "in_play", "position", "test")

    def __init__(self, test: bool, amount: int, in_play: int, entries: int, position: int) -> None:
        self.test, self.amount, self.in_play, self.entries, self.position = test, amount, in_play, entries, position


class _Totals:
    """Sums of one currency over the whole house."""

    __slots__ = ("bank", "bonus", "cash", "in_play", "jackpots", "players")

    def __init__(self, row: tuple[int, ...] = (0, 0, 0, 0, 0, 0)) -> None:
        self.players, self.in_play, self.bank, self.bonus, self.cash, self.jackpots = row


class Balances(Projection):
    NAME: ClassVar[str] = "balances"
    VERSION: ClassVar[int] = 1
    QUESTION: ClassVar[str] = "Who has what, and how did it get there?"
    TABLES: ClassVar[tuple[Table, ...]] = (BALANCE, LEDGER_ENTRY)

    def __init__(self) -> None:
        self._accounts: dict[tuple[str, str], _Account] = {}
        self._totals: dict[str, _Totals] = {}
        self._changed: dict[tuple[str, str], None] = {}
        self._entries: list[tuple[object, ...]] = []

    def handlers(self) -> Mapping[type[Event], Handler]:
        kinds: dict[type[Event], Handler] = dict.fromkeys(a.ACCOUNT_EVENTS, self._account)
        return {**kinds, **dict.fromkeys(j.JACKPOT_EVENTS, self._jackpot)}

    def forget(self) -> None:
        self._accounts.clear()
        self._totals.clear()
        self._changed.clear()
        self._entries.clear()

    def write(self) -> None:
        self.store.add("ledger_entry", flush(self._entries))
        self.store.replace("balance", [self._row(key) for key in self._changed])
        self._changed.clear()
        if len(self._accounts) > _MOST_KEPT:
            self._accounts.clear()

    def _row(self, key: tuple[str, str]) -> tuple[object, ...]:
        account = self._accounts[key]
        return *key, account.test, account.amount, account.in_play, account.entries, account.position

    # -- facts

    def _account(self, fact: Fact) -> None:
        _, currency, player = fact.stream.split(":", 2)
        event: Any = fact.event
        own = self._known(currency, _PLAYER + player, fact.seq == 0)
        totals = self._total(currency)
        if isinstance(event, a.AccountOpened):
            own.test = event.test
        in_play = event.after.funds_in_play
        totals.in_play += in_play - own.in_play
        own.in_play = in_play
        own.position, own.entries = fact.position, own.entries + 1
        self._changed[currency, _PLAYER + player] = None
        amounts, pot = self._post(fact, currency, getattr(event, "lines", ()), own)
        self._entries.append((
            fact.position, fact.at, currency, event.NAME, player, pot, getattr(event, "round", None), own.test,
            *amounts, own.amount, in_play, *_values(totals),
        ))  # fmt: skip

    def _jackpot(self, fact: Fact) -> None:
        event: Any = fact.event
        currency, name = event.after.currency, fact.stream.removeprefix(_JACKPOT)
        amounts, _ = self._post(fact, currency, getattr(event, "lines", ()), None)
        self._entries.append((
            fact.position, fact.at, currency, event.NAME, None, name, getattr(event, "round", None), False,
            *amounts, None, None, *_values(self._total(currency)),
        ))  # fmt: skip

    def _post(
        self, fact: Fact, currency: str, lines: Any, own: _Account | None
    ) -> tuple[tuple[int, int, int, int, int], str | None]:
        """Move what the lines say; what player, bank, bonus, cash and jackpots got by it, and which jackpot did."""
        totals, pot = self._total(currency), None
        player = bank = bonus = cash = jackpots = 0
        for line in lines:
            name, amount = line.account, line.amount
            if name == PLAYER and own is not None:
                own.amount += amount
                player += amount
                continue
            self._move(fact, currency, name, amount)
            if name == BANK:
                bank += amount
            elif name == CASH:
                cash += amount
            elif name == BONUS:
                bonus += amount
            else:
                jackpots, pot = jackpots + amount, name.removeprefix(_JACKPOT)
        totals.players += player
        totals.bank += bank
        totals.bonus += bonus
        totals.cash += cash
        totals.jackpots += jackpots
        return (player, bank, bonus, cash, jackpots), pot

    def _move(self, fact: Fact, currency: str, name: str, amount: int) -> None:
        account = self._known(currency, name, False)
        account.amount += amount
        account.entries += 1
        account.position = fact.position
        self._changed[currency, name] = None

    # -- what is known

    def _known(self, currency: str, name: str, new: bool) -> _Account:
        account = self._accounts.get((currency, name))
        if account is None:
            rows = [] if new else self.store.rows(_BALANCE, (currency, name))
            account = _Account(*rows[0]) if rows else _Account(False, 0, 0, 0, 0)
            self._accounts[currency, name] = account
        return account

    def _total(self, currency: str) -> _Totals:
        totals = self._totals.get(currency)
        if totals is None:
            rows = self.store.rows(_TOTALS, (currency,))
            totals = self._totals[currency] = _Totals(rows[0]) if rows else _Totals()
        return totals


def _values(totals: _Totals) -> tuple[int, ...]:
    return totals.players, totals.in_play, totals.bank, totals.bonus, totals.cash, totals.jackpots


_MOST_KEPT: Final = 200_000
"""Accounts in memory between two batches."""

_BALANCE: Final = """
select test, amount, in_play, entries, position from {balance} where currency = %s and account = %s
"""

_TOTALS: Final = """
select players_total, in_play_total, bank_total, bonus_total, cash_total, jackpots_total
from {ledger_entry} where currency = %s order by position desc limit 1
"""
