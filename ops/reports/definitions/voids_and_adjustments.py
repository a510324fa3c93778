"""Voids and adjustments: rounds without a result, and corrections of accounts, with who approved them and why.

Not here: other exceptions (`exceptions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ops.reports.building import Body, Request
from ops.reports.definitions import cash_history
from ops.reports.definitions.common import Columns, at, keys_of, of_key, parameters, who
from ops.reports.definitions.listing import Listing, sections
from ops.reports.model import Cell, Identity
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "voids-and-adjustments"
VERSION: Final = 1
TITLE: Final = "Voids and adjustments"
FILTERS: Final = frozenset({"table", "player", "currency"})
NEEDS: Final = ("rounds", "cash", "balances", "exceptions")


def build(reading: Reading, request: Request) -> Body:
    """By currency: voided rounds; adjustments and reversals, which are of no table."""
    words = request.words

    def identities() -> list[Identity]:
        asked = parameters(request)
        keys = keys_of((c, t) for query in (_KEYS, _CASH_KEYS) for c, t in reading.rows(query, asked))
        return [identity for key in keys for identity in _identities(reading, request, key)]

    cash = cash_history.listing(words, _CASH_KEYS, _CASH_ROWS, "adjustments", "Adjustments and reversals")
    return Body((*sections(reading, request, _voids(words)), *sections(reading, request, cash)), identities)


def _voids(words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.position("position", "Position"), of.time("time", "Time"), of.text("table", "Table"),
        of.count("number", "Number"), of.count("boxes", "Boxes"), of.money("staked", "Staked"),
        of.money("returned", "Given back"), of.text("reason", "Reason"), of.text("by", "By"), of.text("round", "Round"),
    ]  # fmt: skip

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        position, moment, *rest = row
        return position, at(moment), *rest

    summed = frozenset({"boxes", "staked", "returned"})
    return Listing("voids", "Voided rounds", columns, _KEYS, _ROWS, cells, summed)


def _identities(reading: Reading, request: Request, key: tuple[str, bool]) -> Iterator[Identity]:
    words, asked = request.words, of_key(parameters(request), key)
    [(staked, posted)] = reading.rows(_REFUNDED, asked)
    yield Identity(
        words("Staked in voided rounds = what the ledger gave back for them ({who})", who=who(words, key)),
        int(staked), int(posted), key[0],
    )  # fmt: skip
    [(listed,)], [(ledger,)] = reading.rows(_CASH_SUM, asked), reading.rows(_LEDGER_SUM, asked)
    yield Identity(
        words("Adjustments and reversals = what the ledger posted for them ({who})", who=who(words, key)),
        int(listed), int(ledger), key[0],
    )  # fmt: skip


_KEYS: Final = """
select distinct currency, test from {round} as round
where ending = 'voided' and ended_position <= %(position)s
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(currency)s::text is null or currency = %(currency)s)
and (%(player)s::text is null or exists (
    select from {round_player} as player where player.round = round.round and player.player = %(player)s))
"""

_ROWS: Final = """
select ended_position, ended_at, table_name, number, boxes, staked, returned, reason,
    (select by from {exception} as exception where kind = 'override' and exception.round = round.round
        and exception.position <= %(position)s order by exception.position limit 1), round
from {round} as round
where ending = 'voided' and currency = %(of)s and test = %(test)s and ended_position <= %(position)s
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s)
and (%(player)s::text is null or exists (
    select from {round_player} as player where player.round = round.round and player.player = %(player)s))
order by ended_position
"""

# What came back in a round and what it took back again, over its whole life, is what had been staked.
_REFUNDED: Final = """
select coalesce(sum(round.staked), 0), coalesce(sum((
    select coalesce(sum(to_player), 0) from {ledger_entry} as entry
    where entry.round = round.round and entry.position <= %(position)s and entry.type <> 'funds-staked.v1')), 0)
from {round} as round
where ending = 'voided' and currency = %(of)s and test = %(test)s and ended_position <= %(position)s
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s)
and (%(player)s::text is null or exists (
    select from {round_player} as player where player.round = round.round and player.player = %(player)s))
"""

_CASH_KEYS: Final = """
select distinct currency, test from {cash}
where type in ('funds-adjusted.v1', 'funds-reversed.v1') and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and %(table)s::text is null and (%(player)s::text is null or player = %(player)s)
and (%(currency)s::text is null or currency = %(currency)s)
"""

_CASH_ROWS: Final = """
select position, at, player, type, amount, balance_after, by, approver, reason, reference from {cash}
where type in ('funds-adjusted.v1', 'funds-reversed.v1') and currency = %(of)s and test = %(test)s
and position <= %(position)s and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and %(table)s::text is null and (%(player)s::text is null or player = %(player)s)
order by position
"""

_CASH_SUM: Final = """
select coalesce(sum(amount), 0) from {cash}
where type in ('funds-adjusted.v1', 'funds-reversed.v1') and currency = %(of)s and test = %(test)s
and position <= %(position)s and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and %(table)s::text is null and (%(player)s::text is null or player = %(player)s)
"""

_LEDGER_SUM: Final = """
select coalesce(sum(to_player), 0) from {ledger_entry}
where type in ('funds-adjusted.v1', 'funds-reversed.v1') and currency = %(of)s and test = %(test)s
and position <= %(position)s and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and %(table)s::text is null and (%(player)s::text is null or player = %(player)s)
"""
