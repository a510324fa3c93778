"""`dealproof demo` and `dealproof play`: simulated players at real tables, into the real journal.

Not here: the simulation (`ops.play`), the verification (`ops.bulk_verify`).
"""

from __future__ import annotations

import os
import secrets
from random import Random
from typing import TYPE_CHECKING

import click

from domain.ruleset import Ruleset
from domain.rulesets import released_rulesets
from ops.cli.columns import print_columns
from ops.cli.output import UsageError, data_console
from ops.cli.progress import progress
from ops.logs import logger
from ops.settings import Settings

if TYPE_CHECKING:
    from ops.floor import Floor
    from ops.play import Played


@click.command()
@click.option("--rounds", type=click.IntRange(1, 1_000_000), default=2000, show_default=True, help="How many rounds.")
@click.option("--seed", type=int, help="Seed of the players' decisions (the cards always come from a fresh seed).")
@click.pass_obj
def demo(settings: Settings, rounds: int, seed: int | None) -> int:
    """Play rounds of all four games, verify every one, show one: five minutes to the first verdict."""
    from ops.cli.rounds import print_round
    from ops.cli.verify import print_tally, run_verification
    from ops.site import open_floor

    console = data_console()
    with open_floor(settings) as (url, floor):
        journal = floor.journal
        played = _play(floor, list(released_rulesets().values()), rounds, seed)
        _print_takings(played)
        console.print("\nNow every round in the journal is decided again from its record and compared byte for byte.")
        tally = run_verification(settings, url, journal, workers=min(os.cpu_count() or 1, 8))
        print_tally(tally)
        console.print("\nOne round, as dispute staff see it:\n")
        stream = played.richest[1]
        print_round(journal, stream)
    round_id = stream.removeprefix("round:")
    console.print(
        "\nWhat to try next:\n"
        f"  dealproof verify {round_id}\n"
        f"  dealproof show {round_id}\n"
        "  dealproof rounds --last 20\n"
        "  dealproof verify --accounts\n"
        "  dealproof verify --all --json | head -1\n"
        "  dealproof rulesets diff russian-poker@1 open-russian-poker@1\n"
        "  dealproof play --rounds 100 --ruleset open-russian-poker@1",
        soft_wrap=True,
    )
    return 1 if tally.counts["discrepancy"] else 0


@click.command()
@click.option("--rounds", type=click.IntRange(1, 10_000_000), default=1000, show_default=True, help="How many rounds.")
@click.option("--ruleset", "name", help="One game only, as in russian-poker@1.")
@click.option("--seed", type=int, help="Seed of the players' decisions (the cards always come from a fresh seed).")
@click.option("--direct", is_flag=True, help="Without HTTP: commands go straight to the floor, one after the other.")
@click.option("--tables", type=click.IntRange(1, 100), default=2, show_default=True, help="Tables of each game.")
@click.option("--threads", type=click.IntRange(1, 64), default=4, show_default=True, help="Game servers at once.")
@click.pass_obj
def play(
    settings: Settings, rounds: int, name: str | None, seed: int | None, direct: bool, tables: int, threads: int
) -> None:
    """Play more rounds with simulated players, through the HTTP API that is started for it."""
    from ops.site import open_floor

    rulesets = released_rulesets()
    if name is not None and name not in rulesets:
        raise UsageError(f"--ruleset: {name!r} is not known; there are {', '.join(rulesets)}")
    chosen = list(rulesets.values()) if name is None else [rulesets[name]]
    with open_floor(settings) as (url, floor):
        if direct:
            _print_takings(_play(floor, chosen, rounds, seed, tables))
        else:
            _print_takings(_play_http(settings, url, floor, chosen, rounds, seed, tables, threads))


def _play(floor: Floor, rulesets: list[Ruleset], rounds: int, seed: int | None, tables_each: int = 2) -> Played:
    from ops.play import furnish
    from ops.play import play as play_rounds

    chosen_seed = secrets.randbits(32) if seed is None else seed
    tables = furnish(floor, rulesets, tables_each)
    with progress(f"Playing {rounds:,} rounds (players' seed {chosen_seed})", rounds) as advance:
        played = play_rounds(floor, tables, rounds, Random(chosen_seed), advance)
    logger().info("rounds_played", rounds=played.rounds, events=played.events)
    return played


def _play_http(
    settings: Settings,
    url: str,
    floor: Floor,
    rulesets: list[Ruleset],
    rounds: int,
    seed: int | None,
    tables_each: int,
    threads: int,
) -> Played:
    from domain.access import Role
    from ops.play import furnish
    from ops.play_http import play as play_rounds
    from ops.play_http import short_lived_keys
    from ops.serving_process import api_server

    chosen_seed = secrets.randbits(32) if seed is None else seed
    tables = furnish(floor, rulesets, tables_each)
    roles = [Role.GAME_SERVER, Role.CASHIER]
    with short_lived_keys(floor.journal, roles) as keys, api_server(settings, url) as address:
        title = f"Playing {rounds:,} rounds at {address} (players' seed {chosen_seed})"
        with progress(title, rounds) as advance:
            played = play_rounds(address, keys, tables, rounds, chosen_seed, advance, threads)
    logger().info("rounds_played", rounds=played.rounds, events=played.events)
    return played


def _print_takings(played: Played) -> None:
    rows = [("ruleset", "rounds", "voided", "boxes", "turnover", "returned", "GGR", "actual RTP")]
    for name, takings in sorted(played.by_ruleset.items()):
        counts = (f"{takings.rounds:,}", f"{takings.voided:,}", f"{takings.boxes:,}")
        money = (f"{takings.staked:,}", f"{takings.returned:,}", f"{takings.staked - takings.returned:,}")
        rows.append((name, *counts, *money, _percent(takings.returned, takings.staked)))
    print(f"{played.rounds:,} rounds, {played.events:,} events (amounts in minor units)")
    print_columns(rows, left=1)


def _percent(part: int, whole: int) -> str:
    """Two decimals, rounded down, in whole numbers."""
    hundredths = 10_000 * part // whole if whole else 0
    return f"{hundredths // 100}.{hundredths % 100:02d} %"
