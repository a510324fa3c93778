"""Verify many rounds out of the journal: spread over workers, in constant memory, going on where it was interrupted.

The rounds are cut into ranges of streams; a worker reads its ranges itself and sends back counts and the verdicts that
are not clean, never records.  A manifest (one JSON line a finished range, docs/formats/verdict.md) lets the next run
with the same filters on the same journal go on; it is removed when a run is complete.

Not here: the verification of one round (`replay.verify_round`), printing (`ops.cli.verify`).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from domain.record import BodyError
from domain.round.codec import decode
from domain.round.events import RoundOpened
from ops.journal import FIRST_ROUND, LAST_ROUND, Journal
from ops.postings import PostingsReader
from ops.rulesets import known_rulesets
from replay.evidence import Rulesets, by_digest
from replay.verdict import Status
from replay.verify_round import verify_round

ROUNDS_A_RANGE = 1000
"""Small enough that an interrupt loses seconds, large enough that a range's start costs nothing."""


STALE_AFTER = 86_400
"""Seconds after which an interrupted run is begun again."""


class RunningAlready(Exception):
    """Another process verifies the same rounds from the same home; one line."""


class WorkerLost(Exception):
    """A worker process is gone; one line."""


class Filters(msgspec.Struct, frozen=True):
    """Which rounds: streams between two names (a round's name begins with its time), one table, one ruleset."""

    first: str = FIRST_ROUND
    last: str = LAST_ROUND
    table: str | None = None
    ruleset: str | None = None


class Work(msgspec.Struct, frozen=True):
    """One range for a worker: plain values that cross a process border."""

    filters: Filters
    first: str
    last: str
    every_verdict: bool


class RangeDone(msgspec.Struct, frozen=True):
    """What a range came to: rounds by status, and the verdicts as JSON lines (the unclean ones, or every one)."""

    first: str
    last: str
    counts: dict[str, int]
    unclean: list[bytes]
    verdicts: list[bytes]


@dataclass
class Tally:
    """The sum over ranges; `unclean` are verdicts as JSON objects, in the order of the streams of each range."""

    counts: Counter[str] = field(default_factory=Counter)
    unclean: list[bytes] = field(default_factory=list)

    def add(self, done: RangeDone) -> None:
        """Count a range."""
        self.counts.update(done.counts)
        self.unclean += done.unclean


def verify_all(
    journal: Journal,
    url: str,
    filters: Filters,
    *,
    workers: int,
    every_verdict: bool,
    manifest: Manifest,
    done: Callable[[RangeDone], None],
) -> None:
    """Verify every round that the filters let through; `done` hears of each range as it is finished."""
    finished = {(old.first, old.last) for old in manifest.finished}
    for old in manifest.finished:
        done(old)
    work = (
        Work(filters, first, last, every_verdict)
        for first, last in manifest.ranges
        if (first, last) not in finished
    )
    if workers == 1:
        rulesets = by_digest(known_rulesets(journal))
        results: Iterator[RangeDone] = (verify_range(item, journal, rulesets) for item in work)
    else:
        results = over_processes(url, work, workers)
    try:
        for result in results:
            manifest.keep(result)
            done(result)
        manifest.remove()
    finally:
        manifest.lock.close()


def over_processes(url: str, work: Iterator[Work], workers: int, *, niceness: int = 0) -> Generator[RangeDone]:
    """Results as they come; a few ranges wait ahead of the workers, not all of them.

    `niceness`: how far the workers stand back behind others.  Raises WorkerLost.
    """
    context, arguments = get_context("spawn"), (url, os.getpid(), niceness)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker, initargs=arguments)
    try:
        _start_workers(pool, workers)
        yield from spread(pool, work, 2 * workers)
    except BrokenProcessPool:
        raise WorkerLost(
            "a worker process ended (killed, out of memory, or it could not open the database); "
            "what is finished is kept, run it again to go on"
        ) from None
    except BaseException:
        # An interrupt must not wait for ranges that nobody will hear of.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _start_workers(pool: Executor, workers: int) -> None:
    """Start them all with the interrupt blocked, which they inherit: at the terminal it reaches every process, and the
    parent alone answers it, also while a worker is still loading."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(workers):
            pool.submit(os.getpid)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def spread(pool: Executor, work: Iterator[Work], ahead: int) -> Iterator[RangeDone]:
    """Run work on any executor of `concurrent.futures`, at most `ahead` ranges at once."""
    running: set[Future[RangeDone]] = set()
    for item in work:
        running.add(pool.submit(_work, item))
        if len(running) >= ahead:
            ready, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in ready)
    while running:
        ready, running = wait(running, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in ready)


def verify_range(work: Work, journal: Journal, rulesets: Rulesets) -> RangeDone:
    """Verify the rounds of one range, from the database."""
    counts: Counter[str] = Counter()
    unclean: list[bytes] = []
    verdicts: list[bytes] = []
    for stream, bodies, postings in PostingsReader(journal).read_rounds(work.first, work.last):
        if not _wanted(work.filters, bodies):
            continue
        verdict = verify_round(stream, bodies, rulesets, postings)
        counts[verdict.status] += 1
        if verdict.status is not Status.VERIFIED or work.every_verdict:
            line = msgspec.json.encode(verdict.as_json())
            if verdict.status is not Status.VERIFIED:
                unclean.append(line)
            if work.every_verdict:
                verdicts.append(line)
    for table, stream in journal.missing_rounds(work.first, work.last):
        # A round that was opened and has no event left: which ruleset it had nobody can tell.
        if work.filters.table in (None, table):
            line = msgspec.json.encode(verify_round(stream, [], rulesets).as_json())
            counts[Status.DISCREPANCY] += 1
            unclean.append(line)
            if work.every_verdict:
                verdicts.append(line)
    return RangeDone(work.first, work.last, dict(counts), unclean, verdicts)


def _wanted(filters: Filters, bodies: Sequence[bytes]) -> bool:
    """Table and ruleset as the first event names them; a round whose first event can't be read is never left out."""
    if filters.table is None and filters.ruleset is None:
        return True
    try:
        opened = decode(bodies[0]).data
    except BodyError:
        return True
    if not isinstance(opened, RoundOpened):
        return True
    return filters.table in (None, opened.table) and filters.ruleset in (None, opened.ruleset)


# -- a worker process


class Worker(NamedTuple):
    """What a worker process opens once and uses for every range."""

    journal: Journal
    rulesets: Rulesets


_worker: Worker | None = None


def _begin_worker(url: str, parent: int, niceness: int) -> None:
    global _worker
    os.nice(niceness)
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    journal = Journal.open(url)
    _worker = Worker(journal, by_digest(known_rulesets(journal)))


def _end_with_parent(parent: int) -> None:
    """A worker whose parent was killed would wait for ever, or read on for nobody."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _work(work: Work) -> RangeDone:
    assert _worker is not None  # the pool has begun it
    return verify_range(work, _worker.journal, _worker.rulesets)


# -- the manifest


class Head(msgspec.Struct, frozen=True):
    """First line of a manifest: whose run it is and which ranges it has."""

    key: str
    ranges: list[tuple[str, str]]


class Manifest:
    """What a run has finished, in a file; one line a range, written whole or not at all."""

    def __init__(self, path: Path, ranges: list[tuple[str, str]], finished: list[RangeDone], lock: IO[bytes]) -> None:
        self.path = path
        self.ranges = ranges
        self.finished = finished
        self.lock = lock  # held while the run lives; the kernel lets go of it when we are killed

    @classmethod
    def open(
        cls,
        folder: Path,
        journal: Journal,
        filters: Filters,
        version: str,
        *,
        afresh: bool,
    ) -> Manifest:
        """Go on with the run of these filters on this journal, or begin one.  `version` is the software's.

        A run left off more than a day ago is not gone on with: what it saw may have changed.  Raises RunningAlready.
        """
        identity = [journal.first_leaf_hash(), version, msgspec.to_builtins(filters)]
        key = hashlib.sha256(msgspec.json.encode(identity)).hexdigest()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{key[:32]}.jsonl"
        lock = _locked(path)
        old = None if afresh or _is_stale(path) else _read(path, key, lock)
        if old is not None:
            return old._with_newer_rounds(journal, filters)
        ranges = journal.split_rounds(filters.first, filters.last, parts=_parts(journal))
        path.write_bytes(msgspec.json.encode(Head(key, ranges)) + b"\n")
        return cls(path, ranges, [], lock)

    def keep(self, done: RangeDone) -> None:
        """Note a finished range.  A crash right after this loses the ranges that were running, no more."""
        # Rounds that could not be checked may have ended since, so their range is looked at again by the next run.
        if Status.NOT_CHECKABLE not in done.counts:
            with self.path.open("ab") as file:
                file.write(msgspec.json.encode(RangeDone(done.first, done.last, done.counts, done.unclean, [])) + b"\n")

    def remove(self) -> None:
        """The run is complete."""
        self.path.unlink(missing_ok=True)

    def _with_newer_rounds(self, journal: Journal, filters: Filters) -> Manifest:
        """Rounds opened since the run began lie behind its last range."""
        last = max((last for _, last in self.ranges), default=filters.first)
        newer = journal.split_rounds(last + "\x01", filters.last, parts=_parts(journal))
        return Manifest(self.path, [*self.ranges, *newer], self.finished, self.lock)


def _parts(journal: Journal) -> int:
    return max(1, -(-journal.count_rounds() // ROUNDS_A_RANGE))


def _locked(path: Path) -> IO[bytes]:
    """Only one run at a time writes a manifest; two would count its ranges twice."""
    lock = path.open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise RunningAlready("verify --all: the same verification is running already on this home") from None
    return lock


def _is_stale(path: Path) -> bool:
    return path.exists() and time.time() - path.stat().st_mtime > STALE_AFTER


def _read(path: Path, key: str, lock: IO[bytes]) -> Manifest | None:
    """An earlier run's manifest; None if there is none.  A last line cut off by a crash is dropped."""
    try:
        lines = path.read_bytes().split(b"\n")
        head = msgspec.json.decode(lines[0], type=Head)
    except (OSError, msgspec.DecodeError):
        return None
    if head.key != key:
        return None
    finished = []
    for line in lines[1:]:
        try:
            finished.append(msgspec.json.decode(line, type=RangeDone))
        except msgspec.DecodeError:
            break
    # What comes next must not be written behind half a line.
    path.write_bytes(b"".join(line + b"\n" for line in lines[: len(finished) + 1]))
    return Manifest(path, head.ranges, list({(old.first, old.last): old for old in finished}.values()), lock)

