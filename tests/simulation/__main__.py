"""Run the simulation by hand: one seed with its story, or many until one fails.

    python -m tests.simulation 17
    python -m tests.simulation --seeds 1000 [--first 1] [--steps 120]

Not here: what happens in it (`world`).
"""

from __future__ import annotations

import argparse
import shutil
import time

from tests.conftest import open_folder
from tests.simulation.runs import Failed, OwnServer, run_seed
from tests.simulation.world import World


def told(seed: int, world: World) -> str:
    """What an evening was like, on one line."""
    faults = ", ".join(f"{count} x {kind}" for kind, count in sorted(world.faults.happened.items()))
    sent = f"{len(world.rounds)} rounds, {len(world.sent)} commands, {world.repeated} repeated"
    return f"seed {seed}: {sent}; {faults};"


def main() -> int:
    """0 when every seed went well, 1 after the first that fails; its story is told."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seed", type=int, nargs="?", help="one seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many, one after the other")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--steps", type=int, default=120)
    given = parser.parse_args()
    first, count = (given.first, given.seeds) if given.seed is None else (given.seed, 1)
    folder = open_folder("dealproof-simulation-")
    try:
        with OwnServer(folder / "server") as server:
            for seed in range(first, first + count):
                begin = time.monotonic()
                try:
                    world = run_seed(seed, server, given.steps)
                except Failed as failure:
                    print(failure)
                    return 1
                print(told(seed, world), f"{time.monotonic() - begin:.1f} s", flush=True)
                if count == 1:
                    print("\n".join(world.story))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
