"""How fast is our append beside the library's own recorder, with the same events on the same server?

    append_ratio("postgresql://dealproof@/dealproof?host=/run/dealproof")

Works in a database of its own, made for the purpose and dropped, so it needs a user who may create one.

Not here: how fast the whole house is (`dealproof bench core` puts this beside the rest).
"""

from __future__ import annotations

import hashlib
import statistics
import time
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from domain.record import CHAIN_START, Record, canonical_json, leaf_hash
from ops.database import migrate
from ops.journal import Journal, RoundIdentity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The shape of a round: twelve events, in the seven appends that its commands make.
EVENTS_BY_COMMAND: Final = (3, 1, 2, 2, 1, 1, 2)

Round = list[list[Record]]
"""A round's records, one list for each append."""


def append_ratio(url: str, rounds: int = 20, repeats: int = 15) -> dict[str, dict[str, float]]:
    """Events a second of ours and of the library's recorder, and the ratio, for two ways of writing the same rounds.

    `as_played`: an append for each command of a round.  `at_once`: one append a round.  Both recorders take turns,
    `repeats` times with `rounds` rounds; medians are given, the ratio's being that of the turns' ratios.
    """
    with _scratch_database(url) as scratch:
        migrate(scratch)
        with Journal.open(scratch) as journal, _stock_recorder(scratch) as stock:
            writers = (_ours(journal), _stock(stock))
            return {
                "as_played": _compare(*writers, lambda: [_round() for _ in range(rounds)], repeats),
                "at_once": _compare(*writers, lambda: [[list(chain(*_round()))] for _ in range(rounds)], repeats),
            }


def _compare(
    ours: Callable[[Round], None], stock: Callable[[Round], None], make: Callable[[], list[Round]], repeats: int
) -> dict[str, float]:
    _events_a_second(ours, make())   # connections, prepared statements, the server's caches
    _events_a_second(stock, make())
    turns = [(_events_a_second(ours, make()), _events_a_second(stock, make())) for _ in range(repeats)]
    return {
        "ours_events_per_second": statistics.median(mine for mine, _ in turns),
        "stock_events_per_second": statistics.median(theirs for _, theirs in turns),
        "ratio": statistics.median(mine / theirs for mine, theirs in turns),
    }


def _events_a_second(write: Callable[[Round], None], rounds: list[Round]) -> float:
    begin = time.perf_counter()
    for one in rounds:
        write(one)
    seconds = time.perf_counter() - begin
    return sum(len(records) for one in rounds for records in one) / seconds


def _ours(journal: Journal) -> Callable[[Round], None]:
    """As in production: a command id for each append, the round's identity with the first."""

    def write(one: Round) -> None:
        for number, records in enumerate(one):
            stream = records[0].stream
            commitment = hashlib.sha256(stream.encode()).digest()
            identities = [] if number else [RoundIdentity(stream, 1, commitment, stream)]
            journal.append(f"{stream} {number}", stream.encode(), records, identities)

    return write


def _stock(recorder: PostgresApplicationRecorder) -> Callable[[Round], None]:
    def write(one: Round) -> None:
        for records in one:
            recorder.insert_events([StoredEvent(*record) for record in records])

    return write


def _round() -> Round:
    stream = f"round:{uuid4().hex}"
    appends, prev, seq = list[list[Record]](), CHAIN_START, 0
    for count in EVENTS_BY_COMMAND:
        appends.append([])
        for _ in range(count):
            data = {"box": 1, "cards": ["As"] * 5, "stake": 100, "text": "x" * 120}
            body = canonical_json({
                "at": "2026-11-30T12:00:00.000Z", "data": data,
                "prev": prev, "seq": seq, "stream": stream, "type": "bet-made.v1", "v": 1,
            })
            appends[-1].append(Record(stream, seq, "bet-made.v1", body))
            prev, seq = leaf_hash(body), seq + 1
    return appends


@contextmanager
def _stock_recorder(url: str) -> Iterator[PostgresApplicationRecorder]:
    """The library's recorder as it comes, in the schema `public` of the same database."""
    parts = {key: str(value) for key, value in conninfo_to_dict(url).items()}
    with PostgresDatastore(
        parts["dbname"], parts.get("host", ""), parts.get("port", "5432"), parts.get("user", ""),
        parts.get("password", ""), originator_id_type="text",
    ) as datastore:
        recorder = PostgresApplicationRecorder(datastore, events_table_name="stored_events")
        recorder.create_table()
        yield recorder


@contextmanager
def _scratch_database(url: str) -> Iterator[str]:
    name = f"dealproof_bench_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        try:
            yield urlsplit(url)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
