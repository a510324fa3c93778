"""An operator's file against the journal: matched, missing here, missing there, different; and what can't be read.

Not here: projections against the journal (`test_journal`).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ops import clock
from ops.reconciling.mapping import COLUMNS, What, read_mapping
from tests.ops.cli.running import Ran, dealproof
from tests.ops.played import Owner
from tests.ops.reconciling.operators import (
    ROUNDS,
    WALLET,
    Movement,
    movements,
    round_lines,
    rounds,
    wallet_lines,
    write,
)
from tests.ops.reports.played_house import PlayedHouse, day, played_house


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str) -> Iterator[PlayedHouse]:
    with played_house(server_url, migrated_template) as house:
        yield house


@pytest.fixture(scope="module")
def owner(house: PlayedHouse) -> Iterator[Owner]:
    with psycopg.connect(house.url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def moved(owner: Owner) -> list[Movement]:
    return movements(owner)


@pytest.fixture(autouse=True)
def _afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The house was open for some days from now on; all of them are over."""
    monkeypatch.setattr(clock, "now", lambda: "2027-01-01T00:00:00.000Z")


class Held:
    """What a file came to."""

    def __init__(self, ran: Ran) -> None:
        self.ran, self.status = ran, ran.status
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        self.differences: list[dict[str, Any]] = lines[:-1]
        self.summary: dict[str, Any] = lines[-1] if lines else {}
        self.counts: dict[str, int] = self.summary.get("counts", {})

    @property
    def outcomes(self) -> list[tuple[object, ...]]:
        return [(each["outcome"], each["field"], each["here"], each["there"]) for each in self.differences]


def run(house: PlayedHouse, file: Path, mapping: str, *arguments: str) -> Ran:
    toml = file.with_suffix(".toml")
    toml.write_text(mapping, "utf-8")
    return dealproof(
        "--home", str(file.parent), "--database-url", house.url, "reconcile", "--file", str(file), "--mapping",
        str(toml), *arguments,
    )  # fmt: skip


def hold(house: PlayedHouse, file: Path, mapping: str, *arguments: str) -> Held:
    return Held(run(house, file, mapping, "--json", *arguments))


def wallet(folder: Path, lines: list[list[str]]) -> Path:
    return write(folder / "wallet.csv", lines, ";")


# -- wallets


def test_a_true_wallet_matches_to_the_last_unit(house: PlayedHouse, moved: list[Movement], tmp_path: Path) -> None:
    """In two currencies, of play and of the desk, with rounds that are still open."""
    held = hold(house, wallet(tmp_path, wallet_lines(moved)), WALLET)
    played = {(each.currency, each.player, each.round) for each in moved if each.round}
    desk = {(each.currency, each.player, each.reference) for each in moved if not each.round}
    assert (held.status, held.differences) == (0, [])
    assert held.counts == {"matched": len(played) + len(desk), "missing-here": 0, "missing-there": 0, "different": 0}
    assert held.summary["lines"] == len(moved) and held.summary["verdict"] == "matched"
    assert {each["currency"]: (each["here"], each["residual"]) for each in held.summary["sums"]} == {
        currency: (sum(each.amount for each in moved if each.currency == currency), 0) for currency in ("EUR", "JPY")
    }


def test_each_kind_of_difference_is_named(house: PlayedHouse, moved: list[Movement], tmp_path: Path) -> None:
    """A movement left out, one invented, one of another amount, one booked twice."""
    desk = next(n for n, each in enumerate(moved) if each.reference == "slip 2" and each.currency == "EUR")
    play = next(n for n, each in enumerate(moved) if each.round)
    gift = next(n for n, each in enumerate(moved) if each.reference == "gift 1" and each.currency == "JPY")
    game = moved[play]
    whole = sum(e.amount for e in moved if (e.round, e.player, e.currency) == (game.round, game.player, game.currency))
    forged = [*moved]
    forged[play] = game._replace(amount=game.amount - 100)
    forged.append(moved[gift])
    forged.append(game._replace(round="", reference="never", amount=5))
    del forged[desk]
    held = hold(house, wallet(tmp_path, wallet_lines(forged)), WALLET)
    assert held.status == 1
    assert {outcome: count for outcome, count in held.counts.items() if outcome != "matched"} == {
        "missing-here": 1, "missing-there": 1, "different": 2,
    }  # fmt: skip
    assert sorted(held.outcomes, key=str) == sorted([
        ("different", "amount", whole, whole - 100), ("different", "amount", 777, 1554),
        ("different", "movements", 1, 2), ("missing-here", "amount", None, 5),
        ("missing-there", "amount", -1234, None),
    ], key=str)  # fmt: skip
    sums = {each["currency"]: each["residual"] for each in held.summary["sums"]}
    assert sums == {"EUR": 100 - 5 - 1234, "JPY": -777}
    invented = next(each for each in held.differences if each["outcome"] == "missing-here")
    assert (invented["reference"], invented["line"]) == ("never", len(forged) + 1)


def test_a_file_of_a_day_needs_only_that_day(house: PlayedHouse, moved: list[Movement], tmp_path: Path) -> None:
    """And what it has beyond it is held as well."""
    begin, end = day(1), day(2)
    of_day = [each for each in moved if begin <= each.at < end]
    more = [each for each in moved if each.at < begin][:1]
    whole = [each for each in moved if more and (each.round, each.player) == (more[0].round, more[0].player)]
    held = hold(house, wallet(tmp_path, wallet_lines([*of_day, *whole])), WALLET, "--from", begin, "--to", end)
    assert (held.status, held.differences) == (0, [])
    assert 0 < len(of_day) < len(moved)
    short = hold(house, wallet(tmp_path, wallet_lines(of_day[1:])), WALLET, "--from", begin, "--to", end)
    assert short.status == 1 and {each["player"] for each in short.differences} == {of_day[0].player}


def test_a_round_that_the_period_cuts_matches_as_a_whole_and_by_its_part(
    house: PlayedHouse, moved: list[Movement], tmp_path: Path
) -> None:
    """The border lies between the stakes and the payment of a player's round."""
    first, last = next(
        (one, other)
        for one in moved
        for other in reversed(moved)
        if one.round and (one.round, one.player) == (other.round, other.player) and one.at[:15] != other.at[:15]
    )
    border = f"{last.at[:14]}{int(last.at[14:16]) // 15 * 15:02d}:00.000Z"
    assert first.at < border <= last.at
    inside = [each for each in moved if each.at < border]
    whole = [each for each in moved if each.at < border or (each.round, each.player) == (last.round, last.player)]
    neither = [each for each in inside if each is not first]
    for lines, status in ((inside, 0), (whole, 0), (neither, 1)):
        held = hold(house, wallet(tmp_path, wallet_lines(lines)), WALLET, "--from", "2026-11-01", "--to", border)
        assert held.status == status, held.differences
    # From each quarter of an hour on: who only staked before it is not missed.
    for at in sorted({f"{each.at[:14]}{int(each.at[14:16]) // 15 * 15:02d}:00.000Z"
                      for each in moved if each.round})[:6]:  # fmt: skip
        later = [each for each in moved if each.at >= at]
        held = hold(house, wallet(tmp_path, wallet_lines(later)), WALLET, "--from", at, "--to", "2027-01")
        assert held.status == 0, (at, held.differences)


def test_the_kind_of_a_movement_is_held_where_it_is_mapped(
    house: PlayedHouse, moved: list[Movement], tmp_path: Path
) -> None:
    """A gift that the operator booked as a deposit."""
    words = {"funds-deposited.v1": "IN", "funds-withdrawn.v1": "OUT", "funds-adjusted.v1": "FIX",
             "funds-reversed.v1": "BACK"}  # fmt: skip
    desk = [each for each in moved if not each.round]
    lines = [[*line, kind] for line, kind in zip(
        wallet_lines(desk), ["Kind", *(words[each.kind] for each in desk)], strict=True
    )]  # fmt: skip
    types = 'type = "Kind"\n[types]\nIN = "deposit"\nOUT = "withdrawal"\nFIX = "adjustment"\nBACK = "reversal"\n'
    mapping = WALLET.replace('round = "Game"\n', "") + types
    assert hold(house, wallet(tmp_path, lines), mapping).status == 0
    gift = next(nth for nth, line in enumerate(lines) if line[4] == "gift 1")
    lines[gift][-1] = "IN"
    held = hold(house, wallet(tmp_path, lines), mapping)
    assert [(each["outcome"], each["type"]) for each in held.differences] == [
        ("missing-here", "funds-deposited.v1"), ("missing-there", "funds-adjusted.v1"),
    ]  # fmt: skip


def test_debit_and_credit_and_the_houses_point_of_view(
    house: PlayedHouse, moved: list[Movement], tmp_path: Path
) -> None:
    """The same money written in three ways."""
    desk = [each for each in moved if not each.round and each.currency == "EUR"]
    head = ["Customer", "Slip", "Minus", "Plus", "Gain"]
    lines = [head, *(
        [each.player, each.reference, str(max(-each.amount, 0)), str(max(each.amount, 0)), str(-each.amount)]
        for each in desk
    )]  # fmt: skip
    base = 'what = "wallet"\nunit = "minor"\ncurrency = "EUR"\n'
    columns = '[columns]\nplayer = "Customer"\nreference = "Slip"\n'
    by_sides = f'{base}{columns}debit = "Minus"\ncredit = "Plus"\n'
    by_house = f'{base}gain_of = "house"\n{columns}amount = "Gain"\n'
    for mapping in (by_sides, by_house):
        file = write(tmp_path / "wallet.csv", lines)
        outcomes = hold(house, file, mapping).outcomes
        assert {(outcome, here) for outcome, _, here, _ in outcomes} <= {("missing-there", 500_000 - 1234)} | {
            (outcome, here) for outcome, _, here, _ in outcomes if outcome == "missing-there"
        }
        assert all(outcome == "missing-there" for outcome, *_ in outcomes)


def test_test_accounts_can_be_left_out(house: PlayedHouse, moved: list[Movement], owner: Owner, tmp_path: Path) -> None:
    """A wallet of real players only."""
    tests = {
        row[0]
        for row in owner.execute(
            "select originator_id from dealproof.events where topic = 'account-opened.v1' "
            "and position(convert_to('\"test\":true', 'UTF8') in state) > 0"
        )
    }
    real = [each for each in moved if f"account:{each.currency}:{each.player}" not in tests]
    assert 0 < len(real) < len(moved)
    file = wallet(tmp_path, wallet_lines(real))
    assert hold(house, file, f'test_accounts = "left-out"\n{WALLET}').status == 0
    assert hold(house, file, WALLET).counts["missing-there"] > 0


# -- rounds


def test_true_rounds_match_and_forged_ones_do_not(house: PlayedHouse, owner: Owner, tmp_path: Path) -> None:
    """Voids among them; money, ending and boxes."""
    ended = rounds(owner)
    assert {each.ending for each in ended} == {"OK", "VOID"}
    held = hold(house, write(tmp_path / "rounds.csv", round_lines(ended)), ROUNDS)
    assert (held.status, held.differences, held.counts["matched"]) == (0, [], len(ended))
    forged = [
        ended[0]._replace(returned=ended[0].returned + 1), ended[1]._replace(ending="VOID"), ended[2], ended[2],
        ended[3]._replace(table="nowhere"), *ended[4:],
    ]  # fmt: skip
    held = hold(house, write(tmp_path / "rounds.csv", round_lines(forged)), ROUNDS)
    assert held.counts == {"matched": len(ended) - 4, "missing-here": 1, "missing-there": 1, "different": 3}
    assert {field for outcome, field, *_ in held.outcomes if outcome == "different"} >= {"returned", "ending", "lines"}
    assert {each["round"] for each in held.differences if each["outcome"] == "missing-here"} == {
        f"nowhere/{ended[3].number}"
    }


def test_rounds_by_their_ids_and_by_player(house: PlayedHouse, owner: Owner, tmp_path: Path) -> None:
    """Ids may be written as UUIDs; what each player had is known by his account."""
    rows = owner.execute(
        "select originator_id, state from dealproof.events where topic = 'round-finished.v1'"
    ).fetchall()
    parts = [(stream.split(":", 2), json.loads(state)["data"]) for stream, state in rows]
    lines = [["Id", "Who", "Cur", "In", "Out"], *(
        [f"{data['round'][:8]}-{data['round'][8:]}".upper(), name[2], name[1], str(data["staked"]),
         str(data["returned"])]
        for name, data in parts
    )]  # fmt: skip
    mapping = (
        'what = "rounds"\nunit = "minor"\n[columns]\nround = "Id"\nplayer = "Who"\ncurrency = "Cur"\nstaked = "In"\n'
        'returned = "Out"\n'
    )
    held = hold(house, write(tmp_path / "parts.csv", lines), mapping)
    assert (held.status, held.counts["matched"]) == (0, len(parts))
    lines[1][1] = "somebody"
    held = hold(house, write(tmp_path / "parts.csv", lines), mapping)
    assert sorted(str(outcome) for outcome, *_ in held.outcomes) == ["missing-here", "missing-there"]


# -- for people


def test_people_get_counts_sums_and_the_first_differences(
    house: PlayedHouse, moved: list[Movement], tmp_path: Path
) -> None:
    """And a CSV with all of them, in which no name is a formula."""
    forged = [*moved, *(moved[0]._replace(player="=cmd", round="", reference=f"@{nth}") for nth in range(30))]
    output = tmp_path / "differences.csv"
    ran = run(house, wallet(tmp_path, wallet_lines(forged)), WALLET, "-o", str(output))
    assert ran.status == 1
    assert "missing here             30" in ran.stdout and "… and 10 more" in ran.stdout
    assert "missing here: reference @0, =cmd, " in ran.stdout
    rows = list(csv.reader(io.StringIO(output.read_bytes().decode("utf-8-sig"))))
    assert len(rows) == 31
    assert {row[2] for row in rows[1:]} == {"'=cmd"} and all(row[4].startswith("'@") for row in rows[1:])


# -- files that can't be read

GOOD = [["Customer", "Currency", "Amount", "Game", "Slip", "Time"], ["anna", "EUR", "1,00", "", "s", "x"]]

BAD_LINES = {
    "amount with too many places": (2, "1,005", "amount: '1,005' is not an amount in EUR with 2 places"),
    "amount that is a word": (2, "ten", "amount: 'ten' is not an amount in EUR with 2 places"),
    "amount that is empty": (2, "", "amount: '' is not an amount in EUR with 2 places"),
    "amount beyond any balance": (2, "99999999999999", "amount: '99999999999999' is more than any balance"),
    "unknown currency": (1, "EUX", "currency: 'EUX' is none"),
    "no player": (0, " ", "player: is empty"),
    "a round that is no id": (3, "r-17", "round: 'r-17' is no id of a round (32 hex digits)"),
    "nothing to be known by": (4, "", "has neither a round nor a reference"),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_named_and_nothing_is_compared(house: PlayedHouse, tmp_path: Path, name: str) -> None:
    place, cell, message = BAD_LINES[name]
    bad = [*GOOD[1][:place], cell, *GOOD[1][place + 1 :]]
    file = wallet(tmp_path, [*GOOD, bad])
    ran = run(house, file, WALLET, "-o", str(tmp_path / "out.csv"))
    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"dealproof: {file}: line 3: {message}")
    assert not (tmp_path / "out.csv").exists()


def test_many_bad_lines_are_counted_and_the_first_ones_named(house: PlayedHouse, tmp_path: Path) -> None:
    file = wallet(tmp_path, [GOOD[0], *([["anna", "EUR", "x", "", "s", ""]] * 14), ["anna"]])
    ran = run(house, file, WALLET)
    assert ran.stderr.count("; line ") == 9 and ran.stderr.rstrip().endswith("; and 5 more lines")


BAD_FILES: dict[str, tuple[bytes, str]] = {
    "another column": (b"Customer;Currency;Sum;Game;Slip\n", "columns.amount: there is no column 'Amount'; there are"),
    "a column twice": (
        b"Customer;Currency;Amount;Game;Slip;Slip\n", "columns.reference: there is more than one column 'Slip'",
    ),
    "nothing": (b"", "columns.player: there is no column 'Customer'"),
    "another encoding": (
        "Customer;Currency;Amount;Game;Slip\nИван;EUR;1;;s\n".encode("cp1251"), "is not utf-8 at byte",
    ),
    "a quote that does not end": (b'Customer;Currency;Amount;Game;Slip\n"anna;EUR;1;;s\n', "is no CSV"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_no_such_table_is_refused(house: PlayedHouse, tmp_path: Path, name: str) -> None:
    content, message = BAD_FILES[name]
    file = tmp_path / "wallet.csv"
    file.write_bytes(content)
    ran = run(house, file, WALLET)
    assert (ran.status, ran.stdout) == (2, "") and message in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_another_encoding_can_be_named(house: PlayedHouse, tmp_path: Path) -> None:
    file = write(tmp_path / "wallet.csv", [*GOOD, ["Иван", "EUR", "1,00", "", "s", ""]], ";", "cp1251")
    held = hold(house, file, f'encoding = "cp1251"\n{WALLET}', "--from", "2020-01", "--to", "2020-01")
    assert [each["player"] for each in held.differences] == ["anna", "Иван"]
    assert "none called 'klingon'" in run(house, file, f'encoding = "klingon"\n{WALLET}').stderr
    assert "is not utf-16: UTF-16 stream does not start with BOM" in run(
        house, file, f'encoding = "utf-16"\n{WALLET}'
    ).stderr


BAD_MAPPINGS = {
    "no TOML": ("what = wallet", "is no TOML file"),
    "no kind": (WALLET.replace('what = "wallet"', ""), "what: Missing data for required field."),
    "another kind": (WALLET.replace('"wallet"', '"poker"'), "what: Must be one of: wallet, rounds."),
    "a delimiter that is none": (WALLET.replace('delimiter = ";"', 'delimiter = "\\n"'), "delimiter: Must be one of"),
    "an unknown key": (f"color = 1\n{WALLET}", "color: Unknown field."),
    "an unknown column": (f'{WALLET}colour = "x"\n', "columns.colour: is no column of wallet; there are player"),
    "no player": (WALLET.replace('player = "Customer"', ""), "columns.player: is missing"),
    "no amount": (WALLET.replace('amount = "Amount"', ""), "columns: needs either amount, or debit and credit"),
    "debit alone": (WALLET.replace('amount =', "debit ="), "columns: needs either amount, or debit and credit"),
    "nothing to be known by": (
        WALLET.replace('round = "Game"', "").replace('reference = "Slip"', ""), "columns: needs round (or table",
    ),
    "no currency": (WALLET.replace('currency = "Currency"', ""), "currency: name it, or the column that has it"),
    "an unknown currency": (f'currency = "EUX"\n{WALLET}', "currency: Is no currency."),
    "the same signs": (WALLET.replace('thousands = " "', 'thousands = ","'), "thousands: is the decimal sign"),
    "types that are not said": (f'{WALLET}type = "Kind"\n', "types: say which word of the column is"),
    "an unknown type": (f'{WALLET}type = "K"\n[types]\nX = "gift"\n', "types.X: Must be one of: deposit, withdrawal"),
    "two names of a round": (f'{WALLET}table = "T"\nnumber = "N"\n', "columns: name rounds by round or by table"),
    "a table without a number": (f'{WALLET}table = "T"\n', "columns: table and number go together"),
    "rounds with nothing to compare": (
        'what = "rounds"\nunit = "minor"\n[columns]\nround = "R"\n', "columns: has nothing to compare",
    ),
    "what no player's part has": (
        'what = "rounds"\nunit = "minor"\n[columns]\nround = "R"\nplayer = "P"\nboxes = "B"\n',
        "columns.boxes: is not kept for each player of a round",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_MAPPINGS)
def test_a_mapping_that_can_not_be_is_refused(house: PlayedHouse, tmp_path: Path, name: str) -> None:
    mapping, message = BAD_MAPPINGS[name]
    ran = run(house, wallet(tmp_path, GOOD), mapping)
    assert (ran.status, ran.stdout) == (2, "")
    assert message in ran.stderr and ran.stderr.startswith(f"dealproof: {tmp_path / 'wallet.toml'}: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--file", "x.csv"), "--file and --mapping go together"),
        (("--from", "2026-11"), "--from and --to go together"),
        (("--from", "2026-11", "--to", "2026-11"), "--from, --to and -o go with --file"),
        (("-o", "x.csv"), "--from, --to and -o go with --file"),
        (("--file", "nowhere.csv", "--mapping", "nowhere.toml"), "nowhere.toml: No such file or directory"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(house: PlayedHouse, arguments: tuple[str, ...], message: str) -> None:
    ran = dealproof("--database-url", house.url, "reconcile", *arguments)
    assert (ran.status, ran.stdout) == (2, "") and message in ran.stderr


def test_a_period_reversed_or_in_the_future_is_refused(house: PlayedHouse, tmp_path: Path) -> None:
    file = wallet(tmp_path, GOOD)
    for begin, end in (("2026-11", "2026-10"), ("2026-11-30", "2026-11-29"), ("2026-11-30", "2025-11-30")):
        ran = run(house, file, WALLET, "--from", begin, "--to", end)
        assert f"--to: {end} lies before --from {begin}" in ran.stderr
    assert "--from: lies in the future" in run(house, file, WALLET, "--from", "2999-01", "--to", "2999-02").stderr


def test_the_mapping_in_the_docs_can_be_used(tmp_path: Path) -> None:
    """As it stands in docs/formats/reconcile.md; and every column there is one."""
    page = (Path(__file__).parents[3] / "docs/formats/reconcile.md").read_text("utf-8")
    file = tmp_path / "mapping.toml"
    file.write_text(page.split("```toml\n")[1].split("```")[0], "utf-8")
    mapping = read_mapping(file)
    assert (mapping.what, mapping.decimal, mapping.types) == ("wallet", ",", {"IN": "deposit"})
    table = page.split("| `what` | columns |")[1].split("\n\n")[0]
    for what in What:
        row = next(line for line in table.splitlines() if line.startswith(f"| `{what}`"))
        assert set(re.findall("`([a-z_]+)`", row)) - {what} == set(COLUMNS[what])
