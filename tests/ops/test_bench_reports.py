"""The benchmark of projections and reports works, with a real server and at tiny sizes.

Not here: how fast it is (docs/benchmarks.md).
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from domain.streams import DECODERS
from ops.bench_reports import TARGETS, Sizes, run
from ops.bench_reports_journal import fill, played
from ops.bench_reports_yardsticks import LibraryBalances, LibraryHearsAll, library_balances, sql_balances
from ops.projecting import catch_up

TINY = Sizes(events=6000, rounds=12, library=60, turns=1, reports=1)


@pytest.mark.long
def test_every_ratio_is_measured() -> None:
    said: list[str] = []

    measures = run(TINY, said.append)

    assert list(measures) == list(TARGETS)
    assert all(measure.ratio > 0 for measure in measures.values())
    assert measures["revenue_large_over_small"].parts["events_large"] >= 6000
    assert "a journal of 6,000 events" in said


@pytest.fixture
def copied(migrated_database_url: str) -> str:
    """The address of a journal with four rounds, one of each game, copied once."""
    made = played(migrated_database_url, 4)
    fill(migrated_database_url, made, len(made) + 1)
    return migrated_database_url


def test_copies_are_whole_streams_of_their_own(copied: str) -> None:
    with psycopg.connect(copied) as connection:
        rows = connection.execute(
            "select notification_id, originator_id, originator_version, state from dealproof.events order by 1"
        ).fetchall()

    facts = [(stream, seq, DECODERS[stream.partition(":")[0]](body)) for _, stream, seq, body in rows]
    assert [position for position, *_ in rows] == list(range(1, len(rows) + 1))
    assert all((record.stream, record.seq) == (stream, seq) for stream, seq, record in facts)
    assert _rounds(facts, "000000") == _rounds(facts, "000001") == 4
    times = [record.at for _, _, record in facts]
    assert times == sorted(times)
    assert times[0].startswith("2025-10-01") and times[-1].startswith("2025-10-31")


def _rounds(facts: list[tuple[str, int, Any]], copy: str) -> int:
    """Rounds of a copy; they are of its players, and its players' accounts are of its rounds."""
    own = [(stream, record.data) for stream, _, record in facts if stream.endswith(copy)]
    players = {data.player for stream, data in own if stream.startswith("round:") and hasattr(data, "player")}
    rounds = {data.round for stream, data in own if stream.startswith("account:") and hasattr(data, "round")}
    assert players and all(player.endswith(copy) for player in players)
    assert rounds and all(f"round:{name}" in dict(own) and name.endswith(copy) for name in rounds)
    return len({stream for stream, _ in own if stream.startswith("round:")})


def test_every_projection_takes_the_copies_in(copied: str) -> None:
    step = catch_up(copied)

    assert step.gap is None
    assert step.stopped == ()
    with psycopg.connect(copied) as connection:
        assert connection.execute("select count(*) from projections.round_1").fetchall() == [(8,)]


@pytest.mark.parametrize("kind", [LibraryBalances, LibraryHearsAll])
def test_the_library_comes_to_the_balances_of_sql(copied: str, kind: type[LibraryBalances]) -> None:
    with psycopg.connect(copied) as connection:
        [(last,)] = connection.execute(
            "select max(notification_id) from dealproof.events where originator_id like 'account:%'"
        ).fetchall()

    by_library = library_balances(copied, last, kind)

    _, by_sql = sql_balances(copied)
    assert by_library.balances == by_sql
    assert len(by_sql) > 8

