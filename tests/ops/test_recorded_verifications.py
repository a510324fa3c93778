"""What verification came to is in the journal: whole runs on demand, what ended since the last one daily.

Not here: verification (`test_bulk_verify`, `tests.golden`), the body (`tests.domain.test_verification`).
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from domain.record import is_record_text
from domain.rulesets import released_rulesets
from domain.verification import CODEC, ENDED, MOST_FINDINGS, VERIFICATION, WHOLE, RoundsVerified
from ops import bulk_verify, verification_record
from ops.bulk_verify import RangeDone, Tally, WorkerLost, over_processes, verify_range
from ops.duties import daily_duties
from ops.house import House
from ops.journal import Journal
from ops.logs import logger
from ops.rulesets import known_rulesets
from ops.settings import Settings
from ops.verification_record import NICENESS, record, verify_ended
from replay.evidence import by_digest
from replay.streams import Streams
from tests.ops.cli.running import Ran, dealproof
from tests.ops.played import Owner, play_rounds, played_database
from tests.ops.test_house import KEY, OPEN, opened, played_out

ROUNDS = 12
NEVER = threading.Event()


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with twelve true rounds at eight tables, to be copied."""
    with played_database(server_url, migrated_template, ROUNDS) as name:
        yield name


@pytest.fixture
def options(url: str, tmp_path: Path) -> tuple[str, ...]:
    return "--home", str(tmp_path), "--database-url", url, "verify"


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch, journal: Journal) -> None:
    """The daily run without a process of its own, whose start is all that it takes here."""

    def here(url: str, work: Iterator[bulk_verify.Work], workers: int, *, niceness: int = 0) -> Iterator[object]:
        rulesets = by_digest(known_rulesets(journal))
        yield from (verify_range(item, journal, rulesets) for item in work)

    monkeypatch.setattr(verification_record, "over_processes", here)


def recorded(journal: Journal) -> list[RoundsVerified]:
    return [CODEC.decode(stored.record.body).data for stored in journal.read_stream(VERIFICATION)]


def tampered(owner: Owner, stream: str, seq: int, old: bytes, new: bytes) -> None:
    where = (stream, seq)
    read = "select state from dealproof.events where originator_id = %s and originator_version = %s"
    [(body,)] = owner.execute(read, where).fetchall()
    assert old in body
    write = "update dealproof.events set state = %s where originator_id = %s and originator_version = %s"
    owner.execute(write, (body.replace(old, new, 1), *where))


def rounds_of(journal: Journal) -> list[str]:
    return [stream for stream, _ in journal.read_rounds()]


# -- on demand


def test_a_whole_run_is_recorded_with_what_it_found(
    options: tuple[str, ...], journal: Journal, owner: Owner
) -> None:
    opened(House(journal, KEY), released_rulesets()[OPEN], number=1_000)
    bad, head = rounds_of(journal)[3], journal.head_position()
    tampered(owner, bad, 1, b'"ante":', b'"ante":1')
    ran = dealproof(*options, "--all", "--record", "--by", "Ann")
    [event] = recorded(journal)

    assert ran.status == 1
    assert ran.stderr == "Recorded as event 0 of verification:rounds.\n"
    assert (event.by, event.scope, event.whole, event.to_position) == ("Ann", WHOLE, True, head)
    assert (event.rounds, event.verified, event.not_checkable, event.discrepancies) == (ROUNDS + 1, ROUNDS - 1, 1, 1)
    assert event.found == len(event.findings) >= 2
    assert {finding.round for finding in event.findings} == {bad.removeprefix("round:")}
    first = event.findings[0]
    assert (first.check, first.field, first.place.partition(" ")[0]) == ("chain", "prev", "event")
    assert journal.head_position() == head + 1


def test_a_run_with_filters_says_them_and_is_not_whole(options: tuple[str, ...], journal: Journal) -> None:
    filters = ("--table", "russian-poker-1", "--ruleset", "russian-poker@1", "--since", "2026-01-01")
    ran = dealproof(*options, "--all", "--record", *filters)
    [event] = recorded(journal)

    assert ran.status == 0
    assert event.scope == "opened since 2026-01-01, table russian-poker-1, ruleset russian-poker@1"
    assert not event.whole
    assert 0 < event.rounds == event.verified < ROUNDS
    assert is_record_text(event.by)


def test_a_run_without_record_leaves_the_journal_as_it_was(options: tuple[str, ...], journal: Journal) -> None:
    before = journal.head_position()

    assert dealproof(*options, "--all").status == 0
    assert journal.head_position() == before


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("vip-1/1", "--record"), "--record goes with --all"),
        (("--accounts", "--record"), "--record goes with --all"),
        (("--day", "2026-12-01", "--record"), "--record goes with --all"),
        (("--all", "--by", "Ann"), "--by goes with --record"),
        (("--all", "--record", "--by", " "), "must be text"),
        (("--all", "--record", "--table", "nowhere"), "--table: no round was ever opened"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused(
    options: tuple[str, ...], journal: Journal, arguments: tuple[str, ...], reason: str
) -> None:
    before = journal.head_position()
    ran: Ran = dealproof(*options, *arguments)

    assert (ran.status, ran.stdout) == (2, "")
    assert reason in ran.stderr
    assert journal.head_position() == before


# -- findings


def unclean(*discrepancies: dict[str, object]) -> bytes:
    checks = [{"check": "payout", "status": "discrepancy", "discrepancies": discrepancies}]
    return msgspec.json.encode({"round": "00", "verdict": "discrepancy", "checks": checks})


def discrepancy(**changed: object) -> dict[str, object]:
    return {"seq": 3, "event": "bet-made.v1", "field": "bet", "recorded": 1, "recomputed": [2, "x"], **changed}


def kept(journal: Journal, *lines: bytes) -> RoundsVerified:
    record(journal, Tally(Counter(discrepancy=len(lines)), list(lines)), scope=WHOLE, to_position=1, by="ann")
    return recorded(journal)[-1]


def test_no_finding_shows_a_seed(journal: Journal) -> None:
    seed = "5" * 64
    line = unclean(
        discrepancy(event="seed-revealed.v1", field="server_seed", recorded=seed, recomputed=seed),
        discrepancy(event=None, field="server_seed", recorded=seed, recomputed="32 bytes of hex"),
        discrepancy(event="seed-revealed.v1", field="event", recorded={"server_seed": seed}, recomputed="not here"),
    )
    event = kept(journal, line)

    assert [(each.recorded, each.recomputed) for each in event.findings] == [("a seed", "a seed")] * 3
    assert seed.encode() not in journal.read_stream(VERIFICATION)[-1].record.body


def test_a_finding_is_one_line_that_a_record_can_hold(journal: Journal) -> None:
    wild = "e\u0301\n\x1b[31m\u202e" + "x" * 5_000
    [finding] = kept(journal, unclean(discrepancy(recorded=wild, stream=wild, event="\ud7ff"))).findings

    assert (finding.recomputed, finding.field) == ('[2,"x"]', "bet")
    for text in msgspec.to_builtins(finding).values():
        assert is_record_text(text) and text.isprintable() and len(text) <= 300


def test_the_first_thousand_findings_are_kept_and_all_are_counted(journal: Journal) -> None:
    event = kept(journal, *[unclean(*[discrepancy(seq=seq) for seq in range(7)])] * 200)

    assert (event.found, len(event.findings), event.discrepancies) == (1_400, MOST_FINDINGS, 200)
    assert [finding.place for finding in event.findings[:8]] == [f"event {n} bet-made.v1" for n in (*range(7), 0)]


# -- daily


@pytest.mark.usefixtures("in_this_process")
def test_every_round_that_ended_is_verified_once(
    journal: Journal, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In portions, with a round that stays open in between, until its day comes."""
    monkeypatch.setattr(verification_record, "ROUNDS_AN_EVENT", 5)
    house = House(journal, KEY)
    live = opened(house, released_rulesets()[OPEN], number=1_000)
    play_rounds(journal, 6, 2)
    head = journal.head_position()
    runs = list(verify_ended(journal, url, NEVER, by="keeper"))

    assert [run.rounds for run in runs] == [5, 5, 5, 3]
    assert recorded(journal) == runs
    for run in runs:
        assert (run.scope, run.whole, run.by, run.verified) == (ENDED, False, "keeper", run.rounds)
    assert [run.to_position for run in runs] == sorted({run.to_position for run in runs})
    assert runs[-1].to_position == head

    assert list(verify_ended(journal, url, NEVER)) == []
    played_out(house, live, Random(1))
    assert [run.rounds for run in verify_ended(journal, url, NEVER)] == [1]
    assert recorded(journal)[-1].by == "daily verification"


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("scope", "rounds"), [(WHOLE, 4), (ENDED, 4), ("table russian-poker-1", ROUNDS + 4)]
)
def test_the_daily_run_goes_on_where_every_round_before_was_seen(
    journal: Journal, url: str, scope: str, rounds: int
) -> None:
    record(journal, Tally(), scope=scope, to_position=journal.head_position(), by="ann")
    for _ in range(3):
        record(journal, Tally(), scope="table vip-1", to_position=journal.head_position(), by="ann")
    play_rounds(journal, 4, 3)

    assert sum(run.rounds for run in verify_ended(journal, url, NEVER)) == rounds


@pytest.mark.usefixtures("in_this_process")
def test_a_program_that_ends_records_nothing_that_was_not_done(journal: Journal, url: str) -> None:
    until = threading.Event()
    until.set()

    assert list(verify_ended(journal, url, until)) == []
    assert recorded(journal) == []
    assert sum(run.rounds for run in verify_ended(journal, url, NEVER)) == ROUNDS


def test_the_daily_run_stands_back_in_a_process_of_its_own(
    journal: Journal, url: str, owner: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the sequencer's process does it; a discrepancy is told to whoever serves."""
    priorities = set[int]()

    def watched(*arguments: Any, **options: Any) -> Iterator[RangeDone]:
        for result in over_processes(*arguments, **options):
            priorities.update(os.getpriority(os.PRIO_PROCESS, each.pid or 0) for each in active_children())
            yield result

    monkeypatch.setattr(verification_record, "over_processes", watched)
    tampered(owner, rounds_of(journal)[0], 1, b'"ante":', b'"ante":1')
    duty = daily_duties(Settings(tmp_path, url, tmp_path / "key"), url, journal, NEVER)[-1]
    logger()  # configured before the lines are caught
    with capture_logs() as lines:
        duty()
    [event] = recorded(journal)

    assert (event.rounds, event.discrepancies) == (ROUNDS, 1)
    assert priorities == {min(os.nice(0) + NICENESS, 19)}
    [line] = lines
    assert (line["event"], line["log_level"], line["discrepancies"]) == ("rounds_verified", "warning", 1)


def test_a_worker_that_is_lost_fails_the_duty(
    journal: Journal, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is told and tried again (`tests.ops.log.test_log_command`); nothing is recorded meanwhile."""

    def lost(*_: object, **__: object) -> Iterator[object]:
        raise WorkerLost("gone")
        yield

    monkeypatch.setattr(verification_record, "over_processes", lost)
    with pytest.raises(WorkerLost):
        list(verify_ended(journal, url, NEVER))
    assert recorded(journal) == []


# -- the stream itself


def test_a_changed_record_is_found(journal: Journal, url: str, owner: Owner) -> None:
    """Records of verifications lie in the journal under the proof of all streams."""
    for _ in range(2):
        kept(journal, unclean(discrepancy()))

    def found() -> list[str]:
        streams = Streams()
        records = [stored.record for stored in journal.read_stream(VERIFICATION)]
        return [each.field for read in records for each in streams.take_other(read, "verification")]

    assert found() == []
    tampered(owner, VERIFICATION, 0, b'"discrepancies":1', b'"discrepancies":0')
    assert found() == ["prev"]
    tampered(owner, VERIFICATION, 1, b'"found":1', b'"found":"1"')
    assert found() == ["prev", "body"]
