"""How fast is the log and what is proved with it, in ratios measured in one run.

    dealproof bench proof [--json]

What is measured and what it should be stands in `TARGETS`; figures of a run are kept in docs/benchmarks.md.  Servers,
journals, keys and logs are the real ones, in scratch folders that are removed afterwards.  What is compared takes
turns.  The tree of ten million leaves alone has made-up hashes instead of events, in real tiles.

Not here: the core (`ops.bench_core`), the append that the sequencer must keep up with (`ops.bench_append`).
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from domain.day import day_of
from domain.log.checkpoint import Checkpoint, Opened
from domain.log.merkle import (
    HASH_SIZE,
    Nodes,
    consistency_proof,
    inclusion_proof,
    root,
    verify_consistency,
    verify_inclusion,
)
from domain.log.tiles import TILE_WIDTH, tiles_of, top_of
from domain.record import Record
from domain.round.codec import decode
from domain.round.events import RoundOpened
from domain.rulesets import released_rulesets
from ops import clock
from ops.bench_api_load import Load, Turn
from ops.bench_append import append_ratio
from ops.bench_core import Measure, bulk, fill, scratch_server, simulated
from ops.database import migrate
from ops.day_close import close_days
from ops.day_proof import prove_day, verify_rounds
from ops.evidence_file import newest_checkpoint
from ops.journal import Journal, RoundIdentity
from ops.log.audit import events_between
from ops.log.keys import SiteKeys, make_keys, record_first_keys
from ops.log.sequencer import BATCH, POLL_SECONDS, Sequencer, Step
from ops.log.store import LogStore
from ops.settings import Settings
from replay.verdict import Status

TARGETS: Final = {
    "sequencer_over_append": "at least 1",
    "sequencer_cores_per_1000": "at most 0.1",
    "inclusion_large_over_small": "at most 3",
    "consistency_large_over_small": "at most 3",
    "day_over_bulk": "at least 0.5",
}

SMALL_TREE: Final = 10_000
REPEATS: Final = 5
"""Of each proof."""

BY: Final = "bench"


class Sizes(NamedTuple):
    """How much is measured.

    `rounds` of the day, `leaves` of the large tree; `behind`: rounds in the journal that the sequencer catches up with,
    `live`: rounds that are appended while it follows; `proofs` of each kind and tree.
    """

    rounds: int = 100_000
    leaves: int = 10_000_000
    behind: int = 5000
    live: int = 1500
    proofs: int = 1000
    turns: int = 3


QUICK: Final = Sizes(rounds=100, leaves=70_000, behind=50, live=20, proofs=20, turns=1)


def run(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Measure]:
    """Every ratio."""
    measures = {}
    with scratch_site() as site:
        say(f"the sequencer, {sizes.behind:,} rounds behind")
        fill(site.url, sizes.behind)
        measures["sequencer_over_append"] = catching_up(site, sizes.turns)
        say(f"the sequencer, beside {sizes.live:,} rounds being appended")
        measures["sequencer_cores_per_1000"] = following(site, sizes.live)
    with tempfile.TemporaryDirectory(prefix="dealproof-bench-") as folder:
        say(f"a tree of {sizes.leaves:,} leaves")
        trees = {size: made_up(Path(folder, str(size)), size) for size in (SMALL_TREE, sizes.leaves)}
        say("proofs")
        measures |= proof_costs(trees, sizes.proofs)
    with scratch_site() as site:
        say(f"a day of {sizes.rounds:,} rounds")
        fill(site.url, sizes.rounds)
        days = closed(site)
        say("the day proved, and plain bulk verify")
        measures["day_over_bulk"] = day_over_bulk(days, sizes.turns)
    return measures


class Site(NamedTuple):
    """A journal on a server of its own, the keys of its log, and a folder."""

    url: str
    journal: Journal
    keys: SiteKeys
    folder: Path


@contextmanager
def scratch_site() -> Iterator[Site]:
    """One with nothing in its journal but its keys, gone afterwards."""
    with scratch_server() as url, tempfile.TemporaryDirectory(prefix="dealproof-bench-") as home:
        migrate(url)
        folder = Path(home)
        keys = make_keys(Settings(folder, url, folder / "keys" / "dealproof.key"))
        with Journal.open(url) as journal:
            record_first_keys(journal, keys, BY)
            yield Site(url, journal, keys, folder)


# -- the sequencer


def catching_up(site: Site, turns: int) -> Measure:
    """Events a second from the journal into a published checkpoint, over those of the fastest append."""
    paces = []
    for _ in range(turns):
        append = append_ratio(site.url, repeats=5)["at_once"]["ours_events_per_second"]
        with _sequencer(site) as sequencer:
            start, cpu = time.perf_counter(), time.process_time()
            events = sequencer.catch_up().integrated
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        paces.append((events / seconds, append, 1000 * cpu / events))
    parts = {
        "sequencer_events_per_s": statistics.median(pace[0] for pace in paces),
        "append_events_per_s": statistics.median(pace[1] for pace in paces),
        "cpu_s_per_1000": statistics.median(pace[2] for pace in paces),
    }
    return Measure(statistics.median(ours / append for ours, append, _ in paces), parts)


def following(site: Site, rounds: int) -> Measure:
    """CPU seconds of the sequencer's process for a thousand events, while another appends as fast as it can.

    A checkpoint each second is in it, the reading by PostgreSQL's own process is not.  `behind_s`: the longest time
    from one step that took in all there was to the end of the next such one.
    """
    with (
        _sequencer(site) as sequencer,
        Load(partial(Appending, site.url, rounds)) as load,
        ThreadPoolExecutor(1) as waiting,
    ):
        before = sequencer.catch_up().size
        load.prepare()
        load.done()
        cpu = time.process_time()
        load.play()
        appended = waiting.submit(load.done)
        behind = max(_keep_up(sequencer, appended.done))
        step = sequencer.catch_up()
        cpu = time.process_time() - cpu
        turn = appended.result()
    assert turn is not None  # behind `play`
    events = step.size - before
    parts = {
        "append_events_per_s": events / (turn.ended - turn.began),
        "behind_s": behind,
        "cpu_s": cpu,
        "events": events,
    }
    return Measure(1000 * cpu / events, parts)


@contextmanager
def _sequencer(site: Site) -> Iterator[Sequencer]:
    """One that begins with an empty log."""
    with (
        tempfile.TemporaryDirectory(dir=site.folder) as folder,
        Sequencer(site.journal, LogStore(Path(folder)), site.keys.log, site.keys.origin) as sequencer,
    ):
        yield sequencer


def _keep_up(sequencer: Sequencer, over: Callable[[], bool]) -> Iterator[float]:
    """Go on as `Sequencer.run` does; the seconds between two moments at which the log had all that there was."""
    caught_up = time.monotonic()
    while not over():
        step: Step = sequencer.step()
        if step.integrated < BATCH:
            yield time.monotonic() - caught_up
            caught_up = time.monotonic()
            time.sleep(POLL_SECONDS)
    yield time.monotonic() - caught_up


class Appending:
    """A load (`ops.bench_api_load`) that appends simulated rounds, each at once: the fastest append there is."""

    def __init__(self, url: str, rounds: int) -> None:
        self._url, self._rounds = url, rounds
        self._made: list[tuple[RoundIdentity, list[Record]]] = []

    def prepare(self) -> None:
        """All that is not timed."""
        stored = islice(simulated(list(released_rulesets().values()), Random("live")), self._rounds)
        self._made = [_as_appended(stream, bodies) for stream, bodies in stored]

    def play(self) -> Turn:
        """What was prepared."""
        seconds = []
        with Journal.open(self._url) as journal:
            began = time.monotonic()
            for identity, records in self._made:
                start = time.monotonic()
                journal.append(identity.stream, identity.stream.encode(), records, [identity])
                seconds.append(time.monotonic() - start)
        return Turn(began, time.monotonic(), seconds)


def _as_appended(stream: str, bodies: list[bytes]) -> tuple[RoundIdentity, list[Record]]:
    events = [decode(body).data for body in bodies]
    records = [Record(stream, seq, events[seq].NAME, body) for seq, body in enumerate(bodies)]
    opened = events[0]
    assert isinstance(opened, RoundOpened)  # the simulation's first event
    return RoundIdentity(f"live {opened.table}", opened.number, bytes.fromhex(opened.commitment), stream), records


# -- proofs


def made_up(folder: Path, size: int) -> LogStore:
    """A log with so many leaves of no event.  Nothing of it needs to outlive a power cut, so nothing is synced."""
    random, below = Random(size), list[bytes]()
    for level, tiles in groupby(tiles_of(size), key=attrgetter("level")):
        tops = []
        for tile in tiles:
            start = tile.index * TILE_WIDTH
            hashes = b"".join(below[start : start + tile.width]) if level else random.randbytes(tile.width * HASH_SIZE)
            path = folder / tile.path()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(hashes)
            if tile.width == TILE_WIDTH:
                tops.append(top_of(hashes))
        below = tops
    return LogStore(folder)


def proof_costs(trees: dict[int, LogStore], proofs: int) -> dict[str, Measure]:
    """Proofs in the larger tree over those in the smaller, each for another place; medians over the places.

    The trees take turns.  Each proof is made several times, from the tiles' files anew, and the shortest time counts;
    so the files are in the system's cache.  Every proof is verified.
    """
    random = Random(proofs)
    roots = {size: root(size, store.nodes(size)) for size, store in trees.items()}
    inclusion: dict[int, list[float]] = {size: [] for size in trees}
    consistency: dict[int, list[float]] = {size: [] for size in trees}
    for _ in range(proofs):
        for size, store in trees.items():
            index, first = random.randrange(size), random.randrange(1, size)
            micros, proof = _timed(store, size, partial(inclusion_proof, index, size))
            inclusion[size].append(micros)
            nodes = store.nodes(size)
            verify_inclusion(index, size, nodes(0, index), proof, roots[size])
            micros, proof = _timed(store, size, partial(consistency_proof, first, size))
            consistency[size].append(micros)
            verify_consistency(first, size, root(first, nodes), roots[size], proof)
    return {
        "inclusion_large_over_small": _large_over_small(inclusion),
        "consistency_large_over_small": _large_over_small(consistency),
    }


def _timed(store: LogStore, size: int, prove: Callable[[Nodes], list[bytes]]) -> tuple[float, list[bytes]]:
    """The shortest time of a proof (microseconds), and the proof."""
    best, proof = float("inf"), list[bytes]()
    for _ in range(REPEATS):
        start = time.perf_counter()
        proof = prove(store.nodes(size))
        best = min(best, time.perf_counter() - start)
    return best * 1e6, proof


def _large_over_small(micros: dict[int, list[float]]) -> Measure:
    small, large = sorted(micros)
    medians = {size: statistics.median(times) for size, times in micros.items()}
    parts = {"large_us": medians[large], "small_us": medians[small], "leaves_large": large, "leaves_small": small}
    return Measure(medians[large] / medians[small], parts)


# -- a day


class Days(NamedTuple):
    """The days of a journal, closed and in the log up to a checkpoint; two where it was filled about midnight."""

    site: Site
    store: LogStore
    checkpoint: Checkpoint
    days: list[str]


def closed(site: Site) -> Days:
    """Bring the journal into its log and close its days, as if the next one had begun."""
    store, head = LogStore(site.folder / "log"), site.journal.head_position()
    [last] = events_between(site.journal, head, head)
    at = decode(last.record.body).at
    tomorrow = clock.as_text(clock.milliseconds(at) + 86_400_000)
    with Sequencer(site.journal, store, site.keys.log, site.keys.origin) as sequencer:
        size = sequencer.catch_up().size
        manifests = close_days(site.journal, store.nodes(size), size, tomorrow, BY, until=day_of(at))
        sequencer.catch_up()
    opened = newest_checkpoint(store, site.keys.trust)
    assert isinstance(opened, Opened)  # the sequencer has just signed it
    return Days(site, store, opened.checkpoint, [manifest.day for manifest in manifests])


def day_over_bulk(days: Days, turns: int) -> Measure:
    """Rounds a second of `verify --day` over those of `verify --all`, one worker each; the best turn of each counts.

    `audit_s`: of the day's seconds those of the pass over the log; the rest verifies its rounds.  `…_cpu_s`: CPU time
    of this process, in which waiting for PostgreSQL and for a core is not.
    """
    proved, plainly, audits = list[Pass](), list[Pass](), list[float]()
    gc.collect()
    gc.freeze()
    for _ in range(turns):
        plainly.append(_timed_pass(partial(bulk, days.site.journal, days.site.url, 1)))
        proved.append(_timed_pass(partial(_proved, days, audits)))
    gc.unfreeze()
    day, plain = min(proved), min(plainly)
    if day.rounds != plain.rounds:
        raise AssertionError(f"{day.rounds} rounds in the days, {plain.rounds} in the journal")
    parts = {
        "day_per_s": day.rounds / day.seconds,
        "bulk_per_s": plain.rounds / plain.seconds,
        "rounds": day.rounds,
        "audit_s": min(audits),
        "day_cpu_s": min(each.cpu for each in proved),
        "bulk_cpu_s": min(each.cpu for each in plainly),
    }
    return Measure(plain.seconds / day.seconds, parts)


class Pass(NamedTuple):
    """Seconds by the clock and of the CPU, and how many rounds were verified."""

    seconds: float
    cpu: float
    rounds: int


def _timed_pass(verify: Callable[[], int]) -> Pass:
    start, cpu = time.perf_counter(), time.process_time()
    rounds = verify()
    return Pass(time.perf_counter() - start, time.process_time() - cpu, rounds)


def _proved(days: Days, audits: list[float]) -> int:
    """Prove the days and give how many rounds they have; the seconds of the pass over the log are added."""
    site, audit, rounds = days.site, 0.0, 0
    for day in days.days:
        start = time.perf_counter()
        report = prove_day(site.journal, days.store.read_tile, days.checkpoint, day)
        audit += time.perf_counter() - start
        verify_rounds(
            site.journal, site.url, report, table=None, workers=1, every_verdict=False, done=lambda _: None
        )  # fmt: skip
        if report.status is not Status.VERIFIED:
            raise AssertionError(report.findings[:1] or report.tally.unclean[:1])
        rounds += report.tally.counts[Status.VERIFIED]
    audits.append(audit)
    return rounds
