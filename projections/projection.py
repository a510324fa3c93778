"""What every projection is: a question, the tables that answer it, and what each kind of fact does to them.

A projection hears facts in the order of positions, keeps what they change in memory, and writes it when it is told to.
What it keeps beyond that is only a cache: forgotten, it is read again from the projection's tables or from the journal.

Not here: positions and transactions (`runner`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

from domain.codec import Event
from projections.feed import Fact
from projections.store import Store, Table

Handler = Callable[[Fact], None]


class Projection(ABC):
    """VERSION is that of the definition: another version of the rows is built anew."""

    NAME: ClassVar[str]
    VERSION: ClassVar[int]
    QUESTION: ClassVar[str]
    TABLES: ClassVar[tuple[Table, ...]]

    store: Store
    """Where it stands now; set before any fact is told."""

    @abstractmethod
    def handlers(self) -> Mapping[type[Event], Handler]:
        """What is done on which kind of fact; all others are of no concern to it."""

    @abstractmethod
    def forget(self) -> None:
        """Drop all that is in memory: the rows are those of another moment than it was."""

    @abstractmethod
    def write(self) -> None:
        """Write what the facts since the last time have changed."""


def quarter_of(at: str) -> str:
    """The quarter of an hour in which a time lies, by its beginning: every time zone in use divides into them."""
    return f"{at[:14]}{_QUARTERS[at[14:16]]}:00Z"


_QUARTERS = {f"{minute:02d}": f"{minute - minute % 15:02d}" for minute in range(60)}

BLOCK = 65_536
"""Positions whose sums are kept together; what holds as of a position adds whole blocks, and a part of the last one."""


def block_of(position: int) -> int:
    return position // BLOCK


def flush(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """The rows that were collected; the list begins anew."""
    taken = rows[:]
    rows.clear()
    return taken


class TestAccounts:
    """Which accounts are for tests: what the first event of each says."""

    __test__ = False  # for pytest, which takes the name for a test's

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def opened(self, stream: str, test: bool) -> None:
        """An account was opened."""
        self._known[stream] = test

    def has(self, store: Store, stream: str) -> bool:
        """Whether the account of this stream is one; an account that was never opened is none."""
        known = self._known.get(stream)
        if known is None:
            first = store.earlier.first(stream)
            known = self._known[stream] = bool(first and getattr(first.event, "test", False))
        return known
