"""`dealproof report`: options, refusals, forms, the same bytes again, and files that are whole or not there.

Not here: what the reports say (`tests.ops.reports`), comparing two positions (`tests.ops.reports.test_comparing`).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest

from domain.rulesets import released_rulesets
from ops.floor import Floor
from ops.journal import Journal
from ops.play import allowed, furnish, new_command, play
from ops.projecting import catch_up
from ops.reports.definitions import REPORTS, definition
from tests.conftest import _database as new_database
from tests.ops.cli.running import REPOSITORY, Ran, dealproof
from tests.ops.cli.running import command as command_line
from tests.ops.floor.casino import Casino
from tests.ops.played import played_database
from tests.ops.reports.played_house import PlayedHouse, day, played_house
from tests.ops.test_house import KEY

GENERATED = "2026-12-20T12:00:00.000Z"


@pytest.fixture(scope="module")
def house(server_url: str, migrated_template: str) -> Iterator[PlayedHouse]:
    with played_house(server_url, migrated_template) as house:
        yield house


@pytest.fixture(autouse=True)
def _afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The house was open for some days from now on; all of them are over."""
    monkeypatch.setattr("ops.clock.now", lambda: "2027-01-01T00:00:00.000Z")


def report(url: str, name: str, *arguments: str, begin: str = "2026-12", end: str = "2026-12") -> Ran:
    whose = ("--player", "anna") if name == "player-statement" and "--player" not in arguments else ()
    return dealproof("--database-url", url, "report", name, "--from", begin, "--to", end, *whose, *arguments)


# -- what there is


def test_every_report_is_listed_with_what_narrows_it() -> None:
    rows = [line.split() for line in dealproof("report", "--list").stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == list(REPORTS)
    for row in rows:
        assert set(definition(row[0]).FILTERS) <= {word.strip(",") for word in row}


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_prints_for_a_played_house_and_an_empty_one(
    house: PlayedHouse, migrated_database_url: str, name: str
) -> None:
    """In both languages; of an empty house it says that there was no activity."""
    forms = ("text", "csv", "json")
    form = forms[list(REPORTS).index(name) % 3]
    for language in ("en", "ru"):
        ran = report(house.url, name, "--language", language, "--format", form)
        assert (ran.status, ran.stderr) == (0, "") and len(ran.stdout) > 500
    if name != "player-statement":  # it asks for a player, and there is none
        for language, words in (("en", "No Activity"), ("ru", "Движения не было")):
            ran = report(migrated_database_url, name, "--language", language)
            assert (ran.status, ran.stderr) == (0, "")
            assert words in ran.stdout


@pytest.mark.parametrize("form", ["xlsx", "parquet", "pdf"])
def test_forms_for_programs_and_paper_are_written_to_a_file(house: PlayedHouse, tmp_path: Path, form: str) -> None:
    """The same bytes each time."""
    sums = set()
    for number in (1, 2):
        file = tmp_path / f"{number}.{form}"
        ran = report(house.url, "cash-history", "--format", form, "-o", str(file), "--generated-at", GENERATED)
        assert (ran.status, ran.stdout, ran.stderr) == (0, "", "")
        sums.add(hashlib.sha256(file.read_bytes()).hexdigest())
    assert len(sums) == 1


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    with played_database(server_url, migrated_template, 8, tables_each=1) as name:
        yield name


def test_the_same_again_is_the_same_whatever_has_happened_since(server_url: str, played_template: str) -> None:
    """The command that the frame names, after more rounds."""
    with new_database(server_url, played_template) as url:
        whose = {"player-statement": ("--player", "russian-poker-1.player-1")}
        asked = {name: ("--generated-at", GENERATED, *whose.get(name, ())) for name in REPORTS}
        before = {name: report(url, name, *arguments) for name, arguments in asked.items()}
        with Journal.open(url) as journal:
            floor = Floor(journal, KEY)
            play(floor, furnish(floor, tuple(released_rulesets().values()), 1), 4, Random(9), lambda: None)
        changed = {name for name, arguments in asked.items() if report(url, name, *arguments).stdout
                   != before[name].stdout}  # fmt: skip
        assert changed == set(REPORTS)
        for name, ran in before.items():
            command = next(line for line in ran.stdout.splitlines() if line.startswith("The same again"))
            words = shlex.split(command.removeprefix("The same again"))
            again = dealproof("--database-url", url, *words[1:])
            assert (words[0], again.status, again.stdout) == ("dealproof", 0, ran.stdout), name


# -- narrowed


def sections(ran: Ran) -> dict[tuple[str, str], list[dict[str, object]]]:
    """Of JSON: (section, currency) -> rows of detail by the names of columns."""
    found = {}
    for section in json.loads(ran.stdout)["sections"]:
        columns = [column["name"] for column in section["columns"]]
        found[section["name"], section["currency"]] = [
            dict(zip(columns, row["cells"], strict=True)) for row in section["rows"] if row["weight"] == "detail"
        ]
    return found


def test_each_filter_and_all_of_them_leave_the_rows_that_are_meant(house: PlayedHouse) -> None:
    """By the rows of the report of everything."""
    whole = sections(report(house.url, "gaming-revenue", "--format", "json"))
    for key, rows in whole.items():
        for row in rows:
            filters = "--table", str(row["table"]), "--ruleset", str(row["game"]), "--currency", str(key[1])
            for chosen in (filters[:2], filters[2:4], filters):
                found = sections(report(house.url, "gaming-revenue", "--format", "json", *chosen))
                assert row in found[key], (row, chosen)
            assert found[key] == [row]
    history = sections(report(house.url, "game-history", "--format", "json"))
    for key in (key for key in history if key[0] == "rounds"):
        row = history[key][0]
        narrowed = "--table", str(row["table"]), "--ruleset", str(row["game"])
        found = sections(report(house.url, "game-history", "--format", "json", *narrowed))
        assert found[key] == [each for each in history[key] if each["table"] == row["table"]]


@pytest.mark.parametrize("name", [name for name in REPORTS if definition(name).FILTERS])
def test_a_filter_that_nothing_matches_leaves_nothing(house: PlayedHouse, name: str) -> None:
    """It is no error: the name is known, and nothing happened."""
    known = {"table": "pairs-1", "ruleset": "pairs@1", "player": "anna", "currency": "GBP"}
    for field in sorted(definition(name).FILTERS):
        ran = report(house.url, name, f"--{field}", known[field], begin=day(0)[:10], end=day(0)[:10])
        assert (ran.status, ran.stderr) == (0, ""), field
        assert "No Activity" in ran.stdout or name == "pending-rounds"


def test_currencies_never_stand_in_one_table(house: PlayedHouse) -> None:
    """Each has its own; one alone can be asked for."""
    for name in ("player-account-summary", "cash-history", "ledger", "voids-and-adjustments"):
        both = {currency for _, currency in sections(report(house.url, name, "--format", "json"))}
        assert {"EUR", "JPY"} <= both
        yen = sections(report(house.url, name, "--format", "json", "--currency", "JPY"))
        assert {currency for (_, currency), rows in yen.items() if rows} - {None} == {"JPY"}
        shown = report(house.url, name, "--currency", "JPY").stdout
        assert "EUR" not in shown.split("Filters", 1)[1]


# -- refused

REFUSED = {
    "an unknown report": (("revenue",), "report 'revenue': there is none; there are gaming-revenue, "),
    "an unknown table": (("ledger", "--table", "x"), "--table: the report ledger can't be narrowed to it"),
    "a table that is none": (("gaming-revenue", "--table", "nowhere"), "--table: there is no table 'nowhere'"),
    "a game that is none": (("gaming-revenue", "--ruleset", "whist@1"), "--ruleset: no ruleset 'whist@1'"),
    "a player that is none": (("player-statement", "--player", "nobody"), "--player: nobody named 'nobody'"),
    "no player": (("player-statement", "--player", ""), "--player: nobody named ''"),
    "a currency that is none": (("ledger", "--currency", "EUX"), "--currency: 'EUX' is no currency"),
    "a position beyond": (("ledger", "--as-of", "99999999"), "--as-of: 99999999 lies beyond"),
    "a position below": (("ledger", "--as-of", "-1"), "'--as-of': -1 is not in the range"),
    "a large win of nothing": (("large-wins", "--at-least", "0"), "'--at-least': 0 is not in the range"),
    "a large win in another report": (("ledger", "--at-least", "5"), "--at-least: goes with the report large-wins"),
    "an unknown form": (("ledger", "--format", "docx"), "'--format': 'docx' is not one of"),
    "an unknown language": (("ledger", "--language", "de"), "'--language': 'de' is not one of"),
    "a time that is none": (("ledger", "--generated-at", "noon"), "--generated-at: 'noon' is no time as"),
    "a form without a file": (("ledger", "--format", "xlsx"), "--format xlsx needs a file: -o FILE"),
    "a signature on no PDF": (("ledger", "--sign", "key.pem"), "--sign goes with --format pdf"),
    "a time that no calendar has": (("ledger", "--generated-at", "2026-02-30T00:00:00.000Z"), "is no time as"),
    "a large win beyond any balance": (("large-wins", "--at-least", "9" * 25), "'--at-least': 9999"),
    "a file in no folder": (("ledger", "-o", "/nowhere/x.txt"), "dealproof: /nowhere/x.txt: No such file"),
    "a folder for a file": (("ledger", "-o", "/usr"), "dealproof: /usr: "),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_is_refused_in_one_line(house: PlayedHouse, name: str) -> None:
    arguments, message = REFUSED[name]
    ran = report(house.url, *arguments)
    assert (ran.status, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert ran.stderr.startswith("dealproof: ") and message in ran.stderr


def test_charts_are_for_reports_that_have_some(house: PlayedHouse, tmp_path: Path) -> None:
    """Of the others it is said that there are none, and no folder is made."""
    ran = report(house.url, "ledger", "--charts", str(tmp_path / "charts"))
    assert (ran.status, ran.stderr) == (0, "dealproof: the report ledger has no charts\n")
    assert not (tmp_path / "charts").exists()


def test_a_period_is_needed_and_must_have_begun(house: PlayedHouse) -> None:
    ran = dealproof("--database-url", house.url, "report", "ledger", "--from", "2026-12")
    assert (ran.status, "name a report, --from and --to" in ran.stderr) == (2, True)
    ran = report(house.url, "ledger", begin="2999-01", end="2999-02")
    assert (ran.status, "--from: 2999-01 lies in the future" in ran.stderr) == (2, True)


def test_an_identity_that_does_not_hold_is_told_and_ends_with_1(server_url: str, played_template: str) -> None:
    """The report is printed all the same."""
    with new_database(server_url, played_template) as url:
        catch_up(url)
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute("update projections.ledger_entry_1 set to_bank = to_bank + 1 where position = "
                          "(select max(position) from projections.ledger_entry_1 where to_bank <> 0)")  # fmt: skip
        ran = report(url, "ledger")
    assert ran.status == 1
    assert "dealproof: an identity does not hold: Bank: before + moved = after (EUR)" in ran.stderr
    assert "0.01 NOT ZERO" in ran.stdout


# -- files


def test_a_disk_that_gets_full_leaves_what_was_there(house: PlayedHouse, tmp_path: Path) -> None:
    """No half file under the name, and none beside it."""
    wrapper = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700)); "
        "from ops import clock; clock.now = lambda: '2027-01-01T00:00:00.000Z'; "
        "from ops.cli.main import main; main()"
    )
    for form in ("text", "csv", "json", "xlsx", "parquet"):
        file = tmp_path / f"report.{form}"
        file.write_bytes(b"what was there")
        command = ["--database-url", house.url, "report", "game-history", "--from", "2026-12", "--to", "2026-12"]
        ran = subprocess.run(
            [sys.executable, "-c", wrapper, *command, "--as-of", str(house.head), "--format", form, "-o", str(file)],
            cwd=REPOSITORY, capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        assert (ran.returncode, ran.stdout) == (2, b""), ran.stderr
        assert b"File too large" in ran.stderr and ran.stderr.count(b"\n") == 1
        assert file.read_bytes() == b"what was there"
    assert len(list(tmp_path.iterdir())) == 5


def test_a_file_that_is_there_is_replaced_as_a_whole(house: PlayedHouse, tmp_path: Path) -> None:
    """Whoever has the old one open keeps it."""
    file = tmp_path / "ledger.csv"
    file.write_text("a longer one that was there" * 10_000)
    with file.open() as old:
        ran = report(house.url, "ledger", "--format", "csv", "-o", str(file), "--generated-at", GENERATED)
        assert old.read() == "a longer one that was there" * 10_000
    printed = report(house.url, "ledger", "--format", "csv", "--generated-at", GENERATED)
    assert (ran.status, ran.stdout, list(tmp_path.iterdir())) == (0, "", [file])
    assert file.read_bytes().decode() == printed.stdout


@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_an_output_that_is_full_is_told(house: PlayedHouse, form: str) -> None:
    words = ["report", "ledger", "--from", "2026-11", "--to", "2026-12", "--as-of", str(house.head), "--format", form]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            command_line("--database-url", house.url, *words), cwd=REPOSITORY, stdout=full, stderr=subprocess.PIPE,
            check=False, timeout=60,
        )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (2, b"dealproof: output: No space left on device\n")


def test_what_is_no_file_is_written_to_and_stays_what_it_is(house: PlayedHouse, tmp_path: Path) -> None:
    """A pipe stands for /dev/null, which root could replace."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        ran = report(house.url, "ledger", "--format", "csv", "-o", str(pipe))
        told, _ = reader.communicate(timeout=30)
    assert (ran.status, ran.stderr, pipe.is_fifo()) == (0, "", True)
    assert told.startswith(b"\xef\xbb\xbfframe,title,Ledger") and told.count(b"\r\n") > 20


def test_a_name_that_is_a_formula_is_none_in_a_spreadsheet(
    server_url: str, migrated_template: str, tmp_path: Path
) -> None:
    """A reference of the cashier's; names of players and tables can't begin so."""
    with new_database(server_url, migrated_template) as url:
        with Journal.open(url) as journal:
            casino = Casino(url, journal)
            casino.welcome("anna")
            for number, text in enumerate(("=1+1", "+cmd|' /C calc'!A0", "-2", "@sum(1)", "ordinary")):
                allowed(casino.floor.cashier.deposit(new_command("kate"), "EUR", "anna", number + 1, text))
        ran = report(url, "cash-history", "--format", "csv", end="2027-01")
        book = tmp_path / "book.xlsx"
        report(url, "cash-history", "--format", "xlsx", "-o", str(book), end="2027-01")
    references = [row[-1] for row in csv.reader(io.StringIO(ran.stdout)) if row[0] == "detail"]
    assert references[-5:] == ["'=1+1", "'+cmd|' /C calc'!A0", "'-2", "'@sum(1)", "ordinary"]
    with zipfile.ZipFile(book) as parts:
        sheets = b"".join(parts.read(name) for name in parts.namelist())
    assert b"=1+1" in sheets and b"@sum(1)" in sheets
    assert b"<f>" not in sheets and b"<f " not in sheets
