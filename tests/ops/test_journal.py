"""The journal as its callers see it: what it takes, what it refuses, what it gives back."""

from __future__ import annotations

import hashlib
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from domain.record import CHAIN_START, Record, canonical_json, leaf_hash
from ops.database import DatabaseUnavailable
from ops.journal import (
    CommandMismatch,
    EnvelopeMismatch,
    Journal,
    JournalUnavailable,
    RoundIdentity,
    RoundTaken,
    StreamConflict,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUND = "round:018f6a3e7c117b2a9d0e2f6b1c9a4d55"
ACCOUNT = "account:alice"
JOURNAL_LOCK = 1684365676


@pytest.fixture
def journal(migrated_database_url: str) -> Iterator[Journal]:
    with Journal.open(migrated_database_url) as opened:
        yield opened


@pytest.fixture
def owner(migrated_database_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A superuser, who can do to the tables what an attacker with the whole server could."""
    with psycopg.connect(migrated_database_url, autocommit=True) as connection:
        yield connection


def records(stream: str, *seqs: int, name: str = "noted.v1") -> list[Record]:
    """Events with nothing in them, chained to each other where their seqs follow."""
    made: list[Record] = []
    for seq in seqs:
        prev = leaf_hash(made[-1].body) if made else CHAIN_START
        body = canonical_json({"at": "2026-11-30T12:00:00.000Z", "data": {}, "prev": prev, "seq": seq,
                               "stream": stream, "type": name, "v": 1})
        made.append(Record(stream, seq, name, body))
    return made


def identity(number: int, stream: str = ROUND, table: str = "vip-1") -> RoundIdentity:
    return RoundIdentity(table, number, hashlib.sha256(f"{table} {number}".encode()).digest(), stream)


# --- append and read back


def test_events_come_back_byte_for_byte_with_their_positions(journal: Journal) -> None:
    """Positions count from 1 over all streams."""
    mixed = [*records(ROUND, 0, 1), *records(ACCOUNT, 0), *records(ROUND, 2)]

    appended = journal.append("c1", b"request", mixed)

    assert appended == ((1, 2, 3, 4), False)
    assert journal.read_stream(ROUND) == [(1, mixed[0]), (2, mixed[1]), (4, mixed[3])]
    assert journal.read_stream(ACCOUNT) == [(3, mixed[2])]
    assert journal.head_position() == 4


def test_the_head_of_a_stream_is_what_the_next_event_is_chained_to(journal: Journal) -> None:
    chained = records(ROUND, 0, 1, 2)
    journal.append("c1", b"", chained)

    assert journal.stream_head(ROUND) == (2, leaf_hash(chained[-1].body))


def test_an_empty_journal_has_nothing_to_say(journal: Journal) -> None:
    assert journal.head_position() == 0
    assert journal.stream_head(ROUND) is None
    assert journal.read_stream(ROUND) == []
    assert list(journal.read_rounds()) == []
    assert journal.split_rounds(parts=4) == []
    assert journal.next_round_number("vip-1") == 1


@pytest.mark.parametrize(("stored", "given", "expected"), [
    ([], [1], 0),
    ([0, 1], [1], 2),
    ([0, 1], [3], 2),
    ([0, 1], [2, 4], 3),
    ([0, 1], [2, 2], 3),
    ([0, 1], [3, 2], 2),
], ids=["first is not 0", "already there", "gap", "gap inside", "twice", "backwards"])
def test_a_stream_that_would_not_stay_dense_is_refused(
    journal: Journal, stored: list[int], given: list[int], expected: int
) -> None:
    if stored:
        journal.append("before", b"", records(ROUND, *stored))

    with pytest.raises(StreamConflict) as refused:
        journal.append("c1", b"", [*records(ACCOUNT, 0), *records(ROUND, *given)])

    assert (refused.value.stream, refused.value.expected) == (ROUND, expected)
    assert str(refused.value).startswith(f"stream {ROUND}: expected seq {expected}, given ")
    # All or nothing: the event of the other stream isn't there either.
    assert journal.head_position() == len(stored)


def test_a_stream_may_be_interleaved_with_others_in_one_append(journal: Journal) -> None:
    journal.append("c1", b"", records(ROUND, 0))
    mixed = [*records(ROUND, 1), *records(ACCOUNT, 0), *records(ROUND, 2), *records(ACCOUNT, 1), *records(ROUND, 3)]

    assert journal.append("c2", b"", mixed).positions == (2, 3, 4, 5, 6)


@pytest.mark.parametrize(("command_id", "given", "reason"), [
    ("c1", [], "at least one record"),
    ("", records(ROUND, 0), "command_id"),
    ("c\0", records(ROUND, 0), "invalid byte sequence"),
    ("c1", records("", 0), "originator_id"),
], ids=["no records", "no command id", "zero byte", "no stream"])
def test_a_malformed_append_is_a_value_error(
    journal: Journal, command_id: str, given: list[Record], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        journal.append(command_id, b"", given)

    assert journal.head_position() == 0


# --- commands


def test_a_repeated_command_gets_the_first_reply_and_writes_nothing(journal: Journal) -> None:
    first = journal.append("c1", b"request", records(ROUND, 0, 1), [identity(1)])
    journal.append("c2", b"", records(ROUND, 2))

    again = journal.append("c1", b"request", records(ROUND, 0, 1), [identity(1)])

    assert again == (first.positions, True)
    assert journal.head_position() == 3


def test_a_repeated_command_gets_the_first_reply_even_with_other_events(journal: Journal) -> None:
    """A retry decides anew, at another time of day: the request is what must be the same."""
    journal.append("c1", b"request", records(ROUND, 0))

    assert journal.append("c1", b"request", records(ACCOUNT, 0, 1)) == ((1,), True)


def test_a_command_id_with_another_request_is_refused(journal: Journal) -> None:
    journal.append("c1", b"request", records(ROUND, 0))

    with pytest.raises(CommandMismatch, match="command c1 was used before for another request"):
        journal.append("c1", b"other request", records(ROUND, 1))

    assert journal.head_position() == 1


def test_a_refused_append_does_not_use_up_its_command_id(journal: Journal) -> None:
    with pytest.raises(StreamConflict):
        journal.append("c1", b"request", records(ROUND, 1))

    assert journal.append("c1", b"request", records(ROUND, 0)) == ((1,), False)


# --- rounds


@pytest.mark.parametrize(("second", "which"), [
    (identity(1, "round:b")._replace(commitment=b"n" * 32), "round: number vip-1, 1 is taken"),
    (identity(1, "round:b")._replace(number=2), "round: commitment .* is taken"),
    (identity(2, ROUND), f"round: stream {ROUND} is taken"),
], ids=["number", "commitment", "stream"])
def test_a_rounds_outcome_is_generated_once(journal: Journal, second: RoundIdentity, which: str) -> None:
    """formats.md section 1: (table, round number) and C are unique in the store."""
    journal.append("c1", b"", records(ROUND, 0), [identity(1)])

    with pytest.raises(RoundTaken, match=which):
        journal.append("c2", b"", records("round:b", 0), [second])

    assert journal.head_position() == 1


def test_the_next_round_number_counts_by_table(journal: Journal) -> None:
    journal.append("c1", b"", records(ROUND, 0), [identity(1)])
    journal.append("c2", b"", records("round:b", 0), [identity(1, "round:b", table="vip-2")])
    journal.append("c3", b"", records("round:c", 0), [identity(2, "round:c")])

    assert journal.next_round_number("vip-1") == 3
    assert journal.next_round_number("vip-2") == 2


def test_the_last_rounds_come_newest_first(journal: Journal) -> None:
    made = [identity(n, f"round:{n:032x}", table=f"vip-{n % 2}") for n in range(1, 6)]
    journal.append("c1", b"", [r for i in made for r in records(i.stream, 0)], made)

    assert journal.last_rounds(3) == made[:1:-1]
    assert journal.last_rounds(9, "vip-0") == [made[3], made[1]]
    assert journal.last_rounds(9, "vip-7") == []


# --- bulk reading


def stored_rounds(journal: Journal, count: int) -> dict[str, list[bytes]]:
    """Rounds of 1, 2 and 3 events, written in another order than their names, among other streams."""
    rounds = {f"round:{n:032x}": records(f"round:{n:032x}", *range(n % 3 + 1)) for n in range(count)}
    for n, (stream, made) in enumerate(reversed(rounds.items())):
        journal.append(f"c{n}", b"", [*made, *records(f"account:{n}", 0)], [identity(n + 1, stream)])
    return {stream: [record.body for record in made] for stream, made in rounds.items()}


def test_rounds_are_read_in_the_order_of_their_names(journal: Journal) -> None:
    rounds = stored_rounds(journal, 9)
    names = list(rounds)

    assert list(journal.read_rounds()) == list(rounds.items())
    assert [s for s, _ in journal.read_rounds(names[2], names[4])] == names[2:5]
    assert [s for s, _ in journal.read_rounds(names[2], names[6], after=names[4])] == names[5:7]
    assert list(journal.read_rounds(names[3], names[3])) == [(names[3], rounds[names[3]])]


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 9, 50])
def test_parts_hold_every_round_once(journal: Journal, parts: int) -> None:
    """A stream without an identity is in a part too: an identity places the cuts and hides nothing."""
    stored_rounds(journal, 9)
    journal.append("x", b"", records("round:" + "0" * 31 + "4x", 0))
    journal.append("y", b"", records("round:f", 0))

    ranges = journal.split_rounds(parts=parts)

    assert len(ranges) == min(parts, 9)
    streams = [[stream for stream, _ in journal.read_rounds(first, last)] for first, last in ranges]
    assert list(chain.from_iterable(streams)) == [stream for stream, _ in journal.read_rounds()]
    assert max(map(len, streams)) <= -(-9 // parts) + 2


def test_a_range_of_rounds_can_be_split(journal: Journal) -> None:
    names = list(stored_rounds(journal, 9))

    assert journal.split_rounds(names[2], names[5], 2) == [(names[2], names[3]), (names[4], names[5])]


def test_a_missing_event_is_the_verifiers_business(journal: Journal, owner: psycopg.Connection[object]) -> None:
    """Who deletes an event with a superuser's rights gets a verdict, not an error here."""
    journal.append("c1", b"", records(ROUND, 0, 1, 2))
    owner.execute("alter table dealproof.events disable trigger user")
    owner.execute("delete from dealproof.events where originator_version = 1")

    assert list(journal.read_rounds()) == [(ROUND, [r.body for r in records(ROUND, 0, 1, 2) if r.seq != 1])]


def test_a_reader_may_stop_early(journal: Journal) -> None:
    stored_rounds(journal, 9)
    for _ in range(20):   # more often than there are connections
        reading = journal.read_rounds()
        next(reading)
        reading.close()

    assert journal.head_position() == 27


@pytest.mark.parametrize(("column", "value", "message"), [
    ("topic", "other.v1", "stream account:alice seq 0: the body says type 'noted.v1', the column 'other.v1'"),
    ("originator_version", 7, "stream account:alice seq 7: the body says seq 0, the column 7"),
    ("state", b"{}", "stream account:alice seq 0: the body is no event"),
    ("state", b"\xff", "stream account:alice seq 0: the body is no event"),
])
def test_a_column_that_contradicts_the_body_is_named(
    journal: Journal, owner: psycopg.Connection[object], column: str, value: object, message: str
) -> None:
    journal.append("c1", b"", records(ACCOUNT, 0))
    owner.execute("alter table dealproof.events disable trigger user")
    owner.execute(f"update dealproof.events set {column} = %s".encode(), (value,))

    with pytest.raises(EnvelopeMismatch) as read:
        journal.read_stream(ACCOUNT)
    with pytest.raises(EnvelopeMismatch):
        list(journal.application.events.get(ACCOUNT))

    assert str(read.value).startswith(message)


# --- several at once


def test_of_two_writers_on_one_stream_exactly_one_wins(journal: Journal) -> None:
    streams = [f"round:{n:032x}" for n in range(20)]
    start = threading.Barrier(2)

    def write(writer: str) -> list[str]:
        won = []
        for stream in streams:
            start.wait(timeout=30)
            with suppress(StreamConflict):
                journal.append(f"{writer} {stream}", b"", records(stream, 0, 1))
                won.append(stream)
        return won

    with ThreadPoolExecutor(2) as pool:
        won = list(chain.from_iterable(pool.map(write, ["left", "right"])))

    assert sorted(won) == streams
    assert journal.head_position() == 40


def test_one_command_sent_by_two_at_once_is_carried_out_once(journal: Journal) -> None:
    start = threading.Barrier(2)

    def write(_: int) -> tuple[tuple[int, ...], bool]:
        start.wait(timeout=30)
        return journal.append("c1", b"request", records(ROUND, 0, 1))

    with ThreadPoolExecutor(2) as pool:
        replies = sorted(pool.map(write, range(2)))

    assert replies == [((1, 2), False), ((1, 2), True)]


def test_a_reader_that_polls_while_others_write_misses_nothing(journal: Journal) -> None:
    """Positions are given in commit order and without a gap, also when some appends fail."""
    writers, appends = 4, 25
    done = threading.Event()

    def write(writer: int) -> None:
        for n in range(appends):
            stream = f"round:{writer:02}{n:030x}"
            journal.append(f"{writer} {n}", b"", records(stream, *range(n % 3 + 1)))
            with pytest.raises(StreamConflict):
                journal.append(f"{writer} {n} again", b"", [*records(f"account:{writer} {n}", 0), *records(stream, 0)])

    def poll() -> list[int]:
        seen: list[int] = []
        last_turn = False
        while not last_turn:
            last_turn = done.is_set()
            after = seen[-1] if seen else 0
            found = journal.application.recorder.select_notifications(after, 1000, inclusive_of_start=False)
            seen += [notification.id for notification in found]
        return seen

    with ThreadPoolExecutor(writers + 1) as pool:
        polling = pool.submit(poll)
        writing = [pool.submit(write, writer) for writer in range(writers)]
        try:
            for written in writing:
                written.result(timeout=60)
        finally:
            done.set()

    assert polling.result() == list(range(1, journal.head_position() + 1))
    assert journal.head_position() == writers * sum(n % 3 + 1 for n in range(appends))


# --- trouble


def test_a_backend_killed_before_the_commit_is_asked_again(
    journal: Journal, owner: psycopg.Connection[tuple[object, ...]]
) -> None:
    owner.execute("select pg_advisory_lock(%s)", (JOURNAL_LOCK,))
    with ThreadPoolExecutor(1) as pool:
        appending = pool.submit(journal.append, "c1", b"request", records(ROUND, 0))
        terminate_who_waits_for_the_lock(owner)
        owner.execute("select pg_advisory_unlock(%s)", (JOURNAL_LOCK,))

        assert appending.result(timeout=30) == ((1,), False)


def test_a_second_loss_is_reported(journal: Journal, owner: psycopg.Connection[tuple[object, ...]]) -> None:
    owner.execute("select pg_advisory_lock(%s)", (JOURNAL_LOCK,))
    with ThreadPoolExecutor(1) as pool:
        appending = pool.submit(journal.append, "c1", b"request", records(ROUND, 0))
        terminate_who_waits_for_the_lock(owner)
        terminate_who_waits_for_the_lock(owner)

        with pytest.raises(JournalUnavailable, match=r"^journal: terminating connection due to administrator command$"):
            appending.result(timeout=30)


def terminate_who_waits_for_the_lock(owner: psycopg.Connection[tuple[object, ...]]) -> None:
    pause = threading.Event()
    for _ in range(500):
        if owner.execute("""
            select pg_terminate_backend(pid, 5000) from pg_locks
            where locktype = 'advisory' and not granted and database = (select oid from pg_database
                                                                        where datname = current_database())
        """).fetchall():
            return
        pause.wait(0.02)
    raise AssertionError("nobody waits for the journal's lock")


def test_the_journal_goes_on_after_all_connections_were_lost(
    journal: Journal, owner: psycopg.Connection[tuple[object, ...]]
) -> None:
    journal.append("c1", b"", records(ROUND, 0))
    kill = """select pg_terminate_backend(pid, 5000) from pg_stat_activity
              where datname = current_database() and pid <> pg_backend_pid()"""

    assert owner.execute(kill).fetchall()
    assert journal.append("c2", b"", records(ROUND, 1)).positions == (2,)
    assert owner.execute(kill).fetchall()
    assert journal.head_position() == 2


class Proxy:
    """Stands between a client and the server; drops an answer when told to."""

    def __init__(self, url: str) -> None:
        self.server = conninfo_to_dict(url)
        self.listener = socket.create_server(("127.0.0.1", 0))
        login = urlsplit(url).netloc.rpartition("@")[0]
        address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.url = f"postgresql://{login}@{address}/{self.server['dbname']}?sslmode=disable"
        self.drop_next_answer = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:   # closed: the test is over
                return
            server = self.connect()
            for source, target, answers in ((client, server, False), (server, client, True)):
                threading.Thread(target=self.forward, args=(source, target, answers), daemon=True).start()

    def connect(self) -> socket.socket:
        host, port = str(self.server["host"]), str(self.server.get("port", 5432))
        if not host.startswith("/"):
            return socket.create_connection((host, int(port)))
        connected = socket.socket(socket.AF_UNIX)
        connected.connect(f"{host}/.s.PGSQL.{port}")
        return connected

    def forward(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with source, target:
            while data := receive(source):
                if answers and self.drop_next_answer:
                    # The server answers after the commit: whoever asked can't know of it now.
                    self.drop_next_answer = False
                    target.shutdown(socket.SHUT_RDWR)
                    return
                try:
                    target.sendall(data)
                except OSError:   # the other thread has closed it
                    return


def receive(source: socket.socket) -> bytes:
    try:
        return source.recv(65536)
    except OSError:   # the other thread has closed it
        return b""


@contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.listener.close()


def test_a_commit_whose_answer_was_lost_is_found_again(migrated_database_url: str) -> None:
    with proxied(migrated_database_url) as proxy, Journal.open(proxy.url) as journal:
        journal.append("warm-up", b"", records(ACCOUNT, 0))   # from now on an append is one question, one answer
        proxy.drop_next_answer = True

        appended = journal.append("c1", b"request", records(ROUND, 0, 1))

        assert not proxy.drop_next_answer
        assert appended == ((2, 3), True)
        assert journal.head_position() == 3


def test_a_database_without_a_journal_is_not_opened(database_url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match=r"not at revision .*; migrate it first$"):
        Journal.open(database_url)
