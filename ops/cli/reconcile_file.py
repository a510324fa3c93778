"""`dealproof reconcile --file`: an operator's own wallet or rounds against the journal.

Output and the CSV of differences: docs/formats/reconcile.md.

Not here: reading the file and matching (`ops.reconciling`).
"""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from domain.currency import EXPONENTS, in_major_units
from ops import clock, database
from ops.cli.bring_up import bring_up
from ops.cli.columns import print_columns
from ops.cli.output import data_console, printable, write_json_line
from ops.cli.reconcile import SHOWN
from ops.files import whole_file
from ops.reconciling.mapping import MONEY, Mapping, ReconcileError, What, read_mapping
from ops.reconciling.matching import Difference, Matching, Outcome, match
from ops.reconciling.operator_file import read_entries
from ops.reports.building import Period, read_period
from ops.reports.render.csv_file import harmless
from ops.settings import Settings
from ops.site import read_journal
from projections.catalogue import VERSIONS
from projections.reading import read_projections

NEEDED: Final = {
    What.WALLET: ("balances", "cash", "commitments"),
    What.ROUNDS: ("rounds",),
}  # fmt: skip

_WORDS: Final = {
    Outcome.MATCHED: "matched", Outcome.DIFFERENT: "different", Outcome.MISSING_HERE: "missing here",
    Outcome.MISSING_THERE: "missing there",
}  # fmt: skip


@dataclass(frozen=True)
class _Asked:
    """The file, as what it is read, and for what time it should have everything."""

    path: Path
    mapping: Mapping
    period: Period | None


def reconcile_file(
    settings: Settings, path: Path, mapping_path: Path, period: tuple[str, str, str] | None, output: Path | None,
    *, as_json: bool,
) -> int:  # fmt: skip
    """Print what came out, and give the exit status.  Raises ReconcileError, ReportError, ProjectionMissing."""
    asked = _Asked(path, read_mapping(mapping_path), None if period is None else read_period(*period))
    if asked.period is not None and asked.period.begin > clock.now():
        raise ReconcileError("--from: lies in the future")
    with read_journal(settings) as (url, _):
        bring_up(url)
        with (
            database.connect(url, database.READER_ROLE) as connection,
            database.explained(url),
            read_projections(connection, NEEDED[asked.mapping.what], VERSIONS) as reading,
        ):
            between = None if asked.period is None else (asked.period.begin, asked.period.end)
            try:
                with match(reading, asked.mapping, read_entries(path, asked.mapping), between) as made:
                    return _told(asked, made, reading.position, output, as_json)
            except sqlite3.Error as error:
                raise ReconcileError(f"the work file of the comparison: {error}") from None


def _told(asked: _Asked, made: Matching, position: int, output: Path | None, as_json: bool) -> int:
    counts = made.counts()
    if output is not None:
        _write_csv(made, output)
    if as_json:
        for each in made.differences():
            write_json_line(each._asdict())
        write_json_line(_summary(asked, made, position, counts))
    else:
        _print(asked, made, position, counts)
    return 0 if counts[Outcome.MATCHED] == sum(counts.values()) else 1


def _summary(asked: _Asked, made: Matching, position: int, counts: dict[str, int]) -> dict[str, Any]:
    period = asked.period
    return {
        "verdict": "matched" if counts[Outcome.MATCHED] == sum(counts.values()) else "not-matched",
        "what": asked.mapping.what,
        "period": None if period is None else {"begin": period.begin, "end": period.end, "zone": period.zone},
        "position": position,
        "lines": made.lines,
        "counts": {outcome.value: counts[outcome] for outcome in Outcome},
        "sums": [{**each._asdict(), "residual": each.here - each.there} for each in made.sums()],
    }


# -- for people


def _print(asked: _Asked, made: Matching, position: int, counts: dict[str, int]) -> None:
    console = data_console()
    period = asked.period
    when = "all time" if period is None else f"{period.begin} to {period.end}, the end not included"
    console.print(f"{printable(str(asked.path))}: {made.lines:,} lines, held against the journal up to event "
                  f"{position:,}", soft_wrap=True)  # fmt: skip
    console.print(f"The file should have everything of {when}.", soft_wrap=True)
    for outcome, words in _WORDS.items():
        console.print(f"  {words:<14} {counts[outcome]:>12,}")
    sums = made.sums()
    if sums:
        rows = [["", "", "here", "there", "residual"]]
        for each in sums:
            amounts = each.here, each.there, each.here - each.there
            rows.append([each.currency, each.field.replace("_", " "), *(_money(n, each.currency) for n in amounts)])
        print_columns(rows, left=2)
    for difference in islice(made.differences(), SHOWN):
        console.print(f"  {printable(_sentence(difference))}", soft_wrap=True)
    more = sum(1 for _ in islice(made.differences(), SHOWN, None))
    if more:
        console.print(f"  … and {more:,} more (-o FILE and --json have them all)")


def _sentence(each: Difference) -> str:
    """A difference on one line."""
    where = f"round {each.round}" if each.round is not None else f"reference {each.reference}"
    parts = [_WORDS[each.outcome] + ":", where, each.player, each.currency, _movement(each)]
    said = ", ".join(part for part in parts[1:] if part)
    line = "" if each.line is None else f" (line {each.line})"
    if each.outcome is Outcome.DIFFERENT:
        return f"{parts[0]} {said}: {each.field.replace('_', ' ')} here {_cell(each, each.here)}, there " \
               f"{_cell(each, each.there)}{line}"  # fmt: skip
    value = each.here if each.outcome is Outcome.MISSING_THERE else each.there
    amount = f": {each.field} {_cell(each, value)}" if each.field == "amount" else ""
    return f"{parts[0]} {said}{amount}{line}"


def _movement(each: Difference) -> str | None:
    return None if each.type is None else each.type.partition(".")[0]


def _cell(each: Difference, value: str | int | None) -> str:
    money = each.field == "amount" or each.field in MONEY
    return _money(value, each.currency) if money and isinstance(value, int) else str(value)


def _money(amount: int, currency: str | None) -> str:
    return in_major_units(amount, currency) if currency in EXPONENTS and currency is not None else str(amount)


# -- as CSV


def _write_csv(made: Matching, output: Path) -> None:
    """Every difference; a text that a spreadsheet would take for a formula gets an apostrophe."""
    with whole_file(output) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", newline="", write_through=True)
        csv.writer(text, lineterminator="\r\n").writerows(_rows(made))
        text.detach()


def _rows(made: Matching) -> Iterator[list[str]]:
    yield [*Difference._fields]
    for each in made.differences():
        texts = [each.outcome, each.currency, each.player, each.round, each.reference, each.type, each.field]
        said = [harmless(text or "") for text in texts]
        yield [*said, _csv_cell(each, each.here), _csv_cell(each, each.there), str(each.line or "")]


def _csv_cell(each: Difference, value: str | int | None) -> str:
    if isinstance(value, int):
        return _cell(each, value)  # a number, with its sign
    return "" if value is None else harmless(value)
