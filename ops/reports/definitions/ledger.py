"""The ledger: what players, bank, bonus funds, cash and jackpots had before and after, and which movements lay between.

Double entry: in each currency the five accounts of the house sum to zero at any moment, and so does each movement.
Test accounts are among them: the bank stands against both.

Not here: single accounts (`player_account_summary`, `jackpot`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ops.reports.building import Body, Request
from ops.reports.definitions.common import Columns, Key, keys_of, of_key, parameters, section
from ops.reports.definitions.listing import Listing, sections
from ops.reports.model import Cell, Column, Identity, Row, Weight
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "ledger"
VERSION: Final = 1
TITLE: Final = "Ledger"
FILTERS: Final = frozenset({"currency"})
NEEDS: Final = ("balances",)

ACCOUNTS: Final = ("Players", "Bank", "Bonus funds", "Cash desk", "Jackpots")


def build(reading: Reading, request: Request) -> Body:
    """By currency: the trial balance, then movements by kind of event."""
    words = request.words
    keys = keys_of((currency, test) for currency, test in reading.rows(_KEYS, parameters(request)))

    def identities() -> list[Identity]:
        return [identity for key in keys for identity in _identities(reading, request, key)]

    balances = [
        section(words, "balances", "Trial balance", key, _columns(words), lambda key=key: _rows(reading, request, key))  # type: ignore[misc]
        for key in keys
    ]
    return Body((*balances, *sections(reading, request, _movements(words))), identities)


def _columns(words: Words) -> list[Column]:
    of = Columns(words)
    return [
        of.text("account", "Account"), of.money("before", "Before"), of.money("moved", "Moved"),
        of.money("after", "After"),
    ]  # fmt: skip


def _rows(reading: Reading, request: Request, key: Key) -> Iterator[Row]:
    words = request.words
    before, moved, after = _three(reading, request, key)
    for place, account in enumerate(ACCOUNTS):
        yield Row((words(account), before[place], moved[place], after[place]))
    yield Row((words("Sum"), sum(before[:5]), sum(moved), sum(after[:5])), Weight.TOTAL)
    [(most,)] = reading.rows(_MOST_IN_PLAY, of_key(parameters(request), key))
    yield Row((words("In play: staked in open rounds, with the house"), before[5], None, after[5]))
    yield Row((words("The most in play at one moment"), None, None, max(before[5], int(most or 0))))


def _three(reading: Reading, request: Request, key: Key) -> tuple[list[int], list[int], list[int]]:
    """Balances before, movements, balances after; the sixth balance is what is in play."""
    asked = of_key(parameters(request), key)
    [before], [after] = (
        reading.rows(_TOTALS, {**asked, "moment": moment}) for moment in (request.period.begin, request.period.end)
    )
    [moved] = reading.rows(_MOVED, asked)
    return list(map(int, before)), list(map(int, moved)), list(map(int, after))


def _movements(words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.text("kind", "Kind"), of.count("entries", "Entries"), of.money("players", "Players"),
        of.money("bank", "Bank"), of.money("bonus", "Bonus funds"), of.money("cash", "Cash desk"),
        of.money("jackpots", "Jackpots"),
    ]  # fmt: skip

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        return words(row[0]), *map(int, row[1:])

    summed = frozenset({"entries", "players", "bank", "bonus", "cash", "jackpots"})
    return Listing("movements", "Movements", columns, _KEYS, _MOVEMENTS, cells, summed)


def _identities(reading: Reading, request: Request, key: Key) -> Iterator[Identity]:
    words, currency = request.words, key[0]
    before, moved, after = _three(reading, request, key)
    first, last = sum(before[:5]), sum(after[:5])
    yield Identity(words("Sum of all accounts before = 0 ({currency})", currency=currency), first, 0, currency)
    yield Identity(words("Sum of all accounts after = 0 ({currency})", currency=currency), last, 0, currency)
    for place, account in enumerate(ACCOUNTS):
        sentence = words("{account}: before + moved = after ({currency})", account=words(account), currency=currency)
        yield Identity(sentence, before[place] + moved[place], after[place], currency)
    [(balanced, all_)] = reading.rows(_BALANCED, of_key(parameters(request), key))
    yield Identity(words("Entries that sum to zero = all entries ({currency})", currency=currency), balanced, all_)


_KEYS: Final = """
select distinct currency, false from {balance} as balance
where (%(currency)s::text is null or currency = %(currency)s)
and exists (select from {ledger_entry} as entry where entry.currency = balance.currency
    and entry.position <= %(position)s and entry.at < %(end)s::timestamptz)
"""

# The last entry before a moment has the totals then, but for entries that got their positions in another order than
# their times, as appends at the same moment may; they lie close to it.
_TOTALS: Final = """
with kept as (
    select position, players_total, bank_total, bonus_total, cash_total, jackpots_total, in_play_total
    from {ledger_entry}
    where currency = %(of)s and not %(test)s and position <= %(position)s and at < %(moment)s::timestamptz
    order by at desc, position desc limit 1
), near as (
    select position, case when at < %(moment)s::timestamptz then 1 else -1 end as side,
        to_player, to_bank, to_bonus, to_cash, to_jackpots
    from {ledger_entry}
    where currency = %(of)s and not %(test)s and position <= %(position)s
    and at >= %(moment)s::timestamptz - interval '1 hour' and at < %(moment)s::timestamptz + interval '1 hour'
)
select coalesce(max(players_total), 0) + coalesce(sum(side * to_player), 0),
    coalesce(max(bank_total), 0) + coalesce(sum(side * to_bank), 0),
    coalesce(max(bonus_total), 0) + coalesce(sum(side * to_bonus), 0),
    coalesce(max(cash_total), 0) + coalesce(sum(side * to_cash), 0),
    coalesce(max(jackpots_total), 0) + coalesce(sum(side * to_jackpots), 0),
    coalesce(max(in_play_total), 0)
from kept left join near on (near.side = 1) = (near.position > kept.position)
"""

_MOVED: Final = """
select coalesce(sum(to_player), 0), coalesce(sum(to_bank), 0), coalesce(sum(to_bonus), 0), coalesce(sum(to_cash), 0),
    coalesce(sum(to_jackpots), 0)
from {ledger_entry}
where currency = %(of)s and not %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
"""

_MOVEMENTS: Final = """
select type, count(*), sum(to_player), sum(to_bank), sum(to_bonus), sum(to_cash), sum(to_jackpots) from {ledger_entry}
where currency = %(of)s and not %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
group by type order by type
"""

_BALANCED: Final = """
select count(*) filter (where to_player + to_bank + to_bonus + to_cash + to_jackpots = 0), count(*)
from {ledger_entry}
where currency = %(of)s and not %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
"""

_MOST_IN_PLAY: Final = """
select max(in_play_total) from {ledger_entry}
where currency = %(of)s and not %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
"""
