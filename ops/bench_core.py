"""How fast is the core, in ratios measured in one run: absolute times mean nothing on a shared machine.

    dealproof bench core [--json]

What is measured and what it should be stands in `TARGETS`; figures of a run are kept in docs/benchmarks.md.  Server
and journal are the real ones, in a folder of their own that is removed afterwards.  pokerkit, the yardstick of one
ratio, is a development dependency; without it that ratio is left out.

Not here: the append against the library's recorder (`ops.bench_append`).
"""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import psycopg

from domain.deal.commitment import client_entropy
from domain.deal.shuffle import SeededDeck
from domain.record import leaf_hash
from domain.round.codec import append_to, decode
from domain.round.events import BoxPlaced, RoundOpened, SeedRevealed
from domain.ruleset import Ruleset
from domain.rulesets import released_rulesets
from ops import clock
from ops.bench_append import append_ratio
from ops.bulk_verify import Filters, Manifest, RangeDone, Tally, verify_all
from ops.database import migrate
from ops.journal import Journal
from ops.postgres_server import EmbeddedPostgres
from ops.simulation import Seat, steps
from replay.evidence import by_digest
from replay.verdict import Status
from replay.verify_round import verify_round

Stored = tuple[str, list[bytes]]

TARGETS: Final = {
    "verify_over_floor": "at most 2.5",
    "pokerkit_hand_over_verify": "at least 12",
    "database_over_memory_rate": "at least 0.60",
    "two_workers_over_one": "at least 1.6",
    "append_over_stock": "at least 1.3",
    "memory_large_over_small": "flat (about 1)",
}


class Measure(NamedTuple):
    """A ratio with the figures it was made of."""

    ratio: float
    parts: dict[str, float]


def run(rounds: int, large: int, say: Callable[[str], None]) -> dict[str, Measure]:
    """Every ratio.  `rounds` in the database for the rates, `large` for the memory."""
    say("in memory")
    measures = in_memory()
    with scratch_server() as url:
        say("append")
        as_played = append_ratio(url)["as_played"]
        measures["append_over_stock"] = Measure(as_played["ratio"], as_played)
        say(f"{rounds:,} rounds for the database")
        migrate(url)
        fill(url, rounds)
        say("bulk verify")
        measures |= from_database(url)
        say(f"{large:,} rounds for the memory")
        small = _peak_memory(url)
        fill(url, large - rounds)
        big = _peak_memory(url)
        parts: dict[str, float] = {"rounds_small": rounds, "rounds_large": large, "kib_small": small, "kib_large": big}
        measures["memory_large_over_small"] = Measure(big / small, parts)
    return measures


# -- in memory


def in_memory(repeats: int = 60, rounds: int = 150) -> dict[str, Measure]:
    """Verify a round of a single box, against its own floor and against a hand of pokerkit.

    The three take turns round by round, so that each finds the processor's caches as a real verification does, and the
    shortest of many turns of each round counts.
    """
    ruleset = released_rulesets()["russian-poker@1"]
    stored = list(islice(simulated([ruleset], Random(7)), rounds))
    rulesets = by_digest([ruleset])
    floors = [_floor(item, ruleset) for item in stored]
    hand = _pokerkit_hand()
    best: dict[str, list[int]] = {name: [10**12] * rounds for name in ("floor", "verify", "pokerkit_hand")}
    gc.collect()
    gc.freeze()
    for turn in range(repeats):
        for index, (stream, bodies) in enumerate(stored):
            _note(best["floor"], index, floors[index])
            _note(best["verify"], index, partial(verify_round, stream, bodies, rulesets))
            if hand is not None and turn % 4 == 0:
                _note(best["pokerkit_hand"], index, hand)
    gc.unfreeze()
    micros = {f"{name}_us": sum(times) / rounds / 1000 for name, times in best.items()}
    pokerkit = micros.pop("pokerkit_hand_us")
    measures = {"verify_over_floor": Measure(micros["verify_us"] / micros["floor_us"], micros)}
    if hand is not None:
        parts = {"verify_us": micros["verify_us"], "pokerkit_hand_us": pokerkit}
        measures["pokerkit_hand_over_verify"] = Measure(pokerkit / micros["verify_us"], parts)
    return measures


def _note(best: list[int], index: int, turn: Callable[[], object]) -> None:
    start = time.perf_counter_ns()
    turn()
    best[index] = min(best[index], time.perf_counter_ns() - start)


def _floor(stored: Stored, ruleset: Ruleset) -> Callable[[], None]:
    """What a verification of this round can't do without: hash its bodies, decode them, deal the cards it showed."""
    _, bodies = stored
    inputs, dealt = _deck_inputs(stored, ruleset)

    def floor() -> None:
        for body in bodies:
            decode(body)
            leaf_hash(body)
        SeededDeck(*inputs).cards(0, dealt)

    return floor


def _deck_inputs(stored: Stored, ruleset: Ruleset) -> tuple[tuple[bytes, bytes, bytes, bytes], int]:
    """What the round's deck is made of, and how many cards of it were dealt at least."""
    stream, bodies = stored
    events = [decode(body).data for body in bodies]
    seed = next(event.server_seed for event in events if isinstance(event, SeedRevealed))
    seeds = [(event.box, bytes.fromhex(event.client_seed)) for event in events if isinstance(event, BoxPlaced)]
    inputs = (bytes.fromhex(seed), bytes.fromhex(stream[6:]), ruleset.digest, client_entropy(seeds))
    return inputs, 5 * (len(seeds) + 1) + 2


def _pokerkit_hand() -> Callable[[], object] | None:
    """A hand of five-card draw between two players in pokerkit; None where it isn't installed."""
    try:
        from pokerkit import Automation, NoLimitDeuceToSevenLowballSingleDraw
    except ImportError:
        return None
    by_itself = tuple(automation for automation in Automation if automation is not Automation.RUNOUT_COUNT_SELECTION)

    def hand() -> object:
        state = NoLimitDeuceToSevenLowballSingleDraw.create_state(by_itself, True, 0, (1, 2), 2, 200, 2)
        while state.status:
            if state.can_check_or_call():
                state.check_or_call()
            elif state.stand_patter_or_discarder_index is not None:
                cards = tuple(state.get_down_cards(state.stand_patter_or_discarder_index))
                state.stand_pat_or_discard(cards[:2])
        return state

    return hand


# -- out of the database


def from_database(url: str, repeats: int = 5) -> dict[str, Measure]:
    """Bulk verify with one worker against the same rounds in memory, and two workers against one."""
    with Journal.open(url) as journal:
        stored = list(journal.read_rounds())
        rulesets = by_digest(released_rulesets().values())

        def memory() -> None:
            for stream, bodies in stored:
                verify_round(stream, bodies, rulesets)

        best = dict.fromkeys(("memory", "one worker", "two workers"), float("inf"))
        gc.collect()
        gc.freeze()
        for _ in range(repeats):
            for name, turn in (
                ("memory", memory),
                ("one worker", lambda: bulk(journal, url, 1)),
                ("two workers", lambda: bulk(journal, url, 2)),
            ):
                start = time.perf_counter()
                turn()
                best[name] = min(best[name], time.perf_counter() - start)
        gc.unfreeze()
    rates = {f"{name.replace(' ', '_')}_per_s": round(len(stored) / seconds, 1) for name, seconds in best.items()}
    return {
        "database_over_memory_rate": Measure(best["memory"] / best["one worker"], rates),
        "two_workers_over_one": Measure(best["one worker"] / best["two workers"], rates),
    }


def bulk(journal: Journal, url: str, workers: int) -> int:
    """Verify everything, and give how many rounds that were.  Raises AssertionError where one is not verified."""
    tally = Tally()

    def done(finished: RangeDone) -> None:
        _must_be_clean(finished)
        tally.add(finished)

    with tempfile.TemporaryDirectory() as folder:
        run = Manifest.open(Path(folder), journal, Filters(), "bench", afresh=True)
        verify_all(journal, url, Filters(), workers=workers, every_verdict=False, manifest=run, done=done)
    return tally.counts[Status.VERIFIED]


def _must_be_clean(done: RangeDone) -> None:
    if done.unclean:
        raise AssertionError(done.unclean[0].decode())


def _peak_memory(url: str) -> int:
    """Peak resident memory (KiB) of a process that verifies everything with one worker."""
    program = "import sys; from ops.bench_core import verify_and_print_peak; verify_and_print_peak(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", program, url], check=True, capture_output=True, text=True)
    return int(done.stdout)


def verify_and_print_peak(url: str) -> None:
    """What the subprocess of `_peak_memory` runs."""
    with Journal.open(url) as journal:
        bulk(journal, url, 1)
    print(_high_water_mark())


def _high_water_mark() -> int:
    """Peak resident memory (KiB) of this process since it began.

    Not `ru_maxrss` where Linux says better: that counts what the parent held when it forked, before the program began.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# -- rounds


def simulated(rulesets: Sequence[Ruleset], random: Random, number: int = 1) -> Iterator[Stored]:
    """Finished rounds of these rulesets in turn, without end; ids are of now and rise."""
    milliseconds = time.time_ns() // 1_000_000
    while True:
        ruleset = rulesets[number % len(rulesets)]
        milliseconds += 1
        round_id = clock.round_id_at(milliseconds, random.randbytes(10))
        seat = Seat("bench", number, round_id, random.randbytes(32), ruleset.table_defaults)
        stream, bodies = f"round:{round_id.hex()}", list[bytes]()
        head: tuple[int, str] | None = None
        for events in steps(random, ruleset, seat):
            records = append_to(stream, head, events, clock.as_text(milliseconds))
            bodies += [record.body for record in records]
            head = (records[-1].seq, leaf_hash(bodies[-1]))
        yield stream, bodies
        number += 1


def fill(url: str, rounds: int) -> None:
    """Copy so many simulated rounds of all games straight into a scratch database, as no house could."""
    with psycopg.connect(url) as connection:
        connection.execute("set session_replication_role = replica")
        first, number = connection.execute(_WHERE_TO_GO_ON).fetchone() or (0, 0)
        rulesets = list(released_rulesets().values())
        made = islice(simulated(rulesets, Random(first), number + 1), max(rounds, 0))
        identities = []
        with connection.cursor().copy(_COPY_EVENTS) as copy:
            for stream, bodies in made:
                for seq, body in enumerate(bodies):
                    first += 1
                    copy.write_row((stream, seq, decode(body).data.NAME, body, first))
                opened = decode(bodies[0]).data
                assert isinstance(opened, RoundOpened)  # the simulation's first event
                identities.append((opened.table, opened.number, bytes.fromhex(opened.commitment), stream))
        with connection.cursor().copy(_COPY_IDENTITIES) as copy:
            for identity in identities:
                copy.write_row(identity)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze dealproof.events")


_WHERE_TO_GO_ON: Final = """
select (select coalesce(max(notification_id), 0) from dealproof.events),
       (select coalesce(max(number), 0) from dealproof.round_identity where table_id = 'bench')
"""
_COPY_EVENTS: Final = (
    "copy dealproof.events (originator_id, originator_version, topic, state, notification_id) from stdin"
)
_COPY_IDENTITIES: Final = "copy dealproof.round_identity (table_id, number, commitment, stream) from stdin"


@contextmanager
def scratch_server() -> Iterator[str]:
    """A real server in a folder of its own, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="dealproof-bench-") as folder:
        with suppress(OSError):
            Path(folder).chmod(0o711)  # as root the server is another user, who must get through
        with EmbeddedPostgres(Path(folder) / "server") as server:
            yield server.url
