"""The benchmark of the API works, with a real server and at tiny sizes.

Not here: how fast it is (docs/benchmarks.md).
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest

from domain.round.codec import decode
from domain.round.events import RoundEvent
from ops.bench_api import TARGETS, Casino, Sizes, furnished, multiply, open_rounds, run
from ops.bench_api_load import DECISIONS, DirectTables, Lane, Load, LoadLost, Table, exchange
from ops.bench_api_shares import shares
from ops.journal import Journal

TINY = Sizes(rounds=20, open_rounds=30, large=60, turns=1, at_once=1)


@pytest.fixture
def casino(database_url: str, tmp_path: Path) -> Casino:
    """Eight tables with players for one round each, and twenty simulated rounds."""
    return furnished(database_url, tmp_path, TINY)


@pytest.mark.long
def test_every_ratio_is_measured() -> None:
    said: list[str] = []

    measures = run(TINY, said.append)

    assert list(measures) == list(TARGETS)
    assert all(measure.ratio > 0 for measure in measures.values())
    assert measures["read_large_over_small"].parts["rounds_large"] == 60
    assert "30 open rounds" in said


# -- the load


def test_a_load_plays_every_decision_it_prepared_and_ends_the_rounds(casino: Casino) -> None:
    tables = casino.tables[:2]

    with Load(partial(DirectTables.at, casino.settings, tables)) as load:
        turns = [_turn(load), _turn(load)]

    assert [len(seconds) for seconds in turns] == [2 * len(DECISIONS)] * 2
    assert all(each > 0 for seconds in turns for each in seconds)
    with Journal.open(casino.url) as journal:
        assert journal.open_rounds() == []
        assert len(journal.last_rounds(10, tables[0].name)) == 2


def _turn(load: Load) -> list[float]:
    load.prepare()
    assert load.done() is None
    load.play()
    turn = load.done()
    assert turn is not None
    return turn.seconds


def test_a_load_that_is_refused_counts_nothing(casino: Casino, capfd: pytest.CaptureFixture[str]) -> None:
    """The second round's players have no account."""
    with Load(partial(DirectTables.at, casino.settings, [Table(casino.tables[0].name, 2)])) as load:
        load.prepare()
        with pytest.raises(LoadLost):
            load.done()

    assert "account-unknown" in capfd.readouterr().err


def test_an_answer_in_pieces_is_one_answer() -> None:
    pieces = [b"HTTP/1.1 200 OK\r\ncontent-", b"length: 5\r\n\r\nhe", b"llo"]

    with _answering(pieces) as address:
        lane = Lane(address)
        turn = exchange([lane], [[b"GET", b"GET"]])

    assert lane.answers == [b"hello", b"hello"]
    assert len(turn.seconds) == 2


def test_an_answer_that_is_no_success_stops_the_load() -> None:
    with (
        _answering([b"HTTP/1.1 409 Conflict\r\nContent-Length: 11\r\n\r\nround-ended"]) as address,
        pytest.raises(RuntimeError, match="409 Conflict: round-ended"),
    ):
        exchange([Lane(address)], [[b"GET"]])


@contextmanager
def _answering(pieces: Sequence[bytes]) -> Iterator[str]:
    """The address of a server that answers everything it receives with these pieces."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_answer, args=(listening, pieces), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def _answer(listening: socket.socket, pieces: Sequence[bytes]) -> None:
    pause = threading.Event()
    connection, _ = listening.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while connection.recv(65_536):
            for piece in pieces:
                connection.sendall(piece)
                pause.wait(0.02)  # or the pieces arrive as one


# -- the databases


def test_rounds_are_left_open(casino: Casino) -> None:
    open_rounds(casino, 30)

    with Journal.open(casino.url) as journal:
        assert len(journal.open_rounds()) == 30


def test_a_copied_round_is_read_like_the_one_it_was_made_of(casino: Casino) -> None:
    multiply(casino.url, 3)

    with psycopg.connect(casino.url) as connection, Journal.open(casino.url) as journal:
        rows = connection.execute("select table_id, stream from dealproof.round_identity order by number").fetchall()
        rounds = [(table, _facts(journal, stream)) for table, stream in rows]
    copies = [facts for table, facts in rounds if table == "copy"]
    assert len(rows) == len({stream for _, stream in rows}) == 60
    assert copies == [facts for table, facts in rounds if table == "bench"] * 2


def _facts(journal: Journal, stream: str) -> list[RoundEvent]:
    """`read_stream` holds every body against its stream and place."""
    return [decode(event.record.body).data for event in journal.read_stream(stream)]


# -- where the time goes


def test_the_parts_of_a_decision_are_measured(casino: Casino) -> None:
    measured = shares(casino.settings, casino.key, casino.tables[:2])

    assert set(measured.parts) == {f"{name}_us" for name in ("admit", "heads", "append", "rules", "view", "web")}
    assert 0 < measured.ratio < 1
    assert all(micros > 0 for name, micros in measured.parts.items() if name != "web_us")
