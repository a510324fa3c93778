"""Cash history: what went over the desk, movement by movement.

An amount is what the player got: a withdrawal is below zero.

Not here: what games did (`game_history`), sums by player (`player_account_summary`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ops.reports.building import Body, Request
from ops.reports.definitions.common import Columns, at, keys_of, of_key, parameters, who
from ops.reports.definitions.listing import Listing, sections
from ops.reports.model import Cell, Identity
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "cash-history"
VERSION: Final = 1
TITLE: Final = "Cash history"
FILTERS: Final = frozenset({"player", "currency"})
NEEDS: Final = ("cash", "balances")


def build(reading: Reading, request: Request) -> Body:
    """By currency, in the order of the journal."""
    words = request.words

    def identities() -> list[Identity]:
        keys = keys_of((currency, test) for currency, test in reading.rows(KEYS, parameters(request)))
        return [_identity(reading, request, key) for key in keys]

    return Body(sections(reading, request, listing(words, KEYS, ROWS)), identities)


def listing(words: Words, keys: Any, rows: Any, name: str = "cash", title: str = "Movements at the desk") -> Listing:
    """The table; other reports have it too."""
    of = Columns(words)
    columns = [
        of.position("position", "Position"), of.time("time", "Time"), of.text("player", "Player"),
        of.text("kind", "Kind"), of.money("amount", "To the player"), of.money("balance", "Balance after"),
        of.text("by", "By"), of.text("approver", "Approver"), of.text("reason", "Reason"),
        of.text("reference", "Reference"),
    ]  # fmt: skip

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        position, moment, player, kind, amount, balance, by, approver, reason, reference = row
        return position, at(moment), player, words(kind), amount, balance, by, approver, reason, reference

    return Listing(name, title, columns, keys, rows, cells, frozenset({"amount"}))


def _identity(reading: Reading, request: Request, key: tuple[str, bool]) -> Identity:
    asked = of_key(parameters(request), key)
    [(listed,)], [(posted,)] = reading.rows(_SUM, asked), reading.rows(_POSTED, asked)
    sentence = request.words(
        "Movements to players = what bank, bonus and cash gave for them in the ledger ({who})",
        who=who(request.words, key),
    )
    return Identity(sentence, int(listed), int(posted), key[0])


KEYS: Final = """
select distinct currency, test from {cash}
where position <= %(position)s and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(player)s::text is null or player = %(player)s) and (%(currency)s::text is null or currency = %(currency)s)
"""

ROWS: Final = """
select position, at, player, type, amount, balance_after, by, approver, reason, reference from {cash}
where currency = %(of)s and test = %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(player)s::text is null or player = %(player)s)
order by position
"""

_SUM: Final = """
select coalesce(sum(amount), 0) from {cash}
where currency = %(of)s and test = %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(player)s::text is null or player = %(player)s)
"""

_POSTED: Final = """
select coalesce(-sum(to_bank + to_bonus + to_cash + to_jackpots), 0) from {ledger_entry}
where currency = %(of)s and test = %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(player)s::text is null or player = %(player)s)
and type in ('funds-deposited.v1', 'funds-withdrawn.v1', 'funds-adjusted.v1', 'funds-reversed.v1')
"""
