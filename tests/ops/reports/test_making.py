"""As of which position a report is made, and which root of the log it names.

Not here: what the reports say (`test_definitions_*`), their options (`tests.ops.cli.test_report`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from domain.log.merkle import root
from ops.journal import Journal
from ops.log.keys import make_keys
from ops.log.sequencer import open_sequencer
from ops.log.store import LogStore
from ops.projecting import projector
from ops.reports.building import ReportError
from ops.reports.definitions import REPORTS
from ops.reports.making import Asked, open_report
from ops.reports.model import Report
from ops.settings import Settings
from projections.runner import Runner
from tests.conftest import _database as new_database
from tests.ops.floor.casino import Casino
from tests.ops.played import played_database
from tests.projections.rows import fresh


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    with played_database(server_url, migrated_template, 6, tables_each=1) as name:
        yield name


@pytest.fixture
def url(server_url: str, played_template: str) -> Iterator[str]:
    with new_database(server_url, played_template) as url:
        yield url


@pytest.fixture
def settings(url: str, tmp_path: Path) -> Settings:
    return Settings(tmp_path, url, tmp_path / "keys" / "dealproof.key")


def appends(url: str) -> list[tuple[int, int]]:
    """Of more than one event: the first and the last position."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "select first_position, first_position + event_count - 1 from dealproof.commands where event_count > 1 "
            "order by first_position"
        ).fetchall()


def bring_up(url: str, position: int) -> None:
    """Exactly so far."""
    with projector(url) as connection:
        runner = Runner(connection, fresh())
        while runner.step(position).read:
            pass


def read(report: Report) -> list[str]:
    """Read it; the identities that don't hold."""
    for section in report.sections:
        list(section.rows())
    return [each.sentence for each in report.identities() if each.residual]


def asked(name: str, as_of: int | None = None) -> Asked:
    filters = Asked("x", "", "").filters
    player = filters._replace(player="russian-poker-1.player-1") if name == "player-statement" else filters
    return Asked(name, "2026-01", "2027-12", filters=player, as_of=as_of)


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_of_now_ends_where_an_append_ends(url: str, settings: Settings, name: str) -> None:
    """Though the projections stand in its middle; no residual comes of that."""
    first, last = appends(url)[-1]
    bring_up(url, last - 1)
    with open_report(settings, url, asked(name)) as report:
        assert (report.frame.position, read(report)) == (first - 1, [])
        assert f"--as-of {first - 1} " in report.frame.again


def test_a_position_in_the_middle_of_an_append_is_refused(url: str, settings: Settings) -> None:
    """With the nearest ones that will do."""
    first, last = appends(url)[3]
    bring_up(url, last)
    for position in range(first, last):
        words = f"--as-of: {position} lies in the middle .* {first} to {last}; take {first - 1} or {last}"
        with (
            pytest.raises(ReportError, match=words),
            open_report(settings, url, asked("ledger", position)),
        ):
            pass
    for position in (0, first - 1, last):
        with open_report(settings, url, asked("ledger", position)) as report:
            assert (report.frame.position, read(report)) == (position, [])


def test_a_report_of_now_names_the_root_of_a_log_that_runs(url: str, settings: Settings) -> None:
    """Even if the log is a little behind, and it leaves out what the log has yet to reach."""
    make_keys(settings, "casino.example/log")
    with Journal.open(url) as journal, open_sequencer(settings, journal, by="test") as sequencer:
        sequencer.catch_up()
        casino = Casino(url, journal)
        logged = journal.head_position()
        casino.welcome("anna")
        bring_up(url, journal.head_position())
        with open_report(settings, url, asked("ledger")) as report:
            point = report.frame.checkpoint
            assert point is not None and read(report) == []
            assert report.frame.position == point.size <= LogStore(settings.log_folder).size() == logged
        sequencer.catch_up()
        with open_report(settings, url, asked("ledger")) as report:
            point = report.frame.checkpoint
            assert point is not None
            assert (point.size, report.frame.position) == (journal.head_position(), journal.head_position())
            nodes = LogStore(settings.log_folder).nodes(point.size)
            assert point.root == root(point.size, nodes).hex()


def test_a_log_that_stands_still_keeps_no_report_waiting(url: str, settings: Settings) -> None:
    """All that is taken in is counted, and no root is named."""
    make_keys(settings, "casino.example/log")
    with Journal.open(url) as journal:
        with open_sequencer(settings, journal, by="test") as sequencer:
            sequencer.catch_up()
        Casino(url, journal).welcome("anna")
        head = journal.head_position()
    bring_up(url, head)
    with open_report(settings, url, asked("ledger")) as report:
        assert (report.frame.position, report.frame.checkpoint) == (head, None)
        assert report.frame.again.endswith(" --without-log")
