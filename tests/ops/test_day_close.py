"""Days are closed once, in their order, and whatever happens in between leaves nothing half done.

Not here: what a manifest says (`tests.replay.test_day`), the command (`tests.ops.cli.test_verify_day`).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier
from urllib.parse import urlsplit

import pytest

from domain.day import CODEC, DAYS, DayBegun, DayClosed, day_after
from domain.log.merkle import Nodes, root_of
from domain.log.tiles import TileNodes
from domain.round.refusals import Refusal
from ops import clock, day_close
from ops.day_close import DayNotInLog, DaysUnreadable, close_days, closings, last_closed
from ops.floor import Floor
from ops.journal import Journal, JournalUnavailable
from ops.log.audit import events_between
from ops.play import new_command
from tests.conftest import _database as new_database
from tests.ops.logged import Tiles, leaves_of, tiles_of
from tests.ops.played import Owner
from tests.ops.played_days import Clock, play_days, slow_clock
from tests.ops.test_house import KEY

LATER = "2027-01-01T00:00:05.000Z"


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with rounds of some days, to be copied."""
    with new_database(server_url, migrated_template) as url:
        with Journal.open(url) as journal:
            play_days(journal, 16)
        yield urlsplit(url).path.removeprefix("/")


def log_of(journal: Journal) -> tuple[Tiles, int]:
    tiles = tiles_of(journal)
    return tiles, tiles.checkpoint.size


def closed_by(journal: Journal, now: str = LATER, by: str = "keeper", until: str | None = None) -> list[DayClosed]:
    """Close with a log that is where the journal is."""
    tiles, size = log_of(journal)
    return close_days(journal, nodes_of(tiles), size, now, by, until)


def nodes_of(tiles: Tiles) -> Nodes:
    return TileNodes(tiles.checkpoint.size, tiles.read)


def day_at(journal: Journal, position: int) -> str:
    [stored] = events_between(journal, position, position)
    return stored.record.body[7:17].decode()


def test_every_day_that_is_over_is_closed(journal: Journal) -> None:
    first, head = day_at(journal, 1), journal.head_position()
    last = day_at(journal, head)

    closed = closed_by(journal, f"{last}T23:59:59.999Z")

    assert len(closed) > 2
    assert closed[0].day == first
    assert day_after(closed[-1].day) == last
    assert closed[0].events.first == 1
    for one, other in pairwise(closed):
        assert (other.day, other.events.first) == (day_after(one.day), one.events.last + 1)
    for each in closed:
        assert day_at(journal, each.events.last) == each.day
        assert day_at(journal, each.events.last + 1) > each.day
        assert each.root == root_of(leaves_of(journal, each.size)).hex()


def test_closing_again_does_nothing(journal: Journal) -> None:
    closed = closed_by(journal)
    head = journal.head_position()

    assert closed_by(journal) == []
    assert journal.head_position() == head
    assert last_closed(journal) == closed[-1]


def test_a_day_is_not_closed_before_it_is_over(journal: Journal) -> None:
    day = day_at(journal, 1)

    assert closed_by(journal, f"{day}T23:59:59.999Z") == []
    assert [each.day for each in closed_by(journal, f"{day_after(day)}T00:00:00.000Z")] == [day]


def test_days_without_an_event_are_closed_too(journal: Journal) -> None:
    """But for the closings themselves nothing happened for weeks."""
    last = day_at(journal, journal.head_position())
    closed_by(journal, f"{day_after(last)}T00:05:00.000Z")
    head = journal.head_position()

    closed = closed_by(journal, "2026-12-24T00:05:00.000Z")

    assert len(closed) > 10
    assert [each.events.count for each in closed[1:]] == [0] * (len(closed) - 1)
    assert {each.events.last for each in closed[1:]} == {head}
    assert [row.opened for row in closed[-1].tables] == [0] * len(closed[-1].tables)
    assert closed[0].events.count == head - closed[0].events.first + 1 > 0


def test_a_quiet_night_ends_with_an_event_of_the_new_day(journal: Journal) -> None:
    """So that no append of yesterday that comes late can still belong to the day that is being closed."""
    head = journal.head_position()
    last = day_at(journal, head)

    closed = closed_by(journal, f"{day_after(last)}T00:05:00.000Z")

    [begun] = events_between(journal, head + 1, head + 1)
    assert CODEC.decode(begun.record.body).data == DayBegun(by="keeper", day=day_after(last))
    assert closed[-1].events.last == head
    assert closed_by(journal, f"{day_after(last)}T23:05:00.000Z") == []


def test_a_busy_night_needs_no_event_of_its_own(journal: Journal) -> None:
    day = day_at(journal, 1)

    closed_by(journal, f"{day_after(day)}T12:00:00.000Z")

    assert [stored.record.type for stored in journal.read_stream(DAYS)] == ["day-closed.v1"]


def test_an_event_that_says_an_earlier_day_belongs_to_the_day_in_which_it_lies(journal: Journal) -> None:
    """Positions decide: what was closed stays as it is."""
    day = day_at(journal, 1)
    [first] = closed_by(journal, f"{day_after(day)}T00:05:00.000Z")
    with slow_clock(1_796_122_800_000, step=1):
        floor = Floor(journal, KEY)
        opened = floor.cashier.open_account(new_command("ann"), "EUR", "late", test=False)
        assert not isinstance(opened, Refusal)
    late = journal.head_position()

    closed = closed_by(journal)

    assert day_at(journal, late) == day
    assert [each.day for each in closed if each.events.first <= late <= each.events.last] != [day]
    assert [first, *closed] == [closed for _, closed in closings(journal)][::-1]


def test_only_so_many_days_are_closed_as_were_asked_for(journal: Journal) -> None:
    day = day_at(journal, 1)

    closed = closed_by(journal, until=day_after(day))

    assert [each.day for each in closed] == [day, day_after(day)]


def test_an_empty_journal_has_no_days(migrated_database_url: str) -> None:
    with Journal.open(migrated_database_url) as journal:
        assert closed_by(journal) == []
        assert journal.head_position() == 0


@pytest.mark.parametrize("short", [0, 1, 30])
def test_a_day_that_the_log_has_not_reached_is_not_closed(journal: Journal, short: int) -> None:
    """Those before it are, and it is closed when the log has come so far."""
    twin = closed_ends(journal)
    end = twin[1]
    tiles = tiles_of(journal, end - short)
    now = "2026-12-04T00:00:00.000Z"

    if short == 0:
        with pytest.raises(DayNotInLog) as caught:
            close_days(journal, nodes_of(tiles), end, now, "keeper")
        assert len(caught.value.closed) == 2
    else:
        with pytest.raises(DayNotInLog, match=f"goes on behind event {end - short}, where the log ends") as caught:
            close_days(journal, nodes_of(tiles), end - short, now, "keeper")
        assert len(caught.value.closed) == 1
    assert closed_by(journal, now)[0].events.last == twin[len(caught.value.closed)]


def closed_ends(journal: Journal) -> list[int]:
    """Where each day ends, by a look at every event."""
    days = [day_at(journal, position) for position in range(1, journal.head_position() + 1)]
    return [position for position, (day, other) in enumerate(pairwise(days), 1) if day != other]


@pytest.mark.parametrize("appends", range(4))
def test_after_a_crash_the_next_run_goes_on(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, appends: int
) -> None:
    """At any append: the one that begins the day, and each closing."""
    left = [appends]
    whole = journal.append

    def fail(*arguments: object) -> object:
        if not left[0]:
            raise JournalUnavailable("gone")
        left[0] -= 1
        return whole(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(journal, "append", fail)
    with pytest.raises(JournalUnavailable):
        closed_by(journal)
    monkeypatch.undo()
    closed_by(journal)

    found = [closed for _, closed in closings(journal)][::-1]
    assert [each.day for each in found] == sorted({each.day for each in found})
    assert found[0].day == day_at(journal, 1)
    for one, other in pairwise(found):
        assert other.events.first == one.events.last + 1


def test_of_two_who_close_at_once_one_manifest_stays(journal: Journal, url: str) -> None:
    tiles, size = log_of(journal)
    start = Barrier(2)

    def close(name: str) -> list[DayClosed]:
        with Journal.open(url) as own:
            start.wait()
            return close_days(own, nodes_of(tiles), size, "2026-12-04T00:00:00.000Z", name)

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(close, ("ann", "bob"))

    days = [closed.day for _, closed in closings(journal)]
    assert len(days) == len(set(days)) > 1
    by_day = {closed.day: closed for _, closed in closings(journal)}
    assert all(by_day[each.day] == each for each in (*one, *other))


def test_a_stream_of_days_that_cant_be_read_is_told(journal: Journal, owner: Owner) -> None:
    closed_by(journal)
    owner.execute("update dealproof.events set state = 'garbage' where topic = 'day-closed.v1'")

    with pytest.raises(DaysUnreadable, match=r"days:utc event \d+: "):
        closed_by(journal)


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_closing_that_was_taken_away_is_not_quietly_made_again(journal: Journal, owner: Owner, kept: int) -> None:
    """The command that wrote it is known."""
    closed_by(journal)
    owner.execute("delete from dealproof.events where originator_id = %s and originator_version >= %s", (DAYS, kept))

    with pytest.raises(DaysUnreadable, match=r"day:.*: was done before, but its event"):
        closed_by(journal)


def test_a_first_event_without_a_day_is_told(journal: Journal, owner: Owner) -> None:
    owner.execute("update dealproof.events set state = 'garbage' where notification_id = 1")

    with pytest.raises(DaysUnreadable, match="event 1: says no day"):
        closed_by(journal)


def test_the_time_of_a_closing_never_runs_backwards(journal: Journal) -> None:
    closed_by(journal, "2026-12-05T00:00:00.000Z")
    closed_by(journal, "2026-12-20T00:00:00.000Z")
    ats = [CODEC.decode(stored.record.body).at for stored in journal.read_stream(DAYS)]

    assert ats == sorted(ats)
    assert clock.milliseconds(ats[-1]) == clock.milliseconds("2026-12-20T00:00:00.000Z")


def test_many_days_are_looked_through_page_by_page(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(day_close, "DAYS_AT_ONCE", 3)
    closed = closed_by(journal)

    assert [each for _, each in closings(journal)] == closed[::-1]


def test_the_clock_of_these_tests_runs() -> None:
    slow = Clock()
    assert slow.now() < slow.now()
    assert slow.day == "2026-12-01"
