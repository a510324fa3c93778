"""Insurance and purchase take: what insurances, exchanges, sixth cards and bought dealer's games brought and cost.

Fees for cards never come back by themselves: what they lead to is paid on ante and BET.

Not here: those (`game_performance`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from domain.ledger import Wager
from ops.reports.building import Body, Request
from ops.reports.definitions import performance_sums as sums
from ops.reports.definitions.common import Columns, Key, added, empty, keys_of, ratio, section, who, with_totals
from ops.reports.definitions.performance_sums import Place
from ops.reports.model import Cell, Column, Identity
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "insurance-and-purchase"
VERSION: Final = 1
TITLE: Final = "Insurance and purchase take"
FILTERS: Final = frozenset({"table", "ruleset", "currency"})
NEEDS: Final = sums.NEEDS

BOUGHT: Final = (Wager.EXCHANGE, Wager.SIXTH_CARD, Wager.DEALER_GAME)
SHOWN: Final = (Wager.INSURANCE, *BOUGHT)


def build(reading: Reading, request: Request) -> Body:
    """By currency: each kind and game, subtotals by kind."""
    words = request.words
    revenue, wagers = sums.revenue_sums(reading, request), sums.wager_sums(reading, request)
    shown = {key: row for key, row in wagers.items() if key[2] in SHOWN}
    keys = keys_of((place.currency, place.test) for place, _, _ in shown)

    def identities() -> list[Identity]:
        every = keys_of((place.currency, place.test) for place in revenue)
        return [identity for key in every for identity in _identities(words, key, revenue, wagers)]

    sections = [
        section(words, "take", "Take by kind and game", key, _columns(words), lambda key=key: with_totals(  # type: ignore[misc]
            _rows(words, key, shown), _cells, words("Total"), words("{} in all games")))
        for key in keys
    ]  # fmt: skip
    return Body(tuple(sections) or (empty(words, "take", "Take by kind and game", _columns(words)),), identities)


def _columns(words: Words) -> list[Column]:
    of = Columns(words)
    return [
        of.text("kind", "Kind"), of.text("game", "Game"), of.count("sold", "Sold"), of.money("take", "Take"),
        of.money("returned", "Returned"), of.money("result", "Result"), of.ratio("returned_ratio", "Returned / take"),
    ]  # fmt: skip


def _rows(
    words: Words, key: Key, shown: dict[tuple[Place, str, str], list[int]]
) -> list[tuple[tuple[str, ...], list[int]]]:
    """In the same order in every language: kinds as a round has them."""
    by_kind: dict[tuple[int, str], list[int]] = {}
    for (place, _, wager), row in shown.items():
        if (place.currency, place.test) == key:
            label = (SHOWN.index(Wager(wager)), place.ruleset)
            by_kind[label] = added([row[1:4], by_kind.get(label, [0] * 3)], 3)
    return [((words(SHOWN[kind]), game), row) for (kind, game), row in sorted(by_kind.items())]


def _cells(row: Sequence[int]) -> Sequence[Cell]:
    sold, take, returned = row
    return sold, take, returned, take - returned, ratio(returned, take)


def _identities(
    words: Words, key: Key, revenue: dict[Place, list[int]], wagers: dict[tuple[Place, str, str], list[int]]
) -> Iterator[Identity]:
    whole = added((row for place, row in revenue.items() if (place.currency, place.test) == key), 10)
    bought = added(
        (row for (place, _, wager), row in wagers.items() if (place.currency, place.test) == key and wager in BOUGHT), 7
    )
    yield Identity(
        words("Fees of all rounds = take of exchanges, sixth cards and dealer's games ({who})", who=who(words, key)),
        whole[sums.FEES], bought[sums.W_TURNOVER], key[0],
    )  # fmt: skip
    yield Identity(
        words("Fees that came back = 0 ({who})", who=who(words, key)), bought[sums.W_RETURNED], 0, key[0]
    )
