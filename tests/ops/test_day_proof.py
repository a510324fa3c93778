"""A day of a real journal proved, and what an administrator of the database does to it found and named.

He has the whole server and switches the triggers off; the checkpoint was signed before.

Not here: single findings (`tests.replay.test_day`, `tests.ops.log.test_audit`), the command
(`tests.ops.cli.test_verify_day`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, LiteralString
from urllib.parse import urlsplit

import msgspec
import pytest

from domain.day import CODEC, DAYS, DayClosed, day_after
from domain.log.merkle import leaf_hash
from domain.record import Record, canonical_json
from ops.day_close import close_days, closings
from ops.day_proof import DayReport, DayUnknown, prove_day, ranges_of, verify_rounds
from ops.journal import Journal, Stored
from ops.log.audit import events_between
from replay.verdict import Discrepancy, Status
from tests.conftest import _database as new_database
from tests.ops.logged import Tiles, tiles_of
from tests.ops.played import Owner, close_ranks
from tests.ops.played_days import play_days
from tests.ops.test_day_close import closed_by, nodes_of

NOW = "2026-12-20T00:00:00.000Z"


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with rounds of some days, which are closed, and a day that is not, to be copied."""
    with new_database(server_url, migrated_template) as url:
        with Journal.open(url) as journal:
            play_days(journal, 24)
            closed_by(journal, f"{newest_day(journal)}T23:59:00.000Z")
        yield urlsplit(url).path.removeprefix("/")


def newest_day(journal: Journal) -> str:
    head = journal.head_position()
    [stored] = events_between(journal, head, head)
    return stored.record.body[7:17].decode()


@pytest.fixture
def tiles(journal: Journal) -> Tiles:
    """The log as it was signed before anybody laid hands on the journal."""
    return tiles_of(journal)


@pytest.fixture
def busy(journal: Journal) -> DayClosed:
    """A day, not the first, on which rounds began and ended."""
    found = [closed for _, closed in closings(journal) if closed.events.first > 1]
    return max(found, key=lambda closed: sum(row.closed for row in closed.tables))


def proved(journal: Journal, tiles: Tiles, day: str) -> DayReport:
    report = prove_day(journal, tiles.read, tiles.checkpoint, day)
    assert msgspec.json.encode([finding.as_json() for finding in report.findings])
    return report


def named(found: list[Discrepancy]) -> list[tuple[str | None, str]]:
    return [(each.event, each.field) for each in found]


# -- true days


def test_each_day_is_proved(journal: Journal, tiles: Tiles) -> None:
    for stored, closed in closings(journal):
        report = proved(journal, tiles, closed.day)

        assert (report.status, report.findings) == (Status.VERIFIED, [])
        assert (report.closing, report.logged) == (stored.position, True)
        assert report.checked == closed.events.count
        assert msgspec.structs.replace(report.counted, by=closed.by) == closed


def test_a_day_that_is_not_closed_is_proved_as_far_as_the_checkpoint_goes(journal: Journal, tiles: Tiles) -> None:
    newest = next(closings(journal))[1]

    report = proved(journal, tiles, day_after(newest.day))

    assert report.findings == []
    assert (report.closing, report.logged) == (None, False)
    assert report.counted.events.last == tiles.checkpoint.size
    assert report.checked == tiles.checkpoint.size - newest.events.last


def test_a_closing_that_the_checkpoint_does_not_reach_is_told(journal: Journal) -> None:
    """A checkpoint from between the day's end and its closing."""
    found = list(closings(journal))
    (stored, closed), (before, _) = found[0], found[1]
    assert closed.events.last < before.position < stored.position
    tiles = tiles_of(journal, stored.position - 1)

    report = proved(journal, tiles, closed.day)

    assert (report.findings, report.closing, report.logged) == ([], stored.position, False)
    assert msgspec.structs.replace(report.counted, by=closed.by) == closed


def test_the_first_day_has_none_before_it(journal: Journal) -> None:
    """And while it goes on its checkpoint may be any."""
    tiles = tiles_of(journal, 15)
    first = list(closings(journal))[-1][1]

    report = proved(journal, tiles, first.day)

    assert report.findings == []
    assert report.counted.events.last == 15


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("2026-11-30", "the journal begins on 2026-12-01"),
        ("2027-06-01", "neither it nor the one before is closed; the last one closed is"),
        ("2026-13-01", "is no day"),
        ("today", "is no day"),
    ],
)
def test_a_day_that_is_not_there_is_told(journal: Journal, tiles: Tiles, day: str, words: str) -> None:
    with pytest.raises(DayUnknown, match=words):
        proved(journal, tiles, day)


def test_a_checkpoint_from_before_the_day_is_told(journal: Journal) -> None:
    _, closed = next(closings(journal))

    with pytest.raises(DayUnknown, match="but the checkpoint has 40"):
        proved(journal, tiles_of(journal, 40), closed.day)


def test_an_empty_journal_has_no_day(migrated_database_url: str) -> None:
    with Journal.open(migrated_database_url) as journal, pytest.raises(DayUnknown, match="the journal is empty"):
        proved(journal, tiles_of(journal), "2026-12-01")


# -- its rounds


def test_the_rounds_of_a_day_are_those_that_began_or_ended_on_it(url: str, journal: Journal, tiles: Tiles) -> None:
    seen: list[str] = []
    for _, closed in closings(journal):
        report = proved(journal, tiles, closed.day)
        verify_rounds(
            journal, url, report, table=None, workers=1, every_verdict=True,
            done=lambda done: seen.extend(msgspec.json.decode(line)["round"] for line in done.verdicts),
        )  # fmt: skip
        ended = sum(row.closed + row.voided for row in closed.tables)
        opened = sum(row.opened for row in closed.tables)
        assert report.status is Status.VERIFIED
        assert sum(report.tally.counts.values()) == len(report.rounds) <= ended + opened
        assert len(report.rounds) >= max(ended, opened)

    last = next(closings(journal))[1]
    whole = openings(journal, 1, last.events.last)
    assert set(seen) == {stored.record.stream.removeprefix("round:") for stored in whole}


def test_ranges_hold_the_rounds_of_the_day_alone(
    journal: Journal, tiles: Tiles, busy: DayClosed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Round ids are in the order of time, but for those about midnight."""
    monkeypatch.setattr("ops.day_proof.ROUNDS_A_RANGE", 2)
    report = proved(journal, tiles, busy.day)
    everything = {identity.stream for identity in journal.last_rounds(1000)}

    held = [{stream for stream in everything if first <= stream <= last} for first, last in ranges_of(journal, report)]

    assert set().union(*held) == report.rounds
    assert sum(map(len, held)) == len(report.rounds) > 2
    assert max(map(len, held)) == 2
    assert report.earlier


def test_one_table_s_rounds_are_verified_alone(url: str, journal: Journal, tiles: Tiles, busy: DayClosed) -> None:
    row = max(busy.tables, key=lambda row: row.closed)
    report = proved(journal, tiles, busy.day)

    verify_rounds(journal, url, report, table=row.table, workers=1, every_verdict=False, done=lambda _: None)

    assert row.closed <= sum(report.tally.counts.values()) < len(report.rounds)


# -- what an administrator does


def openings(journal: Journal, first: int, last: int) -> list[Stored]:
    return [stored for stored in events_between(journal, first, last) if stored.record.type == "round-opened.v1"]


def of_round(journal: Journal, stream: str) -> list[Stored]:
    """All that mentions a round."""
    name = stream.removeprefix("round:").encode()
    return [stored for stored in events_between(journal, 1, journal.head_position()) if name in stored.record.body]


def take_out(owner: Owner, stored: list[Stored]) -> None:
    owner.execute(
        "delete from dealproof.events where notification_id = any (%s)", ([each.position for each in stored],)
    )


def forget(owner: Owner, stream: str) -> None:
    """The rows beside the events."""
    for table in ("round_identity", "commands"):
        owner.execute(f"alter table dealproof.{table} disable trigger user".encode())
    owner.execute("delete from dealproof.round_identity where stream = %s", (stream,))
    owner.execute("delete from dealproof.open_rounds where stream = %s", (stream,))


def put(owner: Owner, position: int, record: Record) -> None:
    owner.execute(
        "insert into dealproof.events (notification_id, originator_id, originator_version, topic, state)"
        " values (%s, %s, %s, %s, %s)",
        (position, *record),
    )


def rewritten(owner: Owner, stored: Stored, change: Callable[[Any], None]) -> None:
    """One event's data changed, and canonical bytes again."""
    plain = msgspec.json.decode(stored.record.body)
    change(plain["data"])
    owner.execute(
        "update dealproof.events set state = %s where notification_id = %s", (canonical_json(plain), stored.position)
    )


def round_on(journal: Journal, day: DayClosed) -> Stored:
    """A round that began on the day and ended on it, so that no manifest names it."""
    named_there = {f"round:{name}" for name in [*(e.round for e in day.pending), *(e.round for e in day.aborted)]}
    found = openings(journal, day.events.first, day.events.last)
    return next(opening for opening in found if opening.record.stream not in named_there)


def take_round_out(journal: Journal, owner: Owner, day: DayClosed) -> tuple[Stored, list[Stored]]:
    """A round of the day, with all that mentions it and all rows: its opening, and everything that went."""
    gone = round_on(journal, day)
    everything = of_round(journal, gone.record.stream)
    take_out(owner, everything)
    forget(owner, gone.record.stream)
    return gone, everything


def test_a_round_that_is_taken_out_with_all_that_mentions_it_is_missed(
    journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed
) -> None:
    """Position by position; its number too, and the manifest knows of it."""
    gone, everything = take_round_out(journal, owner, busy)

    report = proved(journal, tiles, busy.day)

    inside = [stored for stored in everything if stored.position <= busy.events.last]
    assert {(f"position {stored.position}", "event") for stored in inside} <= set(named(report.findings))
    data = msgspec.json.decode(gone.record.body)["data"]
    # Of a table's only round ever, nothing is left behind the manifest's row.
    row = f"tables[{data['table']} EUR]"
    assert {(DayClosed.NAME, row), (DayClosed.NAME, f"{row}.opened")} & set(named(report.findings))
    assert report.status is Status.DISCREPANCY


def test_a_round_that_is_taken_out_and_the_ranks_closed_is_missed(
    journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed
) -> None:
    _, everything = take_round_out(journal, owner, busy)
    close_ranks(owner)

    report = proved(journal, tiles, busy.day)

    assert (f"position {everything[0].position}", "leaf") in named(report.findings)


def test_a_round_that_is_there_twice_is_named(
    journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed
) -> None:
    """Its copy under another name lies at the positions of the round itself."""
    opening = round_on(journal, busy)
    owner.execute("alter table dealproof.events drop constraint events_position")
    for stored in of_round(journal, opening.record.stream):
        if stored.record.stream == opening.record.stream:
            put(owner, stored.position, stored.record._replace(stream="round:" + "7" * 32))

    report = proved(journal, tiles, busy.day)

    assert (f"position {opening.position}", "event") in named(report.findings)
    assert ("round-opened.v1", "number") in named(report.findings)
    assert "there twice" in [finding.recorded for finding in report.findings]


def test_a_round_that_is_added_later_has_a_number_that_was_given(
    journal: Journal, owner: Owner, busy: DayClosed
) -> None:
    """At the end, where positions are dense, and the log takes it for what it is."""
    opening, head = round_on(journal, busy), journal.head_position()
    stream = "round:" + "7" * 32
    plain = msgspec.json.decode(opening.record.body) | {"at": "2026-12-19T00:00:00.000Z", "stream": stream}
    put(owner, head + 1, Record(stream, 0, opening.record.type, canonical_json(plain)))
    newest = next(closings(journal))[1]
    tiles = tiles_of(journal)
    close_days(journal, nodes_of(tiles), head + 1, NOW, "keeper")
    tiles = tiles_of(journal)

    report = proved(journal, tiles, "2026-12-19")

    assert newest.day < "2026-12-19"
    [finding] = [each for each in report.findings if each.field == "number"]
    assert (finding.stream, finding.recorded) == (stream, plain["data"]["number"])


@pytest.mark.parametrize("apart", [1, 5])
def test_events_that_changed_places_are_named(
    journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed, apart: int
) -> None:
    one, other = busy.events.first + 3, busy.events.first + 3 + apart
    for position, to in ((one, -1), (other, one), (-1, other)):
        owner.execute("alter table dealproof.events drop constraint if exists events_notification_id_check")
        owner.execute(
            "update dealproof.events set notification_id = %s where notification_id = %s", (to, position)
        )

    report = proved(journal, tiles, busy.day)

    assert {(f"position {one}", "leaf"), (f"position {other}", "leaf")} <= set(named(report.findings))


def test_a_round_with_another_number_is_named(journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed) -> None:
    """In its own record, in its table's and in the row beside them."""
    opening = round_on(journal, busy)

    def renumber(data: Any) -> None:
        data["number"] += 1

    rewritten(owner, opening, renumber)

    report = proved(journal, tiles, busy.day)

    data = msgspec.json.decode(opening.record.body)["data"]
    assert (f"position {opening.position}", "leaf") in named(report.findings)
    assert (f"round {data['table']}/{data['number']}", "number") in named(report.findings)


def closing_of(journal: Journal, day: str) -> Stored:
    return next(stored for stored, closed in closings(journal) if closed.day == day)


@pytest.mark.parametrize("field", ["staked", "returned", "opened", "last_number"])
def test_a_manifest_with_another_figure_is_named(
    journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed, field: str
) -> None:
    stored = closing_of(journal, busy.day)

    def change(data: Any) -> None:
        data["tables"][0][field] += 100

    rewritten(owner, stored, change)

    report = proved(journal, tiles, busy.day)

    assert (f"position {stored.position}", "leaf") in named(report.findings)
    assert (DayClosed.NAME, f"tables[{busy.tables[0].table} EUR].{field}") in named(report.findings)


@pytest.mark.parametrize("change", [{"last": 3}, {"last": 10**15}, {"first": 1}, {"first": -4, "last": -5}])
def test_a_manifest_with_another_range_is_named(
    journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed, change: dict[str, int]
) -> None:
    stored = closing_of(journal, busy.day)
    rewritten(owner, stored, lambda data: data["events"].update(change))

    report = proved(journal, tiles, busy.day)

    assert (f"position {stored.position}", "leaf") in named(report.findings)
    assert {(DayClosed.NAME, f"events.{field}") for field in change} <= set(named(report.findings))


def test_a_manifest_of_the_house_s_own_making_is_recomputed(journal: Journal, owner: Owner, busy: DayClosed) -> None:
    """The house signs what it likes: a log of the false manifest proves nothing but that it is false."""
    stored = closing_of(journal, busy.day)
    rewritten(owner, stored, lambda data: data["tables"][0].update(net=0, staked=data["tables"][0]["staked"] + 7))

    report = proved(journal, tiles_of(journal), busy.day)

    assert (DayClosed.NAME, f"tables[{busy.tables[0].table} EUR].staked") in named(report.findings)


@pytest.mark.parametrize("last", [-1, 1, 10**12])
def test_a_day_that_the_house_ends_elsewhere_is_named(
    journal: Journal, owner: Owner, busy: DayClosed, last: int
) -> None:
    stored = closing_of(journal, busy.day)
    wanted = busy.events.last + last
    rewritten(owner, stored, lambda data: data["events"].update(last=wanted))

    report = proved(journal, tiles_of(journal), busy.day)

    assert report.status is Status.DISCREPANCY
    assert {(DayClosed.NAME, "events.last"), (f"position {wanted + 1}", "at"), (DayClosed.NAME, "size")} & set(
        named(report.findings)
    )


@pytest.mark.parametrize("newest", [True, False])
def test_a_manifest_that_is_gone_is_missed(
    journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed, newest: bool
) -> None:
    """The day is not taken for one that is not closed yet."""
    stored, closed = next(closings(journal)) if newest else (closing_of(journal, busy.day), busy)
    last = stored == next(closings(journal))[0]
    take_out(owner, [stored])

    report = proved(journal, tiles, closed.day)

    assert report.closing is None
    assert (f"position {stored.position}", "event") in named(report.findings)
    if not last:
        assert (DayClosed.NAME, "prev") in named(report.findings)


def test_a_manifest_of_the_day_before_that_was_changed_is_named(
    journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed
) -> None:
    """What is open, and where the tables stand, comes from it."""
    found = list(closings(journal))
    place = next(place for place, (_, closed) in enumerate(found) if closed.day == busy.day)
    before, _ = found[place + 1]
    rewritten(owner, before, lambda data: data["tables"][0].update(last_number=0))

    report = proved(journal, tiles, busy.day)

    assert (f"position {before.position}", "leaf") in named(report.findings)


def test_a_day_that_was_closed_twice_is_named(journal: Journal, busy: DayClosed) -> None:
    """The house may append what it likes; which of the two holds is then for people to say."""
    head = journal.heads([DAYS])[DAYS].record
    records = CODEC.append_to(DAYS, (head.seq, leaf_hash(head.body).hex()), [busy], NOW)
    journal.append("again", b"again", records)

    report = proved(journal, tiles_of(journal), busy.day)

    assert report.status is Status.DISCREPANCY
    assert (DayClosed.NAME, "day") in named(report.findings)


LARGE: LiteralString = "update dealproof.events set notification_id = 9223372036854775807 where notification_id = %s"


def test_an_event_far_away_ends_nothing(journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed) -> None:
    owner.execute(LARGE, (busy.events.first,))

    report = proved(journal, tiles, busy.day)

    assert (f"position {busy.events.first}", "event") in named(report.findings)


def test_garbage_in_every_event_of_the_day_ends_nothing(
    journal: Journal, owner: Owner, tiles: Tiles, busy: DayClosed
) -> None:
    owner.execute(
        "update dealproof.events set state = 'garbage' where notification_id between %s and %s",
        (busy.events.first, busy.events.last),
    )

    report = proved(journal, tiles, busy.day)

    assert report.found > busy.events.count
