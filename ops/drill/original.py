"""What is mutated: the copied events with all that stands beside them, in memory; and what a mutation makes of them.

A change says what stands at which positions afterwards, so that it can be carried out and undone exactly.

Not here: the database that holds the copy (`ops.drill.copy`), the mutations (`ops.drill.kinds`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

from domain.log.merkle import leaf_hash
from domain.record import Record
from ops.log.signing import SigningKey
from ops.recorder import RoundIdentity

Events = tuple[Record, ...]
"""What stands at one position: one event, none, or by a forger's hand two."""


class Zone(StrEnum):
    """Where a mutation lies: what the log had said by then of the lowest event that it touches."""

    BELOW = "below"
    BETWEEN = "between"
    ABOVE = "above"
    BESIDE = "beside"


ZONES: Final = {
    Zone.BELOW: "below the last cosignature",
    Zone.BETWEEN: "signed by the log, not cosigned yet",
    Zone.ABOVE: "not in the log yet",
    Zone.BESIDE: "beside the events, where nothing in them says what must stand there",
}


class CommandRow(NamedTuple):
    """A row of `commands`."""

    command_id: str
    request_hash: bytes
    first_position: int
    event_count: int
    recorded_at: datetime


class Row(NamedTuple):
    """A row of a table beside the events: the table's name and the row's columns."""

    table: str
    columns: tuple[object, ...]


@dataclass(frozen=True)
class Tables:
    """The tables beside the events."""

    commands: tuple[CommandRow, ...]
    identities: tuple[RoundIdentity, ...]
    open_rounds: tuple[str, ...]

    @cached_property
    def rows(self) -> frozenset[Row]:
        """All of them."""
        commands = (Row("commands", tuple(row)) for row in self.commands)
        identities = (Row("round_identity", tuple(row)) for row in self.identities)
        return frozenset((*commands, *identities, *(Row("open_rounds", (stream,)) for stream in self.open_rounds)))


@dataclass(frozen=True)
class Keys:
    """Who signs: the log, and the thief with a key of his own."""

    origin: str
    log: SigningKey
    thief: SigningKey


@dataclass(frozen=True)
class Original:
    """A true journal and its log.  `notes`: by size what the log signed; `kept`: the one with the witness's line."""

    events: Sequence[Record]
    tables: Tables
    files: Mapping[str, bytes]
    notes: Mapping[int, bytes]
    kept: bytes
    early: int
    cosigned: int
    signed: int
    keys: Keys

    @cached_property
    def leaves(self) -> list[bytes]:
        """The leaf hash of each event."""
        return [leaf_hash(record.body) for record in self.events]

    @cached_property
    def position_of(self) -> dict[int, int]:
        """The position of each event by the identity of its record: a change that moves one has the same record."""
        return {id(record): position for position, record in enumerate(self.events, 1)}

    @cached_property
    def streams(self) -> dict[str, list[int]]:
        """The positions of each stream's events."""
        found = defaultdict[str, list[int]](list)
        for position, record in enumerate(self.events, 1):
            found[record.stream].append(position)
        return dict(found)

    @cached_property
    def command_of(self) -> list[CommandRow]:
        """The command that wrote each event."""
        return [row for row in self.tables.commands for _ in range(row.event_count)]

    def at(self, position: int) -> Record:
        """The event at a position."""
        return self.events[position - 1]

    def places(self, zone: Zone) -> range:
        """The positions of a zone; beside the events there is no such thing as below or above."""
        return {
            Zone.BELOW: range(1, self.cosigned + 1),
            Zone.BETWEEN: range(self.cosigned + 1, self.signed + 1),
            Zone.ABOVE: range(self.signed + 1, len(self.events) + 1),
            Zone.BESIDE: range(1, len(self.events) + 1),
        }[zone]

    def zone_of(self, position: int) -> Zone:
        """The zone of a position; behind the last one nothing is logged either."""
        if position <= self.cosigned:
            return Zone.BELOW
        return Zone.BETWEEN if position <= self.signed else Zone.ABOVE


@dataclass(frozen=True)
class Change:
    """One mutation.  `events`: by position what stands there now; `files`: by path, None for one that is gone.

    `position`: the lowest one that it touches, where the change is not of events.
    """

    place: str
    events: Mapping[int, Events] = field(default_factory=dict)
    tables: Tables | None = None
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    position: int = 0
    beside: bool = False

    def is_nothing(self, original: Original) -> bool:
        """Whether all is as it was."""
        tables = self.tables is not None and self.tables.rows != original.tables.rows
        files = any(original.files.get(path) != data for path, data in self.files.items())
        return not (self.events or tables or files)

    def zone(self, original: Original) -> Zone:
        """Where it lies: at the lowest position that is touched."""
        if self.beside:
            return Zone.BESIDE
        return original.zone_of(min([*self.events, *([self.position] if self.position else [])]))

    def length(self, original: Original) -> int:
        """How many events there are afterwards."""
        return len(original.events) + sum(len(now) - len(_standing(original, at)) for at, now in self.events.items())

    def touched(self, original: Original) -> list[Record]:
        """The events that are others now, before and after, by position; those that only moved are left out."""
        before, after = list[Record](), list[Record]()
        for position in sorted(self.events):
            before += _standing(original, position)
            after += self.events[position]
        only = set(before) ^ set(after)
        return [record for record in (*before, *after) if not only or record in only]


def _standing(original: Original, position: int) -> Events:
    return (original.at(position),) if position <= len(original.events) else ()


def changed(original: Original, events: Mapping[int, Iterable[Record]]) -> dict[int, Events]:
    """Those of the positions where something else stands now."""
    found = {position: tuple(now) for position, now in events.items()}
    return {position: now for position, now in found.items() if now != _standing(original, position)}


def restacked(original: Original, records: Sequence[Record]) -> dict[int, Events]:
    """The positions that differ when these events are the whole journal, one after the other."""
    end = max(len(records), len(original.events))
    return changed(original, {at: records[at - 1 : at] for at in range(1, end + 1)})
