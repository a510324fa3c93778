"""Game history: every round that ended, with its stakes by kind, its times, its players' funds, and its verdict.

The verdict is that of the newest recorded verification that covers the round: verified, a discrepancy, or none yet.  A
discrepancy that a run over some rounds only found since stands as well.

Not here: sums (`gaming_revenue`), rounds that are open (`pending_rounds`).
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

NAME: Final = "game-history"
VERSION: Final = 1
TITLE: Final = "Game history"
FILTERS: Final = frozenset({"table", "ruleset", "player", "currency"})
NEEDS: Final = ("rounds", "verdicts", "commitments", "balances")


def build(reading: Reading, request: Request) -> Body:
    """By currency: the rounds, then what each of their players had before and after."""
    words = request.words

    def identities() -> list[Identity]:
        asked = parameters(request)
        of_rounds = keys_of((currency, test) for currency, test in reading.rows(KEYS, asked))
        return [_identity(reading, request, key) for key in of_rounds] + players_identities(reading, request)

    rounds = sections(reading, request, _rounds(words))
    return Body((*rounds, *sections(reading, request, players(words))), identities)


def _rounds(words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.time("ended_at", "Ended"), of.text("table", "Table"), of.count("number", "Number"),
        of.text("game", "Game"), of.text("ending", "Ending"), of.count("boxes", "Boxes"),
        of.money("ante", "Ante"), of.money("bet", "Bet"), of.money("bonus", "Bonus"),
        of.money("insurance", "Insurance"), of.money("exchange", "Exchange"), of.money("sixth_card", "Sixth card"),
        of.money("dealer_game", "Dealer's game"), of.money("staked", "Staked"), of.money("returned", "Returned"),
        of.money("net", "Net to players"), of.time("opened_at", "Opened"), of.time("first_stake_at", "First stake"),
        of.time("dealt_at", "Dealt"), of.time("dealer_shown_at", "Dealer shown"), of.text("verdict", "Verdict"),
        of.text("round", "Round"),
    ]  # fmt: skip

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        ended, table, number, game, ending, boxes, *money, opened, staked, dealt, shown, verdict, round_id = row
        times = [at(moment) for moment in (opened, staked, dealt, shown)]
        return at(ended), table, number, game, words(ending), boxes, *money, *times, words(verdict), round_id

    summed = frozenset({
        "boxes", "ante", "bet", "bonus", "insurance", "exchange", "sixth_card", "dealer_game", "staked", "returned",
        "net",
    })  # fmt: skip
    return Listing("rounds", "Rounds", columns, KEYS, ROWS, cells, summed, _NOTE)


_NOTE: Final = (
    "The table of test accounts has the rounds in which nobody else played. A verification counts the rounds that it "
    "could not check and does not name them; how many they were stands in the report of verdicts."
)


def players(words: Words) -> Listing:
    """The table of players' funds; the statement of one player has it too."""
    of = Columns(words)
    columns = [
        of.position("position", "Position"), of.time("time", "Time"), of.text("player", "Player"),
        of.text("table", "Table"), of.count("number", "Number"), of.text("ending", "Ending"),
        of.money("before", "Funds before"), of.money("staked", "Staked"), of.money("returned", "Returned"),
        of.money("net", "Net"), of.money("after", "Funds after"), of.text("round", "Round"),
    ]  # fmt: skip

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        position, moment, player, table, number, ending, *money, round_id = row
        return position, at(moment), player, table, number, words(ending), *money, round_id

    summed = frozenset({"staked", "returned", "net"})
    return Listing("players", "Funds of the players", columns, _PLAYER_KEYS, _PLAYER_ROWS, cells, summed)


def _identity(reading: Reading, request: Request, key: tuple[str, bool]) -> Identity:
    asked = of_key(parameters(request), key)
    [(rounds,)], [(kinds,)] = reading.rows(_NET, asked), reading.rows(_KINDS, asked)
    sentence = request.words(
        "Net of the rounds = returned less the stakes by kind ({who})", who=who(request.words, key)
    )
    return Identity(sentence, int(rounds), int(kinds), key[0])


def players_identities(reading: Reading, request: Request) -> list[Identity]:
    """What the players' rounds came to, against every movement that the ledger has of these rounds."""
    words, found = request.words, []
    for key in keys_of((currency, test) for currency, test in reading.rows(_PLAYER_KEYS, parameters(request))):
        [(net, moved)] = reading.rows(_PLAYER_NET, of_key(parameters(request), key))
        sentence = words("Net of the players' rounds = what the ledger moved in them ({who})", who=who(words, key))
        found.append(Identity(sentence, int(net), int(moved), key[0]))
    return found


KEYS: Final = """
select distinct currency, test from {round} as round
where ended_position <= %(position)s and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
and (%(currency)s::text is null or currency = %(currency)s)
and (%(player)s::text is null or exists (
    select from {round_player} as player where player.round = round.round and player.player = %(player)s))
"""

# Which rounds a run has seen follows from where their seeds were revealed: a run of what ended since the run before has
# those behind where that one ended.  A run keeps its first findings only: of a round that is not among them nothing is
# known where there were more.  It counts rounds that it could not check, and does not name them: where they are more
# than were open, some that had ended are among them (of a ruleset that was not known).
ROWS: Final = """
with run as materialized (
    select position, to_position,
        case scope when 'whole' then 0 else coalesce(lag(to_position) over (order by position), 0) end as from_position,
        discrepancies > (
            select count(distinct finding.round) from {finding} as finding
            where finding.position = verification.position) as cut,
        not_checkable > case scope when 'whole' then (
            select count(*) from {commitment} as open where open.opened_position <= to_position
            and (open.revealed_position is null or open.revealed_position > to_position)) else 0 end as doubtful
    from {verification} as verification
    where position <= %(position)s and scope in ('whole', 'ended since the run before')
)
select ended_at, round.table_name, round.number, ruleset, ending, round.boxes, ante, bet, bonus, insurance, exchange,
    sixth_card, dealer_game, staked, returned, net, round.opened_at, first_stake_at, dealt_at, dealer_shown_at,
    case when exists (
            select from {finding} as finding where finding.round = round.round
            and finding.position <= %(position)s and finding.position >= coalesce(run.position, 0)) then 'discrepancy'
        when run.position is null then 'not verified yet'
        when run.cut then 'more discrepancies than were kept'
        when run.doubtful then 'verified, or not checkable'
        else 'verified' end,
    round.round
from {round} as round
left join {commitment} as commitment on commitment.round = round.round
left join lateral (
    select run.position, run.cut, run.doubtful from run
    where run.from_position < commitment.revealed_position and commitment.revealed_position <= run.to_position
    order by run.position desc limit 1
) as run on true
where currency = %(of)s and test = %(test)s and round.ended_position <= %(position)s
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or round.table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
and (%(player)s::text is null or exists (
    select from {round_player} as player where player.round = round.round and player.player = %(player)s))
order by round.ended_position
"""

_PLAYER_KEYS: Final = """
select distinct player.currency, player.test from {round_player} as player join {round} as round using (round)
where player.position <= %(position)s and player.at >= %(begin)s::timestamptz and player.at < %(end)s::timestamptz
and (%(table)s::text is null or player.table_name = %(table)s)
and (%(ruleset)s::text is null or round.ruleset = %(ruleset)s)
and (%(currency)s::text is null or player.currency = %(currency)s)
and (%(player)s::text is null or player.player = %(player)s)
"""

_PLAYER_ROWS: Final = """
select player.position, player.at, player.player, player.table_name, player.number, player.ending, player.before,
    player.staked, player.returned, player.net, player.after, player.round
from {round_player} as player join {round} as round using (round)
where player.currency = %(of)s and player.test = %(test)s and player.position <= %(position)s
and player.at >= %(begin)s::timestamptz and player.at < %(end)s::timestamptz
and (%(table)s::text is null or player.table_name = %(table)s)
and (%(ruleset)s::text is null or round.ruleset = %(ruleset)s)
and (%(player)s::text is null or player.player = %(player)s)
order by player.position
"""

_NET: Final = """
select coalesce(sum(net), 0) from {round} as round
where currency = %(of)s and test = %(test)s and ended_position <= %(position)s
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
and (%(player)s::text is null or exists (
    select from {round_player} as player where player.round = round.round and player.player = %(player)s))
"""

_KINDS: Final = """
select coalesce(sum(returned - ante - bet - bonus - insurance - exchange - sixth_card - dealer_game), 0)
from {round} as round
where currency = %(of)s and test = %(test)s and ended_position <= %(position)s
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
and (%(player)s::text is null or exists (
    select from {round_player} as player where player.round = round.round and player.player = %(player)s))
"""

_PLAYER_NET: Final = """
select coalesce(sum(player.net), 0), coalesce(sum((
    select coalesce(sum(to_player), 0) from {ledger_entry} as entry
    where entry.round = player.round and entry.player = player.player and entry.position <= %(position)s)), 0)
from {round_player} as player join {round} as round using (round)
where player.currency = %(of)s and player.test = %(test)s and player.position <= %(position)s
and player.at >= %(begin)s::timestamptz and player.at < %(end)s::timestamptz
and (%(table)s::text is null or player.table_name = %(table)s)
and (%(ruleset)s::text is null or round.ruleset = %(ruleset)s)
and (%(player)s::text is null or player.player = %(player)s)
"""
