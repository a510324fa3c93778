"""Exceptions: all that somebody should look at, in order, with the values before and after.

Not here: what verifications found (`verdicts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ops.reports.building import Body, Request
from ops.reports.definitions.common import Columns, at, parameters
from ops.reports.definitions.listing import Listing, plain, sections
from ops.reports.model import Cell, Column, Identity, Row, Section, Weight
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "exceptions"
VERSION: Final = 1
TITLE: Final = "Exceptions"
FILTERS: Final = frozenset({"table", "player", "currency"})
NEEDS: Final = ("exceptions", "cash", "rounds")


def build(reading: Reading, request: Request) -> Body:
    """How many of each kind; by currency those with money in them, then those without."""
    words = request.words
    return Body(
        (
            _kinds(reading, request),
            *sections(reading, request, _with_money(words)),
            plain(reading, request, _without_money(words)),
        ),
        lambda: _identities(reading, request),
    )


def _kinds(reading: Reading, request: Request) -> Section:
    words = request.words
    of = Columns(words)
    columns = (of.text("kind", "Kind"), of.count("count", "Count"), of.count("test", "of it test accounts"))

    def counted() -> Iterator[Row]:
        rows = [(kind, int(count), int(test)) for kind, count, test in reading.rows(_COUNTS, parameters(request))]
        for kind, count, test in rows:
            yield Row((words(kind), count, test))
        if rows:
            total = (words("Total"), sum(count for _, count, _ in rows), sum(test for _, _, test in rows))
            yield Row(total, Weight.TOTAL)

    return Section("kinds", words("By kind"), None, columns, counted)


def _columns(words: Words, *money: Column) -> list[Column]:
    of = Columns(words)
    return [
        of.position("position", "Position"), of.time("time", "Time"), of.text("kind", "Kind"),
        of.text("subject", "Subject"), of.text("by", "By"), of.text("approver", "Approver"),
        of.text("reason", "Reason"), *money, of.text("table", "Table"), of.text("player", "Player"),
        of.text("round", "Round"), of.text("before", "Before"), of.text("after", "After"),
    ]  # fmt: skip


def _with_money(words: Words) -> Listing:
    columns = _columns(words, Columns(words).money("amount", "Amount"))
    return Listing("exceptions", "Exceptions of accounts and rounds", columns, _KEYS, _ROWS, _said(words))


def _without_money(words: Words) -> Listing:
    columns = _columns(words)
    return Listing("house", "Exceptions without an amount", columns, _COUNTS, _PLAIN_ROWS, _said(words))


def _said(words: Words) -> Any:
    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        position, moment, kind, *rest = row
        return position, at(moment), words(kind), *rest

    return cells


def _identities(reading: Reading, request: Request) -> list[Identity]:
    """Each where both sides know the filters."""
    words, asked, found = request.words, parameters(request), []
    if request.filters.table is None:
        [(noted,)], [(moved,)] = reading.rows(_CORRECTIONS, asked), reading.rows(_MOVED, asked)
        found.append(Identity(words("Corrections noted = corrections in the cash history"), int(noted), int(moved)))
    if request.filters.player is None:
        [(noted,)], [(voided,)] = reading.rows(_VOIDS, asked), reading.rows(_VOIDED, asked)
        found.append(Identity(words("Voids noted = voided rounds in the game history"), int(noted), int(voided)))
    return found


_COUNTS: Final = """
select kind, count(*), count(*) filter (where test) from {exception}
where position <= %(position)s and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(player)s::text is null or player = %(player)s)
and (%(currency)s::text is null or currency = %(currency)s)
group by kind order by kind
"""

_KEYS: Final = """
select distinct currency, test from {exception}
where currency is not null and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(player)s::text is null or player = %(player)s)
and (%(currency)s::text is null or currency = %(currency)s)
"""

_ROWS: Final = """
select position, at, kind, subject, by, approver, reason, amount, table_name, player, round, before, after
from {exception}
where currency = %(of)s and test = %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(player)s::text is null or player = %(player)s)
order by position, nth
"""

_PLAIN_ROWS: Final = """
select position, at, kind, subject, by, approver, reason, table_name, player, round, before, after
from {exception}
where currency is null and %(currency)s::text is null and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(player)s::text is null or player = %(player)s)
order by position, nth
"""

_CORRECTIONS: Final = """
select count(*) from {exception}
where kind in ('adjustment', 'reversal') and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(player)s::text is null or player = %(player)s) and (%(currency)s::text is null or currency = %(currency)s)
"""

_MOVED: Final = """
select count(*) from {cash}
where type in ('funds-adjusted.v1', 'funds-reversed.v1') and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(player)s::text is null or player = %(player)s) and (%(currency)s::text is null or currency = %(currency)s)
"""

_VOIDS: Final = """
select count(*) from {exception}
where kind = 'void' and position <= %(position)s and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(currency)s::text is null or currency = %(currency)s)
"""

_VOIDED: Final = """
select count(*) from {round}
where ending = 'voided' and ended_position <= %(position)s
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(currency)s::text is null or currency = %(currency)s)
"""
