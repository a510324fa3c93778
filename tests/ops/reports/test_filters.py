"""Each filter of each report, alone and with others, against sums of the projections' rows that are picked in Python.

Not here: filters that a report doesn't have and names that nobody knows (`tests.ops.cli.test_report`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from types import SimpleNamespace as Row
from typing import Any, Final, NamedTuple

import pytest
from psycopg import sql

from domain.ledger import Wager
from ops.reports.building import Filters
from ops.reports.definitions import REPORTS, definition
from ops.reports.model import Kind, Weight
from tests.ops.reports.played_house import VISITOR, PlayedHouse, Shown, day, played_house

CHOSEN: Final = (
    Filters("pairs-1", "pairs@1", "anna", "EUR"),
    Filters("multibox-russian-poker-1", "multibox-russian-poker@1", "multibox-russian-poker-1.player-2", "EUR"),
    Filters("five-card-poker-1", "five-card-poker@1", VISITOR, "JPY"),
    Filters("five-card-poker-1", "pairs@1", "boris", "EUR"),
)
"""Of real players, of tests, of two currencies, of what was never together."""

PERIODS: Final = ((day(0), day(30)), (day(1), day(3)))
TABLES: Final = ("cash", "exception", "jackpot_entry", "ledger_entry", "open_round", "round", "round_player")
LARGE: Final = 500
"""Minor units that are a large win here, so that there are some."""

COLUMNS: Final = {
    "ante": "ante", "BET": "bet", "bonus": "bonus", "insurance": "insurance", "exchange": "exchange",
    "sixth card": "sixth_card", "dealer's game": "dealer_game",
}  # fmt: skip
CORRECTIONS: Final = ("funds-adjusted.v1", "funds-reversed.v1")


class Asked(NamedTuple):
    """Rows of tables, and which of them are meant."""

    tables: dict[str, list[Row]]
    filters: Filters
    begin: str
    end: str

    def of(self, table: str, **more: Any) -> Iterator[Row]:
        """Rows of the period that fit, whatever of a filter they have; `more`: columns and their values."""
        for row in self.tables[table]:
            when = row.ended_at if table == "round" else row.at
            if not self.begin <= f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z" < self.end:
                continue
            fits = all(value is None or value in having(row, name) for name, value in self.filters._asdict().items())
            if fits and all(getattr(row, name) == value for name, value in more.items()):
                yield row


def having(row: Row, filter_name: str) -> tuple[object, ...]:
    """What a row has of a filter's kind."""
    if filter_name == "player" and hasattr(row, "who"):
        return tuple(row.who)
    return (getattr(row, {"table": "table_name"}.get(filter_name, filter_name), None),)


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str) -> Iterator[PlayedHouse]:
    with played_house(server_url, migrated_template) as house:
        yield house


@pytest.fixture(scope="module")
def tables(house: PlayedHouse) -> dict[str, list[Row]]:
    """Of rounds who played in them, of players' rounds their game."""
    found = {name: rows(house, name) for name in TABLES}
    rounds = {row.round: row for row in found["round"]}
    for row in found["round"]:
        row.who = {each.player for each in found["round_player"] if each.round == row.round}
    for row in found["round_player"]:
        row.ruleset = rounds[row.round].ruleset
    return found


def rows(house: PlayedHouse, table: str) -> list[Row]:
    [(generation,)] = house.reader.execute(
        "select generation from projections.state where %s = any(tables)", (table,)
    ).fetchall()
    name = sql.Identifier("projections", f"{table}_{generation}")
    cursor = house.reader.execute(sql.SQL("select * from {}").format(name))
    names = [column.name for column in cursor.description or ()]
    return [Row(**dict(zip(names, values, strict=True))) for values in cursor]


# -- what a report shows, and what it should: both as plain values

Sums = dict[Any, Any]


def details(shown: Shown, name: str) -> Iterator[tuple[str | None, bool, dict[str, Any]]]:
    """The rows of a section of either kind of account: currency, whether of tests, cells."""
    for section, found in shown.sections:
        if section.name in (name, f"{name}-test"):
            for row in found:
                if row.weight is Weight.DETAIL:
                    cells = dict(zip([column.name for column in section.columns], row.cells, strict=True))
                    yield section.currency, section.name != name, cells


def summed(shown: Shown, section: str, *columns: str) -> Sums:
    """Of details, by currency and kind of account."""
    sums: Sums = {}
    for currency, test, cells in details(shown, section):
        kept = sums.setdefault((currency, test), [0] * len(columns))
        sums[currency, test] = [one + cells[name] for one, name in zip(kept, columns, strict=True)]
    return sums


def added(found: Iterable[tuple[Any, tuple[int, ...]]]) -> Sums:
    sums: Sums = {}
    for key, numbers in found:
        sums[key] = [one + other for one, other in zip(sums.get(key, [0] * len(numbers)), numbers, strict=True)]
    return sums


def positions(shown: Shown, *sections: str) -> list[int]:
    return sorted(cells["position"] for name in sections for _, _, cells in details(shown, name))


def at_positions(found: Iterable[Row]) -> list[int]:
    return sorted(row.position for row in found)


def taken(asked: Asked) -> Sums:
    """Turnover and returned of closed rounds, by their players."""
    return added(
        ((row.currency, row.test), (row.staked, row.returned)) for row in asked.of("round_player", ending="closed")
    )


def wagers(asked: Asked) -> Counter[tuple[str, str]]:
    """Of closed rounds, by currency and kind."""
    found: Counter[tuple[str, str]] = Counter()
    for row in asked.of("round", ending="closed"):
        for wager, column in COLUMNS.items():
            found[row.currency, wager] += getattr(row, column)
    return +found


def wagers_shown(shown: Shown, section: str, kind: str, money: str) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for currency, _, cells in details(shown, section):
        found[str(currency), cells[kind]] += cells[money]
    return +found


def bought(asked: Asked) -> Counter[tuple[str, str]]:
    kinds = ("insurance", "exchange", "sixth card", "dealer's game")
    return Counter({key: number for key, number in wagers(asked).items() if key[1] in kinds})


def hands(asked: Asked) -> Sums:
    found: Counter[str] = Counter()
    for row in asked.of("round", ending="closed"):
        for hand, _, count in json.loads(row.parts)["combinations"]:
            found[hand] += count
    return dict(found)


def hands_shown(shown: Shown) -> Sums:
    found = {hand: sum(cells["count"] for _, _, cells in details(shown, hand)) for hand in ("dealer", "box", "bonus")}
    return {hand: count for hand, count in found.items() if count}


def activity(asked: Asked) -> Sums:
    """By currency and kind of account: deposited, to games, from games."""
    back = ("funds-returned.v1", "funds-won.v1", "funds-taken-back.v1")
    found = added(
        ((row.currency, row.test), (
            row.to_player if row.type == "funds-deposited.v1" else 0,
            -row.to_player if row.type == "funds-staked.v1" else 0, row.to_player if row.type in back else 0,
        ))
        for row in asked.of("ledger_entry") if row.player is not None
    )  # fmt: skip
    return {key: numbers for key, numbers in found.items() if any(numbers)}


def moved(asked: Asked) -> Sums:
    """Entries and what they brought the house's accounts; tests are among the others."""
    return added(
        ((row.currency, False), (1, row.to_player, row.to_bank, row.to_bonus, row.to_cash, row.to_jackpots))
        for row in asked.of("ledger_entry")
    )


def activity_shown(shown: Shown, section: str = "players") -> Sums:
    found = summed(shown, section, "deposited", "to_games", "from_games")
    return {key: numbers for key, numbers in found.items() if any(numbers)}


def large(asked: Asked) -> list[int]:
    return at_positions(row for row in asked.of("round_player", ending="closed") if row.net >= LARGE)


def pending(asked: Asked) -> list[str]:
    """Rounds that nobody has ended: the period's end lies behind the house's."""
    table, _, _, currency = asked.filters
    return sorted(
        row.round for row in asked.tables["open_round"]
        if table in (None, row.table_name) and currency in (None, row.currency)
    )  # fmt: skip


def overrides(asked: Asked) -> list[int]:
    """They have no currency but that of their round."""
    currencies = {row.round: row.currency for row in asked.tables["round"]}
    without = asked._replace(filters=asked.filters._replace(currency=None))
    wanted = asked.filters.currency
    return at_positions(
        row for row in without.of("exception", kind="override") if wanted in (None, currencies[row.round])
    )


def corrections(asked: Asked) -> list[int]:
    """They are of no table."""
    return at_positions(row for row in asked.of("cash") if row.type in CORRECTIONS)


def ended(asked: Asked, *endings: str) -> list[str]:
    return sorted(row.round for row in asked.of("round") if row.ending in endings)


def rounds_shown(shown: Shown, section: str) -> list[str]:
    return sorted(cells["round"] for _, _, cells in details(shown, section))


Said = Callable[[Shown], list[Any]]
Meant = Callable[[Asked], list[Any]]

EXPECTED: Final[dict[str, tuple[Said, Meant]]] = {
    "gaming-revenue": (lambda s: [summed(s, "revenue", "turnover", "returned")], lambda a: [taken(a)]),
    "game-performance": (
        lambda s: [summed(s, "games", "turnover", "returned"), wagers_shown(s, "wagers", "wager", "turnover")],
        lambda a: [taken(a), wagers(a)],
    ),
    "insurance-and-purchase": (lambda s: [wagers_shown(s, "take", "kind", "take")], lambda a: [bought(a)]),
    "series-hourly": (lambda s: [summed(s, "series", "turnover", "returned")], lambda a: [taken(a)]),
    "series-daily": (lambda s: [summed(s, "series", "turnover", "returned")], lambda a: [taken(a)]),
    "combinations": (lambda s: [hands_shown(s)], lambda a: [hands(a)]),
    "player-account-summary": (lambda s: [activity_shown(s)], lambda a: [activity(a)]),
    "player-statement": (
        lambda s: [activity_shown(s, "summary"), positions(s, "movements"), positions(s, "cash"),
                   positions(s, "players")],
        lambda a: [activity(a), at_positions(a.of("ledger_entry")), at_positions(a.of("cash")),
                   at_positions(a.of("round_player"))],
    ),
    "cash-history": (lambda s: [positions(s, "cash")], lambda a: [at_positions(a.of("cash"))]),
    "game-history": (
        lambda s: [rounds_shown(s, "rounds"), positions(s, "players")],
        lambda a: [ended(a, "closed", "voided"), at_positions(a.of("round_player"))],
    ),
    "ledger": (
        lambda s: [summed(s, "movements", "entries", "players", "bank", "bonus", "cash", "jackpots")],
        lambda a: [moved(a)],
    ),
    "jackpot": (
        lambda s: [positions(s, "moves")],
        lambda a: [at_positions(row for row in a.of("jackpot_entry") if row.type != "jackpot-fed.v1")],
    ),
    "pending-rounds": (
        lambda s: [rounds_shown(s, "open"), positions(s, "interventions")], lambda a: [pending(a), overrides(a)],
    ),
    "voids-and-adjustments": (
        lambda s: [rounds_shown(s, "voids"), positions(s, "adjustments")],
        lambda a: [ended(a, "voided"), corrections(a)],
    ),
    "exceptions": (
        lambda s: [positions(s, "exceptions", "house"), sum(cells["count"] for _, _, cells in details(s, "kinds"))],
        lambda a: [at_positions(a.of("exception")), len(list(a.of("exception")))],
    ),
    "large-wins": (lambda s: [positions(s, "wins")], lambda a: [large(a)]),
}  # fmt: skip
NARROWED: Final = [name for name in REPORTS if definition(name).FILTERS]


def choices(name: str) -> Iterator[Filters]:
    """No filter, each alone, each pair, … all together; a statement always has its player."""
    for chosen in CHOSEN:
        for number in range(len(definition(name).FILTERS) + 1):
            for fields in combinations(sorted(definition(name).FILTERS), number):
                if name != "player-statement" or "player" in fields:
                    yield Filters(**{field: getattr(chosen, field) for field in fields})


def test_every_report_that_can_be_narrowed_is_held_against_its_rows() -> None:
    assert set(EXPECTED) == set(NARROWED)
    assert set(COLUMNS) | {"jackpot"} == {"BET" if wager is Wager.BET else word(wager) for wager in Wager}


def word(wager: Wager) -> str:
    return {Wager.DEALER_GAME: "dealer's game", Wager.SIXTH_CARD: "sixth card"}.get(wager, str(wager))


@pytest.mark.parametrize("name", NARROWED)
def test_filters_leave_the_rows_that_have_what_they_name(
    house: PlayedHouse, tables: dict[str, list[Row]], name: str
) -> None:
    """Each alone and all their combinations; identities hold of what is left."""
    said, meant = EXPECTED[name]
    seen, least = [], LARGE if name == "large-wins" else None
    for filters in dict.fromkeys(choices(name)):
        for begin, end in PERIODS:
            if name == "pending-rounds" and (begin, end) != PERIODS[0]:
                continue
            shown = house.body(name, begin, end, filters=filters, large_win=least)
            wanted = meant(Asked(tables, filters, begin, end))
            assert (said(shown), shown.residuals) == (wanted, []), (filters, begin, end)
            seen.append((filters, wanted))
    for field in definition(name).FILTERS:
        alone = [wanted for filters, wanted in seen if [n for n in Filters._fields if getattr(filters, n)] == [field]]
        assert name == "player-statement" or any(any(wanted) for wanted in alone), f"--{field} leaves nothing at all"
    assert any(any(wanted) for filters, wanted in seen if all(getattr(filters, n) for n in definition(name).FILTERS))
    assert len({repr(wanted) for _, wanted in seen}) > 2, "filters that change nothing"


@pytest.mark.parametrize("name", NARROWED)
def test_filters_leave_the_same_in_both_languages(house: PlayedHouse, name: str) -> None:
    """All of them together."""
    for chosen in CHOSEN[:3]:
        filters = Filters(**{field: getattr(chosen, field) for field in definition(name).FILTERS})
        english, russian = (house.body(name, *house.whole, filters=filters, language=each) for each in ("en", "ru"))
        for (section, ours), (other, theirs) in zip(english.sections, russian.sections, strict=True):
            numbers = [n for n, column in enumerate(section.columns) if column.kind is not Kind.TEXT]
            assert (section.name, section.currency) == (other.name, other.currency)
            assert [[row.cells[n] for n in numbers] for row in ours] == [
                [row.cells[n] for n in numbers] for row in theirs
            ]
