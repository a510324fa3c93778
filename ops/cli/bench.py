"""`dealproof bench`: how fast it is, in ratios measured in one run.

Not here: the measuring (`ops.bench_core`).
"""

from __future__ import annotations

import click

from ops.cli.columns import print_columns
from ops.cli.output import progress_console, write_json_line


@click.group()
def bench() -> None:
    """Measure ratios; absolute times mean nothing on a shared machine."""


@bench.command()
@click.option("--rounds", type=click.IntRange(1000), default=30_000, show_default=True, help="Rounds in the database.")
@click.option("--large", type=click.IntRange(1000), default=60_000, show_default=True, help="Rounds for the memory.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def core(rounds: int, large: int, as_json: bool) -> None:
    """Verify, append and read, each against its yardstick.  The database is a scratch one."""
    from ops.bench_core import TARGETS, run

    measures = run(rounds, max(large, rounds), lambda step: progress_console().print(f"measuring: {step}"))
    if as_json:
        result = {
            name: {"ratio": round(measure.ratio, 3), "target": TARGETS[name], "parts": measure.parts}
            for name, measure in measures.items()
        }
        write_json_line(result)
        return
    rows = [("ratio", "measured", "target", "made of")]
    for name, measure in measures.items():
        parts = ", ".join(f"{part} {value:,.1f}" for part, value in measure.parts.items())
        rows.append((name, f"{measure.ratio:.2f}", TARGETS[name], parts))
    print_columns(rows, left=4)
