"""Many rounds verified out of the journal: one worker or two, filtered, tampered with, interrupted and gone on with.

Not here: what each rung finds (`tests.golden`, `tests.replay`), the command (`cli.test_verify`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import psycopg
import pytest

from domain.record import canonical_json
from domain.round.choices import Deal
from domain.ruleset import Ruleset, load_ruleset
from domain.rulesets import released_rulesets
from ops import bulk_verify
from ops.bulk_verify import Filters, Manifest, RangeDone, RunningAlready, Tally, verify_all
from ops.clock import round_id_at
from ops.house import House
from ops.journal import Journal
from ops.rulesets import publish
from tests.ops.cli.running import REPOSITORY
from tests.ops.played import Owner, played_database
from tests.ops.test_house import KEY, MULTIBOX, OPEN, bodies_of, made, opened, place, played_out

RULESETS = released_rulesets()
ROUNDS = 40


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight ranges of five rounds."""
    monkeypatch.setattr(bulk_verify, "ROUNDS_A_RANGE", 5)


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with forty true rounds at eight tables, to be copied."""
    with played_database(server_url, migrated_template, ROUNDS) as name:
        yield name


def verification(
    journal: Journal, url: str, folder: Path, filters: Filters | None = None, *, workers: int = 1, afresh: bool = False,
    software: str = "1", every_verdict: bool = False, done: Callable[[RangeDone], None] | None = None,
) -> tuple[Tally, list[RangeDone]]:
    """A run to its end: the tally and every range that `done` heard of."""
    filters, tally, heard = filters or Filters(), Tally(), list[RangeDone]()
    manifest = Manifest.open(folder, journal, filters, software, afresh=afresh)

    def told(result: RangeDone) -> None:
        tally.add(result)
        heard.append(result)
        if done is not None:
            done(result)

    verify_all(journal, url, filters, workers=workers, every_verdict=every_verdict, manifest=manifest, done=told)
    assert list(folder.iterdir()) == [], "the manifest of a complete run is removed"
    return tally, heard


def unclean(tally: Tally) -> dict[str, dict[str, Any]]:
    """The verdicts that are not clean, by stream."""
    verdicts = [msgspec.json.decode(line) for line in tally.unclean]
    return {f"round:{verdict['round']}": verdict for verdict in verdicts}


def first_finding(verdict: dict[str, Any]) -> tuple[str, int | None, str | None]:
    """The lowest rung that found something: its name, the event's seq and name."""
    check = next(check for check in verdict["checks"] if check["status"] == "discrepancy")
    return check["check"], check["seq"], check["event"]


def streams_of(journal: Journal) -> list[str]:
    return [stream for stream, _ in journal.read_rounds()]


# -- counts and filters


@pytest.mark.parametrize("workers", [1, 2])
def test_every_round_is_counted_once(journal: Journal, url: str, tmp_path: Path, owner: Owner, workers: int) -> None:
    bad = streams_of(journal)[7]
    _change(owner, bad, 0, b'"currency":"EUR"', b'"currency":"EUX"')
    opened(House(journal, KEY), RULESETS[OPEN], number=1_000)

    tally, heard = verification(journal, url, tmp_path, workers=workers)

    assert tally.counts == {"verified": ROUNDS - 1, "discrepancy": 1, "not-checkable": 1}
    assert unclean(tally)[bad]["verdict"] == "discrepancy"
    assert len(heard) == len({done.first for done in heard}) >= 8
    assert all(not done.verdicts for done in heard)


@pytest.mark.parametrize("workers", [1, 2])
def test_every_verdict_comes_back_when_asked_for(journal: Journal, url: str, tmp_path: Path, workers: int) -> None:
    _, heard = verification(journal, url, tmp_path, workers=workers, every_verdict=True)

    verdicts = [msgspec.json.decode(line) for done in heard for line in done.verdicts]
    assert sorted(f"round:{verdict['round']}" for verdict in verdicts) == streams_of(journal)
    assert {verdict["verdict"] for verdict in verdicts} == {"verified"}


def test_an_empty_journal_has_no_rounds(migrated_database_url: str, tmp_path: Path) -> None:
    with Journal.open(migrated_database_url) as journal:
        for workers in (1, 2):
            assert verification(journal, migrated_database_url, tmp_path, workers=workers) == (Tally(), [])


def test_only_the_rounds_of_a_table_or_a_ruleset_are_counted(journal: Journal, url: str, tmp_path: Path) -> None:
    # Each of the eight tables had the same number of rounds, give or take those that were slower.
    for filters, least in ((Filters(table="russian-poker-1"), 2), (Filters(ruleset="russian-poker@1"), 5)):
        tally, _ = verification(journal, url, tmp_path, filters)
        summed = sum(
            verification(journal, url, tmp_path, Filters(table=name))[0].counts["verified"]
            for name in ((filters.table,) if filters.table else ("russian-poker-1", "russian-poker-2"))
        )
        assert tally.counts == {"verified": summed}
        assert least <= summed < ROUNDS

    both = Filters(table="russian-poker-1", ruleset="five-card-poker@1")
    assert verification(journal, url, tmp_path, both)[0].counts == {}
    assert verification(journal, url, tmp_path, Filters(table="nowhere"))[0].counts == {}


def test_rounds_are_filtered_by_the_time_in_their_id(
    migrated_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first moment on, up to and without the second."""
    monkeypatch.setattr(bulk_verify, "ROUNDS_A_RANGE", 2)
    with Journal.open(migrated_database_url) as journal:
        house = House(journal, KEY)
        for number, milliseconds in enumerate((1000, 1999, 2000, 2000, 2999, 3000), start=1):
            round_id = round_id_at(milliseconds, bytes([number] * 10))
            monkeypatch.setattr("ops.clock.new_round_id", lambda round_id=round_id: round_id)
            played_out(house, opened(house, RULESETS[OPEN], number), Random(number))

        def counted(since: int, until: int) -> int:
            filters = Filters(f"round:{since:012x}", f"round:{until:012x}")
            return verification(journal, migrated_database_url, tmp_path, filters)[0].counts["verified"]

        assert counted(2000, 3000) == 3
        assert counted(1999, 2000) == 1
        assert counted(3001, 9000) == 0
        assert counted(0, 9000) == 6


# -- tampering


def _change(owner: Owner, stream: str, seq: int, old: bytes, new: bytes) -> None:
    where = (stream, seq)
    sql = "select state from dealproof.events where originator_id = %s and originator_version = %s"
    [(body,)] = owner.execute(sql, where).fetchall()
    assert old in body
    changed = body.replace(old, new, 1)
    owner.execute(
        "update dealproof.events set state = %s where originator_id = %s and originator_version = %s", (changed, *where)
    )


def _ante(owner: Owner, stream: str) -> None:
    _change(owner, stream, 1, b'"ante":', b'"ante":1')


def _space(owner: Owner, stream: str) -> None:
    _change(owner, stream, 1, b",", b", ")


def _rubbish(owner: Owner, stream: str) -> None:
    sql = "update dealproof.events set state = %s where originator_id = %s and originator_version = 1"
    owner.execute(sql, (b"\xff\x00", stream))


def _dropped(owner: Owner, stream: str) -> None:
    owner.execute("delete from dealproof.events where originator_id = %s and originator_version = 1", (stream,))


def _first_dropped(owner: Owner, stream: str) -> None:
    owner.execute("delete from dealproof.events where originator_id = %s and originator_version = 0", (stream,))


def _swapped(owner: Owner, stream: str) -> None:
    for old, new in ((1, 999), (2, 1), (999, 2)):
        owner.execute(
            "update dealproof.events set originator_version = %s where originator_id = %s and originator_version = %s",
            (new, stream, old),
        )


def _doubled(owner: Owner, stream: str) -> None:
    owner.execute(
        """insert into dealproof.events
           select originator_id, originator_version + 1, topic, state, notification_id + 1000000 from dealproof.events
           where originator_id = %s order by originator_version desc limit 1""",
        (stream,),
    )


def _renamed(owner: Owner, stream: str) -> None:
    """The whole round under another id of the same moment."""
    owner.execute(
        "update dealproof.events set originator_id = %s where originator_id = %s", (_other_name(stream), stream)
    )


def _other_name(stream: str) -> str:
    return stream[:-1] + ("0" if stream[-1] != "0" else "1")


TAMPERING = [
    (_ante, ("chain", 2, None)),
    (_space, ("bytes", 1, "box-placed.v1")),
    (_rubbish, ("bytes", 1, None)),
    (_dropped, ("chain", 1, None)),
    (_first_dropped, ("chain", 0, "box-placed.v1")),
    (_swapped, ("chain", 1, None)),
    (_doubled, ("chain", None, "seed-revealed.v1")),
]
"""What is done to a round; the lowest rung that finds it, with the seq and name of the event (None: any)."""


@pytest.mark.parametrize(("tamper", "found"), TAMPERING, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_changed_in_the_database_is_found_and_nothing_else(
    journal: Journal, url: str, tmp_path: Path, owner: Owner, tamper: Callable[[Owner, str], None],
    found: tuple[str, int | None, str | None],
) -> None:  # fmt: skip
    bad = streams_of(journal)[11]
    tamper(owner, bad)

    tally, _ = verification(journal, url, tmp_path)

    assert tally.counts == {"verified": ROUNDS - 1, "discrepancy": 1}
    [(stream, verdict)] = unclean(tally).items()
    assert stream == bad
    rung, seq, event = first_finding(verdict)
    assert (rung, seq if found[1] is not None else None, event if found[2] is not None else None) == found


def test_a_round_under_another_name_is_found_twice(journal: Journal, url: str, tmp_path: Path, owner: Owner) -> None:
    """The stream that its bodies don't name, and the round that was opened and has no event left."""
    bad = streams_of(journal)[11]
    _renamed(owner, bad)

    tally, _ = verification(journal, url, tmp_path)

    assert tally.counts == {"verified": ROUNDS - 1, "discrepancy": 2}
    findings = {stream: first_finding(verdict) for stream, verdict in unclean(tally).items()}
    assert findings == {bad: ("bytes", None, None), _other_name(bad): ("bytes", 0, "round-opened.v1")}


def test_any_byte_of_any_event_counts(journal: Journal, url: str, tmp_path: Path, owner: Owner) -> None:
    """Thirty bytes at random, one in each of thirty rounds."""
    random = Random(9)
    bad = random.sample(streams_of(journal), 30)
    for stream in bad:
        rows = owner.execute(
            "select originator_version, state from dealproof.events where originator_id = %s", (stream,)
        ).fetchall()
        seq, body = random.choice(rows)
        place = random.randrange(len(body))
        changed = body[:place] + bytes([body[place] ^ random.randint(1, 255)]) + body[place + 1 :]
        owner.execute(
            "update dealproof.events set state = %s where originator_id = %s and originator_version = %s",
            (changed, stream, seq),
        )

    tally, _ = verification(journal, url, tmp_path)

    assert sorted(unclean(tally)) == sorted(bad)
    assert tally.counts == {"verified": ROUNDS - 30, "discrepancy": 30}


def test_a_round_whose_first_event_is_spoilt_is_in_every_filter(
    journal: Journal, url: str, tmp_path: Path, owner: Owner
) -> None:
    """Else spoiling the event that names the table would hide a round from its table's verification."""
    bad = streams_of(journal)[3]
    owner.execute(
        "update dealproof.events set state = '\\x7b7d' where originator_id = %s and originator_version = 0", (bad,)
    )

    tally, _ = verification(journal, url, tmp_path, Filters(table="nowhere", ruleset="none@1"))

    assert tally.counts == {"discrepancy": 1}
    assert list(unclean(tally)) == [bad]


def test_a_round_whose_events_are_all_gone_is_found(journal: Journal, url: str, tmp_path: Path, owner: Owner) -> None:
    """Its identity still says that it was opened, as `verify TABLE/NUMBER` sees it."""
    bad = streams_of(journal)[3]
    owner.execute("delete from dealproof.events where originator_id = %s", (bad,))

    tally, _ = verification(journal, url, tmp_path)

    assert tally.counts == {"verified": ROUNDS - 1, "discrepancy": 1}


# -- not checkable


def test_an_open_round_does_not_fail_the_others(journal: Journal, url: str, tmp_path: Path) -> None:
    house = House(journal, KEY)
    betting, deciding = opened(house, RULESETS[OPEN], 1_000), opened(house, RULESETS[MULTIBOX], 1_000, "vip-2")
    made(house, deciding, place(1), Deal())

    tally, _ = verification(journal, url, tmp_path)

    assert tally.counts == {"verified": ROUNDS, "not-checkable": 2}
    verdicts = unclean(tally)
    assert set(verdicts) == {betting.stream, deciding.stream}
    for verdict in verdicts.values():
        by_name = {check["check"]: check for check in verdict["checks"]}
        assert by_name["bytes"]["status"] == by_name["chain"]["status"] == "verified"
        assert "still open" in by_name["deck"]["reason"]


def casino_version() -> Ruleset:
    """A casino's own version of a game, which this program does not ship."""
    document = msgspec.to_builtins(RULESETS[OPEN].document) | {"version": 77}
    return load_ruleset(canonical_json(document))


def test_a_round_of_an_unknown_ruleset_waits_for_its_document(journal: Journal, url: str, tmp_path: Path) -> None:
    house, ruleset = House(journal, KEY), casino_version()
    live = played_out(house, opened(house, ruleset, 1_000), Random(1))

    tally, _ = verification(journal, url, tmp_path)

    assert tally.counts == {"verified": ROUNDS, "not-checkable": 1}
    [(stream, verdict)] = unclean(tally).items()
    assert stream == live.stream
    assert f"{ruleset.name}" in next(check["reason"] for check in verdict["checks"] if check["check"] == "deck")

    publish(journal, ruleset)
    for workers in (1, 2):
        tally, _ = verification(journal, url, tmp_path, workers=workers)
        assert tally.counts == {"verified": ROUNDS + 1}


# -- interrupted


class Interrupted(Exception):
    """Somebody presses Ctrl-C."""


def after(ranges: int) -> Callable[[RangeDone], None]:
    """Interrupts a run when so many ranges are finished."""
    left = [ranges]

    def done(_: RangeDone) -> None:
        left[0] -= 1
        if not left[0]:
            raise Interrupted

    return done


@pytest.fixture
def read_ranges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first stream of every range that is really read (by one worker)."""
    read: list[str] = []
    verify_range = bulk_verify.verify_range

    def noted(work: bulk_verify.Work, *rest: Any) -> RangeDone:
        read.append(work.first)
        return verify_range(work, *rest)

    monkeypatch.setattr(bulk_verify, "verify_range", noted)
    return read


def interrupt(journal: Journal, url: str, folder: Path, ranges: int, filters: Filters | None = None) -> Path:
    """A run that is left off; its manifest."""
    with pytest.raises(Interrupted):
        verification(journal, url, folder, filters, done=after(ranges))
    [manifest] = folder.iterdir()
    return manifest


def test_a_run_goes_on_where_it_was_left_off(
    journal: Journal, url: str, tmp_path: Path, owner: Owner, read_ranges: list[str]
) -> None:
    for seq, stream in enumerate(streams_of(journal)[1::10]):
        _change(owner, stream, seq % 2, b'"v":1', b'"v":2')
    whole, _ = verification(journal, url, tmp_path)
    all_ranges = list(read_ranges)
    assert whole.counts == {"verified": ROUNDS - 4, "discrepancy": 4}
    read_ranges.clear()

    interrupt(journal, url, tmp_path, 3)
    assert read_ranges == all_ranges[:3]
    interrupt(journal, url, tmp_path, 5)  # three of the five are those that were finished before
    assert read_ranges == all_ranges[:5]
    tally, heard = verification(journal, url, tmp_path)

    assert read_ranges == all_ranges
    assert tally == whole
    assert len(heard) == len(all_ranges)


def test_two_workers_go_on_where_they_were_left_off(journal: Journal, url: str, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        verification(journal, url, tmp_path, workers=2, done=after(3))

    before = Manifest.open(tmp_path, journal, Filters(), "1", afresh=False)
    with pytest.raises(RunningAlready, match="running already"):
        Manifest.open(tmp_path, journal, Filters(), "1", afresh=False)
    before.lock.close()
    assert len(before.finished) == 3
    tally, heard = verification(journal, url, tmp_path, workers=2)
    assert heard[:3] == before.finished
    assert len({done.first for done in heard}) == len(heard)
    assert tally.counts == {"verified": ROUNDS}


@pytest.mark.parametrize("cut", [1, 20, 60], ids="{} bytes".format)
def test_a_manifest_cut_off_in_a_line_loses_that_range_only(
    journal: Journal, url: str, tmp_path: Path, read_ranges: list[str], cut: int
) -> None:
    manifest = interrupt(journal, url, tmp_path, 3)
    # As a crash leaves it that lost the last of the bytes on their way to the disk.
    manifest.write_bytes(manifest.read_bytes()[: -cut - 1])
    first_read = read_ranges[:]
    read_ranges.clear()

    tally, _ = verification(journal, url, tmp_path)

    assert read_ranges[0] == first_read[2]
    assert not set(read_ranges) & set(first_read[:2])
    assert tally.counts == {"verified": ROUNDS}


def test_after_a_cut_line_the_manifest_keeps_what_is_finished_next(
    journal: Journal, url: str, tmp_path: Path, read_ranges: list[str]
) -> None:
    """The next line must not run into the rest of the cut one: a second interrupt would lose all that follows."""
    manifest = interrupt(journal, url, tmp_path, 3)
    manifest.write_bytes(manifest.read_bytes()[:-30])
    interrupt(journal, url, tmp_path, 6)
    finished = set(read_ranges)
    read_ranges.clear()

    tally, _ = verification(journal, url, tmp_path)

    assert tally.counts == {"verified": ROUNDS}
    assert set(read_ranges) & finished == set()


@pytest.mark.parametrize("left", [0, 10], ids="{} bytes".format)
def test_a_manifest_without_a_whole_first_line_is_begun_again(
    journal: Journal, url: str, tmp_path: Path, left: int
) -> None:
    manifest = interrupt(journal, url, tmp_path, 3)
    manifest.write_bytes(manifest.read_bytes()[:left])

    assert verification(journal, url, tmp_path)[0].counts == {"verified": ROUNDS}


def test_a_run_can_be_begun_again(journal: Journal, url: str, tmp_path: Path, read_ranges: list[str]) -> None:
    interrupt(journal, url, tmp_path, 3)
    read_ranges.clear()

    tally, _ = verification(journal, url, tmp_path, afresh=True)

    assert len(read_ranges) == 8
    assert tally.counts == {"verified": ROUNDS}


def test_a_run_of_other_filters_or_another_version_is_not_gone_on_with(
    journal: Journal, url: str, tmp_path: Path, read_ranges: list[str]
) -> None:
    manifest = interrupt(journal, url, tmp_path, 3)
    kept = manifest.read_bytes()
    for filters, software in ((Filters(table="russian-poker-1"), "1"), (Filters(), "2")):
        read_ranges.clear()
        with pytest.raises(AssertionError, match="the manifest of a complete run"):
            verification(journal, url, tmp_path, filters, software=software)
        assert len(read_ranges) == 8
        assert [path.read_bytes() for path in tmp_path.iterdir()] == [kept]


def test_rounds_that_came_or_ended_since_the_interrupt_are_verified(
    journal: Journal, url: str, tmp_path: Path
) -> None:
    house = House(journal, KEY)
    live = opened(house, RULESETS[OPEN], 1_000)  # in the last range, which is therefore looked at again
    with pytest.raises(Interrupted):
        verification(journal, url, tmp_path, done=after(9))
    played_out(house, live, Random(1))
    for number in range(1_001, 1_008):
        played_out(house, opened(house, RULESETS[OPEN], number), Random(number))

    tally, _ = verification(journal, url, tmp_path)

    assert tally.counts == {"verified": ROUNDS + 8}


# -- processes that are killed

STOPS_BEFORE_THE_WORKERS = """
import sys
from ops import bulk_verify
from ops.cli.main import main
bulk_verify.ROUNDS_A_RANGE = 5
verify_all = bulk_verify.verify_all
def after_a_word(*arguments, **options):
    print("ready", flush=True)
    sys.stdin.readline()
    verify_all(*arguments, **options)
bulk_verify.verify_all = after_a_word
main()
"""

only_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes in /proc")


@contextmanager
def held_up_workers(url: str, home: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[int], Callable[[], None]]]:
    """`verify --all --workers 2`, its workers held up at the events by a lock: process, workers, how to let go."""
    line = ["--home", str(home), "--database-url", url, "verify", "--all", "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-c", STOPS_BEFORE_THE_WORKERS, *line], cwd=REPOSITORY, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    workers: list[int] = []
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with psycopg.connect(url) as lock:
            lock.execute("lock table dealproof.events in access exclusive mode")
            process.stdin.write(b"\n")
            process.stdin.flush()
            soon(lambda: lock.execute("select count(*) from pg_locks where not granted").fetchone() == (2,))
            workers += workers_of(process.pid)
            assert len(workers) == 2
            yield process, workers, lock.rollback
    finally:
        for pid in (process.pid, *workers):
            if lives(pid):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


def workers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def soon(holds: Callable[[], object]) -> None:
    """Wait until something holds; fail after ten seconds."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline, "it does not come to that"
        time.sleep(0.05)


@only_linux
@pytest.mark.usefixtures("journal")
def test_a_killed_worker_is_an_error_of_one_line(url: str, tmp_path: Path) -> None:
    """And not a wait without end for what it would have said; the other worker is gone as well."""
    with held_up_workers(url, tmp_path) as (process, workers, let_go):
        os.kill(workers[0], signal.SIGKILL)
        let_go()
        _, complaint = process.communicate(timeout=30)

        assert not lives(workers[1])
    assert process.returncode not in (0, 1), complaint
    assert b"Traceback" not in complaint
    assert complaint.startswith(b"dealproof: ")
    assert complaint.count(b"\n") == 1


@only_linux
@pytest.mark.usefixtures("journal")
def test_workers_do_not_outlive_a_killed_parent(url: str, tmp_path: Path) -> None:
    with held_up_workers(url, tmp_path) as (process, workers, let_go):
        process.kill()
        process.wait()
        let_go()

        soon(lambda: not any(lives(worker) for worker in workers))


@only_linux
def test_an_interrupt_from_the_keyboard_ends_all_with_one_line(journal: Journal, url: str, tmp_path: Path) -> None:
    """Ctrl-C reaches the workers too: they have nothing to say about it.  The run can be gone on with."""
    with held_up_workers(url, tmp_path) as (process, workers, let_go):
        os.killpg(process.pid, signal.SIGINT)
        let_go()
        _, complaint = process.communicate(timeout=30)

        soon(lambda: not any(lives(worker) for worker in workers))
    manifest = Manifest.open(tmp_path / "verify", journal, Filters(), version("dealproof"), afresh=False)
    assert len(manifest.ranges) == 8
    assert manifest.finished == []
    # The line begins below the ^C that the terminal shows.
    assert (process.returncode, complaint.lstrip(b"\n")) == (130, b"dealproof: interrupted\n")


def test_the_record_is_only_read(journal: Journal, url: str, tmp_path: Path) -> None:
    first = streams_of(journal)[0]
    before = (journal.head_position(), bodies_of(journal, first))

    verification(journal, url, tmp_path, workers=2)

    assert (journal.head_position(), bodies_of(journal, first)) == before
