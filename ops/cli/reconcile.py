"""`dealproof reconcile`: what is remembered against what happened, and an operator's own files against both.

Output, files and exit status: docs/formats/reconcile.md.

Not here: the reckoning (`ops.reconciling`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ops.cli.output import UsageError, data_console, printable, write_json_line
from ops.settings import Settings

if TYPE_CHECKING:
    from ops.reconciling.held import Line
    from ops.reconciling.reconcile import Group, Reconciliation

SHOWN = 20
"""Findings that are written out for people; --json has all that were kept."""


@click.command()
@click.option("--file", "operators", type=click.Path(path_type=Path), help="An operator's own CSV file.")
@click.option("--mapping", type=click.Path(path_type=Path), help="What the file's columns mean, in TOML.")
@click.option("--from", "begin", metavar="WHEN", help="The file has all from here on: 2026-11-01, 2026-11.")
@click.option("--to", "end", metavar="WHEN", help="Likewise; a day or month is included, an instant is not.")
@click.option("--zone", metavar="ZONE", default="UTC", show_default=True, help="Whose clock: Europe/Moscow.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="With --file: every difference, as CSV.")
@click.option("--json", "as_json", is_flag=True, help="JSON Lines on stdout.")
@click.pass_obj
def reconcile(
    settings: Settings, operators: Path | None, mapping: Path | None, begin: str | None, end: str | None, zone: str,
    output: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Hold ledger, rounds, jackpots and commitments against the journal, currency by currency.

    With --file and --mapping an operator's own file is held against them instead: what matches, what is missing here or
    there, what differs.  Exit status: 0 nothing is left over, 1 something is, 2 it can't be told.
    """
    if (operators is None) != (mapping is None):
        raise UsageError("reconcile: --file and --mapping go together")
    if (begin is None) != (end is None):
        raise UsageError("reconcile: --from and --to go together")
    if operators is None or mapping is None:
        if begin is not None or output is not None:
            raise UsageError("reconcile: --from, --to and -o go with --file")
        return _journal(settings, as_json)
    from ops.cli.reconcile_file import reconcile_file

    period = None if begin is None or end is None else (begin, end, zone)
    return reconcile_file(settings, operators, mapping, period, output, as_json=as_json)


def _journal(settings: Settings, as_json: bool) -> int:
    from ops import database
    from ops.cli.bring_up import bring_up
    from ops.cli.progress import progress
    from ops.reconciling.reconcile import reconcile as reconcile_all
    from ops.site import read_journal

    with read_journal(settings) as (url, journal):
        bring_up(url)
        with (
            progress("Reconciling", journal.head_position()) as advance,
            database.connect(url, database.READER_ROLE) as connection,
            database.explained(url),
        ):
            made = reconcile_all(connection, advance)
    if as_json:
        _write_json(made)
    else:
        _print(made)
    return 0 if made.holds else 1


# -- for people


def _print(made: Reconciliation) -> None:
    from ops.cli.columns import print_columns
    from ops.cli.ladder import finding_text

    console = data_console()
    rows = [["", "", "journal", "projection", "residual"]]
    for currency in sorted({line.currency for group in made.groups for line in group.lines}, key=str):
        rows.append([currency or "counts", "", "", "", ""])
        for group in made.groups:
            chosen = [line for line in group.lines if line.currency == currency]
            rows += [["", line.what, *_numbers(line)] for line in chosen]
    if len(rows) > 1:
        print_columns(rows, left=2)
    for finding in made.findings[:SHOWN]:
        console.print(finding_text({**finding.as_json(), "discrepancies": ()}), soft_wrap=True)
    if made.found > SHOWN:
        console.print(f"… and {made.found - SHOWN:,} more (--json has the first {len(made.findings):,})")
    console.print(_verdict(made), soft_wrap=True)


def _numbers(line: Line) -> list[str]:
    from domain.currency import EXPONENTS, in_major_units

    numbers = line.journal, line.projection, line.residual
    if line.money and line.currency in EXPONENTS:
        return [in_major_units(number, str(line.currency)) for number in numbers]
    return [f"{number:,}" for number in numbers]


def _verdict(made: Reconciliation) -> str:
    reach = min((group.position for group in made.groups), default=0)
    if made.holds:
        return f"Everything agrees up to event {made.head:,}: no residual, no row that differs."
    parts = [f"{printable(name)} has stopped: {printable(reason)}." for name, reason in sorted(made.stopped.items())]
    if made.behind:
        parts.append(f"{', '.join(made.behind)} have not taken in all {made.head:,} events; held up to {reach:,}.")
    wrong = sum(1 for _ in made.residuals)
    if made.found or wrong:
        repair = "See docs/runbooks/reconcile.md; dealproof project rebuild --all --compare makes the tables anew."
        parts.append(f"{wrong:,} sums with a residual, {made.found:,} findings.  {repair}")
    else:
        parts.append("What was held agrees.")
    return "\n".join(parts)


# -- as JSON


def _write_json(made: Reconciliation) -> None:
    for group in made.groups:
        write_json_line(_group(group))
    write_json_line({
        "verdict": "reconciled" if made.holds else "not-reconciled",
        "head": made.head,
        "events": made.events,
        "stopped": made.stopped,
        "behind": made.behind,
        "found": made.found,
        "discrepancies": [finding.as_json() for finding in made.findings],
    })


def _group(group: Group) -> dict[str, Any]:
    lines = [
        {
            "currency": line.currency, "what": line.what, "unit": "minor" if line.money else "count",
            "journal": line.journal, "projection": line.projection, "residual": line.residual,
        }
        for line in group.lines
    ]  # fmt: skip
    return {"check": group.name, "projection": group.projection, "position": group.position, "lines": lines}
