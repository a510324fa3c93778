"""`dealproof days`: close the days that are over; list those that are closed.

Format of the list: docs/formats/day-close.md.

Not here: when a day is over and what its manifest says (`ops.day_close`, `domain.day`), proving one
(`ops.cli.verify_day`).
"""

from __future__ import annotations

import click
import msgspec

from domain.day import DayClosed, day_of, is_day
from ops import clock
from ops.cli.columns import print_columns
from ops.cli.output import UsageError, data_console, write_json_line
from ops.settings import Settings


@click.group()
def days() -> None:
    """Close the days that are over; list those that are closed."""


@days.command()
@click.option("--day", metavar="DAY", help="The last day to close (2026-12-01); else every one that is over.")
@click.option("--by", metavar="NAME", default="keeper", show_default=True, help="Who closes; it stands in the record.")
@click.pass_obj
def close(settings: Settings, day: str | None, by: str) -> int:
    """Close every day that is over and is not closed yet: its manifest becomes an event.

    A day is closed when the log has all of its events.  Closing again does nothing.
    """
    from domain.log.checkpoint import Checkpoint, NoteError, parse_note
    from domain.record import is_record_text
    from ops.day_close import DayNotInLog, close_days
    from ops.log.store import LogStore
    from ops.site import open_journal

    now = clock.now()
    if day is not None and not is_day(day):
        raise UsageError(f"--day: {day!r} is no day as 2026-12-01")
    if day is not None and day >= day_of(now):
        raise UsageError(f"--day: {day} is not over (it is {now[:16]} in UTC)")
    if not is_record_text(by):
        raise UsageError("--by: must be text in Unicode form NFC, not blank, of at most 1,000 characters")
    store = LogStore(settings.log_folder)
    with open_journal(settings) as (_, journal):
        note = store.checkpoint()
        try:
            size = 0 if note is None else Checkpoint.from_body(parse_note(note).body).size
        except NoteError as error:
            raise UsageError(f"days close: the log's checkpoint: {error}") from None
        try:
            closed = close_days(journal, store.nodes(size), size, now, by, day)
        except DayNotInLog as error:
            _print_closed(error.closed)
            raise
    _print_closed(closed)
    if not closed:
        data_console().print("Nothing to close.")
    return 0


def _print_closed(closed: list[DayClosed]) -> None:
    for each in closed:
        data_console().print(_line(each), soft_wrap=True)


@days.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a day, oldest first.")
@click.pass_obj
def list_(settings: Settings, as_json: bool) -> int:
    """List the days that are closed, oldest first: events, rounds, and the money of each currency."""
    from ops.day_close import closings
    from ops.site import read_journal

    with read_journal(settings) as (_, journal):
        found = [(stored.position, closed) for stored, closed in closings(journal)][::-1]
    if as_json:
        for position, closed in found:
            write_json_line({"position": position, **msgspec.to_builtins(closed)})
    elif found:
        heads = ["day", "events", "first", "last", "opened", "closed", "voided", "open"]
        print_columns([heads, *(_row(closed) for _, closed in found)], left=1)
    else:
        data_console().print("No day is closed yet.")
    return 0


def _row(closed: DayClosed) -> list[str]:
    events, tables = closed.events, closed.tables
    sums = [sum(getattr(row, field) for row in tables) for field in ("opened", "closed", "voided", "open")]
    return [closed.day, *(f"{number:,}" for number in (events.count, events.first, events.last, *sums))]


def _line(closed: DayClosed) -> str:
    events, rounds = closed.events, sum(row.opened for row in closed.tables)
    return f"Closed {closed.day}: {events.count:,} events up to {events.last:,}, {rounds:,} rounds opened."
