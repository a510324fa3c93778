"""Close every day that is over: its manifest becomes an event itself.

`close_days` runs daily, and whenever somebody asks.  It looks where the last closing ended and goes on from there, so a
crash anywhere leaves nothing half done, and two who close at once write one manifest.

Not here: what a manifest says (`domain.day`), whether it is true (`replay.day`), the log (`ops.log`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

from domain.day import CODEC, DAYS, DayBegun, DayClosed, DayFold, day_after, day_of, is_day, says_later, time_said
from domain.log.merkle import Nodes, root
from domain.record import BodyError
from domain.round.refusals import Refusal
from ops.commands import Command, carry_out_one
from ops.journal import Journal, JournalError, Stored
from ops.log.audit import events_between

E = TypeVar("E", DayBegun, DayClosed)

DAYS_AT_ONCE: Final = 100
"""Events of the stream of days to look through at once, newest first."""


class DayNotInLog(JournalError):
    """The log has not come as far as the end of a day, which stays open; one line.  `closed`: those before it."""

    def __init__(self, message: str, closed: list[DayClosed]) -> None:
        super().__init__(message)
        self.closed = closed


class DaysUnreadable(JournalError):
    """The stream of days holds what is no closing of a day; one line."""


def close_days(
    journal: Journal, nodes: Nodes, size: int, now: str, by: str, until: str | None = None
) -> list[DayClosed]:
    """Close every day before that of `now` (a time in the record's format), and give the new manifests.

    `nodes` and `size` are those of the log; `until`: the last day to close.  Raises DayNotInLog at the first day that
    the log does not reach, when those before are closed; DaysUnreadable, JournalUnavailable.
    """
    previous, closed = last_closed(journal), list[DayClosed]()
    day = _first_day(journal) if previous is None else day_after(previous.day)
    end = day_of(now) if until is None else min(day_of(now), day_after(until))
    if day is None or day >= end:
        return closed
    _begin_day(journal, now, by)
    while day < end:
        fold = _counted(journal, day, previous, size)
        if fold is None:
            text = f"day {day}: goes on behind event {size}, where the log ends; close it when the log has more"
            raise DayNotInLog(text, closed)
        manifest = fold.comes_to(day=day, by=by, root=root(fold.last, nodes).hex())
        # A crash right after this leaves the day closed; the next run goes on with the one after.
        previous = _append(journal, f"close day:{day}", manifest, now)
        closed.append(previous)
        day = day_after(day)
    return closed


def last_closed(journal: Journal) -> DayClosed | None:
    """The newest manifest, None before the first."""
    return next((closed for _, closed in closings(journal)), None)


def closings(journal: Journal) -> Iterator[tuple[Stored, DayClosed]]:
    """Every manifest with where it stands, newest first.  Raises DaysUnreadable."""
    for stored in newest_first(journal):
        body = CODEC.read(stored.record.body)
        if isinstance(body, BodyError):
            raise DaysUnreadable(f"{DAYS} event {stored.record.seq}: {body}")
        if isinstance(body.data, DayClosed):
            yield stored, body.data


def newest_first(journal: Journal) -> Iterator[Stored]:
    """The events of the stream of days, newest first, read as they are asked for."""
    below: int | None = None
    while page := journal.read_page(DAYS, DAYS_AT_ONCE, before=below):
        yield from page
        below = page[-1].record.seq


def _first_day(journal: Journal) -> str | None:
    first = next(events_between(journal, 1, 1), None)
    if first is None:
        return None
    day = day_of(time_said(first.record))
    if not is_day(day):
        raise DaysUnreadable(f"event 1: says no day that could be closed: {day!r}")
    return day


def _begin_day(journal: Journal, now: str, by: str) -> None:
    """Make sure that the day before has an end: an event of today.  Else one that was under way could still join it."""
    head = journal.head_position()
    [last] = events_between(journal, head, head)
    if day_of(time_said(last.record)) < day_of(now):
        # A crash right after this leaves a day that has begun; the next run closes those before it.
        _append(journal, f"begin day:{day_of(now)}", DayBegun(by=by, day=day_of(now)), now)


def _counted(journal: Journal, day: str, previous: DayClosed | None, size: int) -> DayFold | None:
    """The day up to the first event of a later one, which may be the first behind the log; None: it goes on there."""
    fold = DayFold(previous)
    for position, record in events_between(journal, fold.first, size + 1):
        if says_later(record, day):
            return fold
        fold.take(position, record)
    return None


def _append(journal: Journal, command_id: str, event: E, now: str) -> E:
    """Append an event to the stream of days; whoever was first under this name is answered to all."""
    command = Command(command_id, command_id.encode(), event.by)
    carried = carry_out_one(journal, command, CODEC, DAYS, lambda _: event, at=now)
    records = [] if isinstance(carried, Refusal) else carried.records
    written = CODEC.read(records[0].body) if records else BodyError("it is not there")
    if isinstance(written, BodyError) or not isinstance(written.data, type(event)):
        # Never quietly done again: somebody took it away, or put something else in its place.
        raise DaysUnreadable(f"{command_id}: was done before, but its event in the journal can't be read")
    return written.data
