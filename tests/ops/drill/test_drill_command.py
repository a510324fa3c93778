"""`dealproof drill`: a table and its limits for people, one object for programs; the journal is only read.

Not here: the drill itself (`test_drill`).
"""

from __future__ import annotations

import json
import secrets
import signal
import subprocess
import time
from pathlib import Path
from random import Random

import psycopg
import pytest

from domain.rulesets import released_rulesets
from ops.cli.drill import _rate
from ops.drill import verifier
from ops.drill.drill import Outcome, Score
from ops.drill.original import Zone
from ops.floor import Floor
from ops.journal import Journal
from ops.play import furnish
from ops.play import play as play_rounds
from ops.rulesets import publish
from tests.ops.cli.running import REPOSITORY, Ran, command, dealproof
from tests.ops.test_house import KEY

EVERYTHING = """
select notification_id, originator_id, originator_version, topic, state from dealproof.events order by notification_id
"""


def options(url: str, home: Path) -> list[str]:
    return ["--home", str(home), "--database-url", url]


def of_own(url: str) -> tuple[str, str]:
    """A superuser of this test's own, and the address with it: so its databases can be told from other tests'."""
    role = f"drill_{secrets.token_hex(8)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create role {role} superuser login password 'own'".encode())
    return role, f"postgresql://{role}:own@{url.rpartition('@')[2]}"


def databases_of(url: str, role: str) -> int:
    with psycopg.connect(url) as connection:
        query = "select count(*) from pg_database where pg_get_userbyid(datdba) = %s"
        [(count,)] = connection.execute(query, (role,)).fetchall()
    return int(count)


def drilling(url: str, home: Path, *more: str) -> Ran:
    return dealproof(*options(url, home), "drill", "--seed", "4", "--events", "400", *more)


def test_a_played_journal_is_drilled_and_left_as_it_is(migrated_database_url: str, tmp_path: Path) -> None:
    with Journal.open(migrated_database_url) as journal:
        for ruleset in released_rulesets().values():
            publish(journal, ruleset)
        floor = Floor(journal, KEY)
        play_rounds(floor, furnish(floor, list(released_rulesets().values()), 1), 25, Random(1), lambda: None)
    with psycopg.connect(migrated_database_url) as connection:
        before = connection.execute(EVERYTHING).fetchall()

    ran = drilling(migrated_database_url, tmp_path, "--mutations", "30", "--events", "500", "--json")

    told = json.loads(ran.stdout)
    assert (ran.status, told["holds"], told["seed"]) == (0, True, 4)
    assert 400 < told["events"] <= 500
    assert sum(zone["tried"] for zone in told["zones"].values()) == 30
    assert sum(row["tried"] for row in told["kinds"]) == 30
    with psycopg.connect(migrated_database_url) as connection:
        assert connection.execute(EVERYTHING).fetchall() == before


def test_an_empty_journal_is_played_in_the_copy_and_stays_empty(migrated_database_url: str, tmp_path: Path) -> None:
    ran = drilling(migrated_database_url, tmp_path, "--mutations", "12")

    assert ran.status == 0, ran.stderr
    assert "below the last cosignature" in ran.stdout
    assert "100.00 %" in ran.stdout
    assert "What this says, and what not:" in ran.stdout
    with psycopg.connect(migrated_database_url) as connection:
        assert connection.execute("select count(*) from dealproof.events").fetchone() == (0,)


def test_something_missed_below_the_last_cosignature_is_exit_status_1(
    migrated_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifier.Verifier, "look", lambda *_: verifier.Found(()))

    ran = drilling(migrated_database_url, tmp_path, "--mutations", "9")

    assert ran.status == 1
    assert "mutation 0: " in ran.stdout and "nowhere" in ran.stdout


def test_a_verification_that_breaks_down_is_exit_status_70(
    migrated_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(verifier.Verifier, "look", broken)

    ran = drilling(migrated_database_url, tmp_path, "--mutations", "9")

    assert ran.status == 70
    assert "seed 4, mutation " in ran.stderr


def test_a_login_that_may_create_no_database_is_told_so(migrated_database_url: str, tmp_path: Path) -> None:
    with psycopg.connect(migrated_database_url, autocommit=True) as connection:
        connection.execute("create role drill_guest login password 'guest'")
        connection.execute("grant dealproof_app to drill_guest")
    try:
        place = migrated_database_url.rpartition("@")[2]
        ran = drilling(f"postgresql://drill_guest:guest@{place}", tmp_path, "--mutations", "1")
    finally:
        with psycopg.connect(migrated_database_url, autocommit=True) as connection:
            connection.execute("drop role drill_guest")

    assert (ran.status, ran.stdout) == (2, "")
    assert "the login drill_guest may not create a database" in ran.stderr


def test_an_interrupt_takes_the_copy_away(migrated_database_url: str, tmp_path: Path) -> None:
    role, url = of_own(migrated_database_url)
    arguments = [*options(url, tmp_path), "drill", "--mutations", "100000", "--events", "400"]
    process = subprocess.Popen(command(*arguments), cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not databases_of(url, role) and process.poll() is None:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)

    assert process.returncode == 130, stderr
    assert databases_of(url, role) == 0
    with psycopg.connect(migrated_database_url, autocommit=True) as connection:
        connection.execute(f"drop role {role}".encode())


def test_a_rate_of_a_hundred_is_said_only_of_all() -> None:
    assert _rate(Score(100_000, 99_999)) == "99.99 %"
    assert _rate(Score(3, 3)) == "100.00 %"


def test_the_drill_holds_whatever_is_missed_above() -> None:
    scores = {("a", Zone.BELOW): Score(2, 2), ("a", Zone.ABOVE): Score(5, 0)}

    assert Outcome(1, 10, 5, 7, scores).holds
    assert not Outcome(1, 10, 5, 7, {("a", Zone.BELOW): Score(2, 1)}).holds
