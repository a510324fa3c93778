"""Gaming revenue: what the games took in and gave back, by table and game.

Turnover is the sum of stakes and fees; returned is all that came back, jackpots with it; GGR = turnover - returned;
hold on turnover = GGR / turnover.  Closed rounds of the period by the time of their end; a voided round is no revenue.
What bonuses fed into jackpots is money that the house owes to players, shown apart.

Not here: single rounds (`game_history`), pots (`jackpot`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ops.reports.building import Body, Request
from ops.reports.definitions import performance_sums as sums
from ops.reports.definitions.common import Columns, Key, added, empty, keys_of, ratio, section, with_totals
from ops.reports.definitions.performance_sums import Place
from ops.reports.model import Cell, Column, Identity, Row
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "gaming-revenue"
VERSION: Final = 1
TITLE: Final = "Gaming revenue"
FILTERS: Final = frozenset({"table", "ruleset", "currency"})
NEEDS: Final = sums.NEEDS

_WIDTH: Final = 7


def build(reading: Reading, request: Request) -> Body:
    """By currency: every table and game with rounds that closed, subtotals by table, the total."""
    words = request.words
    revenue = {place: row[:_WIDTH] for place, row in sums.revenue_sums(reading, request).items()}
    wagers = sums.wager_sums(reading, request)
    keys = keys_of((place.currency, place.test) for place in revenue)

    def identities() -> list[Identity]:
        return [identity for key in keys for identity in _identities(words, key, revenue, wagers)]

    sections = [
        section(words, "revenue", "Revenue by table and game", key, _columns(words), lambda key=key: _rows(  # type: ignore[misc]
            words, key, revenue), _NOTE)
        for key in keys
    ]  # fmt: skip
    return Body(
        tuple(sections) or (empty(words, "revenue", "Revenue by table and game", _columns(words)),), identities
    )


_NOTE: Final = (
    "Closed rounds, by the time at which they ended. GGR is turnover less returned; contributions to jackpots are not "
    "taken off."
)


def _columns(words: Words) -> list[Column]:
    of = Columns(words)
    return [
        of.text("table", "Table"), of.text("game", "Game"), of.count("rounds", "Rounds"), of.count("boxes", "Boxes"),
        of.money("turnover", "Turnover"), of.money("fees", "of it fees"), of.money("returned", "Returned"),
        of.money("ggr", "GGR"), of.ratio("hold_on_turnover", "Hold on turnover"),
        of.money("jackpot_contributed", "Fed to jackpots"), of.money("jackpot_won", "Jackpots won"),
    ]  # fmt: skip


def _rows(words: Words, key: Key, revenue: dict[Place, list[int]]) -> Iterator[Row]:
    rows = sorted(
        ((place.table, place.ruleset), row) for place, row in revenue.items() if (place.currency, place.test) == key
    )
    return with_totals(rows, _cells, words("Total"), words("Table {}"))


def _cells(row: Sequence[int]) -> Sequence[Cell]:
    rounds, boxes, turnover, fees, returned, contributed, won = row
    ggr = turnover - returned
    return rounds, boxes, turnover, fees, returned, ggr, ratio(ggr, turnover), contributed, won


def _identities(
    words: Words, key: Key, revenue: dict[Place, list[int]], wagers: dict[tuple[Place, str, str], list[int]]
) -> Iterator[Identity]:
    """The rounds' sums against those of the wagers, which are counted apart."""
    currency, test = key
    whole = added((row for place, row in revenue.items() if (place.currency, place.test) == key), _WIDTH)
    parts = added((row[:4] for (place, _, _), row in wagers.items() if (place.currency, place.test) == key), 4)
    who = words("test accounts, {currency}", currency=currency) if test else currency
    yield Identity(
        words("Turnover of rounds = turnover of all their wagers ({who})", who=who),
        whole[sums.TURNOVER], parts[sums.W_TURNOVER], currency,
    )  # fmt: skip
    yield Identity(
        words("Returned by rounds = returned by all their wagers ({who})", who=who),
        whole[sums.RETURNED], parts[sums.W_RETURNED], currency,
    )  # fmt: skip
    wanted = (*key, "jackpot")
    jackpots = added((row for (p, _, wager), row in wagers.items() if (p.currency, p.test, wager) == wanted), 7)
    yield Identity(
        words("Jackpots won in rounds = returned by the jackpot wager ({who})", who=who),
        whole[sums.WON], jackpots[sums.W_RETURNED], currency,
    )  # fmt: skip
