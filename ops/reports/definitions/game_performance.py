"""Game performance: what each game, table, kind of box and kind of wager returned, with the band of chance around it.

A ruleset version is a game of its own.  The actual return (RTP) is returned / turnover.  Its band holds the true return
in 95 of 100 cases: a ratio of sums over rounds, whose boxes hang together, has the variance
(T2 - 2 R ST + R2 S2) / S2 with n / (n - 1) for n rounds; worked out in whole numbers.

Not here: the best play's return (docs/exact-numbers.md): players choose otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isqrt
from typing import Final

from domain.ledger import Wager
from ops.reports.building import Body, Request
from ops.reports.definitions import performance_sums as sums
from ops.reports.definitions.common import Columns, Key, added, empty, keys_of, ratio, section, who, with_totals
from ops.reports.definitions.performance_sums import Place
from ops.reports.model import Cell, Column, Identity
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "game-performance"
VERSION: Final = 1
TITLE: Final = "Game performance"
FILTERS: Final = frozenset({"table", "ruleset", "currency"})
NEEDS: Final = sums.NEEDS

Z: Final = Fraction(1_959_964, 1_000_000)
"""Standard deviations on either side that hold 95 of 100."""

_ORDER: Final = [str(wager) for wager in Wager]

PARTS: Final = 10**8
"""Into how many parts a return is cut when its square root is taken."""


def build(reading: Reading, request: Request) -> Body:
    """By currency: the games as wholes, then every table, box mode and wager."""
    words = request.words
    revenue, wagers = sums.revenue_sums(reading, request), sums.wager_sums(reading, request)
    keys = keys_of((place.currency, place.test) for place in revenue)

    def identities() -> list[Identity]:
        return [identity for key in keys for identity in _identities(words, key, revenue, wagers)]

    sections = []
    for key in keys:
        games, parts = _games(key, revenue), _parts(words, key, wagers)
        sections += [
            section(words, "games", "Games", key, _game_columns(words), lambda games=games: with_totals(  # type: ignore[misc]
                games, _game_cells, words("All games")), _NOTE),
            section(words, "wagers", "Wagers", key, _wager_columns(words), lambda parts=parts: with_totals(  # type: ignore[misc]
                parts, _wager_cells, words("Total"), words("Game {}"))),
        ]  # fmt: skip
    return Body(tuple(sections) or (empty(words, "games", "Games", _game_columns(words)),), identities)


_NOTE: Final = (
    "Actual RTP is returned / turnover; its true value lies within the band in 95 of 100 cases. A sum over several "
    "games has no band of its own."
)


def band(rounds: int, turnover: int, returned: int, squares: Sequence[int]) -> tuple[Fraction, Fraction] | None:
    """The band around returned / turnover; None where there are too few rounds to know."""
    turnover_squared, turnover_returned, returned_squared = squares
    if rounds < 2 or not turnover:
        return None
    spread = (
        turnover**2 * returned_squared - 2 * turnover * returned * turnover_returned + returned**2 * turnover_squared
    )
    root = isqrt(spread * rounds * PARTS**2 // (rounds - 1))
    half = Z * Fraction(root, turnover**2 * PARTS)
    middle = Fraction(returned, turnover)
    return max(middle - half, Fraction(0)), middle + half


def _games(key: Key, revenue: dict[Place, list[int]]) -> list[tuple[tuple[str, ...], list[int]]]:
    by_game: dict[str, list[int]] = {}
    for place, row in revenue.items():
        if (place.currency, place.test) == key:
            by_game[place.ruleset] = added([row, by_game.get(place.ruleset, [0] * 10)], 10)
    return [((game,), [*row, 1]) for game, row in sorted(by_game.items())]


def _game_columns(words: Words) -> list[Column]:
    of = Columns(words)
    return [
        of.text("game", "Game"), of.count("rounds", "Rounds"), of.count("boxes", "Boxes"),
        of.money("turnover", "Turnover"), of.money("returned", "Returned"), of.money("ggr", "GGR"),
        of.ratio("rtp_actual", "Actual RTP"), of.ratio("rtp_low", "95 % from"), of.ratio("rtp_high", "95 % to"),
    ]  # fmt: skip


def _game_cells(row: Sequence[int]) -> Sequence[Cell]:
    rounds, boxes, turnover, _, returned = row[:5]
    # The last number counts games: squares of several games belong to no one ratio.
    low, high = (band(rounds, turnover, returned, row[7:10]) if row[10] == 1 else None) or (None, None)
    return rounds, boxes, turnover, returned, turnover - returned, ratio(returned, turnover), low, high


def _parts(
    words: Words, key: Key, wagers: dict[tuple[Place, str, str], list[int]]
) -> list[tuple[tuple[str, ...], list[int]]]:
    """In the same order in every language: wagers as a round has them."""
    chosen = [each for each in wagers.items() if (each[0][0].currency, each[0][0].test) == key]
    chosen.sort(key=lambda each: (each[0][0].ruleset, each[0][0].table, each[0][1], _ORDER.index(each[0][2])))
    return [
        ((place.ruleset, place.table, words(mode), words(wager)), [*row, 1]) for (place, mode, wager), row in chosen
    ]


def _wager_columns(words: Words) -> list[Column]:
    of = Columns(words)
    return [
        of.text("game", "Game"), of.text("table", "Table"), of.text("mode", "Box"), of.text("wager", "Wager"),
        of.count("bets", "Bets"), of.money("turnover", "Turnover"), of.money("returned", "Returned"),
        of.money("ggr", "GGR"), of.ratio("rtp_actual", "Actual RTP"), of.ratio("rtp_low", "95 % from"),
        of.ratio("rtp_high", "95 % to"),
    ]  # fmt: skip


def _wager_cells(row: Sequence[int]) -> Sequence[Cell]:
    rounds, bets, turnover, returned = row[:4]
    low, high = (band(rounds, turnover, returned, row[4:7]) if row[7] == 1 else None) or (None, None)
    return bets, turnover, returned, turnover - returned, ratio(returned, turnover), low, high


def _identities(
    words: Words, key: Key, revenue: dict[Place, list[int]], wagers: dict[tuple[Place, str, str], list[int]]
) -> Iterator[Identity]:
    whole = added((row for place, row in revenue.items() if (place.currency, place.test) == key), 10)
    parts = added((row for (place, _, _), row in wagers.items() if (place.currency, place.test) == key), 7)
    said = who(words, key)
    yield Identity(
        words("Turnover of the games = turnover of all wagers ({who})", who=said),
        whole[sums.TURNOVER], parts[sums.W_TURNOVER], key[0],
    )  # fmt: skip
    yield Identity(
        words("Returned by the games = returned by all wagers ({who})", who=said),
        whole[sums.RETURNED], parts[sums.W_RETURNED], key[0],
    )  # fmt: skip


