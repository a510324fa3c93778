"""The engine: however it is cut, interrupted, doubled or rebuilt, the rows are the same; and it skips nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
import pytest

from domain.account import FundsDeposited
from domain.codec import Event
from domain.round.events import RoundClosed
from ops import database
from ops.journal import Journal
from ops.projecting import catch_up, keep_up, projector
from projections import runner as engine
from projections.cash import Cash
from projections.catalogue import PROJECTIONS, VERSIONS
from projections.projection import Handler
from projections.reading import ProjectionMissing, read_projections
from projections.rounds import Rounds
from projections.runner import Runner, Stopped, VersionOther, rebuild
from projections.status import read_status
from projections.store import Store
from tests.conftest import _database as new_database
from tests.ops.played import Owner, play_rounds, played_database
from tests.projections.rows import Connection, all_rows, fresh, run_to_end

ROUNDS = 24


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    with played_database(server_url, migrated_template, ROUNDS) as name:
        yield name


@pytest.fixture
def url(server_url: str, played_template: str) -> Iterator[str]:
    with new_database(server_url, played_template) as url:
        yield url


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    with projector(url) as connection:
        yield connection


@pytest.fixture
def owner(url: str) -> Iterator[Owner]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter table dealproof.events disable trigger user")
        yield connection


@pytest.fixture(scope="module")
def right(server_url: str, played_template: str) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a run that nothing disturbed."""
    with new_database(server_url, played_template) as url, projector(url) as connection:
        run_to_end(connection)
        return all_rows(connection)


def head(connection: Connection) -> int:
    row = connection.execute("select max(notification_id) from dealproof.events").fetchone()
    assert row is not None
    return int(row[0])


# -- the same rows, whatever happens


def test_there_are_rows_to_compare(right: dict[str, list[tuple[Any, ...]]]) -> None:
    """A comparison of nothing would prove nothing."""
    assert len(right["round"]) == ROUNDS
    assert all(right[table] for table in ("ledger_entry", "revenue", "wager_performance", "combination", "commitment"))


@pytest.mark.parametrize("batch", [3, 50])
def test_the_size_of_batches_makes_no_difference(
    connection: Connection, right: dict[str, list[tuple[Any, ...]]], batch: int
) -> None:
    """A batch may end in the middle of a round, or of an append."""
    run_to_end(connection, batch)
    assert all_rows(connection) == right


def test_projections_that_began_at_different_times_end_alike(
    connection: Connection, right: dict[str, list[tuple[Any, ...]]]
) -> None:
    """Each catches up by itself, then they go on together."""
    for count, name in enumerate(PROJECTIONS, 1):
        runner = Runner(connection, [PROJECTIONS[name]()], 50 * count)
        runner.step()
    run_to_end(connection, 200)
    assert all_rows(connection) == right


class Interrupted(BaseException):
    """What a kill looks like from within."""


@pytest.mark.parametrize("nth", [1, 2, 3, 5, 8, 12, 17, 23, 30, 38, 47])
def test_an_interruption_at_any_write_leaves_the_same_rows(
    url: str, right: dict[str, list[tuple[Any, ...]]], monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """The transaction is gone, and whoever comes next does it again."""
    writes = 0

    def counting(plain: Any) -> Any:
        def write(store: Store, *arguments: Any) -> None:
            nonlocal writes
            plain(store, *arguments)
            writes += 1
            if writes == nth:
                raise Interrupted

        return write

    with monkeypatch.context() as patched:
        for name in ("add", "sum_up", "replace", "delete"):
            patched.setattr(Store, name, counting(getattr(Store, name)))
        with pytest.raises(Interrupted), projector(url) as connection:
            run_to_end(connection, 150)
    with projector(url) as connection:
        run_to_end(connection, 150)
        assert all_rows(connection) == right


def test_a_runner_whose_commit_failed_goes_on_to_the_same_rows(
    url: str, owner: Owner, right: dict[str, list[tuple[Any, ...]]]
) -> None:
    """Its memory is ahead of the rows then, and must be forgotten."""
    with projector(url) as connection:
        runner = Runner(connection, fresh(), 100)
        runner.step()
        connection.execute("create temporary table late (n int unique deferrable initially deferred)")
        with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
            runner.step()
            connection.execute("insert into late values (1), (1)")
        while runner.step().read:
            pass
        assert all_rows(connection) == right


def test_two_runners_at_once_do_no_work_twice(url: str, right: dict[str, list[tuple[Any, ...]]]) -> None:
    """Each takes the state's rows before it reads."""

    def work() -> None:
        with projector(url) as connection:
            run_to_end(connection, 40)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with projector(url) as connection:
        assert all_rows(connection) == right


def test_a_process_that_is_killed_leaves_nothing_half_done(
    url: str, right: dict[str, list[tuple[Any, ...]]]
) -> None:
    """Three kills at odd moments."""
    code = (
        "import sys\nfrom ops.projecting import projector\nfrom tests.projections.rows import run_to_end\n"
        "with projector(sys.argv[1]) as connection:\n    print('begun', flush=True)\n    run_to_end(connection, 3)\n"
    )
    for pause in (0.05, 0.2, 0.4):
        process = subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline()
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with projector(url) as connection:
        run_to_end(connection)
        assert all_rows(connection) == right


# -- never past what is missing


def test_a_gap_is_not_passed(
    url: str, connection: Connection, owner: Owner, right: dict[str, list[tuple[Any, ...]]]
) -> None:
    """It waits, says where, and goes on when the event is there."""
    owner.execute("create table kept as select * from dealproof.events where notification_id in (200, 201)")
    owner.execute("delete from dealproof.events where notification_id in (200, 201)")
    step = catch_up(url)
    assert (step.position, step.gap) == (199, 200)

    status = read_status(connection, list(PROJECTIONS))
    assert not status.caught_up
    [hole] = status.holes
    assert (hole.first, hole.last, hole.behind) == (200, 201, 202)
    assert hole.at is not None

    owner.execute("insert into dealproof.events select * from kept")
    assert catch_up(url).gap is None
    assert read_status(connection, list(PROJECTIONS)).caught_up
    assert all_rows(connection) == right


@pytest.mark.parametrize("batch", [1, 2, 5000])
def test_a_gap_wider_than_a_batch_is_one_too(connection: Connection, owner: Owner, batch: int) -> None:
    """Nothing to read is not the end."""
    owner.execute("delete from dealproof.events where notification_id between 10 and 30")
    runner = Runner(connection, fresh(), batch)
    steps = [runner.step() for _ in range(12)]
    assert (steps[-1].position, steps[-1].gap) == (9, 10)


def test_a_gap_that_an_open_transaction_may_fill_is_told_apart(
    url: str, connection: Connection, owner: Owner
) -> None:
    """Somebody wrote position 3 behind it and has committed; who began before has not."""
    end = head(connection)
    insert = """
        insert into dealproof.events values (%s, 0, 'x.v1', '{"at":"2026-12-01T00:00:00.000Z"}', %s)
    """
    with psycopg.connect(url) as early:
        early.execute("select set_config('role', 'dealproof_owner', true)")
        early.execute(insert, ("note:1", end + 1))
        owner.execute(insert, ("note:2", end + 2))
        assert [hole.may_be_filled for hole in read_status(connection, list(PROJECTIONS)).holes] == [True]
        early.rollback()
    # Transaction ids are the whole server's: one of another test may be as old, until it ends.
    wait_for(lambda: [hole.may_be_filled for hole in read_status(connection, list(PROJECTIONS)).holes] == [False])


# -- never past what can't be read


@pytest.mark.parametrize(
    ("stream", "name", "body", "words"),
    [
        ("oracle:x", "told.v1", b"{}", "streams of kind oracle are unknown"),
        ("account:EUR:zoe", "account-renamed.v9", b'{"at":"2026-12-01T00:00:00.000Z","data":{},"prev":"","seq":0,'
         b'"stream":"account:EUR:zoe","type":"account-renamed.v9","v":1}', "account-renamed.v9"),
        ("account:EUR:zoe", "account-opened.v1", b"\xff\x00", "account-opened.v1"),
    ],
)  # fmt: skip
def test_an_unknown_event_stops_all_and_is_named(
    url: str, connection: Connection, owner: Owner, stream: str, name: str, body: bytes, words: str
) -> None:
    """Whoever skipped it would tell something else than the program that knows it."""
    end = head(connection)
    owner.execute("insert into dealproof.events values (%s, 0, %s, %s, %s)", (stream, name, body, end + 1))
    step = catch_up(url)
    assert {stop.name for stop in step.stopped} == set(PROJECTIONS)
    assert {stop.position for stop in step.stopped} == {end + 1}
    status = read_status(connection, list(PROJECTIONS))
    assert not status.caught_up
    for each in status.standings:
        assert each.state.position == end and each.state.error_position == end + 1
        assert each.state.error is not None and words in each.state.error and f"position {end + 1}" in each.state.error


def test_an_event_under_another_events_name_is_not_taken(url: str, connection: Connection, owner: Owner) -> None:
    """The body of one stream in the row of another."""
    end = head(connection)
    owner.execute(
        """insert into dealproof.events select 'account:EUR:copy', 0, topic, state, %s from dealproof.events
        where topic = 'account-opened.v1' limit 1""",
        (end + 1,),
    )
    step = catch_up(url)
    assert all("its body says account:" in stop.reason for stop in step.stopped) and step.stopped


class Failing(Cash):
    """A projection with a bug in it."""

    AT = 0

    def handlers(self) -> Mapping[type[Event], Handler]:
        def fail(fact: Any) -> None:
            if fact.position == self.AT:
                raise KeyError("no such thing")
            own[FundsDeposited](fact)

        own = super().handlers()
        return {**own, FundsDeposited: fail}


def test_one_that_fails_stops_alone_with_all_before_it_kept(
    connection: Connection, owner: Owner, right: dict[str, list[tuple[Any, ...]]]
) -> None:
    """The others go on; after the bug is mended it comes to the same rows."""
    deposits = [row[0] for row in right["cash"] if row[4] == FundsDeposited.NAME]
    Failing.AT = deposits[2]
    runner = Runner(connection, [Failing(), Rounds()], 100)
    stopped: list[Stopped] = []
    while True:
        step = runner.step()
        stopped += step.stopped
        if not step.read:
            break
    [stop] = stopped
    assert (stop.name, stop.position, stop.reason) == (
        "cash", deposits[2], f"position {deposits[2]}: KeyError: 'no such thing'",
    )  # fmt: skip
    rows = all_rows(connection)
    assert rows["cash"] == [row for row in right["cash"] if row[0] < deposits[2]]
    assert rows["round"] == right["round"]

    run_to_end(connection)
    assert all_rows(connection) == right
    [state] = connection.execute("select error from projections.state where name = 'cash'").fetchall()
    assert state == (None,)


# -- built anew


def test_a_rebuild_equals_the_live_rows(url: str, connection: Connection) -> None:
    """Bit for bit, each of them."""
    catch_up(url)
    before = all_rows(connection)
    for projection in fresh():
        built = rebuild(connection, projection, lambda *_: None, compare=True)
        assert built.different == {table.name: 0 for table in projection.TABLES}
    assert all_rows(connection) == before
    assert {state for (state,) in connection.execute("select generation from projections.state")} == {2}


def test_a_rebuild_says_what_was_wrong_and_puts_it_right(
    url: str, connection: Connection, right: dict[str, list[tuple[Any, ...]]]
) -> None:
    """Somebody has changed, removed and made up rows."""
    catch_up(url)
    connection.execute("update projections.round_1 set staked = staked + 1 where number = 1")
    connection.execute("""
        delete from projections.round_player_1
        where position = (select min(position) from projections.round_player_1)
    """)
    built = rebuild(connection, Rounds(), lambda *_: None, compare=True)
    changed = len([row for row in right["round"] if row[2] == 1])
    assert built.different == {"round": 2 * changed, "open_round": 0, "round_player": 1}
    assert all_rows(connection) == right


def test_a_rebuild_under_load_stops_no_reader(url: str, owner: Owner) -> None:
    """Rounds are played, a runner follows, readers read without ever waiting for a lock, and tables are swapped."""
    until, failed, readings = threading.Event(), [], []

    def read() -> None:
        with database.connect(url, database.READER_ROLE) as connection:
            connection.execute("set lock_timeout = '50ms'")
            while not until.is_set():
                with read_projections(connection, ("rounds", "performance"), VERSIONS) as reading:
                    [(rounds, staked)] = reading.rows(
                        "select count(*), coalesce(sum(staked), 0) from {round} where ending = 'closed'"
                    )
                    [(counted, turnover)] = reading.rows(
                        "select coalesce(sum(turnover), 0), coalesce(sum(turnover), 0) from {revenue}"
                    )
                    readings.append((reading.projections["rounds"].generation, rounds))
                    if reading.projections["rounds"].position == reading.projections["performance"].position:
                        assert staked == turnover == counted

    def guarded(work: Any) -> Any:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                failed.append(error)

        return run

    def played() -> None:
        with Journal.open(url) as journal:
            play_rounds(journal, 30, 8)

    catch_up(url)
    threads = [threading.Thread(target=guarded(read)) for _ in range(2)]
    threads.append(threading.Thread(target=guarded(lambda: keep_up(url, until))))
    player = threading.Thread(target=guarded(played))
    for thread in [*threads, player]:
        thread.start()
    with projector(url) as connection:
        while player.is_alive():
            for name in ("rounds", "performance"):
                rebuild(connection, PROJECTIONS[name](), lambda *_: None)
        player.join()
        until.set()
        for thread in threads:
            thread.join()
        assert failed == []
        assert len({generation for generation, _ in readings}) > 2
        catch_up(url)
        live = all_rows(connection)
        for projection in fresh():
            built = rebuild(connection, projection, lambda *_: None, compare=True)
            assert built.different is not None and not any(built.different.values())
        assert all_rows(connection) == live and len(live["round"]) == ROUNDS + 30


def test_a_reading_keeps_its_tables_while_they_are_replaced(url: str, connection: Connection) -> None:
    """They are dropped when nobody reads them any more."""
    catch_up(url)
    with (
        database.connect(url, database.READER_ROLE) as reader,
        read_projections(reader, ("cash",), VERSIONS) as reading,
    ):
        before = reading.rows("select * from {cash} order by position")
        rebuild(connection, Cash(), lambda *_: None)
        assert reading.rows("select * from {cash} order by position") == before
        assert connection.execute("select to_regclass('projections.cash_1')").fetchone() != (None,)
    engine.drop_old(connection)
    assert connection.execute("select to_regclass('projections.cash_1')").fetchone() == (None,)


def test_an_interrupted_rebuild_leaves_the_old_rows_and_the_next_one_begins_again(
    url: str, connection: Connection, right: dict[str, list[tuple[Any, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first batch, and at the last moment."""
    catch_up(url)

    def stop(*_: Any, **__: Any) -> None:
        raise Interrupted

    for where in ("_fill", "_swap"):
        with monkeypatch.context() as patched:
            patched.setattr(engine, where, stop)
            with pytest.raises(Interrupted):
                rebuild(connection, Rounds(), lambda *_: None)
        assert all_rows(connection) == right
    assert rebuild(connection, Rounds(), lambda *_: None, compare=True).different == {
        "round": 0, "open_round": 0, "round_player": 0,
    }  # fmt: skip
    assert all_rows(connection) == right


# -- versions, readers, rights


def test_tables_of_another_definition_are_neither_filled_nor_read(url: str, connection: Connection) -> None:
    """Both say what to do; a rebuild makes them right."""
    catch_up(url)
    connection.execute("update projections.state set version = 99 where name = 'cash'")
    with pytest.raises(VersionOther, match="dealproof project rebuild cash"):
        Runner(connection, [Cash()])
    assert "dealproof project rebuild cash" in refused(url, "cash")
    rebuild(connection, Cash(), lambda *_: None)
    Runner(connection, [Cash()])


def refused(url: str, name: str) -> str:
    """Why a projection can't be read."""
    with (
        database.connect(url, database.READER_ROLE) as reader,
        pytest.raises(ProjectionMissing) as raised,
        read_projections(reader, (name,), VERSIONS),
    ):
        pass
    return str(raised.value)


def test_what_was_never_run_can_not_be_read(url: str) -> None:
    """It says what to do."""
    assert "dealproof project run" in refused(url, "rounds")


@pytest.mark.parametrize(
    "statement",
    [
        "insert into dealproof.events values ('round:x', 0, 'x.v1', '', 999999)",
        "delete from dealproof.events",
        "select dealproof.append_events(null, null, null, null, null, null, null, null, null, null)",
        "select * from dealproof.data_key",
        "create table dealproof.mine (n int)",
    ],
)
def test_the_projector_has_no_right_to_the_journal(connection: Connection, statement: str) -> None:
    """But to read it."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement)


def test_readers_and_the_application_change_no_row(url: str, connection: Connection) -> None:
    """Of a projection or of its state."""
    catch_up(url)
    for role in (database.READER_ROLE, database.APP_ROLE):
        with database.connect(url, role) as other:
            for table in ("round_1", "state"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    other.execute(f"delete from projections.{table}")


# -- woken


def wait_for(condition: Any, seconds: float = 20.0) -> None:
    """Until it holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


@pytest.mark.parametrize(("bell", "poll"), [(True, 60.0), (False, 0.2)])
def test_it_is_woken_by_an_append_and_looks_by_itself(
    url: str, owner: Owner, monkeypatch: pytest.MonkeyPatch, bell: bool, poll: float
) -> None:
    """A bell is heard long before the next look; a bell that nobody rings is not needed."""
    monkeypatch.setattr("ops.projecting.POLL_SECONDS", poll)
    if not bell:
        owner.execute("alter table dealproof.commands disable trigger ring")
    until = threading.Event()
    thread = threading.Thread(target=keep_up, args=(url, until))
    thread.start()

    def caught_up() -> bool:
        with database.connect(url, database.READER_ROLE) as reader:
            return read_status(reader, list(PROJECTIONS)).caught_up

    try:
        wait_for(caught_up)
        time.sleep(0.3)  # it sleeps now
        with Journal.open(url) as journal:
            play_rounds(journal, 1, 9)
        wait_for(caught_up)
        with (
            database.connect(url, database.READER_ROLE) as reader,
            read_projections(reader, ("rounds",), VERSIONS) as reading,
        ):
            assert reading.rows("select count(*) from {round}") == [(ROUNDS + 1,)]
    finally:
        until.set()
        with Journal.open(url) as journal:
            play_rounds(journal, 1, 10)  # which wakes it
        thread.join()


def test_a_lost_database_connection_is_waited_out(
    url: str, owner: Owner, monkeypatch: pytest.MonkeyPatch, right: dict[str, list[tuple[Any, ...]]]
) -> None:
    """It connects again and goes on."""
    monkeypatch.setattr("ops.projecting.RETRY_SECONDS", 0.1)
    monkeypatch.setattr("ops.projecting.POLL_SECONDS", 0.1)
    until = threading.Event()
    thread = threading.Thread(target=keep_up, args=(url, until))
    thread.start()
    for _ in range(3):
        time.sleep(0.1)
        owner.execute("""
            select pg_terminate_backend(pid) from pg_stat_activity
            where pid <> pg_backend_pid() and datname = current_database() and backend_type = 'client backend'
        """)
    end = head(owner)
    wait_for(lambda: owner.execute("select min(position) from projections.state").fetchone() == (end,))
    until.set()
    thread.join()
    assert all_rows(owner) == right


def test_the_first_closed_round_is_counted_where_it_closed(right: dict[str, list[tuple[Any, ...]]]) -> None:
    """Known by hand: a closed round's position is that of its round-closed event."""
    assert RoundClosed.NAME == "round-closed.v1"
    assert all(row[13] > row[7] for row in right["round"])


def test_an_append_during_a_look_is_no_gap(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds are played while a runner looks and looks: none of its looks tells of a hole."""
    over, gaps = threading.Event(), []

    def look() -> None:
        with projector(url) as connection:
            runner = Runner(connection, [Cash()])  # which has little to write, and so looks often
            while not over.is_set():
                gaps.append(runner.step().gap)

    thread = threading.Thread(target=look)
    thread.start()
    with Journal.open(url) as journal:
        play_rounds(journal, 25, 12)
    over.set()
    thread.join()
    assert set(gaps) == {None}
