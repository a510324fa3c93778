"""Jackpots: how each pot came to what it is, apart from revenue; contributions and wins held against the rounds.

pot at the end = pot at the beginning + fed - paid + started - contributions reversed + winnings reversed.

Not here: what winners did with it (`player_statement`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ops.reports.building import Body, Request
from ops.reports.definitions.common import Columns, at, keys_of, of_key, parameters
from ops.reports.definitions.listing import Listing, sections
from ops.reports.model import Cell, Identity
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "jackpot"
VERSION: Final = 1
TITLE: Final = "Jackpots"
FILTERS: Final = frozenset({"currency"})
NEEDS: Final = ("jackpots", "rounds", "balances")


def build(reading: Reading, request: Request) -> Body:
    """By currency: the pots, then every payment, restart and reversal."""

    def identities() -> list[Identity]:
        keys = keys_of((currency, test) for currency, test in reading.rows(_KEYS, parameters(request)))
        return [identity for key in keys for identity in _identities(reading, request, key)]

    pots, moves = _pots(request.words), _moves(request.words)
    return Body((*sections(reading, request, pots), *sections(reading, request, moves)), identities)


def _pots(words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.text("jackpot", "Jackpot"), of.money("seed_amount", "Seed amount"), of.money("beginning", "Pot before"),
        of.money("fed", "Fed"), of.money("paid", "Paid"), of.money("from_bank", "Paid by the bank"),
        of.money("restarted", "Started by the bank"), of.money("contributions_reversed", "Contributions reversed"),
        of.money("winnings_reversed", "Winnings reversed"), of.money("ending", "Pot after"),
    ]  # fmt: skip

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        return row[0], *map(int, row[1:])

    summed = frozenset(column.name for column in columns[2:])
    return Listing("pots", "Pots", columns, _KEYS, _POTS, cells, summed)


def _moves(words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.position("position", "Position"), of.time("time", "Time"), of.text("jackpot", "Jackpot"),
        of.text("kind", "Kind"), of.money("paid", "Paid"), of.money("from_bank", "Paid by the bank"),
        of.money("restarted", "Started by the bank"), of.money("contributions_reversed", "Contributions reversed"),
        of.money("winnings_reversed", "Winnings reversed"), of.money("pot", "Pot after"),
        of.text("round", "Round"), of.count("box", "Box"),
    ]  # fmt: skip

    def cells(row: Sequence[Any]) -> Sequence[Cell]:
        position, moment, jackpot, kind, *rest = row
        return position, at(moment), jackpot, words(kind), *rest

    summed = frozenset({"paid", "from_bank", "restarted", "contributions_reversed", "winnings_reversed"})
    return Listing("moves", "Wins, starts and reversals", columns, _MOVE_KEYS, _MOVES, cells, summed)


def _identities(reading: Reading, request: Request, key: tuple[str, bool]) -> Iterator[Identity]:
    words, asked = request.words, of_key(parameters(request), key)
    rows = [[int(number) for number in row[2:]] for row in reading.rows(_POTS, asked)]
    before, fed, paid, _, started, contributions, winnings, after = (sum(column) for column in zip(*rows, strict=True))
    yield Identity(
        words(
            "Pots before + fed - paid + started - contributions reversed + winnings reversed = pots after ({currency})",
            currency=key[0],
        ),
        before + fed - paid + started - contributions + winnings, after, key[0],
    )  # fmt: skip
    [(entries, rounds, paid_out, won)] = reading.rows(_OF_ROUNDS, asked)
    yield Identity(
        words("Fed by rounds closed in the period = their contributions ({currency})", currency=key[0]),
        int(entries), int(rounds), key[0],
    )  # fmt: skip
    yield Identity(
        words("Paid for rounds closed in the period = what they won ({currency})", currency=key[0]),
        int(paid_out), int(won), key[0],
    )  # fmt: skip
    [(ledger,)] = reading.rows(_LEDGER, asked)
    yield Identity(
        words("Change of the pots = what the ledger posted to jackpots ({currency})", currency=key[0]),
        after - before, int(ledger), key[0],
    )  # fmt: skip


_KEYS: Final = """
select distinct currency, false from {jackpot_entry}
where position <= %(position)s and at < %(end)s::timestamptz and type = 'jackpot-opened.v1'
and (%(currency)s::text is null or currency = %(currency)s)
"""

_POTS: Final = """
select jackpot.jackpot, jackpot.seed_amount, coalesce(begin.pot_after, 0), coalesce(sum(entry.fed), 0),
    coalesce(sum(entry.paid), 0), coalesce(sum(entry.from_bank), 0), coalesce(sum(entry.restarted), 0),
    coalesce(sum(entry.contributions_reversed), 0), coalesce(sum(entry.winnings_reversed), 0),
    coalesce(until.pot_after, 0)
from {jackpot} as jackpot
left join lateral (
    select pot_after from {jackpot_entry} as entry
    where entry.jackpot = jackpot.jackpot and entry.position <= %(position)s and entry.at < %(begin)s::timestamptz
    order by entry.position desc limit 1
) as begin on true
left join lateral (
    select pot_after from {jackpot_entry} as entry
    where entry.jackpot = jackpot.jackpot and entry.position <= %(position)s and entry.at < %(end)s::timestamptz
    order by entry.position desc limit 1
) as until on true
left join {jackpot_entry} as entry on entry.jackpot = jackpot.jackpot and entry.position <= %(position)s
    and entry.at >= %(begin)s::timestamptz and entry.at < %(end)s::timestamptz
where jackpot.currency = %(of)s and not %(test)s and until.pot_after is not null
group by jackpot.jackpot, jackpot.seed_amount, begin.pot_after, until.pot_after
order by jackpot.jackpot
"""

_MOVE_KEYS: Final = """
select distinct currency, false from {jackpot_entry}
where position <= %(position)s and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
and type <> 'jackpot-fed.v1' and (%(currency)s::text is null or currency = %(currency)s)
"""

_MOVES: Final = """
select position, at, jackpot, type, paid, from_bank, restarted, contributions_reversed, winnings_reversed, pot_after,
    round, box
from {jackpot_entry}
where currency = %(of)s and not %(test)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz and type <> 'jackpot-fed.v1'
order by position
"""

_OF_ROUNDS: Final = """
select coalesce(sum(entry.fed), 0), coalesce(sum(round.contributed), 0), coalesce(sum(entry.paid), 0),
    coalesce(sum(round.won), 0)
from (
    select round, jackpot_contributed as contributed, jackpot_won as won from {round}
    where currency = %(of)s and not %(test)s and ending = 'closed' and ended_position <= %(position)s
    and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
) as round
left join (
    select round, sum(fed) as fed, sum(paid + from_bank) as paid from {jackpot_entry}
    where currency = %(of)s and position <= %(position)s and round is not null group by round
) as entry on entry.round = round.round
"""

_LEDGER: Final = """
select coalesce(sum(to_jackpots), 0) from {ledger_entry}
where currency = %(of)s and position <= %(position)s
and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
"""
