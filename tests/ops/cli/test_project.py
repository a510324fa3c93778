"""`dealproof project`: what it prints, with which exit status.

Not here: the engine (`tests/projections`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from projections.catalogue import PROJECTIONS
from tests.conftest import _database as new_database
from tests.ops.cli.running import Ran, dealproof
from tests.ops.played import Owner, played_database


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    with played_database(server_url, migrated_template, 8, tables_each=1) as name:
        yield name


@pytest.fixture
def url(server_url: str, played_template: str) -> Iterator[str]:
    with new_database(server_url, played_template) as url:
        yield url


@pytest.fixture
def owner(url: str) -> Iterator[Owner]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter table dealproof.events disable trigger user")
        yield connection


def project(url: str, folder: Path, *arguments: str) -> Ran:
    return dealproof("--home", str(folder), "--database-url", url, "project", *arguments)


def test_a_new_installation_is_brought_up_and_says_so(url: str, tmp_path: Path) -> None:
    """Status before, run --once, status after."""
    before = project(url, tmp_path, "status")
    assert before.status == 1
    assert [line.split()[-2:] for line in before.stdout.splitlines()[1:-1]] == [["never", "run"]] * len(PROJECTIONS)

    ran = project(url, tmp_path, "run", "--once")
    assert (ran.status, ran.stderr) == (0, "")
    after = project(url, tmp_path, "status")
    assert (after.status, after.stdout) == (0, ran.stdout)
    assert [line.split()[0] for line in after.stdout.splitlines()[1:-1]] == list(PROJECTIONS)
    assert all(line.endswith("caught up") for line in after.stdout.splitlines()[1:-1])


def test_the_status_as_json_has_every_number(url: str, owner: Owner, tmp_path: Path) -> None:
    """One of two projections is behind."""
    project(url, tmp_path, "run", "--once", "cash")
    ran = project(url, tmp_path, "status", "cash", "rounds", "--json")
    told = json.loads(ran.stdout)
    [(head,)] = owner.execute("select max(notification_id) from dealproof.events").fetchall()
    cash, rounds = told["projections"]
    assert (ran.status, told["head"], told["caught_up"], told["holes"]) == (1, head, False, [])
    assert (cash["position"], cash["waiting"], cash["waiting_since"], cash["caught_up"]) == (head, 0, None, True)
    assert (rounds["position"], rounds["waiting"], rounds["caught_up"], rounds["generation"]) == (0, head, False, 0)
    assert rounds["waiting_since"].startswith("20")


def test_a_hole_is_told_with_its_age_and_its_cause(url: str, owner: Owner, tmp_path: Path) -> None:
    """And nobody says that all is well."""
    owner.execute("delete from dealproof.events where notification_id in (50, 51)")
    ran = project(url, tmp_path, "run", "--once")
    assert ran.status == 1
    assert "Positions 50 to 51 are missing, before the event at 52, which is " in ran.stdout
    assert "caught up" not in ran.stdout
    # Transaction ids are the whole server's: one of another test may be as old, until it ends.
    causes = (project(url, tmp_path, "status").stdout for _ in range(200))
    assert any("no open transaction can fill it" in told for told in causes)


def test_an_unknown_event_is_told_by_name(url: str, owner: Owner, tmp_path: Path) -> None:
    """With its position; the status says it again."""
    [(head,)] = owner.execute("select max(notification_id) from dealproof.events").fetchall()
    owner.execute("insert into dealproof.events values ('oracle:1', 0, 'told.v1', '{}', %s)", (head + 1,))
    ran = project(url, tmp_path, "run", "--once")
    words = f"cash has stopped: position {head + 1}: told.v1 of stream oracle:1: streams of kind oracle are unknown"
    assert ran.status == 1 and words in ran.stdout.splitlines()
    assert project(url, tmp_path, "status").stdout == ran.stdout


def test_a_rebuild_says_how_far_it_came_and_what_differed(url: str, owner: Owner, tmp_path: Path) -> None:
    """Nothing, unless somebody changed a row."""
    project(url, tmp_path, "run", "--once")
    [(head,)] = owner.execute("select max(notification_id) from dealproof.events").fetchall()
    ran = project(url, tmp_path, "rebuild", "cash", "rounds", "--compare")
    assert (ran.status, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        f"{name}: rebuilt up to position {head:,}; not one row differs" for name in ("cash", "rounds")
    ]
    owner.execute("update projections.round_2 set staked = 0 where number = 1 and table_name like 'five%%'")
    ran = project(url, tmp_path, "rebuild", "rounds", "--compare")
    assert ran.status == 1
    assert ran.stdout == f"rounds: rebuilt up to position {head:,}; rows that differ: 2 in round\n"
    assert project(url, tmp_path, "rebuild", "rounds", "--compare").status == 0


def test_everything_is_rebuilt_at_once(url: str, tmp_path: Path) -> None:
    """Also what was never run."""
    ran = project(url, tmp_path, "rebuild", "--all")
    assert ran.stdout.splitlines() == [f"{name}: was never run; it is built for the first time" for name in PROJECTIONS]
    assert (ran.status, project(url, tmp_path, "status").status) == (0, 0)
    again = project(url, tmp_path, "rebuild", "--all", "--compare").stdout.splitlines()
    assert [line.endswith("; not one row differs") for line in again] == [True] * len(PROJECTIONS)


def test_tables_that_a_restore_brought_without_their_state_are_made_anew(
    url: str, owner: Owner, tmp_path: Path
) -> None:
    """Whatever stands in them."""
    project(url, tmp_path, "run", "--once", "balances")
    owner.execute("delete from projections.state")
    owner.execute("update projections.balance_1 set amount = 5")
    assert project(url, tmp_path, "rebuild", "balances").status == 0
    assert owner.execute("select count(*) from projections.balance_1 where amount = 5").fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "ledgers"], "projection 'ledgers': there is none; there are balances, rounds, "),
        (["status", "no such"], "projection 'no such': there is none"),
        (["rebuild"], "project rebuild: name the projections to rebuild, or say --all"),
        (["rebuild", "cash", "--all"], "project rebuild: name the projections to rebuild, or say --all"),
    ],
)
def test_bad_input_is_told_in_one_line(url: str, tmp_path: Path, arguments: list[str], words: str) -> None:
    """Exit status 2, nothing done."""
    ran = project(url, tmp_path, *arguments)
    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"dealproof: {words}") and ran.stderr.count("\n") == 1


def test_a_definition_of_another_version_is_refused_until_it_is_rebuilt(
    url: str, owner: Owner, tmp_path: Path
) -> None:
    """The line says how."""
    project(url, tmp_path, "run", "--once")
    owner.execute("update projections.state set version = 99 where name = 'cash'")
    ran = project(url, tmp_path, "run", "--once")
    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.endswith("this program has 1: dealproof project rebuild cash\n")
    assert project(url, tmp_path, "rebuild", "cash", "--compare").stdout.endswith(
        "; not compared: the old tables were of another definition\n"
    )
    assert project(url, tmp_path, "run", "--once").status == 0
