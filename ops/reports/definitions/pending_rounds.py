"""Pending and interrupted rounds: what was open at the end of the period, for how long, with what in play; who laid
hand on a round from outside.

As of a position, so a round that ended since is shown as it stood then.

Not here: ending one (`dealproof finish`, `void`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from ops.reports.building import Body, Request
from ops.reports.definitions.common import Columns, at, of_key, parameters
from ops.reports.definitions.listing import Listing, plain, sections
from ops.reports.model import Cell, Identity
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "pending-rounds"
VERSION: Final = 1
TITLE: Final = "Pending and interrupted rounds"
FILTERS: Final = frozenset({"table", "currency"})
NEEDS: Final = ("rounds", "balances", "exceptions")


def build(reading: Reading, request: Request) -> Body:
    """By currency: the rounds that were open, oldest first; then the interventions."""
    words = request.words

    def identities() -> list[Identity]:
        # A table's rounds are not all rounds, and the ledger knows no tables.
        found = reading.rows(_CURRENCIES, parameters(request))
        return [] if request.filters.table else [_identity(reading, request, currency) for (currency,) in found]

    return Body(
        (*sections(reading, request, _open(request, words)), plain(reading, request, _interventions(words))),
        identities,
    )


def _open(request: Request, words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.text("table", "Table"), of.count("number", "Number"), of.text("game", "Game"),
        of.time("opened_at", "Opened"), of.count("age", "Seconds open"), of.count("boxes", "Boxes"),
        of.money("staked", "Staked"), of.money("returned", "Paid already"), of.text("round", "Round"),
    ]  # fmt: skip
    end = datetime.fromisoformat(request.period.end)

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        table, number, game, opened, boxes, staked, returned, round_id = row
        age = int((end - opened).total_seconds())
        return table, number, game, at(opened), age, int(boxes), int(staked), int(returned), round_id

    summed = frozenset({"boxes", "staked", "returned"})
    return Listing("open", "Open rounds", columns, _KEYS, _ROWS, cells, summed, _NOTE)


_NOTE: Final = (
    "Open when the period ended, or at the journal position if that came first; ages are those at the period's end."
)


def _interventions(words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.position("position", "Position"), of.time("time", "Time"), of.text("table", "Table"),
        of.text("by", "By"), of.text("reason", "Reason"), of.text("action", "What was done"), of.text("round", "Round"),
    ]  # fmt: skip

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        position, moment, *rest = row
        return position, at(moment), *rest

    return Listing("interventions", "Rounds ended from outside", columns, _KEYS, _INTERVENTIONS, cells)


def _identity(reading: Reading, request: Request, currency: str) -> Identity:
    """Of real accounts and those of tests, who may play in one round."""
    asked, staked = parameters(request), 0
    for test in (False, True):
        staked += sum(int(row[5]) for row in reading.rows(_ROWS, of_key(asked, (currency, test))))
    [(in_play,)] = reading.rows(_IN_PLAY, of_key(asked, (currency, False)))
    sentence = request.words("Staked in open rounds = funds in play of all accounts ({currency})", currency=currency)
    return Identity(sentence, staked, int(in_play), currency)


# Open when the period ended, as far as the position knows.  A round is of test accounts if nobody else staked in it.
_PENDING: Final = """
with known as (
    select round, table_name, number, currency, ruleset, opened_at, opened_position from {open_round}
    where opened_position <= %(position)s and opened_at < %(end)s::timestamptz
    union all
    select round, table_name, number, currency, ruleset, opened_at, opened_position from {round}
    where opened_position <= %(position)s and opened_at < %(end)s::timestamptz
    and (ended_position > %(position)s or ended_at >= %(end)s::timestamptz)
), pending as (
    select known.*, coalesce((
        select bool_and(entry.test) from {ledger_entry} as entry
        where entry.round = known.round and entry.type = 'funds-staked.v1'
        and entry.position <= %(position)s and entry.at < %(end)s::timestamptz), false) as test
    from known
    where (%(table)s::text is null or table_name = %(table)s)
    and (%(currency)s::text is null or currency = %(currency)s)
)
"""

_KEYS: Final = _PENDING + "select distinct currency, test from pending"

# A box is placed in the append of its stake, before it.
_ROWS: Final = _PENDING + """
select table_name, number, ruleset, opened_at,
    (select count(*) from dealproof.events as event where event.originator_id = 'round:' || pending.round
        and event.topic = 'box-placed.v1' and event.notification_id < (
            select max(entry.position) from {ledger_entry} as entry where entry.round = pending.round
            and entry.position <= %(position)s and entry.at < %(end)s::timestamptz)),
    coalesce((select -sum(to_player) from {ledger_entry} as entry where entry.round = pending.round
        and entry.position <= %(position)s and entry.at < %(end)s::timestamptz
        and entry.type = 'funds-staked.v1'), 0),
    coalesce((select sum(to_player) from {ledger_entry} as entry where entry.round = pending.round
        and entry.position <= %(position)s and entry.at < %(end)s::timestamptz
        and entry.type in ('funds-returned.v1', 'funds-won.v1')), 0),
    round
from pending
where currency = %(of)s and test = %(test)s
order by opened_position
"""

_CURRENCIES: Final = """
select distinct currency from {balance}
where starts_with(account, 'player:') and (%(currency)s::text is null or currency = %(currency)s) order by currency
"""

_IN_PLAY: Final = """
select coalesce(sum(last.in_play_after), 0) from {balance} as balance
cross join lateral (
    select in_play_after from {ledger_entry} as entry
    where entry.currency = balance.currency and entry.player = substr(balance.account, 8)
    and entry.position <= %(position)s and entry.at < %(end)s::timestamptz
    order by entry.position desc limit 1
) as last
where balance.currency = %(of)s and starts_with(balance.account, 'player:')
"""

_INTERVENTIONS: Final = """
select position, at, table_name, by, reason, after::json ->> 'action', round from {exception} as exception
where kind = 'override' and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s)
and (%(currency)s::text is null or exists (
    select from {round} as round where round.round = exception.round and round.currency = %(currency)s))
order by position, nth
"""
