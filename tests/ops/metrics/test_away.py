"""A database that is away, slow, frozen or another one: it is told, soon, and told again when it is back."""

from __future__ import annotations

import socket
import time
from contextlib import closing

import psycopg
import pytest

from ops.metrics import line
from ops.metrics.line import Line
from ops.metrics.looking import PARTS, Watch
from ops.settings import Settings
from tests.ops.metrics.seen import look, numbers, troubles
from tests.ops.played import Owner


def test_a_database_that_refuses_is_told_at_once(settings: Settings) -> None:
    """What is not known is not told."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"postgresql://house:secret@127.0.0.1:{probe.getsockname()[1]}/house"
        began = time.monotonic()
        found = numbers(settings, url)

        assert time.monotonic() - began < 1
        assert found["dealproof_up"] == 0 and found["dealproof_scrape_errors_total{database}"] == 1
        assert not any("journal" in name and "errors" not in name for name in found)
        assert list(troubles(settings, url)) == ["database"]
        assert "secret" not in str(troubles(settings, url))


def test_a_server_that_takes_the_call_and_says_nothing_is_told_soon(settings: Settings) -> None:
    """A frozen machine, a network that swallows."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        seen = look(settings, f"postgresql://127.0.0.1:{silent.getsockname()[1]}/house")

    assert not seen.up
    assert time.monotonic() - began < line.CONNECT_SECONDS + 1.5


def test_a_line_that_falls_silent_in_the_middle_is_cut(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's own limit is no help when nothing comes through."""
    monkeypatch.setattr(line, "LOOK_SECONDS", 1)
    began = time.monotonic()
    with closing(Line(url)) as ours, pytest.raises(psycopg.OperationalError), ours.look() as connection:
        connection.execute("set statement_timeout = 0")
        connection.execute("select pg_sleep(30)")

    assert time.monotonic() - began < 3


def test_a_table_that_is_locked_costs_its_own_numbers_only(settings: Settings, url: str) -> None:
    """A statement has a second; the rest is told."""
    with psycopg.connect(url) as other:
        other.execute("lock table dealproof.refusals in access exclusive mode")
        found = numbers(settings, url)

    assert found["dealproof_up"] == found["dealproof_scrape_errors_total{refusals}"] == 1
    assert found["dealproof_journal_position"] > 0
    assert sum(found[f"dealproof_scrape_errors_total{{{part}}}"] for part in PARTS) == 1


def test_a_server_that_was_started_again_is_seen_at_the_next_look(
    settings: Settings, url: str, superuser: Owner
) -> None:
    """The old connection is dead, and nobody is told that the database is."""
    with closing(Watch(settings, url)) as watch:
        assert watch._look().up
        ended = superuser.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dealproof metrics' "
            "and datname = current_database()"
        ).fetchall()
        assert ended == [(True,)]
        time.sleep(0.1)
        assert watch._look().up


def test_an_empty_database_is_there_but_not_migrated(settings: Settings, database_url: str) -> None:
    """It is another thing than one that is away."""
    found = numbers(settings, database_url)

    assert found["dealproof_up"] == 1 and found["dealproof_database_migrated"] == 0
    assert "was never migrated" in troubles(settings, database_url)["database"]


def test_a_database_of_an_older_program_is_not_ready(settings: Settings, url: str, superuser: Owner) -> None:
    """The reason names both revisions."""
    superuser.execute("update dealproof.alembic_version set version_num = '0001'")

    assert troubles(settings, url)["database"].startswith("stands at revision 0001, this program needs ")
