"""`dealproof drill`: mutate a copy of the journal at random, and say what the verification caught, where and how often.

Not here: the drill (`ops.drill`); what its figures mean, and what they don't (docs/runbooks/drill.md).
"""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ops.cli.columns import print_columns
from ops.cli.output import UsageError, data_console, printable, write_json_line
from ops.cli.progress import progress
from ops.logs import logger
from ops.settings import Settings

if TYPE_CHECKING:
    from ops.drill.drill import Outcome, Score

EVENTS = 1500
"""So many make ten thousand mutations a matter of minutes on an idle machine."""


@click.command()
@click.option("--mutations", type=click.IntRange(1, 1_000_000), default=500, show_default=True, help="How many.")
@click.option("--seed", type=click.IntRange(0), help="The same seed makes the same mutations of the same journal.")
@click.option(
    "--events", type=click.IntRange(400, 100_000), default=EVENTS, show_default=True, help="At most so many are copied."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_obj
def drill(settings: Settings, mutations: int, seed: int | None, events: int, as_json: bool) -> int:
    """Copy the journal, mutate the copy at random, and say what the verification caught.

    The journal itself is only read.  The copy is a database of its own on the same server, gone afterwards.  Exit
    status: 0 everything below the last cosignature was caught, 1 not so, 2 no drill could be held.
    """
    chosen = secrets.randbits(32) if seed is None else seed
    outcome = _held(settings, chosen, mutations, events)
    logger().info("drill_held", seed=chosen, mutations=mutations, missed=len(outcome.missed), holds=outcome.holds)
    if as_json:
        write_json_line(outcome.as_json())
    else:
        _print(outcome)
    return 0 if outcome.holds else 1


def _held(settings: Settings, seed: int, mutations: int, events: int) -> Outcome:
    from ops.drill.copy import DrillError, open_copy
    from ops.drill.drill import hold_drill
    from ops.site import read_journal

    try:
        with (
            read_journal(settings) as (url, journal),
            tempfile.TemporaryDirectory(prefix="dealproof-drill-") as folder,
            progress(f"Mutating (seed {seed})", mutations) as advance,
            open_copy(url, journal, Path(folder), events) as copy,
        ):
            return hold_drill(copy, seed, range(mutations), advance)
    except DrillError as error:
        raise UsageError(str(error)) from None


# -- for people


def _print(outcome: Outcome) -> None:
    from ops.drill.drill import LIMITS
    from ops.drill.original import ZONES, Zone

    console = data_console()
    console.print(
        f"{outcome.events:,} events, cosigned up to {outcome.cosigned:,}, signed up to {outcome.signed:,}; "
        f"seed {outcome.seed}",
        soft_wrap=True,
    )
    for zone in Zone:
        kinds = sorted(kind for kind, where in outcome.scores if where is zone)
        if kinds:
            console.print(f"\n{ZONES[zone]}", soft_wrap=True)
            heads = ["mutation", "found at", "tried", "caught", "rate", "by the log"]
            rows = [_row(kind, outcome.scores[kind, zone]) for kind in kinds]
            print_columns([heads, *rows, _row("all", outcome.total(zone))], left=2)
    if outcome.missed:
        console.print("\nFound by nobody (the same seed makes them again under the same number):", soft_wrap=True)
    for made in outcome.missed:
        console.print(f"  {printable(str(made))}", soft_wrap=True)
    console.print(f"\n{LIMITS}", soft_wrap=True)


def _row(kind: str, score: Score) -> list[str]:
    rungs = ", ".join(f"{rung} {count:,}" for rung, count in score.ordered())
    counts = [f"{score.tried:,}", f"{score.caught:,}", _rate(score), f"{score.by_log:,}"]
    return [kind, rungs or "nowhere", *counts]


def _rate(score: Score) -> str:
    """Hundredths of a per cent, rounded down: 100 is said only of all."""
    hundredths = 10_000 * score.caught // score.tried
    return f"{hundredths // 100}.{hundredths % 100:02d} %"
