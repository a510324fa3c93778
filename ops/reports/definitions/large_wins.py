"""Large wins: rounds that brought a player much, by an amount that is asked for, else 20 times his stakes or a jackpot.

Not here: what is paid for which hand (docs/rules).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ops.reports.building import Body, Request
from ops.reports.definitions.common import Columns, at, keys_of, of_key, parameters, who
from ops.reports.definitions.listing import Listing, sections
from ops.reports.model import Cell, Identity
from projections.exceptions import LARGE_WIN
from projections.reading import Reading

NAME: Final = "large-wins"
VERSION: Final = 1
TITLE: Final = "Large wins"
FILTERS: Final = frozenset({"table", "player", "currency"})
NEEDS: Final = ("rounds", "exceptions", "balances")


def build(reading: Reading, request: Request) -> Body:
    """By currency, in the order of the journal."""
    words = request.words
    of = Columns(words)
    columns = [
        of.position("position", "Position"), of.time("time", "Time"), of.text("player", "Player"),
        of.text("table", "Table"), of.count("number", "Number"), of.money("staked", "Staked"),
        of.money("returned", "Returned"), of.money("net", "Net"), of.text("round", "Round"),
    ]  # fmt: skip

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        position, moment, *rest = row
        return position, at(moment), *rest

    asked = {**parameters(request), "least": request.large_win, "times": LARGE_WIN}
    summed = frozenset({"staked", "returned", "net"})
    note = (
        words("Rounds that brought a player at least {times} times his stakes, or a jackpot.", times=LARGE_WIN)
        if request.large_win is None
        else words("Rounds that brought a player at least {units} minor units.", units=request.large_win)
    )
    listing = Listing("wins", "Large wins", columns, _KEYS, _ROWS, cells, summed, note)

    def identities() -> list[Identity]:
        keys = keys_of((currency, test) for currency, test in reading.rows(_KEYS, asked))
        found = []
        for key in keys:
            [(net, moved)] = reading.rows(_SUMS, of_key(asked, key))
            said = who(words, key)
            sentence = words("Net of the large wins = what the ledger moved in their rounds ({who})", who=said)
            found.append(Identity(sentence, int(net), int(moved), key[0]))
        return found

    return Body(sections(reading, request, listing, asked), identities)


_KEYS: Final = """
select distinct player.currency, player.test from {round_player} as player
where player.position <= %(position)s and player.at >= %(begin)s::timestamptz and player.at < %(end)s::timestamptz
and player.ending = 'closed'
and (%(table)s::text is null or player.table_name = %(table)s)
and (%(player)s::text is null or player.player = %(player)s)
and (%(currency)s::text is null or player.currency = %(currency)s)
and case when %(least)s::bigint is not null then player.net >= %(least)s::bigint
    else player.staked > 0 and player.net >= %(times)s * player.staked or exists (
        select from {exception} as jackpot where jackpot.kind = 'jackpot-win' and jackpot.round = player.round
        and jackpot.player = player.player and jackpot.position <= %(position)s) end
"""

_ROWS: Final = """
select player.position, player.at, player.player, player.table_name, player.number, player.staked, player.returned,
    player.net, player.round
from {round_player} as player
where player.currency = %(of)s and player.test = %(test)s and player.position <= %(position)s
and player.at >= %(begin)s::timestamptz and player.at < %(end)s::timestamptz and player.ending = 'closed'
and (%(table)s::text is null or player.table_name = %(table)s)
and (%(player)s::text is null or player.player = %(player)s)
and case when %(least)s::bigint is not null then player.net >= %(least)s::bigint
    else player.staked > 0 and player.net >= %(times)s * player.staked or exists (
        select from {exception} as jackpot where jackpot.kind = 'jackpot-win' and jackpot.round = player.round
        and jackpot.player = player.player and jackpot.position <= %(position)s) end
order by player.position
"""

_SUMS: Final = """
select coalesce(sum(player.net), 0), coalesce(sum((
    select coalesce(sum(to_player), 0) from {ledger_entry} as entry
    where entry.round = player.round and entry.player = player.player and entry.position <= %(position)s)), 0)
from {round_player} as player
where player.currency = %(of)s and player.test = %(test)s and player.position <= %(position)s
and player.at >= %(begin)s::timestamptz and player.at < %(end)s::timestamptz and player.ending = 'closed'
and (%(table)s::text is null or player.table_name = %(table)s)
and (%(player)s::text is null or player.player = %(player)s)
and case when %(least)s::bigint is not null then player.net >= %(least)s::bigint
    else player.staked > 0 and player.net >= %(times)s * player.staked or exists (
        select from {exception} as jackpot where jackpot.kind = 'jackpot-win' and jackpot.round = player.round
        and jackpot.player = player.player and jackpot.position <= %(position)s) end
"""
