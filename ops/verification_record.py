"""Keep in the journal what verification came to, and verify daily what ended since.

    record(journal, tally, scope=WHOLE, to_position=head, by="Ann")
    for verified in verify_ended(journal, url, until): ...

The daily run reads where the last one ended, and records after every so many rounds, so that a restart loses little.
It verifies in one process of its own, which leaves the processor to whoever serves.

Not here: verification (`replay`, `ops.bulk_verify`), what is recorded (`domain.verification`), when (`ops.duties`).
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.metadata import version
from typing import Any, Final

import msgspec

from domain.record import BodyError, canonical_json
from domain.round.events import SeedRevealed
from domain.verification import CODEC, ENDED, MOST_FINDINGS, VERIFICATION, WHOLE, Finding, RoundsVerified
from ops.bulk_verify import ROUNDS_A_RANGE, Filters, Tally, Work, WorkerLost, over_processes
from ops.commands import Carried, Command, carry_out_one
from ops.journal import FIRST_ROUND, LAST_ROUND, Journal, Stored
from ops.record_line import record_line
from replay.verdict import Status, finding_place, finding_value

KEEPER: Final = "daily verification"

ROUNDS_AN_EVENT: Final = 20_000
"""Of the daily run: half a minute's work."""

NICENESS: Final = 10


def record(journal: Journal, tally: Tally, *, scope: str, to_position: int, by: str) -> Stored:
    """Keep what a run came to; the event it became.  Raises JournalError."""
    findings, found = _findings(tally.unclean)
    counts = tally.counts
    event = RoundsVerified(
        by=by, discrepancies=counts[Status.DISCREPANCY], findings=findings, found=found,
        not_checkable=counts[Status.NOT_CHECKABLE], rounds=counts.total(), scope=scope, software=version("dealproof"),
        to_position=to_position, verified=counts[Status.VERIFIED], whole=scope == WHOLE,
    )  # fmt: skip
    # Drawn anew: two runs that found the same are two events.
    command = Command(f"verification {secrets.token_hex(8)}", canonical_json(msgspec.to_builtins(event)), by)
    carried = carry_out_one(journal, command, CODEC, VERIFICATION, lambda _: event)
    assert isinstance(carried, Carried)  # nothing here refuses
    return carried.last


# -- findings


def _findings(unclean: Sequence[bytes]) -> tuple[list[Finding], int]:
    """The first findings of some verdicts, and how many there are."""
    kept: list[Finding] = []
    found = 0
    for line in unclean:
        verdict = msgspec.json.decode(line)
        for check in verdict["checks"]:
            discrepancies = check.get("discrepancies", ())
            found += len(discrepancies)
            for each in discrepancies[: MOST_FINDINGS - len(kept)]:
                kept.append(_finding(verdict["round"], check["check"], each))
    return kept, found


def _finding(round_id: str, check: str, discrepancy: dict[str, Any]) -> Finding:
    secret = _is_seed(discrepancy)
    recomputed, recorded = (
        "a seed" if secret else record_line(finding_value(discrepancy[key])) for key in ("recomputed", "recorded")
    )
    return Finding(
        check, record_line(discrepancy["field"]), record_line(finding_place(discrepancy)), recomputed, recorded,
        record_line(round_id),
    )  # fmt: skip


def _is_seed(discrepancy: dict[str, Any]) -> bool:
    """Whether a value may hold a server seed: nobody can tell whether one that is wrong is still in use somewhere."""
    field = discrepancy["field"]
    return field == "server_seed" or (discrepancy["event"] == SeedRevealed.NAME and field in ("body", "event"))


# -- the daily run


def verify_ended(
    journal: Journal, url: str, until: threading.Event, by: str = KEEPER
) -> Iterator[RoundsVerified]:
    """Verify the rounds that ended since the run before, and record it; nothing where none has.

    The first run of a journal begins with its first round.  Stops soon after `until` is set; what is not recorded by
    then is verified by the next run.  Raises JournalError, WorkerLost.
    """
    head = journal.head_position()
    reached = _reached(journal)
    while reached < head:
        reached, ranges = _ended(journal, reached, head)
        if not ranges:
            continue
        tally = _tally(url, ranges, until)
        if tally is None:
            return
        # A crash right before this loses the work since the last record, a crash right after it nothing.
        stored = record(journal, tally, scope=ENDED, to_position=reached, by=by)
        yield CODEC.decode(stored.record.body).data


def _reached(journal: Journal) -> int:
    """Up to which position every round that ended was verified by recorded runs; 0 before the first."""
    before: int | None = None
    while page := journal.read_page(VERIFICATION, 100, before=before):
        for stored in page:
            read = CODEC.read(stored.record.body)
            if not isinstance(read, BodyError) and read.data.scope in (WHOLE, ENDED):
                return read.data.to_position
        before = page[-1].record.seq
    return 0


def _ended(journal: Journal, reached: int, head: int) -> tuple[int, list[tuple[str, str]]]:
    """Up to which position the next rounds ended, and the ranges of streams that hold these and no others."""
    asked = (reached, head, SeedRevealed.NAME, FIRST_ROUND, LAST_ROUND, ROUNDS_AN_EVENT)
    rows = journal.application.recorder.datastore.rows(_ENDED, asked)
    last = max((position for position, _, _ in rows), default=head)
    ranges: list[tuple[str, str]] = []
    size, expected = 0, None
    for _, stream, following in rows:
        if stream == expected and size < ROUNDS_A_RANGE:
            ranges[-1] = (ranges[-1][0], stream)
        elif not ranges or stream != ranges[-1][1]:
            ranges.append((stream, stream))
            size = 0
        size, expected = size + 1, following
    return (last if len(rows) == ROUNDS_AN_EVENT else head), ranges


def _tally(url: str, ranges: Sequence[tuple[str, str]], until: threading.Event) -> Tally | None:
    """What these ranges come to; None where the program is ending."""
    work = (Work(Filters(), first, last, False) for first, last in ranges)
    tally = Tally()
    try:
        with closing(over_processes(url, work, 1, niceness=NICENESS)) as results:
            for result in results:
                tally.add(result)
                if until.is_set():
                    return None
    except WorkerLost:
        # Who ends the program may end its processes all at once.
        if until.is_set():
            return None
        raise
    return tally


# With each stream the one that was opened after it, so that neighbours are told from streams with others between them.
_ENDED: Final = """
with ended as (
    select notification_id as position, originator_id as stream from dealproof.events
    where notification_id > %b and notification_id <= %b and topic = %b
    and originator_id >= %b and originator_id < %b
    order by notification_id limit %b
)
select position, stream, (select min(stream) from dealproof.round_identity as later where later.stream > ended.stream)
from ended order by stream, position
"""
