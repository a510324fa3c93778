"""Player win/loss statement: one player's funds of a period, for himself or for a dispute.

Win and loss in one row, his rounds with funds before and after, the desk, and every movement of the account with the
balance after it.

Not here: other players of his rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ops.reports.building import Body, ReportError, Request
from ops.reports.definitions import cash_history, game_history
from ops.reports.definitions import player_account_summary as summary
from ops.reports.definitions.common import Columns, at, keys_of, of_key, parameters, who
from ops.reports.definitions.listing import Listing, sections
from ops.reports.model import Cell, Identity
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "player-statement"
VERSION: Final = 1
TITLE: Final = "Player win/loss statement"
FILTERS: Final = frozenset({"player", "currency"})
NEEDS: Final = ("balances", "players", "rounds", "cash")


def build(reading: Reading, request: Request) -> Body:
    """The sums, the rounds that ended, the desk, every movement.  Raises ReportError without a player."""
    if request.filters.player is None:
        raise ReportError(f"--player: the report {NAME} is of one player; name him")
    words = request.words

    def identities() -> list[Identity]:
        keys = keys_of((currency, test) for currency, test in reading.rows(summary.KEYS, parameters(request)))
        found = [identity for key in keys for identity in summary.account_identities(reading, request, key)]
        found += game_history.players_identities(reading, request)
        return found + [_running(reading, request, key) for key in keys]

    cash = cash_history.listing(words, cash_history.KEYS, cash_history.ROWS)
    return Body(
        (
            *sections(reading, request, summary.listing(words)._replace(name="summary", title="Win and loss")),
            *sections(reading, request, game_history.players(words)._replace(title="Rounds")),
            *sections(reading, request, cash),
            *sections(reading, request, _movements(words)),
        ),
        identities,
    )


def _movements(words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.position("position", "Position"), of.time("time", "Time"), of.text("kind", "Kind"),
        of.text("table", "Table"), of.count("number", "Number"), of.money("amount", "To the player"),
        of.money("balance", "Balance after"), of.money("on_game", "On game after"), of.text("round", "Round"),
    ]  # fmt: skip

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        position, moment, kind, *rest = row
        return position, at(moment), words(kind), *rest

    return Listing("movements", "Every movement", columns, _KEYS, _MOVEMENTS, cells, frozenset({"amount"}))


def _running(reading: Reading, request: Request, key: tuple[str, bool]) -> Identity:
    """Counts, for one wrong balance may set another right."""
    [(right, all_)] = reading.rows(_BALANCES, of_key(parameters(request), key))
    sentence = request.words(
        "Movements whose balance is the one before and the amount = all movements ({who})", who=who(request.words, key)
    )
    return Identity(sentence, int(right), int(all_))


_KEYS: Final = """
select distinct currency, test from {ledger_entry}
where player = %(player)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(currency)s::text is null or currency = %(currency)s)
"""

_MOVEMENTS: Final = """
select entry.position, entry.at, entry.type, coalesce(ended.table_name, pending.table_name),
    coalesce(ended.number, pending.number), entry.to_player, entry.balance_after, entry.in_play_after, entry.round
from {ledger_entry} as entry
left join {round} as ended on ended.round = entry.round
left join {open_round} as pending on pending.round = entry.round
where entry.currency = %(of)s and entry.player = %(player)s and entry.test = %(test)s
and entry.position <= %(position)s and entry.at >= %(begin)s::timestamptz and entry.at < %(end)s::timestamptz
order by entry.position
"""

# The movement before the first one of the period lies before the period.
_BALANCES: Final = """
select count(*) filter (where balance_after = coalesce(before, 0) + to_player), count(*)
from (
    select at, to_player, balance_after, lag(balance_after) over (order by position) as before
    from {ledger_entry}
    where currency = %(of)s and player = %(player)s and test = %(test)s and position <= %(position)s
) as entry
where at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
"""
