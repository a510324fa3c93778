"""Player account summary: what each player had, brought, staked, got back and has, with win or loss.

Win/loss = (from games + ending funds on game) - (to games + beginning funds on game): stakes in a round that is still
open are neither lost nor won.  Beginning and ending funds come from the ledger at those moments, what lies between from
the players' activity; so each row proves itself.

Not here: single movements (`player_statement`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ops.reports.building import Body, Request
from ops.reports.definitions.common import Columns, keys_of, of_key, parameters, who
from ops.reports.definitions.listing import Listing, sections
from ops.reports.model import Cell, Identity
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "player-account-summary"
VERSION: Final = 1
TITLE: Final = "Player account summary"
FILTERS: Final = frozenset({"player", "currency"})
NEEDS: Final = ("balances", "players")


def build(reading: Reading, request: Request) -> Body:
    """By currency: every player who had funds or moved some."""

    def identities() -> list[Identity]:
        keys = keys_of((currency, test) for currency, test in reading.rows(KEYS, parameters(request)))
        return [identity for key in keys for identity in account_identities(reading, request, key)]

    return Body(sections(reading, request, listing(request.words)), identities)


def listing(words: Words) -> Listing:
    """The table; the statement of one player has it too."""
    of = Columns(words)
    columns = [
        of.text("player", "Player"), of.money("beginning_funds", "Beginning funds"),
        of.money("beginning_on_game", "of it on game"), of.money("deposited", "Deposited"),
        of.money("withdrawn", "Withdrawn"), of.money("adjusted", "Adjusted"), of.money("reversed", "Reversed"),
        of.money("to_games", "To games"), of.money("from_games", "From games"),
        of.money("ending_funds", "Ending funds"), of.money("ending_on_game", "of it on game"),
        of.money("win_loss", "Win / loss"), of.count("rounds", "Rounds"),
    ]  # fmt: skip
    summed = frozenset(column.name for column in columns[1:])
    return Listing("players", "Players", columns, KEYS, ROWS, _cells, summed, _NOTE)


_NOTE: Final = (
    "Funds are the balance and what is staked in open rounds. Win / loss = (from games + ending funds on game) - "
    "(to games + beginning funds on game)."
)


def _cells(row: Sequence[Any]) -> Sequence[Cell]:
    player, begin, begin_game, end, end_game, *moved = row
    deposited, withdrawn, adjusted, reversed_, to_games, from_games, rounds = map(int, moved)
    win_loss = (from_games + end_game) - (to_games + begin_game)
    return (
        player, begin + begin_game, begin_game, deposited, withdrawn, adjusted, reversed_, to_games, from_games,
        end + end_game, end_game, win_loss, rounds,
    )  # fmt: skip


def account_identities(reading: Reading, request: Request, key: tuple[str, bool]) -> Iterator[Identity]:
    """What was there and came in is there or went out."""
    sums = [0] * 12
    for row in reading.rows(ROWS, of_key(parameters(request), key)):
        sums = [kept + int(number) for kept, number in zip(sums, row[1:], strict=False)]
    begin, _, end, _, deposited, withdrawn, adjusted, reversed_, to_games, from_games, *_ = sums
    said = who(request.words, key)
    yield Identity(
        request.words(
            "Beginning balances + deposits - withdrawals + adjustments + reversals - to games + from games = ending "
            "balances ({who})", who=said,
        ),
        begin + deposited - withdrawn + adjusted + reversed_ - to_games + from_games, end, key[0],
    )  # fmt: skip
    [(moved,)] = reading.rows(_MOVED, of_key(parameters(request), key))
    yield Identity(
        request.words("Change of all balances = what the ledger posted to the players ({who})", who=said),
        end - begin, int(moved), key[0],
    )  # fmt: skip
    [(house,)] = reading.rows(_OF_GAMES, of_key(parameters(request), key))
    yield Identity(
        request.words("To games - from games = what bank and jackpots got in rounds ({who})", who=said),
        to_games - from_games, int(house), key[0],
    )  # fmt: skip


KEYS: Final = """
select distinct currency, test from {balance} as balance
where starts_with(account, 'player:')
and (%(player)s::text is null or account = 'player:' || %(player)s)
and (%(currency)s::text is null or currency = %(currency)s)
and exists (select from {ledger_entry} as entry where entry.currency = balance.currency
    and entry.player = substr(balance.account, 8) and entry.position <= %(position)s
    and entry.at < %(end)s::timestamptz)
"""

# The last entry before a moment tells the funds at it.  Whole blocks come from the activity, the rest of the last block
# from the ledger's own entries.
ROWS: Final = """
select substr(balance.account, 8), coalesce(begin.balance_after, 0), coalesce(begin.in_play_after, 0),
    coalesce(until.balance_after, 0), coalesce(until.in_play_after, 0),
    coalesce(moved.deposited, 0), coalesce(moved.withdrawn, 0), coalesce(moved.adjusted, 0),
    coalesce(moved.reversed, 0), coalesce(moved.to_games, 0), coalesce(moved.from_games, 0),
    coalesce(moved.rounds, 0)
from {balance} as balance
left join lateral (
    select balance_after, in_play_after from {ledger_entry} as entry
    where entry.currency = balance.currency and entry.player = substr(balance.account, 8)
    and entry.position <= %(position)s and entry.at < %(begin)s::timestamptz
    order by entry.position desc limit 1
) as begin on true
left join lateral (
    select balance_after, in_play_after from {ledger_entry} as entry
    where entry.currency = balance.currency and entry.player = substr(balance.account, 8)
    and entry.position <= %(position)s and entry.at < %(end)s::timestamptz
    order by entry.position desc limit 1
) as until on true
left join (
    select player, sum(deposited) as deposited, sum(withdrawn) as withdrawn, sum(adjusted) as adjusted,
        sum(reversed) as reversed, sum(to_games) as to_games, sum(from_games) as from_games, sum(rounds) as rounds
    from (
        select player, deposited, withdrawn, adjusted, reversed, to_games, from_games, rounds
        from {player_activity}
        where currency = %(of)s and test = %(test)s and block < %(block)s
        and quarter >= %(begin)s::timestamptz and quarter < %(end)s::timestamptz
        and (%(player)s::text is null or player = %(player)s)
        union all
        select player, case type when 'funds-deposited.v1' then to_player else 0 end,
            case type when 'funds-withdrawn.v1' then -to_player else 0 end,
            case type when 'funds-adjusted.v1' then to_player else 0 end,
            case type when 'funds-reversed.v1' then to_player else 0 end,
            case type when 'funds-staked.v1' then -to_player else 0 end,
            case when type in ('funds-returned.v1', 'funds-won.v1', 'funds-taken-back.v1') then to_player else 0 end,
            case type when 'round-finished.v1' then 1 else 0 end
        from {ledger_entry}
        where currency = %(of)s and test = %(test)s and player is not null
        and position >= %(block_begin)s and position <= %(position)s
        and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
        and (%(player)s::text is null or player = %(player)s)
    ) as part
    group by player
) as moved on moved.player = substr(balance.account, 8)
where balance.currency = %(of)s and balance.test = %(test)s and starts_with(balance.account, 'player:')
and (%(player)s::text is null or balance.account = 'player:' || %(player)s)
and until.balance_after is not null
and (moved.player is not null or begin.balance_after <> 0 or begin.in_play_after <> 0 or until.balance_after <> 0)
order by balance.account
"""

_MOVED: Final = """
select coalesce(sum(to_player), 0) from {ledger_entry}
where currency = %(of)s and test = %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(player)s::text is null or player = %(player)s) and player is not null
"""

_OF_GAMES: Final = """
select coalesce(sum(to_bank + to_jackpots), 0) from {ledger_entry}
where currency = %(of)s and test = %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(player)s::text is null or player = %(player)s) and player is not null and round is not null
"""
