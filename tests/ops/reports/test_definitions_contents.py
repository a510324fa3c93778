"""What the reports say of a house whose afternoon is known.

Not here: what holds of all of them (`test_definitions_identities`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

import psycopg
import pytest

from domain.verification import WHOLE
from ops.journal import Journal
from ops.projecting import catch_up
from ops.reports.building import Filters, ReportError
from ops.reports.definitions import REPORTS, definition
from ops.reports.model import Kind
from ops.reports.words import Words
from tests.ops.reports.played_house import VISITOR, PlayedHouse, day, first_round, played_house, quarter, verified

Cells = dict[str, object]
ORDER = ["ante", "BET", "bonus", "jackpot", "insurance", "exchange", "sixth card", "dealer's game"]
"""Of the wagers in a round."""


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str) -> Iterator[PlayedHouse]:
    with played_house(server_url, migrated_template) as house:
        yield house


def only(rows: list[Cells], *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[column] for column in columns) for row in rows]


# -- accounts


def test_the_summary_tells_where_a_players_funds_came_from_and_went(house: PlayedHouse) -> None:
    """Stakes of a round that is open are neither lost nor won."""
    shown = house.body("player-account-summary", *house.whole, filters=Filters(player=VISITOR))

    [euros, total] = shown.rows("players", "EUR")
    assert euros == {
        "player": VISITOR, "beginning_funds": 0, "beginning_on_game": 0, "deposited": 1_000_000, "withdrawn": 1_234,
        "adjusted": 777, "reversed": -500_000, "to_games": 100, "from_games": 0, "ending_funds": 499_543,
        "ending_on_game": 100, "win_loss": 0, "rounds": 0,
    }  # fmt: skip
    assert total["ending_funds"] == euros["ending_funds"]
    assert [row["ending_funds"] for row in shown.rows("players", "JPY")] == [499_543, 499_543]


def test_win_and_loss_of_a_player_is_the_net_of_his_rounds(house: PlayedHouse) -> None:
    """Where none was open at either end; the one that was voided brought nothing."""
    shown = house.body("player-statement", *house.whole, filters=Filters(player="anna"))

    [summary, _] = shown.rows("summary", "EUR")
    [won, voided, total] = shown.rows("players", "EUR")
    assert only([won, voided], "ending", "net") == [("closed", summary["win_loss"]), ("voided", 0)]
    assert total["net"] == summary["win_loss"]
    assert won["after"] == 1_000_000 + int(str(won["net"])) == voided["before"] == voided["after"]


def test_a_statement_has_every_movement_with_the_balance_after_it(house: PlayedHouse) -> None:
    shown = house.body("player-statement", *house.whole, filters=Filters(player=VISITOR, currency="EUR"))

    [*movements, total] = shown.rows("movements", "EUR")
    assert only(movements, "kind", "amount", "balance", "on_game") == [
        ("account opened", 0, 0, 0),
        ("deposit", 500_000, 500_000, 0),
        ("withdrawal", -1_234, 498_766, 0),
        ("adjustment", 777, 499_543, 0),
        ("deposit", 500_000, 999_543, 0),
        ("reversal", -500_000, 499_543, 0),
        ("stake", -100, 499_443, 100),
    ]
    assert movements[-1]["table"] == "five-card-poker-1"
    assert total["amount"] == 499_443


def test_a_statement_is_of_one_player(house: PlayedHouse) -> None:
    with pytest.raises(ReportError, match=r"^--player: the report player-statement is of one player; name him$"):
        house.body("player-statement", *house.whole)


def test_what_went_over_the_desk_says_who_approved_it_and_why(house: PlayedHouse) -> None:
    shown = house.body("cash-history", *house.whole, filters=Filters(player=VISITOR, currency="JPY"))

    [*movements, _] = shown.rows("cash", "JPY")
    assert only(movements[2:], "kind", "amount", "by", "approver", "reason", "reference") == [
        ("adjustment", 777, "desk", "manager", "birthday", "gift 1"),
        ("deposit", 500_000, "desk", None, None, "slip 1"),
        ("reversal", -500_000, "desk", "manager", "booked twice", "slip 3"),
    ]


def test_test_accounts_have_tables_of_their_own(house: PlayedHouse) -> None:
    for name in ("player-account-summary", "cash-history", "voids-and-adjustments", "exceptions", "game-history"):
        shown = house.body(name, *house.whole)
        tests = [rows for section, rows in shown.sections if section.name.endswith("-test")]
        real = [rows for section, rows in shown.sections if not section.name.endswith("-test")]
        assert tests
        assert "player-2" in str(tests), name
        assert not any(str(cell).endswith("player-2") for rows in real for row in rows for cell in row.cells), name


# -- the ledger


def test_what_the_ledger_has_after_a_period_it_has_before_the_next(house: PlayedHouse) -> None:
    borders = [day(0), quarter(9), quarter(22), day(1), day(3), day(30)]
    books = [house.body("ledger", *period).rows("balances", "EUR") for period in pairwise(borders)]

    for earlier, later in pairwise(books):
        assert only(earlier[:7], "after") == only(later[:7], "before")
    assert books[-1][6]["after"] == 300, "in play"
    assert books[-1][5] == {"account": "Sum", "before": 0, "moved": 0, "after": 0}


def test_a_ledger_whose_positions_and_times_have_another_order_still_adds_up(house: PlayedHouse) -> None:
    """Two appends at the same moment: the later position may have the earlier time."""
    border = "2026-12-02T11:03:00.000Z"
    with psycopg.connect(house.url, autocommit=True) as owner:
        [(generation,)] = owner.execute("select generation from projections.state where name = 'balances'").fetchall()
        table = f"projections.ledger_entry_{generation}"
        pair = owner.execute(
            f"select position, at from {table} where currency = 'EUR' and to_cash <> 0 and player = %s "
            "order by position limit 2", (VISITOR,),
        ).fetchall()  # fmt: skip
        other = zip(pair, ("2026-12-02T11:03:00.007Z", "2026-12-02T11:02:59.999Z"), strict=True)
        for position, at in [(position, at) for (position, _), at in other]:
            owner.execute(f"update {table} set at = %s where position = %s", (at, position))
        before, after = house.body("ledger", day(0), border), house.body("ledger", border, day(30))
        for position, at in pair:
            owner.execute(f"update {table} set at = %s where position = %s", (at, position))

    assert before.rows("movements", "EUR")
    assert before.residuals == after.residuals == []
    assert only(before.rows("balances", "EUR")[:6], "after") == only(after.rows("balances", "EUR")[:6], "before")


# -- rounds


def test_a_round_has_the_verdict_of_the_newest_run_that_has_seen_it(house: PlayedHouse) -> None:
    """The first run found one discrepancy, the second one saw what ended since."""
    verdicts = only(house.body("game-history", *house.whole).rows("rounds", "EUR"), "verdict")
    runs = house.body("verdicts", *house.whole).rows("verifications", None)
    earlier = house.body("game-history", *house.whole, position=int(str(runs[0]["position"])) - 1)

    assert [verdicts.count((each,)) for each in ("discrepancy", "not verified yet")] == [1, 3]
    assert verdicts.count(("verified",)) == len(verdicts) - 5, "but for four, and the total"
    assert {row["verdict"] for row in earlier.rows("rounds", "EUR")[:-1]} == {"not verified yet"}
    assert only(runs, "scope", "rounds", "verified", "discrepancies") == [
        ("whole", 36, 35, 1), ("ended since the run before", 6, 6, 0), (None, 42, 41, 1),
    ]  # fmt: skip


def test_a_verdict_is_never_better_than_what_is_known(house: PlayedHouse) -> None:
    """Later runs, each as of its position: the newest that has seen a round counts, and what was found since."""
    with Journal.open(house.url) as journal:
        first = first_round(journal)
        positions = [
            verified(journal, WHOLE, 44, 2, first),
            verified(journal, WHOLE, 44, 0),
            verified(journal, "table five-card-poker-1", 9, 1, first),
            verified(journal, WHOLE, 44, 0, not_checkable=2),
            verified(journal, WHOLE, 44, 0, not_checkable=3),
        ]
    catch_up(house.url)
    said = []
    for position in positions:
        rows = house.body("game-history", *house.whole, position).rows("rounds", "EUR")[:-1]
        own = {str(row["verdict"]) for row in rows if row["round"] == first}
        said.append((own, {str(row["verdict"]) for row in rows if row["round"] != first}))

    assert said == [
        ({"discrepancy"}, {"more discrepancies than were kept"}),
        ({"verified"}, {"verified"}),
        ({"discrepancy"}, {"verified"}),
        ({"verified"}, {"verified"}),
        ({"verified, or not checkable"}, {"verified, or not checkable"}),
    ], "two rounds are open: one more was not checkable for another reason"


class Mirrored(Words):
    """English whose alphabet runs backwards."""

    def __call__(self, text: str, **values: object) -> str:
        letters = "abcdefghijklmnopqrstuvwxyz"
        return super().__call__(text, **values).lower().translate(str.maketrans(letters, letters[::-1]))


def test_rows_stand_in_the_same_order_in_every_language(house: PlayedHouse) -> None:
    """Numbers row by row, where no word has its place in the alphabet."""
    for name in REPORTS:
        filters = Filters(player="anna") if name == "player-statement" else Filters()
        english, *others = (
            house.body(name, *house.whole, filters=filters, language=language)
            for language in ("en", "ru", Mirrored("en"))
        )
        for other in others:
            for (section, rows), (_, others_rows) in zip(english.sections, other.sections, strict=True):
                numbers = [n for n, column in enumerate(section.columns) if column.kind is not Kind.TEXT]
                assert [[row.cells[n] for n in numbers] for row in rows] == [
                    [row.cells[n] for n in numbers] for row in others_rows
                ], (name, section.name)
    wagers = house.body("game-performance", *house.whole)
    places = [
        [(row["game"], row["table"], row["mode"], ORDER.index(str(row["wager"]))) for row in wagers.rows(section, "EUR")
         if row["wager"] is not None] for section in ("wagers", "wagers-test")
    ]  # fmt: skip
    assert places == [sorted(each) for each in places] and len(places[0] + places[1]) > 8
    kinds = [row["kind"] for row in house.body("insurance-and-purchase", *house.whole).rows("take", "EUR")]
    said = [kind for kind in dict.fromkeys(kinds) if kind in ORDER]
    assert said == [kind for kind in ORDER if kind in said] and len(said) > 1


def test_a_jackpot_shows_how_its_pot_came_to_what_it_is(house: PlayedHouse) -> None:
    """Won twice, of which the second time was undone: rule 10.2."""
    pots = house.body("jackpot", *house.whole).rows("pots", "EUR")

    assert pots[0] == {
        "jackpot": "grand", "seed_amount": 100_000, "beginning": 0, "fed": 220, "paid": 200_000, "from_bank": 0,
        "restarted": 299_780, "contributions_reversed": 110, "winnings_reversed": 100_000, "ending": 199_890,
    }  # fmt: skip


def test_an_open_round_is_pending_with_what_is_in_play(house: PlayedHouse) -> None:
    """One that only test accounts play has a table of its own."""
    shown = house.body("pending-rounds", day(2), day(30))

    [pending, total] = shown.rows("open", "EUR")
    assert only([pending, total], "boxes", "staked", "returned") == [(2, 200, 0)] * 2
    assert pending["table"] == "five-card-poker-1"
    tests = shown.rows("open-test", "EUR")
    assert only(tests[:-1], "table", "boxes", "staked") == [("multibox-russian-poker-1", 1, 100)]
    assert only(shown.rows("interventions", None), "by", "reason", "action") == [
        ("server-1", "a card fell down", "void"), ("manager", "a card fell down", "void"),
    ]  # fmt: skip


def test_pending_rounds_are_those_of_the_moment_that_is_asked_for(house: PlayedHouse) -> None:
    """By the period's end or by the position, whichever came first: here between the deal and the void of a round."""
    moment = "2026-12-04T11:05:00.000Z"
    position = max(position for position, at in house.times if at < moment)
    by_time = house.body("pending-rounds", day(0), moment).rows("open", "EUR")
    by_position = house.body("pending-rounds", *house.whole, position).rows("open", "EUR")

    assert only(by_time, "table", "boxes", "staked") == [("five-card-poker-1", 1, 100), ("Total", 1, 100)]
    assert only(by_time, "round", "staked") == only(by_position, "round", "staked")


@pytest.mark.parametrize(("least", "winners"), [(None, ["anna"]), (99_000, ["anna"]), (10**9, [])])
def test_a_large_win_is_one_of_the_rule_or_of_the_amount(
    house: PlayedHouse, least: int | None, winners: list[str]
) -> None:
    shown = house.body("large-wins", day(2), day(3), large_win=least)

    rows = [row for _, rows in shown.sections for row in rows[:-1]]
    assert [row.cells[2] for row in rows] == winners


def test_a_void_says_what_was_given_back_why_and_by_whom(house: PlayedHouse) -> None:
    rows = house.body("voids-and-adjustments", day(2), day(4)).rows("voids", "EUR")

    assert only(rows[:2], "table", "boxes", "staked", "returned", "reason", "by") == [
        ("pairs-1", 2, 530, 530, "a card fell down", "server-1"),
        ("five-card-poker-1", 1, 100, 100, "a card fell down", "manager"),
    ]


def test_a_change_of_the_configuration_shows_the_value_before_and_after(house: PlayedHouse) -> None:
    changes = house.body("exceptions", *house.whole).rows("house", None)

    last = changes[-1]
    before, after = (json.loads(str(last[name])) for name in ("before", "after"))
    assert (last["kind"], last["by"], last["reason"]) == ("configuration changed", "manager", "more patience")
    assert (before.pop("abandoned_after"), after.pop("abandoned_after")) == (60, 90)
    assert before == after


@pytest.mark.parametrize("name", [name for name in REPORTS if "currency" in definition(name).FILTERS])
def test_a_currency_that_nobody_played_in_has_no_rows(house: PlayedHouse, name: str) -> None:
    player = VISITOR if name == "player-statement" else None
    shown = house.body(name, *house.whole, filters=Filters(currency="USD", player=player))

    assert [row for _, rows in shown.sections for row in rows] == []
