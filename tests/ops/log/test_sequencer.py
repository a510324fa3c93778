"""The sequencer: what it publishes is what the events give, and what was damaged is never published.

Not here: the folder (`test_store`), keys (`test_log_keys`), the command (`test_log_command`).
"""

from __future__ import annotations

import errno
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from domain.log.checkpoint import parse_note
from domain.log.events import KeyUse, LogKeyError, add, retire
from domain.record import Record
from ops.journal import Journal
from ops.log import sequencer as module
from ops.log.keys import change_keys
from ops.log.sequencer import Sequencer, find_gap
from ops.log.signing import FileSigningKey
from ops.log.store import Locked, LogDamaged, LogStore, StoreError
from tests.ops.log.logged import (
    ORIGIN,
    Seconds,
    expected,
    expected_tiles,
    flip,
    insert,
    key_at,
    published,
    sequencer,
    stored_tiles,
)
from tests.ops.played import Owner

# -- what is published


def test_an_empty_journal_has_no_checkpoint(journal: Journal, tmp_path: Path) -> None:
    with sequencer(journal, tmp_path) as building:
        assert building.step() == (0, 0, None, None)

    assert published(tmp_path) is None
    assert stored_tiles(tmp_path) == {}


@pytest.mark.parametrize("size", [1, 2, 3, 255, 256, 257, 511, 512, 700, 5000, 5001])
def test_the_checkpoint_and_the_tiles_are_those_of_the_events(
    journal: Journal, owner: Owner, tmp_path: Path, size: int
) -> None:
    """Root and every tile against one made from the events in the plainest way."""
    insert(owner, 1, size)
    with sequencer(journal, tmp_path) as building:
        step = building.catch_up()

    assert step == (size, size, size, None)
    assert published(tmp_path) == expected(size)
    assert stored_tiles(tmp_path) == expected_tiles(size)


def test_however_the_events_come_the_log_is_the_same(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """By ones, by hundreds, over the edges of tiles, with and without a new start in between."""
    size, dice = 0, random.Random(7)
    while size < 1500:
        more = dice.choice([1, 2, 55, 100, 255, 256, 257])
        insert(owner, size + 1, size + more)
        size += more
        with sequencer(journal, tmp_path) as building:
            assert building.step().published == size
            if dice.random() < 0.5:
                insert(owner, size + 1, size + 1)
                size += 1
                assert building.step() == (size, 1, size, None)
        assert published(tmp_path) == expected(size)

    assert stored_tiles(tmp_path) == expected_tiles(size)


def test_seventy_thousand_events_are_caught_up(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """Five thousand at a time, over the edge of a tile of the second level, then on from there."""
    insert(owner, 1, 70_000)
    with sequencer(journal, tmp_path, Seconds()) as building:
        steps = [building.step() for _ in range(15)]
        assert [step.integrated for step in steps] == [5000] * 14 + [0]
        assert [step.published for step in steps] == [5000] + [None] * 14
        assert building.catch_up() == (70_000, 0, 70_000, None)
    insert(owner, 70_001, 70_010)
    with sequencer(journal, tmp_path) as building:
        assert building.step() == (70_010, 10, 70_010, None)

    assert published(tmp_path) == expected(70_010)
    assert stored_tiles(tmp_path) == expected_tiles(70_010)


def test_an_event_costs_a_tenth_of_a_millisecond_at_most(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """Of this process's CPU: a tenth of a core for a thousand events a second."""
    insert(owner, 1, 30_000)
    with sequencer(journal, tmp_path) as building:
        began = time.process_time()
        assert building.catch_up().size == 30_000
        spent = time.process_time() - began

    assert spent / 30_000 < 100e-6, f"{1e6 * spent / 30_000:.1f} microseconds an event"


def test_nothing_new_is_nothing_published(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """The file is not even written again."""
    insert(owner, 1, 10)
    with sequencer(journal, tmp_path) as building:
        building.step()
        before = (tmp_path / "log/checkpoint").stat().st_mtime_ns
        assert [building.step() for _ in range(3)] == [(10, 0, None, None)] * 3

    assert (tmp_path / "log/checkpoint").stat().st_mtime_ns == before


# -- when


def test_there_is_at_most_one_checkpoint_a_second(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """Also right after a new start; events are taken in all the time."""
    seconds, size, times = Seconds(), 0, list[float]()
    for _ in range(3):
        with sequencer(journal, tmp_path, seconds) as building:
            for _ in range(25):
                size += 3
                insert(owner, size - 2, size)
                step = building.step()
                assert step.size == size
                if step.published is not None:
                    times.append(seconds.now)
                seconds.now += 0.1

    assert len(times) == 7
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.99


def test_the_log_is_about_a_second_behind_at_most(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """Appends go on for some seconds; each is covered soon by a checkpoint.  The margin is for a busy machine."""
    until, appended, covered = threading.Event(), dict[int, float](), dict[int, float]()
    building = Sequencer(journal, LogStore(tmp_path / "log"), key_at(tmp_path), ORIGIN)
    thread = threading.Thread(target=building.run, args=(until,))
    thread.start()
    began, size = time.monotonic(), 0
    while time.monotonic() - began < 5:
        if time.monotonic() - began < 3.5:
            size += 1
            insert(owner, size, size)
            appended[size] = time.monotonic()
        found = LogStore(tmp_path / "log").size()
        covered |= {one: time.monotonic() for one in range(len(covered) + 1, found + 1)}
        time.sleep(0.02)
    until.set()
    thread.join()
    building.close()

    assert len(covered) == size
    assert max(covered[one] - appended[one] for one in appended) < 2
    assert published(tmp_path) == expected(size)


# -- gaps


def test_a_gap_is_never_passed(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """Somebody with the whole server has deleted an event that the log had not seen yet."""
    insert(owner, 1, 100)
    owner.execute("delete from dealproof.events where notification_id = 61")
    for _ in range(2):
        with sequencer(journal, tmp_path) as building:
            for _ in range(3):
                step = building.step()
                assert step.size == 60
                assert step.gap is not None and step.gap[:3] == (61, 62, "2026-11-30T12:00:00.000Z")
                assert step.gap.seconds is not None and step.gap.seconds > 0
        assert published(tmp_path) == expected(60)
    assert find_gap(journal, 60) == (61, 62, "2026-11-30T12:00:00.000Z")

    insert(owner, 61, 61)
    with sequencer(journal, tmp_path) as building:
        assert building.step() == (100, 40, 100, None)
    assert published(tmp_path) == expected(100)
    assert find_gap(journal, 100) is None


def test_a_journal_that_begins_with_a_gap_has_no_log(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """The event behind it has a body without a time."""
    insert(owner, 1, 9)
    owner.execute("delete from dealproof.events where notification_id = 1")
    owner.execute("update dealproof.events set state = 'no event'")
    with sequencer(journal, tmp_path) as building:
        assert building.step() == (0, 0, None, (1, 2, None))

    assert published(tmp_path) is None


def test_a_gap_is_told_once_and_then_now_and_then(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """A line that names the position and its age."""
    insert(owner, 1, 3)
    owner.execute("delete from dealproof.events where notification_id = 2")
    until = threading.Event()
    with sequencer(journal, tmp_path) as building, capture_logs() as lines:
        threading.Timer(0.6, until.set).start()
        building.run(until)

    [line] = [line for line in lines if line["event"] == "log_gap"]
    assert (line["position"], line["behind"]) == (2, 3) and line["seconds"] > 0


# -- another journal than before


@pytest.mark.parametrize("size", [300, 512])
@pytest.mark.parametrize("running", [True, False], ids=["running", "after a new start"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("update dealproof.events set state = state || ' ' where notification_id = %s", "is not the one that"),
        ("delete from dealproof.events where notification_id = %s", "has no event at position"),
        ("delete from dealproof.events where notification_id > 200 and %s > 0", "and ends at 200"),
    ],
)
def test_a_journal_without_the_last_logged_event_stops_it(
    journal: Journal, owner: Owner, tmp_path: Path, change: str, reason: str, running: bool, size: int
) -> None:
    """Changed, removed, or the whole tail lost, as by a server that was set back."""
    insert(owner, 1, size)
    building = sequencer(journal, tmp_path)
    building.step()
    if not running:
        building.close()
    before = LogStore(tmp_path / "log").checkpoint()
    owner.execute(change.encode(), (size,))
    insert(owner, size + 1, size + 20)
    if "200" in change:
        owner.execute("delete from dealproof.events where notification_id > 200")
    if not running:
        building = sequencer(journal, tmp_path)

    assert_stops(building, tmp_path, before, f"position {size}.*{reason}|{reason}.*position {size}|{reason}")


def assert_stops(building: Sequencer, folder: Path, before: bytes | None, reason: str) -> None:
    """It raises, goes on raising, and has published nothing."""
    with building:
        for _ in range(2):
            with pytest.raises(LogDamaged, match=reason):
                building.step()
    assert LogStore(folder / "log").checkpoint() == before


def test_another_database_is_not_the_journal_of_this_log(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    insert(owner, 1, 300)
    with sequencer(journal, tmp_path) as building:
        building.step()
    before = LogStore(tmp_path / "log").checkpoint()
    owner.execute("delete from dealproof.events")
    record = Record("note:1", 0, "noted.v1", b'{"at":"2026-12-01T12:00:00.000Z"}')
    journal.append("another", b"", [record])

    assert_stops(sequencer(journal, tmp_path), tmp_path, before, "has no event at position 300.* ends at 1")


def test_a_position_that_is_there_twice_stops_it(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """The constraint was dropped."""
    insert(owner, 1, 10)
    owner.execute("alter table dealproof.events drop constraint events_position")
    owner.execute("update dealproof.events set notification_id = 6 where notification_id = 7")

    assert_stops(sequencer(journal, tmp_path), tmp_path, None, "journal: position 6 is there twice")


def test_an_event_that_was_changed_under_an_unpublished_tile_stops_it(
    journal: Journal, owner: Owner, tmp_path: Path
) -> None:
    """The tile was written, the sequencer died before the checkpoint, and the journal has another event since."""
    insert(owner, 1, 300)
    with sequencer(journal, tmp_path, Seconds()) as building:
        building.step()
        insert(owner, 301, 600)
        assert building.step().published is None
    before = LogStore(tmp_path / "log").checkpoint()
    owner.execute("update dealproof.events set state = 'another' where notification_id = 400")

    assert_stops(sequencer(journal, tmp_path), tmp_path, before, "tile/0/001: holds other bytes than the journal's")


# -- another disk than before

EDGE = ["tile/0/001", "tile/0/002.p/188", "tile/1/000.p/2", "checkpoint"]
"""At 700 events: the newest full tile, the partial ones, the note."""


@pytest.mark.parametrize("running", [True, False], ids=["running", "after a new start"])
@pytest.mark.parametrize("name", EDGE)
def test_a_flipped_bit_at_the_edge_stops_it(
    journal: Journal, owner: Owner, tmp_path: Path, name: str, running: bool
) -> None:
    """Wherever in the file; nothing is published over it, and the error names the file."""
    insert(owner, 1, 700)
    building = sequencer(journal, tmp_path)
    building.step()
    building.close()
    path, dice = tmp_path / "log" / name, random.Random(name)
    insert(owner, 701, 710)
    whole = path.read_bytes()
    for byte in [0, len(whole) - 1, *(dice.randrange(len(whole)) for _ in range(10))]:
        if running:
            building = sequencer(journal, tmp_path)
        flip(path, byte, dice.randrange(8))
        before = LogStore(tmp_path / "log").checkpoint()
        with pytest.raises(LogDamaged, match=name):
            (building if running else sequencer(journal, tmp_path)).step()
        building.close() if running else None
        assert LogStore(tmp_path / "log").checkpoint() == before
        path.write_bytes(whole)

    with sequencer(journal, tmp_path) as building:
        assert building.step().published == 710
    assert published(tmp_path) == expected(710)


@pytest.mark.parametrize("name", EDGE)
@pytest.mark.parametrize("running", [True, False], ids=["running", "after a new start"])
def test_a_file_at_the_edge_that_is_cut_or_gone_stops_it(
    journal: Journal, owner: Owner, tmp_path: Path, name: str, running: bool
) -> None:
    insert(owner, 1, 700)
    building = sequencer(journal, tmp_path)
    building.step()
    # A witness has seen it: without the note the log would begin anew, as if there had been nothing.
    LogStore(tmp_path / "log").add_cosigned(parse_note((tmp_path / "log/checkpoint").read_bytes()))
    building.close()
    path = tmp_path / "log" / name
    insert(owner, 701, 710)
    whole = path.read_bytes()
    for damage in (lambda: path.write_bytes(whole[:-1]), lambda: path.write_bytes(b""), path.unlink):
        if running:
            building = sequencer(journal, tmp_path)
        damage()
        with pytest.raises(StoreError, match=name):
            (building if running else sequencer(journal, tmp_path)).step()
        building.close() if running else None
        path.write_bytes(whole)


def test_a_flipped_bit_in_a_tile_just_written_stops_it(
    journal: Journal, owner: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that takes the bytes and keeps others: each tile of the batch, the old checkpoint stays."""
    insert(owner, 1, 300)
    with sequencer(journal, tmp_path) as building:
        building.step()
    before = LogStore(tmp_path / "log").checkpoint()
    insert(owner, 301, 900)
    fresh = ["tile/0/001", "tile/0/002", "tile/0/003.p/132", "tile/1/000.p/3"]
    sync = LogStore.sync
    for name in fresh:

        def damage(store: LogStore, name: str = name) -> None:
            sync(store)
            flip(store.folder / name, 77)

        monkeypatch.setattr(LogStore, "sync", damage)
        with sequencer(journal, tmp_path) as building, pytest.raises(LogDamaged, match=name):
            building.step()
        assert LogStore(tmp_path / "log").checkpoint() == before
        flip(tmp_path / "log" / name, 77)
    monkeypatch.undo()

    with sequencer(journal, tmp_path) as building:
        building.step()
    assert published(tmp_path) == expected(900)


def test_an_older_checkpoint_put_back_is_refused(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """A witness has signed the newer one; going on from the older one would be a fork."""
    insert(owner, 1, 300)
    with sequencer(journal, tmp_path) as building:
        building.step()
        older = (tmp_path / "log/checkpoint").read_bytes()
        insert(owner, 301, 400)
        building.step()
    store = LogStore(tmp_path / "log")
    store.add_cosigned(parse_note(store.checkpoint() or b""))
    store.publish(older)

    with pytest.raises(LogDamaged, match="cosigned/400: is newer than the checkpoint, which has 300"):
        sequencer(journal, tmp_path)


# -- one writer, one key


def test_there_is_one_sequencer_at_a_time(journal: Journal, tmp_path: Path) -> None:
    with sequencer(journal, tmp_path), pytest.raises(Locked):
        sequencer(journal, tmp_path)
    sequencer(journal, tmp_path).close()


def test_another_log_key_does_not_go_on(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    insert(owner, 1, 10)
    with sequencer(journal, tmp_path) as building:
        building.step()
    other = FileSigningKey(tmp_path / "other.key", ORIGIN)

    with pytest.raises(LogDamaged, match="checkpoint: "):
        Sequencer(journal, LogStore(tmp_path / "log"), other, ORIGIN)
    with pytest.raises(LogDamaged, match="checkpoint: "):
        Sequencer(journal, LogStore(tmp_path / "log"), FileSigningKey(tmp_path / "log.key", "other"), "other")


def record_key(journal: Journal, key: FileSigningKey, first_size: int) -> None:
    text = key.verifier.to_text()
    change_keys(
        journal, "clara", lambda events: add(
            events, origin=ORIGIN, use=KeyUse.LOG, key=text, first_size=first_size, by="clara", reason="rotation"
        ),
    )  # fmt: skip


def test_a_new_log_key_goes_on_once_it_is_recorded(journal: Journal, tmp_path: Path) -> None:
    """And the old one, which is retired, signs nothing any more."""
    old, new = key_at(tmp_path), FileSigningKey(tmp_path / "new.key", ORIGIN)
    store = LogStore(tmp_path / "log")
    record_key(journal, old, 0)
    with Sequencer(journal, store, old, ORIGIN) as building:
        assert building.catch_up().published == 1
    with pytest.raises(LogKeyError, match="was never added"):
        Sequencer(journal, store, new, ORIGIN)

    record_key(journal, new, 2)
    change_keys(
        journal, "clara", lambda events: retire(
            events, key=old.verifier.to_text(), last_size=1, by="clara", reason="rotation"
        ),
    )  # fmt: skip
    with Sequencer(journal, store, old, ORIGIN) as building, pytest.raises(LogKeyError, match="may not sign"):
        building.catch_up()
    assert store.size() == 1
    with Sequencer(journal, store, new, ORIGIN) as building:
        assert building.catch_up().published == 3


def test_a_damaged_record_of_keys_is_named(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    record_key(journal, key_at(tmp_path), 0)
    owner.execute("update dealproof.events set state = '{}' where originator_id = 'log:keys'")

    with pytest.raises(LogDamaged, match="stream log:keys"):
        sequencer(journal, tmp_path)


# -- crashes

def live(journal_url: str, folder: Path) -> None:
    """Build the log of all there is, a piece at a time, as a process that may be killed anywhere."""
    with Journal.open(journal_url) as journal, sequencer(journal, folder) as building:
        module.BATCH = 250  # type: ignore[misc]
        while building.step().integrated:
            pass


def killing(at: int) -> Callable[[str, tuple[object, ...]], None]:
    """An audit hook that ends this process before its so-manieth call that changes the disk."""
    count = 0

    def hook(event: str, _: tuple[object, ...]) -> None:
        nonlocal count
        if event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "dealproof.fsync"):
            count += 1
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


def lives_until(journal_url: str, folder: Path, at: int) -> bool:
    """Fork a sequencer that is killed at its so-manieth call; whether it got to its end all the same."""
    import sys

    child = os.fork()
    if child == 0:
        fsync = os.fsync

        def told(descriptor: Any) -> None:
            sys.audit("dealproof.fsync")
            fsync(descriptor)

        os.fsync = told  # type: ignore[assignment]
        sys.addaudithook(killing(at))
        try:
            live(journal_url, folder)
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the sequencer did not go on"
    return not os.WIFSIGNALED(status)


STRIDES = [13, pytest.param(1, marks=pytest.mark.long)]
"""Every thirteenth place in the quick suite, each single one where there is time for it."""


@pytest.mark.parametrize("stride", STRIDES)
def test_a_kill_anywhere_leaves_what_the_next_start_goes_on_from(
    url: str, owner: Owner, tmp_path: Path, stride: int
) -> None:
    """Before the calls that change the disk, one after the other; the log comes out byte for byte the same."""
    insert(owner, 1, 600)
    killed, at = 0, 1
    while True:
        folder = tmp_path / str(at)
        folder.mkdir()
        (folder / "log.key").write_bytes(bytes(range(32)))
        (folder / "log.key").chmod(0o600)
        whole = lives_until(url, folder, at)
        after = published(folder)
        assert after is None or after == expected(after.size)
        if not whole:
            killed += 1
            assert lives_until(url, folder, 10**9)
        assert published(folder) == expected(600)
        assert stored_tiles(folder).items() >= expected_tiles(600).items()
        if whole:
            break
        at += stride

    assert killed > 30 // stride
    notes = {(tmp_path / str(number) / "log/checkpoint").read_bytes() for number in range(1, at + 1, stride)}
    assert len(notes) == 1


@pytest.mark.parametrize("stride", STRIDES)
def test_a_write_that_fails_anywhere_publishes_nothing_half(
    journal: Journal, owner: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int
) -> None:
    """A disk that is full at each of its writes in turn; afterwards there is room again."""
    insert(owner, 1, 600)
    monkeypatch.setattr(module, "BATCH", 250)
    fsync, at = os.fsync, 1 - stride
    while True:
        at += stride
        left = at

        def full(descriptor: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(descriptor)

        folder = tmp_path / str(at)
        folder.mkdir()
        building = sequencer(journal, folder)
        with monkeypatch.context() as patch, building:
            patch.setattr(os, "fsync", full)
            failed = fails(building)
        after = published(folder)
        assert after is None or after == expected(after.size)
        with sequencer(journal, folder) as building:
            building.catch_up()
        assert published(folder) == expected(600)
        assert stored_tiles(folder).items() >= expected_tiles(600).items()
        if not failed:
            break

    assert at > 20 // stride


def fails(building: Sequencer) -> bool:
    """Whether it stops on its way; then it goes on being stopped."""
    try:
        while building.step().integrated:
            pass
    except StoreError as error:
        assert "No space left on device" in str(error)
        with pytest.raises(StoreError, match="No space left on device"):
            building.step()
        return True
    return False


# -- a journal that is away


def test_a_lost_connection_is_waited_out(journal: Journal, owner: Owner, tmp_path: Path) -> None:
    """Whatever it had in hand is read again."""
    until = threading.Event()
    insert(owner, 1, 100)
    building = Sequencer(journal, LogStore(tmp_path / "log"), key_at(tmp_path), ORIGIN)
    thread = threading.Thread(target=building.run, args=(until,))
    thread.start()
    for size in (200, 300, 400):
        owner.execute("select pg_terminate_backend(pid) from pg_stat_activity "
                      "where pid <> pg_backend_pid() and datname = current_database()")  # fmt: skip
        insert(owner, size - 99, size)
        deadline = time.monotonic() + 20
        while LogStore(tmp_path / "log").size() < size and time.monotonic() < deadline:
            time.sleep(0.05)
    until.set()
    thread.join()
    building.close()

    assert published(tmp_path) == expected(400)
