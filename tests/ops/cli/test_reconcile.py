"""`dealproof reconcile`: what it prints, with which exit status.

Not here: what is found (`tests.ops.reconciling`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

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


def reconcile(url: str, folder: Path, *arguments: str) -> Ran:
    return dealproof("--home", str(folder), "--database-url", url, "reconcile", *arguments)


def test_a_house_that_agrees_says_so_by_currency(url: str, tmp_path: Path) -> None:
    """The projections are brought up first."""
    ran = reconcile(url, tmp_path)
    assert (ran.status, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[0].split() == ["journal", "projection", "residual"] and lines[1] == "EUR"
    assert lines[-1].startswith("Everything agrees up to event ") and lines[-1].endswith("no row that differs.")
    assert all(line.split()[-1] in ("0", "0.00") for line in lines[2:-1] if line != "counts")
    assert any(line.split()[:2] == ["players'", "balances"] for line in lines)


def test_a_row_that_was_changed_is_named_with_its_residual(url: str, owner: Owner, tmp_path: Path) -> None:
    """Both as text and as JSON, and the way to mend it."""
    reconcile(url, tmp_path)
    owner.execute("update projections.balance_1 set amount = amount + 250 where account = 'bank'")
    ran = reconcile(url, tmp_path)
    assert ran.status == 1
    assert any(line.split()[0] == "bank" and line.endswith("-2.50") for line in ran.stdout.splitlines())
    assert "projections.balance account EUR bank, amount: recorded " in ran.stdout
    assert "2 sums with a residual, 1 findings.  See docs/runbooks/reconcile.md" in ran.stdout
    told = [json.loads(line) for line in reconcile(url, tmp_path, "--json").stdout.splitlines()]
    last = told[-1]
    assert (last["verdict"], last["found"], last["discrepancies"][0]["field"]) == ("not-reconciled", 1, "amount")
    assert {group["check"] for group in told[:-1]} == {
        "ledger", "desk", "rounds", "games", "jackpots", "commitments", "days",
    }  # fmt: skip
    assert dealproof("--home", str(tmp_path), "--database-url", url, "project", "rebuild", "balances").status == 0
    assert reconcile(url, tmp_path).status == 0


def test_a_projection_that_stops_is_told_and_nothing_is_called_reconciled(
    url: str, owner: Owner, tmp_path: Path
) -> None:
    """An event that nobody knows, in the middle."""
    owner.execute("update dealproof.events set state = 'nonsense' where notification_id = 40")
    ran = reconcile(url, tmp_path)
    assert ran.status == 1
    assert "projection balances has stopped: position 40: " in ran.stderr
    assert "balances has stopped: position 40" in ran.stdout and "held up to 39" in ran.stdout
    assert "Everything agrees" not in ran.stdout and "What was held agrees." in ran.stdout


def test_a_gap_in_the_journal_is_told(url: str, owner: Owner, tmp_path: Path) -> None:
    """Nothing behind it was taken in."""
    owner.execute("delete from dealproof.events where notification_id = 40")
    ran = reconcile(url, tmp_path)
    assert ran.status == 1 and "position 40 of the journal is missing" in ran.stderr
    assert "held up to 39" in ran.stdout


def test_an_empty_house_agrees(migrated_database_url: str, tmp_path: Path) -> None:
    """There is nothing to differ."""
    ran = reconcile(migrated_database_url, tmp_path)
    assert (ran.status, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == "Everything agrees up to event 0: no residual, no row that differs."


def test_a_login_that_only_reads_gets_what_others_have_taken_in(url: str, owner: Owner, tmp_path: Path) -> None:
    """A regulator's: reports and reconciliation go as far as the projector has come, and say so."""
    assert reconcile(url, tmp_path).status == 0
    name = f"test_inspector_{uuid4().hex}"
    owner.execute(f"create role {name} login password 'secret'".encode())
    try:
        owner.execute(f"grant dealproof_reader to {name}".encode())
        parts = urlsplit(url)
        reader = parts._replace(netloc=f"{name}:secret@{parts.netloc.rpartition('@')[2]}").geturl()
        period = "--from", "2026-01", "--to", "2027-12"
        for ran in (
            reconcile(reader, tmp_path),
            dealproof("--database-url", reader, "report", "gaming-revenue", *period, "--without-log"),
        ):
            assert ran.status == 0 and ran.stdout
            assert "this login may not bring the projections up" in ran.stderr and ran.stderr.count("\n") == 1
    finally:
        owner.execute(f"drop role {name}".encode())
