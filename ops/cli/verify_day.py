"""`dealproof verify --day D`: nothing in a day is missing, doubled or added, and every round of it is true.

The size and root of the log come from the newest checkpoint that the trust file's keys have signed (with as many
cosignatures as it asks for), never from the server.  Output and exit status: docs/formats/day-close.md.

Not here: the proof (`ops.day_proof`, `replay.day`, `ops.log.audit`).
"""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from domain.currency import EXPONENTS, in_major_units
from domain.day import DayClosed, PendingRound, TableDay
from domain.log.checkpoint import Opened
from ops.bulk_verify import RangeDone
from ops.cli.columns import print_columns
from ops.cli.ladder import finding_text
from ops.cli.output import UsageError, data_console, write_json_line
from ops.cli.progress import progress
from ops.cli.verify import SHOWN_UNCLEAN, print_tally
from ops.cli.verify_file import signers
from ops.clock import as_text
from ops.day_proof import DayReport, DayUnknown, prove_day, ranges_of, verify_rounds
from ops.evidence_file import newest_checkpoint
from ops.journal import Journal
from ops.log.store import LogStore
from ops.log.trusting import read_trust
from ops.logs import logger
from ops.settings import Settings
from ops.site import read_journal


def verify_day(
    settings: Settings, trust_file: Path, day: str, table: str | None, *, workers: int, as_json: bool
) -> int:
    """Print the verdict on a day and give the exit status: 0 verified, 1 a discrepancy.

    Raises UsageError where there is nothing to verify it against; TrustError, StoreError, JournalUnavailable.
    """
    store = LogStore(settings.log_folder)
    opened = newest_checkpoint(store, read_trust(trust_file))
    if not isinstance(opened, Opened):
        raise UsageError(f"verify --day: {opened.reason}")
    with read_journal(settings) as (url, journal):
        report = _prove(journal, store, opened, day)
        if table is not None and table not in {row.table for row in report.counted.tables}:
            raise UsageError(f"--table: no round was ever opened at a table {table!r} up to {day}")
        _verify_rounds(journal, url, report, table, workers, as_json)
    if as_json:
        write_json_line(_as_json(report, opened, table))
    else:
        _print(report, opened, table)
    logger().info("day_verified", day=day, findings=report.found, **report.tally.counts)
    return 1 if report.status == "discrepancy" else 0


def _prove(journal: Journal, store: LogStore, opened: Opened, day: str) -> DayReport:
    try:
        with progress("Auditing the day", opened.checkpoint.size) as advance:
            return prove_day(journal, store.read_tile, opened.checkpoint, day, advance)
    except DayUnknown as error:
        raise UsageError(f"verify --day: {error}") from None


def _verify_rounds(
    journal: Journal, url: str, report: DayReport, table: str | None, workers: int, as_json: bool
) -> None:
    with progress("Verifying its rounds", len(ranges_of(journal, report))) as advance:

        def done(result: RangeDone) -> None:
            for line in result.verdicts:
                sys.stdout.buffer.write(line + b"\n")
            advance()

        verify_rounds(journal, url, report, table=table, workers=workers, every_verdict=as_json, done=done)


# -- as JSON


def _as_json(report: DayReport, opened: Opened, table: str | None) -> dict[str, Any]:
    """The last line, behind those of the rounds (docs/formats/day-close.md)."""
    counted = of_table(report.counted, table)
    end = _end(report)
    return {
        "day": report.day,
        "table": table,
        "verdict": report.status,
        "closed": report.closing is not None,
        "closing": report.closing,
        "closing_logged": report.logged,
        "checkpoint": _checkpoint(opened),
        "checked": report.checked,
        "events": msgspec.to_builtins(counted.events),
        "rounds": dict(report.tally.counts),
        "tables": msgspec.to_builtins(counted.tables),
        "cash": msgspec.to_builtins(counted.cash),
        "aborted": msgspec.to_builtins(counted.aborted),
        "pending": [msgspec.to_builtins(each) | {"age_seconds": _age(each, end)} for each in counted.pending],
        "found": report.found,
        "discrepancies": [finding.as_json() for finding in report.findings],
    }


def _checkpoint(opened: Opened) -> dict[str, Any]:
    checkpoint = opened.checkpoint
    cosigned = [{"witness": each.witness, "at": as_text(each.time * 1000)} for each in opened.cosigned]
    return {
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "root": checkpoint.root.hex(),
        "cosigned": cosigned,
    }


def of_table(counted: DayClosed, table: str | None) -> DayClosed:
    """The part of a day that is one table's; events and cash are the whole day's."""
    if table is None:
        return counted
    return msgspec.structs.replace(
        counted,
        aborted=[each for each in counted.aborted if each.table == table],
        pending=[each for each in counted.pending if each.table == table],
        tables=[each for each in counted.tables if each.table == table],
    )


def _end(report: DayReport) -> datetime:
    """When the day was over; of a day that is not closed, now."""
    midnight = datetime.combine(date.fromisoformat(report.day), datetime.min.time(), UTC) + timedelta(days=1)
    return midnight if report.closing is not None else min(midnight, datetime.now(UTC))


def _age(pending: PendingRound, end: datetime) -> int:
    """Whole seconds that the round had been open at a moment."""
    return max(0, int((end - datetime.fromisoformat(pending.opened)).total_seconds()))


# -- for people


def _print(report: DayReport, opened: Opened, table: str | None) -> None:
    counted = of_table(report.counted, table)
    whose = "" if table is None else f", table {table}"
    lines = [
        f"Day {report.day}{whose}: {report.status}",
        f"  checkpoint  {opened.checkpoint.size:,} events of {opened.checkpoint.origin}, {signers(opened)}",
        f"  closed      {_closing(report)}",
        f"  events      {_events(report)}",
    ]
    for line in lines:
        data_console().print(line, soft_wrap=True)
    if counted.tables:
        print_tables(counted.tables)
    _print_some("aborted", [_aborted(each) for each in counted.aborted])
    end = _end(report)
    _print_some("pending", [_pending(each, end) for each in counted.pending])
    findings = [finding_text({**finding.as_json(), "discrepancies": ()}) for finding in report.findings]
    _print_some("finding", findings, report.found)
    print_tally(report.tally)


def print_tables(tables: list[TableDay]) -> None:
    """Rows of tables in columns."""
    heads = ["table", "", "numbers", "opened", "closed", "voided", "open", "staked", "returned", "net"]
    rows = [heads]
    for row in tables:
        numbers = "none" if row.first_number is None else f"{row.first_number:,} to {row.last_number:,}"
        amounts = [_money(amount, row.currency) for amount in (row.staked, row.returned, row.net)]
        counts = [f"{count:,}" for count in (row.opened, row.closed, row.voided, row.open)]
        rows.append([row.table, row.currency, numbers, *counts, *amounts])
    print_columns(rows, left=2)


def _money(amount: int, currency: str) -> str:
    return in_major_units(amount, currency) if currency in EXPONENTS else str(amount)


def _closing(report: DayReport) -> str:
    if report.closing is None:
        return f"not closed yet: verified up to event {report.checkpoint.size:,}, where the checkpoint ends"
    if not report.logged:
        return f"by event {report.closing:,}, which the checkpoint does not reach yet"
    return f"by event {report.closing:,}, which is in the log"


def _events(report: DayReport) -> str:
    events = report.counted.events
    if not events.count:
        return f"none ({report.checked:,} held against the log)"
    held = f"{report.checked:,} held against the log"
    return f"{events.count:,} at positions {events.first:,} to {events.last:,} ({held})"


def _aborted(each: Any) -> str:
    staked = f"{each.boxes} boxes staked" if each.boxes else "no wager"
    return f"{each.table}/{each.number}  {each.round}  voided, {staked}"


def _pending(each: PendingRound, end: datetime) -> str:
    staked = f"{each.boxes} boxes staked" if each.boxes else "no wager"
    age = timedelta(seconds=_age(each, end))
    return f"{each.table}/{each.number}  {each.round}  opened {each.opened}, open for {age}, {staked}"


def _print_some(what: str, lines: list[str], count: int | None = None) -> None:
    """The first few, and how many more there are."""
    for line in lines[:SHOWN_UNCLEAN]:
        data_console().print(f"  {what:<11} {line}", soft_wrap=True)
    more = (len(lines) if count is None else count) - SHOWN_UNCLEAN
    if more > 0:
        data_console().print(f"  … and {more:,} more (--json has them all)")
