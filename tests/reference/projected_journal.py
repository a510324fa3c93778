"""A whole journal in memory, as the reference of the projections reads it.

Not here: what follows from it (`projected` and the modules named after it).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from domain import account as a
from domain.codec import Event
from domain.streams import DECODERS

Row = tuple[Any, ...]


class Seen(NamedTuple):
    """An event where it stands in the journal."""

    position: int
    stream: str
    seq: int
    at: datetime
    event: Any

    @property
    def kind(self) -> str:
        """The first part of its stream's name."""
        return self.stream.split(":", 1)[0]

    @property
    def name(self) -> str:
        """All of its stream's name but the kind."""
        return self.stream.split(":", 1)[1]

    @property
    def account(self) -> tuple[str, str]:
        """Currency and player, of an event in an account's stream."""
        currency, player = self.name.split(":", 1)
        return currency, player


Journal = Sequence[Seen]


def read_journal(rows: Iterable[tuple[int, str, bytes]]) -> list[Seen]:
    """Position, stream and body of every event, in the order of positions."""
    journal = []
    for position, stream, body in rows:
        record = DECODERS[stream.split(":", 1)[0]](body)
        journal.append(Seen(position, stream, record.seq, datetime.fromisoformat(record.at), record.data))
    return journal


def of_kind(journal: Journal, *kinds: type[Event]) -> list[Seen]:
    """The events of some types."""
    return [seen for seen in journal if isinstance(seen.event, kinds)]


def of_stream(journal: Journal, stream: str) -> list[Seen]:
    """The events of one stream."""
    return [seen for seen in journal if seen.stream == stream]


def streams_of(journal: Journal, kind: str) -> list[str]:
    """The names of all streams of a kind."""
    return sorted({seen.stream for seen in journal if seen.kind == kind})


def for_tests(journal: Journal) -> set[tuple[str, str]]:
    """Currency and player of the accounts that were opened for tests."""
    return {seen.account for seen in of_kind(journal, a.AccountOpened) if seen.event.test}


def quarter(at: datetime) -> datetime:
    """The beginning of the quarter of an hour."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    return max(begun for begun in (hour + timedelta(minutes=minutes) for minutes in (0, 15, 30, 45)) if begun <= at)


def summed(rows: Iterable[tuple[Row, Sequence[int]]]) -> list[Row]:
    """One row a key, its key before the sums of what was said under it."""
    listed = list(rows)
    keys = {key for key, _ in listed}
    return [
        (*key, *map(sum, zip(*[numbers for other, numbers in listed if other == key], strict=True))) for key in keys
    ]
