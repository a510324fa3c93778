"""Prove a day: nothing in it is missing, doubled or added, and every round of it is true.

The events of the day's range are held against the log (`ops.log.audit`) and counted again in the same pass
(`replay.day`); the day's manifest must be in the log itself and say what was counted; then every round that was opened
on the day or ended on it is decided again (`ops.bulk_verify`).  Size and root of the tree come from a checkpoint that
the caller has opened with his own keys.

A day relies on the manifest of the day before for what was open and how far the tables had counted.  That one is held
against the log here; it is proved by proving its own day.

Not here: opening the checkpoint (`domain.log.checkpoint`), printing (`ops.cli.verify_day`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from domain.day import CODEC, DayClosed, day_after, day_of, is_day, says_later, time_said
from domain.log.checkpoint import Checkpoint
from domain.log.merkle import leaf_hash as leaf_of
from domain.record import CHAIN_START, BodyError, Record, leaf_hash
from ops import bulk_verify
from ops.bulk_verify import ROUNDS_A_RANGE, Filters, RangeDone, Tally
from ops.day_close import newest_first
from ops.findings import Findings
from ops.journal import Journal, Stored
from ops.log.audit import UNREADABLE, ProvenTiles, ReadTile, audit, events_between
from replay.day import DayProof, Manifest, ends_right, follows, read_days
from replay.verdict import Discrepancy, Status

TOLD_EVERY: Final = 10_000
"""Events between two words about the progress."""

Advanced = Callable[[int], None]


class DayUnknown(ValueError):
    """There is no such day to prove, or not yet; one line."""


@dataclass
class DayReport:
    """What the proof of a day came to.

    `counted`: the day as its events say; `closing`: where its manifest stands in the journal, None where it is not
    closed; `logged`: whether the checkpoint holds the manifest; `checked`: how many positions were held against the
    log; `rounds`: streams that were opened on the day or ended on it, `earlier` those of them from days before.
    """

    day: str
    checkpoint: Checkpoint
    counted: DayClosed
    closing: int | None
    logged: bool
    checked: int
    findings: list[Discrepancy]
    found: int
    rounds: set[str]
    earlier: set[str]
    tally: Tally = field(default_factory=Tally)

    @property
    def status(self) -> Status:
        """A discrepancy of the day or of one of its rounds makes it one; rounds that are still open are counted."""
        wrong = self.found or self.tally.counts[Status.DISCREPANCY]
        return Status.DISCREPANCY if wrong else Status.VERIFIED


def prove_day(
    journal: Journal, read_tile: ReadTile, checkpoint: Checkpoint, day: str, advanced: Advanced = lambda _: None
) -> DayReport:
    """Hold a day against the log and its manifest; its rounds are verified afterwards (`verify_rounds`).

    A day whose closing the checkpoint does not hold is proved as far as the checkpoint goes.  `advanced` hears of every
    so many events.  Raises DayUnknown, JournalUnavailable.
    """
    located, findings = locate(journal, day), Findings()
    previous, closing = located.before, located.closing
    first = _first(located, checkpoint.size)
    tiles = _tiles(read_tile, checkpoint)
    findings.add(_stream_of_days(located))
    for stored in (located.previous, None if closing is None else closing.stored):
        findings.add(_in_log(tiles, stored))
    logged = closing is not None and closing.stored.position <= checkpoint.size
    proof = DayProof(day, previous)
    # Only a manifest that is what it was may say where the day ends.
    known = closing is not None and logged and not findings.count and _is_range(closing, first)
    last = closing.manifest.closed.events.last if closing is not None and known else checkpoint.size
    counting = _Counting(proof, findings, advanced, until_later=not known)
    audited = audit(journal, read_tile, checkpoint, first, last, counting.seen)
    if known or counting.over:
        manifest = None if closing is None else closing.manifest
        findings.add(proof.finish(manifest, _root(tiles, proof.fold.last)))
    if closing is not None and known:
        findings.add(_behind(journal, tiles, closing.manifest))
    counted = proof.fold.comes_to(day=day, by="", root=_root(tiles, proof.fold.last) or "")
    pending = set() if previous is None else {f"round:{each.round}" for each in previous.pending}
    return DayReport(
        day, checkpoint, counted, None if closing is None else closing.stored.position, logged, audited.checked,
        audited.findings + findings.kept, audited.found + findings.count, proof.rounds, proof.rounds & pending,
    )  # fmt: skip


def verify_rounds(
    journal: Journal,
    url: str,
    report: DayReport,
    *,
    table: str | None,
    workers: int,
    every_verdict: bool,
    done: Callable[[RangeDone], None],
) -> None:
    """Decide the rounds of the day again, of one table or of all; the report's tally is added to.

    `done` hears of each range of rounds.  Raises what `verify_all` does.
    """

    def add(result: RangeDone) -> None:
        report.tally.add(result)
        done(result)

    ranges = ranges_of(journal, report)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "day.jsonl"
        manifest = bulk_verify.Manifest(path, ranges, [], path.open("ab"))
        filters = Filters(table=table)
        bulk_verify.verify_all(
            journal, url, filters, workers=workers, every_verdict=every_verdict, manifest=manifest, done=add
        )


def ranges_of(journal: Journal, report: DayReport) -> list[tuple[str, str]]:
    """Ranges of streams that hold the day's rounds and no others, some hundred rounds each."""
    ranges = [(stream, stream) for stream in sorted(report.earlier)]
    own = report.rounds - report.earlier
    if not own:
        return ranges
    rows = journal.application.recorder.datastore.rows(_BETWEEN, (min(own), max(own)))
    # A round that was opened about midnight may lie between those of the other day.
    for is_own, group in groupby(sorted(own.union(stream for (stream,) in rows)), key=own.__contains__):
        streams = list(group)
        for at in range(0, len(streams) if is_own else 0, ROUNDS_A_RANGE):
            part = streams[at : at + ROUNDS_A_RANGE]
            ranges.append((part[0], part[-1]))
    return ranges


_BETWEEN: Final = "select stream from dealproof.round_identity where stream between %b and %b"


# -- finding the day


class Closing(NamedTuple):
    """A day's closing, read, and where it stands."""

    stored: Stored
    manifest: Manifest


class Located(NamedTuple):
    """Where a day stands in the stream of days."""

    day: str
    previous: Stored | None
    """The closing of the day before."""
    before: DayClosed | None
    """What it says."""
    behind: list[Stored]
    """What follows it, up to the day's own closing; all there is where the day has none."""
    closing: Closing | None


def locate(journal: Journal, day: str) -> Located:
    """Find a day and the one before it, newest first.  Raises DayUnknown."""
    if not is_day(day):
        raise DayUnknown(f"day {day!r}: is no day as 2026-12-01")
    behind: list[Stored] = []
    own: Closing | None = None
    previous, before = None, None
    for stored in newest_first(journal):
        closed = _closed(stored.record)
        if closed is not None and is_day(closed.day) and closed.day < day:
            previous, before = stored, closed
            break
        if closed is not None and closed.day == day and own is None:
            own = Closing(stored, Manifest(stored.record.seq, closed))
            behind = []
        behind.append(stored)
    _require_day(journal, day, before, own)
    return Located(day, previous, before, behind[::-1], own)


def _require_day(journal: Journal, day: str, before: DayClosed | None, own: Closing | None) -> None:
    if own is not None:
        return
    if before is not None and day != day_after(before.day):
        raise DayUnknown(f"day {day}: neither it nor the one before is closed; the last one closed is {before.day}")
    if before is None:
        first = next(events_between(journal, 1, 1), None)
        begins = "" if first is None else day_of(time_said(first.record))
        if not begins:
            raise DayUnknown(f"day {day}: the journal is empty")
        if begins > day:
            raise DayUnknown(f"day {day}: the journal begins on {begins}")
        if begins < day:
            raise DayUnknown(f"day {day}: no day is closed yet; only the journal's first one, {begins}, can be proved")


def _closed(record: Record) -> DayClosed | None:
    body = CODEC.read(record.body)
    return body.data if not isinstance(body, BodyError) and isinstance(body.data, DayClosed) else None


def _first(located: Located, size: int) -> int:
    """Where the day begins: what the checkpoint holds of the day before must say so."""
    if located.previous is None or located.before is None:
        return 1
    if located.previous.position > size:
        text = f"the closing of the day before is event {located.previous.position}, but the checkpoint has {size}"
        raise DayUnknown(f"day {located.day}: {text}")
    first = located.before.events.last + 1
    if not 1 <= first <= located.previous.position:
        raise DayUnknown(f"day {located.day}: the day before says that it ends with event {first - 1}")
    return first


def _is_range(closing: Closing, first: int) -> bool:
    """Whether the day's end is one: neither before its beginning nor behind its closing."""
    return first - 1 <= closing.manifest.closed.events.last < closing.stored.position


def _stream_of_days(located: Located) -> Iterator[Discrepancy]:
    """The stream is whole from the day before on, and has each day once."""
    previous = located.previous
    start = (-1, CHAIN_START) if previous is None else (previous.record.seq, leaf_hash(previous.record.body))
    days = read_days([stored.record for stored in located.behind], start)
    yield from days.findings
    if located.closing is not None:
        yield from follows(located.closing.manifest, located.before)
    for seq, closed in days.closings():
        if closed.day == located.day and (located.closing is None or seq != located.closing.manifest.seq):
            yield Discrepancy(seq, closed.NAME, "day", closed.day, "there once", "days:utc")
        elif closed.day != located.day:
            yield Discrepancy(seq, closed.NAME, "day", closed.day, f"{located.day}, which is not closed", "days:utc")


# -- the log


def _tiles(read_tile: ReadTile, checkpoint: Checkpoint) -> ProvenTiles | None:
    try:
        return ProvenTiles(read_tile, checkpoint)
    except UNREADABLE:
        return None  # the audit says so


def _in_log(tiles: ProvenTiles | None, stored: Stored | None) -> Iterator[Discrepancy]:
    """Whether an event is what the log has at its position; nothing where the checkpoint does not reach it."""
    if tiles is None or stored is None or stored.position > tiles.size:
        return
    leaf, record = leaf_of(stored.record.body), stored.record
    try:
        wanted = tiles.leaf(stored.position)
    except UNREADABLE as error:
        yield Discrepancy(record.seq, f"position {stored.position}", "tile", str(error), "a true tile", record.stream)
        return
    if leaf != wanted:
        where = f"position {stored.position}"
        yield Discrepancy(record.seq, where, "leaf", leaf.hex(), wanted.hex(), record.stream)


def _root(tiles: ProvenTiles | None, size: int) -> str | None:
    try:
        return None if tiles is None else tiles.root(size).hex()
    except UNREADABLE:
        return None  # the audit says so


def _behind(journal: Journal, tiles: ProvenTiles | None, manifest: Manifest) -> Iterator[Discrepancy]:
    """The event behind the day's last one is of a later day."""
    position = manifest.closed.events.last + 1
    stored = next(events_between(journal, position, position), None)
    yield from _in_log(tiles, stored)
    yield from ends_right(manifest, None if stored is None else stored.record)


class _Counting:
    """Feeds the proof of the day from the audit's pass; `over`: an event of a later day has gone by."""

    def __init__(self, proof: DayProof, findings: Findings, advanced: Advanced, *, until_later: bool) -> None:
        self.over = False
        self._proof = proof
        self._findings = findings
        self._advanced = advanced
        self._until_later = until_later
        self._events = 0

    def seen(self, position: int, record: Record) -> None:
        self._events += 1
        if self._events % TOLD_EVERY == 0:
            self._advanced(TOLD_EVERY)
        if self._until_later and not self.over:
            self.over = says_later(record, self._proof.day)
        if self.over:
            return
        found: Sequence[Discrepancy] = self._proof.take(position, record)
        if found:
            self._findings.add(found)
