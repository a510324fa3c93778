"""`dealproof report … --as-of P --compare-with Q`: what differs, and which append of the journal did it.

Output: docs/formats/report.md.

Not here: comparing (`ops.reports.comparing`), its words (`ops.reports.render.comparison`).
"""

from __future__ import annotations

from ops.cli.output import data_console, printable, write_json_line
from ops.cli.progress import progress
from ops.reports.building import ReportError, Request
from ops.reports.comparing import Comparison, require_earlier
from ops.reports.definitions import definition
from ops.reports.making import Asked, open_reading, position_now, read_period_of, report_at
from ops.reports.render.comparison import ForPeople, head_for_machines, step_for_machines
from ops.reports.words import Words
from ops.settings import Settings


def compare(settings: Settings, url: str, asked: Asked, later: int | None, *, as_json: bool) -> int:
    """Print the comparison; 0 where nothing differs, else 1.  `later` None: now.  Raises ReportError."""
    made, words = definition(asked.name), Words(asked.language)
    with open_reading(url, made) as reading:
        until = position_now(settings, reading) if later is None else later
        earlier = require_earlier(asked.as_of, until)
        # Both are made as reports are, so what would be refused as one is refused here.
        frame = report_at(settings, reading, made, asked, earlier, words).frame
        try:
            until_frame = report_at(settings, reading, made, asked, until, words).frame
        except ReportError as error:
            raise ReportError(str(error).replace("--as-of:", "--compare-with:", 1)) from None
        period = read_period_of(asked, frame.generated_at)
        request = Request(asked.name, period, asked.filters, frame.position, words, asked.large_win)
        comparison = Comparison(reading, made, request, until_frame.position)
        changes, people = comparison.changes(), ForPeople(frame, words)
        if as_json:
            write_json_line(head_for_machines(frame, until_frame.position, changes))
        else:
            _print(*people.head(until_frame.position, changes))
        with progress("Looking for the appends", until_frame.position - frame.position) as advance:
            last = frame.position
            for step in comparison.steps():
                advance(step.positions[1] - last)
                last = step.positions[1]
                if as_json:
                    write_json_line(step_for_machines(step))
                else:
                    _print(*people.step(step))
    return 1 if changes else 0


def _print(*lines: str) -> None:
    for line in lines:
        data_console().print(printable(line), soft_wrap=True)
