"""`dealproof rounds`, `show` and `void`: rounds listed, read, ended; whatever a record holds, never a traceback.

Not here: how a round is written out (`test_show`), a round's names (`test_verify`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from domain.round import events as e
from domain.round.choices import Deal
from domain.round.codec import decode
from domain.rulesets import released_rulesets
from ops.house import House
from ops.journal import Journal, RoundIdentity
from ops.settings import Settings
from ops.site import current_data_key
from tests.ops.cli.running import Ran, dealproof
from tests.ops.played import Owner, played_database
from tests.ops.test_house import KEY, MULTIBOX, OPEN, made, opened, place, status_of

RULESETS = released_rulesets()


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with twelve true rounds at four tables, to be copied."""
    with played_database(server_url, migrated_template, 12, tables_each=1) as name:
        yield name


@pytest.fixture
def command(url: str, tmp_path: Path) -> Callable[..., Ran]:
    """Runs the command line on the database."""
    return lambda *words: dealproof("--home", str(tmp_path), "--database-url", url, *words)


Command = Callable[..., Ran]


def listed(ran: Ran) -> list[dict[str, Any]]:
    assert ran.status == 0, ran
    return [msgspec.json.decode(line, type=dict[str, Any]) for line in ran.stdout.splitlines()]


# -- rounds


def test_the_newest_rounds_are_listed_first(command: Command, journal: Journal) -> None:
    identities = journal.last_rounds(12)

    assert [row["round"] for row in listed(command("rounds", "--last", "12", "--json"))] == [
        identity.stream.removeprefix("round:") for identity in identities
    ]
    assert len(listed(command("rounds", "--json"))) == 10
    assert len(listed(command("rounds", "--last", "100000", "--json"))) == 12


def test_rounds_of_one_table_are_listed(command: Command) -> None:
    rows = listed(command("rounds", "--table", "five-card-poker-1", "--json"))

    assert rows
    assert [row["number"] for row in rows] == list(range(len(rows), 0, -1))
    for row in rows:
        assert set(row) == {"round", "table", "number", "ruleset", "opened", "boxes", "state"}
        assert (row["table"], row["ruleset"]) == ("five-card-poker-1", "five-card-poker@1")


def test_a_list_for_people_has_headings_and_every_figure(command: Command) -> None:
    ran = command("rounds", "--last", "3")

    headings, *rows = ran.stdout.splitlines()
    assert headings.split("  ")[0] == "round"
    assert len(rows) == 3
    assert ran.stderr == ""


def test_where_there_are_no_rounds_it_is_said(command: Command, migrated_database_url: str) -> None:
    empty = dealproof("--database-url", migrated_database_url, "rounds")

    assert (empty.status, empty.stdout, empty.stderr) == (0, "No rounds.\n", "")
    assert command("rounds", "--table", "nowhere").stdout == "No rounds.\n"
    assert listed(command("rounds", "--table", "nowhere", "--json")) == []


def test_the_state_of_each_round_is_told(command: Command, journal: Journal) -> None:
    house = House(journal, KEY)
    opened(house, RULESETS[OPEN], 1)
    made(house, opened(house, RULESETS[OPEN], 2), place(1), Deal())

    rows = listed(command("rounds", "--last", "3", "--json"))

    assert [row["state"] for row in rows[:2]] == ["deciding", "betting"]
    assert rows[2]["state"] in ("ended", "voided")


# -- show


def test_a_round_is_shown_by_its_table_and_number(command: Command, journal: Journal) -> None:
    identity = journal.last_rounds(1)[0]
    by_id, by_number = command("show", identity.stream), command("show", f"{identity.table_id}/{identity.number}")

    assert by_id == by_number
    assert (by_id.status, by_id.stderr) == (0, "")
    assert "REPLAY" in by_id.stdout
    assert identity.table_id in by_id.stdout


def test_an_open_round_is_shown_without_its_secrets(command: Command, journal: Journal) -> None:
    live = opened(House(journal, KEY), RULESETS[OPEN])
    made(House(journal, KEY), live, place(1), Deal())

    ran = command("show", live.stream)

    assert (ran.status, ran.stderr) == (0, "")
    assert "still open" in ran.stdout


def test_a_round_that_cannot_be_read_is_one_line_that_leads_to_verify(
    command: Command, journal: Journal, owner: Owner
) -> None:
    identity = journal.last_rounds(1)[0]
    owner.execute(
        "update dealproof.events set state = 'x' where originator_id = %s and originator_version = 2",
        (identity.stream,),
    )
    name = identity.stream.removeprefix("round:")

    ran = command("show", identity.stream)

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"dealproof: round {name}: can't be read: ")
    assert ran.stderr.endswith(f"(see dealproof verify {name})\n")
    assert ran.stderr.count("\n") == 1
    assert len(listed(command("rounds", "--json"))) == 10


def _changed_bytes(owner: Owner, stream: str, random: Random) -> None:
    rows = owner.execute(
        "select originator_version, state from dealproof.events where originator_id = %s", (stream,)
    ).fetchall()
    seq, body = random.choice(rows)
    place = random.randrange(len(body))
    body = body[:place] + bytes([random.choice(b'0123456789ahsd,:"{')]) + body[place + 1 :]
    owner.execute(
        "update dealproof.events set state = %s where originator_id = %s and originator_version = %s",
        (body, stream, seq),
    )


def _one_gone(owner: Owner, stream: str, random: Random) -> None:
    owner.execute(
        "delete from dealproof.events where originator_id = %s and originator_version = %s",
        (stream, random.randrange(8)),
    )


def _order_changed(owner: Owner, stream: str, random: Random) -> None:
    owner.execute(
        "update dealproof.events set originator_version = originator_version + 1000 where originator_id = %s and "
        "originator_version = %s",
        (stream, random.randrange(8)),
    )


def _all_gone(owner: Owner, stream: str, _: Random) -> None:
    owner.execute("delete from dealproof.events where originator_id = %s", (stream,))


def _another_card(owner: Owner, stream: str, random: Random) -> None:
    """A card that is none, or one too many."""
    new = random.choice((b'["Xx",', b'["As","As",', b"[", b'["",'))
    rows = owner.execute(
        "select originator_version, state from dealproof.events where originator_id = %s", (stream,)
    ).fetchall()
    for seq, body in rows:
        if b'"cards":[' in body:
            owner.execute(
                "update dealproof.events set state = %s where originator_id = %s and originator_version = %s",
                (body.replace(b'"cards":[', b'"cards":' + new), stream, seq),
            )


@pytest.mark.parametrize("tamper", [_changed_bytes, _one_gone, _order_changed, _all_gone, _another_card])
def test_whatever_a_record_holds_there_is_no_traceback(
    command: Command, journal: Journal, owner: Owner, tamper: Callable[[Owner, str, Random], None]
) -> None:
    """Each of ten rounds is spoilt in its own way; reading one is done or refused in a line, verifying one finds it."""
    for number, identity in enumerate(journal.last_rounds(10)):
        tamper(owner, identity.stream, Random(f"{tamper.__name__} {number}"))
        name = f"{identity.table_id}/{identity.number}"

        for verb, allowed in (("show", (0, 2)), ("verify", (0, 1))):
            ran = command(verb, name)
            assert ran.status in allowed, (verb, name, ran)
            assert ran.stderr == "" or (ran.stderr.startswith("dealproof: ") and ran.stderr.count("\n") == 1)
    for line in ("rounds", "rounds --json", "verify --all", "verify --all --json"):
        ran = command(*line.split())
        assert ran.status in (0, 1), (line, ran)
        assert ran.stderr == ""
    assert len(listed(command("rounds", "--json"))) == 10


# -- void


@pytest.fixture
def house(url: str, journal: Journal, tmp_path: Path) -> House:
    """The house of this installation: its key is the one of the key file."""
    settings = Settings(tmp_path, url, tmp_path / "keys/dealproof.key")
    return House(journal, current_data_key(url, settings))


@pytest.mark.parametrize("ruleset", [OPEN, MULTIBOX])
def test_an_open_round_is_voided_with_its_reason(
    command: Command, journal: Journal, house: House, ruleset: str
) -> None:
    """Rule 10.2"""
    live = opened(house, RULESETS[ruleset])
    made(house, live, place(1), Deal())

    ran = command("void", live.stream, "--reason", "the table's screen went dark")

    assert (ran.status, ran.stderr) == (0, "")
    *_, voided, revealed = (decode(stored.record.body).data for stored in journal.read_stream(live.stream))
    assert isinstance(voided, e.RoundVoided)
    assert voided.reason == "the table's screen went dark"
    assert isinstance(revealed, e.SeedRevealed)
    assert status_of(journal, live.stream) == "verified"
    assert listed(command("rounds", "--last", "1", "--json"))[0]["state"] == "voided"


@pytest.mark.parametrize("reason", ["", "  ", "x" * 1001])
def test_a_reason_must_be_one(command: Command, journal: Journal, house: House, reason: str) -> None:
    live = opened(house, RULESETS[OPEN])
    command("rounds")
    ran = command("void", live.stream, "--reason", reason)

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dealproof: round ")
    assert ran.stderr.count("\n") == 1
    assert len(journal.read_stream(live.stream)) == 1


def test_a_round_that_has_ended_is_not_voided(command: Command, journal: Journal, house: House) -> None:
    identity: RoundIdentity = journal.last_rounds(1)[0]
    before = journal.read_stream(identity.stream)
    assert house.data_key.id != KEY.id  # an ended round needs no key: its seed is public

    ran = command("void", identity.stream, "--reason", "regret")

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dealproof: ")
    assert ran.stderr.count("\n") == 1
    assert journal.read_stream(identity.stream) == before
