"""`dealproof report`: a report on the terminal or in a file, as of now or as of any earlier position.

Not here: what each report says (docs/reports.md, `ops.reports.definitions`).
"""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ops.cli.output import UsageError, data_console
from ops.cli.persons import record_text
from ops.settings import Settings

if TYPE_CHECKING:
    from ops.reports.making import Asked
    from ops.reports.model import Identity, Report

BINARY = ("xlsx", "parquet", "pdf")


def _later(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A position, or now."""
    if value is not None and value != "now" and not (value.isascii() and value.isdigit()):
        raise UsageError(f"--compare-with: {value!r} is neither a position nor now")
    return value


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="Name every report, with what it answers.")
@click.option("--from", "begin", metavar="WHEN", help="Day, month or instant: 2026-11-01, 2026-11, 2026-11-01T06:00.")
@click.option("--to", "end", metavar="WHEN", help="Likewise; a day or month is included, an instant is not.")
@click.option("--table", metavar="NAME", help="One table only.")
@click.option("--ruleset", metavar="NAME", help="One game only, as russian-poker@1.")
@click.option("--player", metavar="NAME", help="One player only.")
@click.option("--currency", metavar="CODE", help="One currency only.")
@click.option("--zone", metavar="ZONE", default="UTC", show_default=True, help="Whose clock: Europe/Moscow.")
@click.option("--language", type=click.Choice(["en", "ru"]), default="en", show_default=True, help="Of the report.")
@click.option(
    "--format", "form", type=click.Choice(["text", "csv", "xlsx", "parquet", "json", "pdf"]), default="text",
    show_default=True, help="What is written.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file; else standard output.")
@click.option("--charts", type=click.Path(path_type=Path), help="A folder for the report's charts, as SVG files.")
@click.option("--at-least", "large_win", type=click.IntRange(1, 10**15), metavar="UNITS", help="What a large win is.")
@click.option("--as-of", type=click.IntRange(min=0), metavar="POSITION", help="As it was when the journal ended there.")
@click.option("--generated-at", callback=record_text, default="", metavar="TIME", help="The time it names.")
@click.option("--without-log", is_flag=True, help="Name no root of the log.")
@click.option(
    "--compare-with", callback=_later, metavar="POSITION|now", help="Tell what differs from --as-of, and what did it."
)
@click.option("--sign", type=click.Path(path_type=Path), help="Sign the PDF with this PKCS#12 or PEM file.")
@click.option("--passphrase-file", type=click.Path(path_type=Path), help="The file's passphrase, in a file.")
@click.pass_obj
def report(
    settings: Settings, name: str | None, listed: bool, begin: str | None, end: str | None, table: str | None,
    ruleset: str | None, player: str | None, currency: str | None, zone: str, language: str, form: str,
    output: Path | None, charts: Path | None, large_win: int | None, as_of: int | None, generated_at: str,
    without_log: bool, compare_with: str | None, sign: Path | None, passphrase_file: Path | None,
) -> int:  # fmt: skip
    """Print a report of the period: NAME, --from and --to; `report --list` names them all.

    The projections are brought up first, unless --as-of is given.  Exit status: 0 its identities hold, 1 one does not;
    with --compare-with 0 nothing differs, 1 something does.
    """
    from ops.reports.building import Filters
    from ops.reports.making import Asked

    if listed:
        return _list()
    if name is None or begin is None or end is None:
        raise UsageError("report: name a report, --from and --to; `dealproof report --list` names the reports")
    if form in BINARY and output is None:
        raise UsageError(f"report: --format {form} needs a file: -o FILE")
    if sign is not None and form != "pdf":
        raise UsageError("report: --sign goes with --format pdf")
    filters = Filters(table, ruleset, player, currency)
    asked = Asked(
        name, begin, end, zone, language, filters, as_of, _time(generated_at), without_log, large_win
    )
    if compare_with is not None:
        _require_terminal(form, output, charts)
        return _compared(settings, asked, compare_with, form)
    return _made(settings, asked, form, output, charts, sign, passphrase_file)


def _require_terminal(form: str, output: Path | None, charts: Path | None) -> None:
    if form not in ("text", "json") or output is not None or charts is not None:
        raise UsageError("report: --compare-with writes text or json to standard output")


def _compared(settings: Settings, asked: Asked, compare_with: str, form: str) -> int:
    from ops.cli.bring_up import bring_up
    from ops.cli.report_compare import compare
    from ops.site import read_journal

    with read_journal(settings) as (url, _):
        bring_up(url)
        later = None if compare_with == "now" else int(compare_with)
        return compare(settings, url, asked, later, as_json=form == "json")


def _list() -> int:
    from ops.cli.columns import print_columns
    from ops.reports.definitions import REPORTS, definition

    rows = [["report", "what it is", "narrowed by"]]
    for name in REPORTS:
        made = definition(name)
        rows.append([name, made.TITLE, ", ".join(sorted(made.FILTERS))])
    print_columns(rows, left=3)
    return 0


def _time(text: str) -> str | None:
    from domain.record import TIME_PATTERN

    if not text:
        return None
    try:
        if TIME_PATTERN.fullmatch(text):
            datetime.fromisoformat(text)
            return text
    except ValueError:
        pass  # the 30th of February
    raise UsageError(f"--generated-at: {text!r} is no time as 2026-12-01T05:10:36.123Z")


def _made(
    settings: Settings, asked: Asked, form: str, output: Path | None, charts: Path | None, sign: Path | None,
    passphrase_file: Path | None,
) -> int:  # fmt: skip
    from ops.cli.bring_up import bring_up
    from ops.reports.making import open_report
    from ops.site import read_journal

    with read_journal(settings) as (url, _):
        if asked.as_of is None:
            bring_up(url)
        with open_report(settings, url, asked) as made:
            made, residuals = _watched(made)
            if charts is not None:
                _write_charts(made, charts)
            _write(made, form, output, asked.language, sign, passphrase_file)
    for sentence in residuals:
        print(f"dealproof: an identity does not hold: {sentence}", file=sys.stderr)
    return 1 if residuals else 0


def _watched(made: Report) -> tuple[Report, list[str]]:
    """The report, and a list that is filled with the identities that don't hold when they are printed."""
    residuals: list[str] = []

    def identities() -> list[Identity]:
        found = made.identities()
        residuals.extend(each.sentence for each in found if each.residual)
        return found

    return replace(made, identities=identities), residuals


def _write(
    made: Report, form: str, output: Path | None, language: str, sign: Path | None, passphrase_file: Path | None
) -> None:
    from ops.files import write_whole
    from ops.reports.render import write_file, writer
    from ops.reports.words import Words

    words = Words(language)
    if output is None:
        data_console()  # a terminal that lacks a sign gets it spelled out
        sys.stdout.flush()
        writer(form)(made, sys.stdout.buffer, words)
    elif sign is not None:
        from ops.reports.signing import sign_pdf

        page = io.BytesIO()
        writer(form)(made, page, words)
        write_whole(output, sign_pdf(page.getvalue(), sign, passphrase_file, made.frame.title))
    else:
        write_file(made, form, output, words)


def _write_charts(made: Report, folder: Path) -> None:
    from ops.reports.render import write_chart

    if not made.charts:
        print(f"dealproof: the report {made.frame.name} has no charts", file=sys.stderr)
        return
    folder.mkdir(parents=True, exist_ok=True)
    for chart in made.charts:
        write_chart(chart, folder / f"{chart.name}.svg")
