"""Read the journal in the order of positions, for those who remember what it says.

Never past a gap: a position that is missing may still come, or may have been removed; whoever reads on would remember
something else than who reads later.  Never past an event that can't be read: what it said would be missing for good.

Not here: what becomes of an event (the projections), whether it is true (`replay`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import psycopg

from domain.codec import Event
from domain.record import BodyError
from domain.streams import DECODERS

Cursor = psycopg.Cursor[tuple[Any, ...]]


class Fact(NamedTuple):
    """An event where it stands: its position, its stream, its seq there, and its time as in the record."""

    position: int
    stream: str
    seq: int
    at: str
    event: Any


class Unreadable(Exception):
    """An event that this program doesn't know, or whose bytes are none; `position` says which one it is."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position


class Batch(NamedTuple):
    """Facts that follow each other without a gap, and what came after the last one, if it can't be passed.

    `gap`: the first missing position, though there is an event behind it.
    """

    facts: list[Fact]
    gap: int | None
    unreadable: Unreadable | None


def read_batch(cursor: Cursor, after: int, limit: int) -> Batch:
    """Up to `limit` facts from the position behind `after` on."""
    facts: list[Fact] = []
    # One statement sees one moment: what is appended meanwhile looks like no gap.
    rows = cursor.execute(_NEXT, (after, limit), binary=True, prepare=True).fetchall()
    for expected, row in enumerate(rows, after + 1):
        if row[0] != expected:
            return Batch(facts, expected, None)
        try:
            facts.append(read_fact(*row))
        except Unreadable as unreadable:
            return Batch(facts, None, unreadable)
    return Batch(facts, None, None)


def read_fact(position: int, stream: str, seq: int, name: str, body: bytes) -> Fact:
    """A row of the journal as a fact.  Raises Unreadable, which says what is wrong with it."""
    kind = stream.partition(":")[0]
    decode = DECODERS.get(kind)
    if decode is None:
        says = f"streams of kind {kind} are unknown"
        raise Unreadable(position, f"position {position}: {name} of stream {stream}: {says}")
    try:
        record = decode(body)
    except BodyError as error:
        raise Unreadable(position, f"position {position}: {name} of stream {stream}: {error}") from None
    if record.stream != stream or record.seq != seq:
        says = f"its body says {record.stream} event {record.seq}"
        raise Unreadable(position, f"position {position}: {name} of stream {stream} event {seq}: {says}")
    return Fact(position, stream, seq, record.at, record.data)


class Earlier:
    """What lies before a fact in its own stream, for a projection that began in the middle of a story."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def below(self, stream: str, seq: int) -> list[Fact]:
        """The facts of a stream before this seq, oldest first."""
        rows = self._cursor.execute(_BELOW, (stream, seq), binary=True, prepare=True).fetchall()
        return [read_fact(*row) for row in rows]

    def first(self, stream: str) -> Fact | None:
        """The fact that a stream begins with, None if there is none."""
        facts = self.below(stream, 1)
        return facts[0] if facts else None

    def newest(self, stream: str, seq: int, kinds: Sequence[type[Event]]) -> Fact | None:
        """The last fact of one of these kinds before this seq."""
        names = [kind.NAME for kind in kinds]
        row = self._cursor.execute(_NEWEST, (stream, seq, names), binary=True, prepare=True).fetchone()
        return None if row is None else read_fact(*row)


_NEXT: Final = """
select notification_id, originator_id, originator_version, topic, state from dealproof.events
where notification_id > %s order by notification_id limit %s
"""

_BELOW: Final = """
select notification_id, originator_id, originator_version, topic, state from dealproof.events
where originator_id = %s and originator_version < %s order by originator_version
"""

_NEWEST: Final = """
select notification_id, originator_id, originator_version, topic, state from dealproof.events
where originator_id = %s and originator_version < %s and topic = any(%s)
order by originator_version desc limit 1
"""
