"""`dealproof doctor`: is the installation in order?  What each control found, how it is mended, and the record of it.

Not here: the controls and their words (`ops.doctor`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ops.cli.columns import print_columns
from ops.cli.output import data_console, printable, write_json_line
from ops.cli.persons import login_name
from ops.logs import logger
from ops.settings import Settings

if TYPE_CHECKING:
    from ops.doctor.examine import Report


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.option("--no-record", is_flag=True, help="Don't keep the report in the journal.")
@click.option("--explain", is_flag=True, help="Say what each control protects from, and what not.")
@click.pass_obj
def doctor(settings: Settings, as_json: bool, no_record: bool, explain: bool) -> int:
    """Examine roles, rights, triggers, settings, clock, key files and program; keep the report in the journal.

    Exit status: 0 all in order (notes may be there), 1 findings, 2 something could not be looked at.
    """
    if explain:
        return _explain()
    from ops.doctor.examine import examine, record
    from ops.site import read_journal

    with read_journal(settings) as (url, journal):
        report = examine(url, settings, journal)
        logger().info("installation_examined", status=report.status)
        if as_json:
            write_json_line(report.as_json())
        else:
            _print(report)
        sys.stdout.flush()  # the report is told, whatever becomes of its record
        if not no_record:
            kept = record(journal, report, by=login_name()).record
            print(f"Recorded as event {kept.seq} of {kept.stream}.", file=sys.stderr)
    return {"ok": 0, "note": 0, "finding": 1, "not-checkable": 2}[report.status]


def _print(report: Report) -> None:
    from ops.doctor.controls import BY_NAME

    rows = [(check.name, check.status, _count(len(check.findings))) for check in report.checks]
    print_columns([("control", "status", "findings"), *rows], left=2)
    console = data_console()
    for check in report.checks:
        if check.findings or check.notes:
            console.print(f"\n{check.name}: {check.status}")
        for line in (*check.findings, *(f"note: {note}" for note in check.notes)):
            console.print(f"  {printable(line)}", soft_wrap=True)
        if check.findings:
            console.print(f"  To mend it: {BY_NAME[check.name].remedy}", soft_wrap=True)
            console.print(f"  Does not protect from: {BY_NAME[check.name].not_from}", soft_wrap=True)
    software = report.software
    console.print(f"\nSoftware {software.version}: {software.digest}", soft_wrap=True)
    console.print(f"Configuration: {report.configuration.digest}", soft_wrap=True)


def _count(findings: int) -> str:
    return f"{findings:,}" if findings else ""


def _explain() -> int:
    from ops.doctor.controls import explained

    data_console().print(explained(), soft_wrap=True)
    return 0
