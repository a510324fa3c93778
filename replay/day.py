"""Is a day's manifest true, and is no round missing, doubled or added?  The day is counted again from its events.

Fed with every event of the day's range in the order of positions, which the log has vouched for (`ops.log.audit`).  A
table's numbers go on where they stood at the end of the day before, one by one; a round goes on only if it was
opened; one that has ended is followed by its seed.  Source: docs/formats/day-close.md.

Not here: whether the events are those of the log (`ops.log.audit`), whether rounds were played and paid as they should
have been (`verify_round`), what postings there are (`accounts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from domain.day import CODEC, DAYS, DayClosed, DayEvent, DayFold, day_after, day_of, is_day, says_later, time_said
from domain.record import CHAIN_START, BodyError, Record, leaf_hash
from domain.round import events as e
from domain.round.codec import read
from replay.verdict import EVENTS, Discrepancy


class Manifest(NamedTuple):
    """A day's closing as it is recorded, with its place in the stream of days."""

    seq: int
    closed: DayClosed


class DayProof:
    """The proof of one day: `take` every event of its range, then `finish`.  `fold` has what was counted.

    `previous` is the manifest of the day before, None before the first.
    """

    def __init__(self, day: str, previous: DayClosed | None) -> None:
        self.day = day
        self.fold = DayFold(previous)
        self._end = b'{"at":"' + day.encode()  # no true event of the day begins with more than that
        self.rounds: set[str] = set()
        """Streams of the rounds that were opened on the day or ended on it."""

    def take(self, position: int, record: Record) -> list[Discrepancy]:
        """The next event of the range; what is wrong with it, or was missing before it."""
        found: list[Discrepancy] = []
        if record.body[:17] > self._end and says_later(record, self.day):
            found.append(_other_day(record, f"not after {self.day}"))
        elif position == 1 and day_of(time_said(record)) != self.day:
            found.append(_other_day(record, f"{self.day}: the first day of all is that of the first event"))
        if record.stream.startswith("round:"):
            check = _CHECKS.get(record.type)
            if check is not None:
                found += check(self, record)
            elif record.stream not in self.fold.open:
                found.append(_never_opened(record))
        self.fold.take(position, record)
        return found

    def finish(self, manifest: Manifest | None, root: str | None) -> list[Discrepancy]:
        """What is still missing at the end of the range, and what the manifest says otherwise.

        `root`: hex, of the log up to the last event; None where the log does not give it.
        """
        found = [
            Discrepancy(None, e.SeedRevealed.NAME, "event", "missing", "there: the round has ended", stream)
            for stream, round_ in sorted(self.fold.open.items())
            if round_.ended
        ]
        if manifest is not None:
            found += self._against(manifest, root)
        return found

    def _against(self, manifest: Manifest, root: str | None) -> Iterator[Discrepancy]:
        closed = manifest.closed
        again = self.fold.comes_to(day=self.day, by=closed.by, root=closed.root if root is None else root)
        for field, recorded, recomputed in differences(closed, again):
            yield Discrepancy(manifest.seq, closed.NAME, field, recorded, recomputed, DAYS)

    # -- rounds

    def _opened(self, record: Record) -> Iterator[Discrepancy]:
        stream = record.stream
        if stream in self.fold.open or record.seq != 0:
            yield Discrepancy(record.seq, record.type, "event", "there", "once, as the round's first event", stream)
        body = read(record.body)
        if isinstance(body, BodyError) or not isinstance(body.data, e.RoundOpened):
            yield Discrepancy(record.seq, record.type, "body", str(body), "the opening of a round", stream)
            return
        self.rounds.add(stream)
        opened = body.data
        if not _HASH.fullmatch(opened.commitment):
            words = "64 hex digits: no round without a commitment"
            yield Discrepancy(record.seq, record.type, "commitment", opened.commitment, words, stream)
        yield from self._numbered(record, opened)

    def _numbered(self, record: Record, opened: e.RoundOpened) -> Iterator[Discrepancy]:
        expected = self.fold.numbers.get(opened.table, 0) + 1
        if opened.number > expected:
            gone = f"{expected}" if opened.number == expected + 1 else f"{expected} to {opened.number - 1}"
            where = f"round {opened.table}/{gone}"
            yield Discrepancy(None, where, "number", "missing", "there", f"table:{opened.table}")
        elif opened.number < expected:
            words = f"{expected}: the numbers up to {expected - 1} are given already"
            yield Discrepancy(record.seq, record.type, "number", opened.number, words, record.stream)

    def _ended(self, record: Record) -> Iterator[Discrepancy]:
        round_ = self.fold.open.get(record.stream)
        if round_ is None:
            yield _never_opened(record)
            return
        self.rounds.add(record.stream)
        if round_.ended:
            yield Discrepancy(record.seq, record.type, "event", "there", "once: the round has ended", record.stream)

    def _revealed(self, record: Record) -> Iterator[Discrepancy]:
        round_ = self.fold.open.get(record.stream)
        if round_ is None:
            yield _never_opened(record)
            return
        self.rounds.add(record.stream)
        if not round_.ended:
            words = "after the round's end, on the same day"
            yield Discrepancy(record.seq, record.type, "event", "there", words, record.stream)


def _other_day(record: Record, wanted: str) -> Discrepancy:
    return Discrepancy(record.seq, record.type, "at", time_said(record), wanted, record.stream)


def _never_opened(record: Record) -> Discrepancy:
    words = "nothing: the round was not opened, or had ended"
    return Discrepancy(record.seq, record.type, "event", "there", words, record.stream)


# -- the manifest


def differences(recorded: DayClosed, again: DayClosed) -> Iterator[tuple[str, object, object]]:
    """Field by field, and row by row of the lists, whatever differs."""
    for field in recorded.__struct_fields__:
        one, other = getattr(recorded, field), getattr(again, field)
        if field in _ROWS:
            yield from _row_differences(field, one, other)
        elif isinstance(one, msgspec.Struct):
            yield from _fields(field, one, other)
        elif one != other:
            yield field, one, other


def _row_differences(
    field: str, recorded: Sequence[msgspec.Struct], again: Sequence[msgspec.Struct]
) -> Iterator[tuple[str, object, object]]:
    if list(recorded) == list(again):
        return
    names = _ROWS[field]
    wanted = {names(row): row for row in again}
    seen: set[str] = set()
    for row in recorded:
        name = names(row)
        if name in seen:
            yield f"{field}[{name}]", "there twice", "there once"
        elif name not in wanted:
            yield f"{field}[{name}]", row, "not there"
        else:
            yield from _fields(f"{field}[{name}]", row, wanted[name])
        seen.add(name)
    for name, row in wanted.items():
        if name not in seen:
            yield f"{field}[{name}]", "missing", row
    if seen == set(wanted) and [names(row) for row in recorded] != list(wanted):
        yield field, [names(row) for row in recorded], list(wanted)


def _fields(where: str, recorded: msgspec.Struct, again: msgspec.Struct) -> Iterator[tuple[str, object, object]]:
    for field in recorded.__struct_fields__:
        one, other = getattr(recorded, field), getattr(again, field)
        if one != other:
            yield f"{where}.{field}", one, other


# -- the stream of days


def read_days(records: Sequence[Record], start: tuple[int, str] = (-1, CHAIN_START)) -> Days:
    """Events of the stream of days that follow each other, behind `start` (seq and leaf hash of the one before)."""
    seq, prev = start
    days, found = [], list[Discrepancy]()
    for record in records:
        body = CODEC.read(record.body)
        wrong: list[tuple[str, object, object]] = [("seq", record.seq, seq + 1)]
        if isinstance(body, BodyError):
            wrong.append(("body", str(body), "a closing of a day"))
        else:
            days.append((record.seq, body.data))
            wrong += [
                ("prev", body.prev, prev), ("seq", body.seq, record.seq), ("stream", body.stream, DAYS),
                ("topic", record.type, body.data.NAME),
            ]  # fmt: skip
        for field, recorded, wanted in wrong:
            if recorded != wanted:
                found.append(Discrepancy(record.seq, record.type, field, recorded, wanted, DAYS))
        seq, prev = record.seq, leaf_hash(record.body)
    return Days(days, found)


class Days(NamedTuple):
    """The events of the stream by seq, and what is wrong with the stream."""

    events: list[tuple[int, DayEvent]]
    findings: list[Discrepancy]

    def closings(self) -> list[Manifest]:
        """The days that were closed, in the order of the stream."""
        return [Manifest(seq, event) for seq, event in self.events if isinstance(event, DayClosed)]


def follows(manifest: Manifest, previous: DayClosed | None) -> list[Discrepancy]:
    """Whether a manifest goes on where that of the day before ended: no day is left out, and no position."""
    seq, closed = manifest
    found = []
    if not is_day(closed.day):
        found.append(Discrepancy(seq, closed.NAME, "day", closed.day, "a day as 2026-12-01", DAYS))
    elif previous is not None and closed.day != day_after(previous.day):
        found.append(Discrepancy(seq, closed.NAME, "day", closed.day, day_after(previous.day), DAYS))
    first = 1 if previous is None else previous.events.last + 1
    if closed.events.first != first:
        found.append(Discrepancy(seq, closed.NAME, "events.first", closed.events.first, first, DAYS))
    return found


def ends_right(manifest: Manifest, next_record: Record | None) -> list[Discrepancy]:
    """Whether the day ends where the next one begins: behind its last position lies an event of a later day."""
    closed = manifest.closed
    if next_record is not None and says_later(next_record, closed.day):
        return []
    said = "missing" if next_record is None else time_said(next_record)
    where = f"position {closed.events.last + 1}"
    return [Discrepancy(None, where, "at", said, f"after {closed.day}, or the day ends later", EVENTS)]


def _table_currency(row: Any) -> str:
    return f"{row.table} {row.currency}"


def _table_number(row: Any) -> str:
    return f"{row.table}/{row.number} {row.round}"


_ROWS: Final[dict[str, Callable[[Any], str]]] = {
    "aborted": _table_number,
    "cash": lambda row: str(row.currency),
    "pending": _table_number,
    "tables": _table_currency,
}
_HASH: Final = re.compile("[0-9a-f]{64}")
_CHECKS: Final[dict[str, Callable[[DayProof, Record], Iterator[Discrepancy]]]] = {
    e.RoundOpened.NAME: DayProof._opened,
    e.RoundClosed.NAME: DayProof._ended,
    e.RoundVoided.NAME: DayProof._ended,
    e.SeedRevealed.NAME: DayProof._revealed,
}
