"""`dealproof verify --accounts`, and the rung ledger of `verify ROUND`: what they print, and their exit status.

Not here: what is found (tests/replay), reading the journal (`tests.ops.test_postings`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import psycopg
import pytest

from domain.access import ACCESS_CODEC, Hidden, HiddenRead, Role
from domain.round.refusals import Refusal
from domain.rulesets import released_rulesets
from ops import clock
from ops.accounts_proof import _commands, _identities, _open
from ops.api_keys import create_key, revoke_key
from ops.commands import Command
from ops.floor import Floor
from ops.house import House
from ops.journal import Journal
from tests.ops.cli.running import Ran, dealproof
from tests.ops.played import play_rounds, played_database
from tests.ops.test_house import KEY, opened

ROUNDS = 12


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with twelve true rounds at eight tables, keys, a look, and a round that is open, to be copied."""
    with played_database(server_url, migrated_template, ROUNDS) as name:
        url = urlsplit(server_url)._replace(path=f"/{name}").geturl()
        with Journal.open(url) as journal:
            office(journal)
        yield name


def office(journal: Journal) -> None:
    """What is done beside the game; the last event is nobody's account's."""
    for person in ("kate", "leon"):
        key = create_key(journal, role=Role.CASHIER, person=person, label="till", by="olga")
    revoke_key(journal, key.id, by="olga", reason="left")
    live = opened(House(journal, KEY), released_rulesets()["russian-poker@1"])
    look = HiddenRead(by="rita", key="1", reason="dispute", role=Role.REGULATOR, round="1", what=Hidden.DECK)
    records = ACCESS_CODEC.append_to("access:1", None, [look], clock.now())
    journal.append("look access:1 0", records[0].body, records)
    floor, table = Floor(journal, KEY), released_rulesets()["russian-poker@1"].document.id + "-1"
    closed = floor.pit.close_table(Command("api back-office Ann Lee 7", b"", "Ann Lee"), table, "autumn")
    assert not isinstance(closed, Refusal)
    assert journal.open_rounds() == [live.stream]


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


# -- what a superuser may do to the tables

NEWEST_OF_ACCOUNT = """
notification_id = (
    select max(notification_id) from dealproof.events where originator_id like 'account:%'
)"""

EDIT = "update dealproof.events set state = convert_to(replace(convert_from(state, 'UTF8'), '{old}', '{new}'), 'UTF8')"


def edit(where: str, old: str, new: str) -> str:
    return f"{EDIT.format(old=old, new=new)} where {where} and position(convert_to('{old}', 'UTF8') in state) > 0"


def of(topic: str) -> str:
    """The first event of this kind."""
    return f"notification_id = (select min(notification_id) from dealproof.events where topic = '{topic}')"


def swap(early: str, late: str) -> str:
    """Two positions: those of the last event of one kind and of the first of another."""
    return f"""
    create temporary table pair as select max(notification_id) filter (where topic = '{early}') as early,
        min(notification_id) filter (where topic = '{late}') as late from dealproof.events;
    update dealproof.events set notification_id = 1000000 + case notification_id when early then late else early end
        from pair where notification_id in (early, late);
    update dealproof.events set notification_id = notification_id - 1000000 where notification_id > 1000000"""


TAMPERS: list[tuple[str, str, str]] = [
    ("an account's newest event is gone",
     f"delete from dealproof.events where {NEWEST_OF_ACCOUNT}", "dealproof.events position "),
    ("a key's newest event is gone", f"delete from dealproof.events where {of('key-revoked.v1')}",
     "dealproof.events position "),
    ("a round is gone", "delete from dealproof.events where originator_id = (select min(stream) from"
     " dealproof.round_identity)", "dealproof.round_identity row of round:"),
    ("the last event is gone", "delete from dealproof.events where notification_id = (select max(notification_id)"
     " from dealproof.events)", "by command api back-office Ann Lee 7 of dealproof.commands"),
    ("a table is open again", edit(of("table-closed.v1"), '"closed":true', '"closed":false'),
     "table-closed.v1, after.closed: recorded false"),
    ("another person closed a table", edit(of("table-closed.v1"), "Ann Lee", "Bob Lee"),
     "dealproof.commands command api back-office Ann Lee 7, by: recorded somebody else's"),
    ("one person activated a ruleset alone",
     edit(of("ruleset-activated.v1"), 'manager 2","proposed_by"', 'manager 1","proposed_by"'),
     "ruleset-activated.v1, choice: recorded done, is refused (same-person)"),
    ("another person created a key", edit("topic = 'key-created.v1'", "olga", "oleg"), "request_hash: recorded of"),
    ("another person revoked a key", edit(of("key-revoked.v1"), "olga", "oleg"), "request_hash: recorded of"),
    ("somebody else looked", edit("topic = 'hidden-information-read.v1'", "rita", "rosa"),
     "is the hash of access:1 event 0"),
    ("all commands are gone", "truncate dealproof.commands", "dealproof.commands of position 1 to "),
    ("a command is gone", "delete from dealproof.commands where first_position = 30", "dealproof.commands of position"),
    ("a command claims more events than it wrote", "update dealproof.commands set event_count = event_count + 1"
     " where first_position = 30", "those before belong to another command"),
    ("a command claims nothing", "update dealproof.commands set event_count = 0 where first_position = 30",
     "event_count: recorded 0, is 1 or more"),
    ("a command without events", "insert into dealproof.commands values ('x', sha256(''), 9223372036854775807, 5)",
     "there, by command x of dealproof.commands"),
    ("no round is open", "truncate dealproof.open_rounds", "stream: recorded missing, is there: the round is open"),
    ("rounds are open again", "insert into dealproof.open_rounds select stream from dealproof.round_identity"
     " on conflict do nothing", "is not there: the round has ended, or never was"),
    ("no round has an identity", "truncate dealproof.round_identity", "stream: recorded missing, is there"),
    ("a round has another number", "update dealproof.round_identity set number = number + 100", "number: recorded 10"),
    ("a round is of another table", "update dealproof.round_identity set table_id = 'x', number = 7 where stream ="
     " (select min(stream) from dealproof.round_identity)", "table_id: recorded x, is "),
    ("a round has another commitment", "update dealproof.round_identity set commitment = sha256(commitment)",
     "commitment: recorded "),
    ("an identity without a round", "insert into dealproof.round_identity values ('x', 1, sha256(''), 'round:0')",
     "dealproof.round_identity row of round:0, stream: recorded there, is not there"),
    *[(f"another topic of {topic}", f"update dealproof.events set topic = 'x.v1' where {of(topic)}",
       "topic: recorded x.v1, is " + topic)
      for topic in ("round-opened.v1", "seed-revealed.v1", "funds-staked.v1", "table-closed.v1", "key-created.v1",
                    "ruleset-published.v1", "hidden-information-read.v1")],
    ("two positions are swapped", swap("key-created.v1", "key-revoked.v1"), "seq: recorded 1, is 0"),
    ("a stake comes before its round", swap("round-opened.v1", "funds-staked.v1"), "funds-staked.v1, event: recorded"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "found"), [each[1:] for each in TAMPERS], ids=[each[0] for each in TAMPERS])
def test_a_tamper_is_found(options: tuple[str, ...], url: str, change: str, found: str) -> None:
    with psycopg.connect(url, autocommit=True) as owner:
        for table in ("events", "commands", "round_identity"):
            owner.execute(f"alter table dealproof.{table} disable trigger user")
        for statement in change.split(";"):
            assert owner.execute(statement.encode()).rowcount != 0

    ran = dealproof(*options, "verify", "--accounts")

    assert (ran.status, ran.stderr) == (1, "")
    assert found in ran.stdout


def test_a_reader_may_prove(url: str) -> None:
    """The proof needs no right but to read."""
    with Journal.open(url) as journal, journal.application.recorder.datastore.tuples() as cursor:
        cursor.execute("set role dealproof_reader")
        commands = list(_commands(cursor, journal.head_position()))
        identities, openings = list(_identities(cursor)), list(_open(cursor, set(journal.open_rounds())))

    assert commands + identities + openings == []


def test_an_empty_journal_has_no_accounts(migrated_database_url: str, tmp_path: Path) -> None:
    options = ("--home", str(tmp_path), "--database-url", migrated_database_url)

    assert dealproof(*options, "verify", "--accounts") == Ran(0, "No accounts.\n", "")
    assert [each["verdict"] for each in lines(dealproof(*options, "verify", "--accounts", "--json"))] == ["verified"]


@pytest.mark.parametrize("others", [("--all",), ("vip-1/7",), ("--table", "vip-1"), ("--since", "2026-01-01")])
def test_accounts_go_with_nothing_else(options: tuple[str, ...], others: tuple[str, ...]) -> None:
    ran = dealproof(*options, "verify", "--accounts", *others)

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dealproof: verify: ")


def test_a_house_that_played_before_it_kept_accounts_adds_up(migrated_database_url: str, tmp_path: Path) -> None:
    """Its tables number on from their old rounds, some of which are still open; a wrong number is found."""
    ruleset = released_rulesets()["russian-poker@1"]
    with Journal.open(migrated_database_url) as journal:
        house = House(journal, KEY)
        for number in (1, 2, 3):
            house.open_round(
                ruleset, table="russian-poker-1", number=number, limits=ruleset.table_defaults, currency="EUR"
            )
        play_rounds(journal, 6, 1, rulesets=[ruleset])
    options = ("--home", str(tmp_path), "--database-url", migrated_database_url)

    assert (ran := dealproof(*options, "verify", "--accounts")).status == 0, ran.stdout
    changed(migrated_database_url, "table-opened.v1", b'"number":3', b'"number":2')
    assert dealproof(*options, "verify", "--accounts").status == 1
