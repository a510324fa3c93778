"""Our SQL and the eventsourcing library must mean the same table: what one writes, the other reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import psycopg
import pytest

from domain.record import Record
from ops.bench_append import append_ratio
from ops.journal import Journal, JournalEvent, JournalMapper, StreamConflict

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUND = "round:018f6a3e7c117b2a9d0e2f6b1c9a4d55"
ACCOUNT = "account:alice"


@pytest.fixture
def journal(migrated_database_url: str) -> Iterator[Journal]:
    with Journal.open(migrated_database_url) as opened:
        yield opened


def get(journal: Journal, stream: str, **limits: Any) -> list[Record]:
    """A stream as the library reads it."""
    return [cast("JournalEvent", event).record for event in journal.application.events.get(stream, **limits)]


def record(stream: str, seq: int, name: str = "noted.v1") -> Record:
    """The least that is an event to the mapper."""
    return Record(stream, seq, name, f'{{"seq":{seq},"stream":"{stream}","type":"{name}"}}'.encode())


def test_what_the_function_writes_the_library_reads_as_a_stream(journal: Journal) -> None:
    written = [record(ROUND, 0, "round-opened.v1"), record(ROUND, 1), record(ROUND, 2)]
    journal.append("c1", b"", [*written, record(ACCOUNT, 0)])

    assert get(journal, ROUND) == written
    assert get(journal, ROUND, gt=0, lte=1) == written[1:2]
    assert get(journal, ROUND, desc=True, limit=1) == written[2:]
    [event] = journal.application.events.get(ACCOUNT)
    assert (event.originator_id, event.originator_version) == (ACCOUNT, 0)


def test_what_the_function_writes_the_library_reads_as_notifications(journal: Journal) -> None:
    written = [record(ROUND, 0), record(ACCOUNT, 0, "credited.v1"), record(ROUND, 1)]
    journal.append("c1", b"", written)
    recorder = journal.application.recorder

    found = recorder.select_notifications(1, 10)

    assert [(n.id, n.originator_id, n.originator_version, n.topic, n.state) for n in found] == [
        (position, *one) for position, one in enumerate(written, 1)]
    assert [n.id for n in recorder.select_notifications(1, 10, inclusive_of_start=False)] == [2, 3]
    assert [n.id for n in recorder.select_notifications(1, 10, topics=["credited.v1"])] == [2]
    assert recorder.max_notification_id() == 3


def test_what_the_library_writes_lands_as_if_appended(journal: Journal) -> None:
    """The same rows, positions included, and dense streams only."""
    put = [record(ROUND, 0), record(ACCOUNT, 0), record(ROUND, 1)]

    recordings = journal.application.events.put([JournalEvent(one) for one in put])
    journal.append("c1", b"", [record(ROUND, 2)])

    assert [recording.notification.id for recording in recordings] == [1, 2, 3]
    assert journal.read_stream(ROUND) == [(1, put[0]), (3, put[2]), (4, record(ROUND, 2))]
    assert list(journal.read_rounds()) == [(ROUND, [record(ROUND, seq).body for seq in range(3)])]
    with pytest.raises(StreamConflict):
        journal.application.events.put([JournalEvent(record(ROUND, 4))])


def test_the_library_may_put_the_same_events_again(journal: Journal) -> None:
    """It repeats what failed on a lost connection; other events in their place are a conflict, as ever."""
    put = [JournalEvent(record(ROUND, 0)), JournalEvent(record(ROUND, 1))]

    first = journal.application.events.put(put)
    again = journal.application.events.put(put)

    assert [r.notification.id for r in again] == [r.notification.id for r in first]
    assert journal.head_position() == 2


def test_nothing_put_is_nothing_written(journal: Journal) -> None:
    assert journal.application.events.put([]) == []
    assert journal.head_position() == 0


def test_a_stored_type_is_a_name_and_is_never_imported() -> None:
    """The library's own mapper imports the module that a database row names."""
    written = JournalEvent(record(ROUND, 0, "antigravity:geohash"))
    mapper = JournalMapper()

    stored = mapper.to_stored_event(written)

    assert (stored.topic, stored.state) == ("antigravity:geohash", written.record.body)
    assert mapper.to_domain_event(stored) == written


def test_the_process_environment_configures_nothing(
    migrated_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library would take classes, ciphers and compressors from it."""
    for name, value in {
        "PERSISTENCE_MODULE": "eventsourcing.sqlite", "APPLICATION_RECORDER_TOPIC": "no.such:thing",
        "MAPPER_TOPIC": "no.such:thing", "COMPRESSOR_TOPIC": "zlib", "CREATE_TABLE": "yes", "POSTGRES_SCHEMA": "public",
    }.items():
        monkeypatch.setenv(name, value)

    with Journal.open(migrated_database_url) as journal:
        journal.application.events.put([JournalEvent(record(ROUND, 0))])

        assert get(journal, ROUND) == [record(ROUND, 0)]


def test_both_recorders_can_be_compared_and_leave_nothing_behind(server_url: str) -> None:
    databases = "select count(*) from pg_database where starts_with(datname, 'dealproof_bench_')"

    measured = append_ratio(server_url, rounds=1, repeats=1)

    assert set(measured) == {"as_played", "at_once"}
    assert all(case["ratio"] > 0 for case in measured.values())
    with psycopg.connect(server_url) as connection:
        assert connection.execute(databases).fetchone() == (0,)
