"""`dealproof bench`: how fast it is, in ratios measured in one run.

Not here: the measuring (`ops.bench_core`, `ops.bench_api`, `ops.bench_proof`, `ops.bench_reports`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ops.cli.columns import print_columns
from ops.cli.output import progress_console, write_json_line

if TYPE_CHECKING:
    from ops.bench_core import Measure


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

    measures = run(rounds, max(large, rounds), _say)
    _print(measures, TARGETS, as_json=as_json)


@bench.command()
@click.option("--rounds", type=click.IntRange(100), default=10_000, show_default=True, help="Rounds in the database.")
@click.option(
    "--open-rounds", type=click.IntRange(1), default=100_000, show_default=True, help="Rounds left open beside those."
)
@click.option(
    "--large", type=click.IntRange(100), default=100_000, show_default=True, help="Rounds that one is read among."
)
@click.option("--quick", is_flag=True, help="Small sizes: whether it works, not how fast.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def api(rounds: int, open_rounds: int, large: int, quick: bool, as_json: bool) -> None:
    """Decisions and reads through `dealproof serve`.  The database is a scratch one."""
    from ops.bench_api import QUICK, TARGETS, Sizes, run

    sizes = QUICK if quick else Sizes(rounds, open_rounds, max(large, rounds))
    _print(run(sizes, _say), TARGETS, as_json=as_json)


@bench.command()
@click.option("--rounds", type=click.IntRange(100), default=100_000, show_default=True, help="Rounds of the day.")
@click.option(
    "--leaves", type=click.IntRange(20_000), default=10_000_000, show_default=True, help="Leaves of the large tree."
)
@click.option("--quick", is_flag=True, help="Small sizes: whether it works, not how fast.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def proof(rounds: int, leaves: int, quick: bool, as_json: bool) -> None:
    """The log, proofs out of it, and a day verified against it.  Databases and logs are scratch ones."""
    from ops.bench_proof import QUICK, TARGETS, Sizes, run

    sizes = QUICK if quick else Sizes(rounds=rounds, leaves=leaves)
    _print(run(sizes, _say), TARGETS, as_json=as_json)


@bench.command()
@click.option(
    "--events", type=click.IntRange(10_000), default=1_000_000, show_default=True,
    help="Events of the large journal; the small one has a tenth.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def reports(events: int, as_json: bool) -> None:
    """Catching up, a month's revenue, and the memory of exports.  The databases are scratch ones."""
    from ops.bench_reports import TARGETS, Sizes, run

    _print(run(Sizes(events=events), _say), TARGETS, as_json=as_json)


def _say(step: str) -> None:
    progress_console().print(f"measuring: {step}")


def _print(measures: Mapping[str, Measure], targets: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        result = {
            name: {"ratio": round(measure.ratio, 3), "target": targets[name], "parts": measure.parts}
            for name, measure in measures.items()
        }
        write_json_line(result)
        return
    rows = [("ratio", "measured", "target", "made of")]
    for name, measure in measures.items():
        parts = ", ".join(f"{part} {value:,.2f}" for part, value in measure.parts.items())
        rows.append((name, f"{measure.ratio:.2f}", targets[name], parts))
    print_columns(rows, left=4)
