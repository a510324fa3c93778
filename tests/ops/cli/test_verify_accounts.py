"""`dealproof verify --accounts`, and the rung ledger of `verify ROUND`: what they print, and their exit status.

Not here: what is found (tests/replay), reading the journal (`tests.ops.test_postings`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from ops.journal import Journal
from tests.conftest import _database as new_database
from tests.ops.cli.running import Ran, dealproof
from tests.ops.played import played_database

ROUNDS = 12


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with twelve true rounds at eight tables, to be copied."""
    with played_database(server_url, migrated_template, ROUNDS) as name:
        yield name


@pytest.fixture
def url(server_url: str, played_template: str) -> Iterator[str]:
    with new_database(server_url, played_template) as url:
        yield url


@pytest.fixture
def options(url: str, tmp_path: Path) -> tuple[str, ...]:
    return "--home", str(tmp_path), "--database-url", url


def changed(url: str, topic: str, old: bytes, new: bytes) -> tuple[str, int]:
    """Change the first event of a kind behind the journal's back; gives its stream and seq."""
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("alter table dealproof.events disable trigger user")
        row = owner.execute(
            "select originator_id, originator_version, state from dealproof.events where topic = %s"
            " order by notification_id limit 1",
            (topic,),
        ).fetchone()
        assert row is not None and old in row[2]
        owner.execute(
            "update dealproof.events set state = %s where originator_id = %s and originator_version = %s",
            (row[2].replace(old, new, 1), row[0], row[1]),
        )
        return row[0], row[1]


def lines(ran: Ran) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line, type=dict[str, Any]) for line in ran.stdout.splitlines()]


def test_true_books_are_printed_with_their_zero_sum(options: tuple[str, ...]) -> None:
    ran = dealproof(*options, "verify", "--accounts")

    assert (ran.status, ran.stderr) == (0, "")
    first, *rows = ran.stdout.splitlines()
    assert first.startswith("EUR: 24 accounts, ")
    amounts = {row.split()[0]: row.split()[1] for row in rows}
    assert list(amounts) == ["bank", "cash", "jackpot:simulated", "player", "sum"]
    assert amounts["sum"] == "0.00"
    assert amounts["cash"].startswith("-")


def test_true_books_as_json(options: tuple[str, ...]) -> None:
    book, whole = lines(dealproof(*options, "verify", "--accounts", "--json"))

    assert list(book) == ["currency", "accounts", "events", "ledger", "sum"]
    assert (book["currency"], book["accounts"], book["sum"]) == ("EUR", 24, 0)
    assert sum(book["ledger"].values()) == 0
    assert whole == {"verdict": "verified", "unchecked_rounds": 0, "found": 0, "discrepancies": []}


def test_forged_books_are_status_1_with_stream_and_event(options: tuple[str, ...], url: str) -> None:
    stream, seq = changed(url, "funds-staked.v1", b'"balance":', b'"balance":1')

    text, json = dealproof(*options, "verify", "--accounts"), dealproof(*options, "verify", "--accounts", "--json")

    assert (text.status, json.status) == (1, 1)
    assert f"{stream} event {seq} funds-staked.v1, after.balance: recorded 1" in text.stdout
    *_, whole = lines(json)
    assert whole["verdict"] == "discrepancy"
    assert whole["found"] == len(whole["discrepancies"]) > 0
    assert {"stream": stream, "seq": seq, "event": "funds-staked.v1", "field": "after.balance"}.items() <= {
        **next(each for each in whole["discrepancies"] if each["field"] == "after.balance")
    }.items()


def test_money_from_nowhere_breaks_the_sum(options: tuple[str, ...], url: str) -> None:
    changed(url, "funds-deposited.v1", b'"account":"cash","amount":-', b'"account":"cash","amount":-1')

    ran = dealproof(*options, "verify", "--accounts")

    assert ran.status == 1
    assert "EUR the stream, sum: recorded -" in ran.stdout


def test_a_round_names_the_posting_that_is_wrong(options: tuple[str, ...], url: str) -> None:
    stream, seq = changed(url, "round-finished.v1", b'"since":', b'"since":9')
    with Journal.open(url) as journal:
        stored = journal.read_event(stream, seq)
    assert stored is not None
    round_id = msgspec.json.decode(stored.record.body)["data"]["round"]

    text, json = dealproof(*options, "verify", round_id), dealproof(*options, "verify", round_id, "--json")

    assert (text.status, json.status) == (1, 1)
    assert "  ledger      discrepancy\n" in text.stdout
    assert f"{stream} event {seq} round-finished.v1, since: recorded 9" in text.stdout
    [verdict] = lines(json)
    ledger = verdict["checks"][7]
    assert (ledger["stream"], ledger["seq"], ledger["field"]) == (stream, seq, "since")
    assert [check["status"] for check in verdict["checks"][:7]] == ["verified"] * 7


def test_an_empty_journal_has_no_accounts(migrated_database_url: str, tmp_path: Path) -> None:
    options = ("--home", str(tmp_path), "--database-url", migrated_database_url)

    assert dealproof(*options, "verify", "--accounts") == Ran(0, "No accounts.\n", "")
    assert [each["verdict"] for each in lines(dealproof(*options, "verify", "--accounts", "--json"))] == ["verified"]


@pytest.mark.parametrize("others", [("--all",), ("vip-1/7",), ("--table", "vip-1"), ("--since", "2026-01-01")])
def test_accounts_go_with_nothing_else(options: tuple[str, ...], others: tuple[str, ...]) -> None:
    ran = dealproof(*options, "verify", "--accounts", *others)

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dealproof: verify: ")
