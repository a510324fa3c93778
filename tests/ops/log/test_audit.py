"""The journal held against the log: whatever a superuser does to events below the checkpoint is found and named.

Not here: what the events mean (tests/replay), the whole proof of a day (`tests.ops.cli.test_verify_day`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from typing import LiteralString

import pytest

from domain.log.merkle import ProofError, leaf_hash, root_of
from domain.log.tiles import TileError
from domain.record import Record
from ops.journal import Journal
from ops.log.audit import Audit, ProvenTiles, audit, events_between
from replay.verdict import Discrepancy
from tests.ops.logged import Tiles, tiles_of
from tests.ops.played import Owner, played_database

ROUNDS = 30


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with thirty true rounds, some eight hundred events, to be copied."""
    with played_database(server_url, migrated_template, ROUNDS) as name:
        yield name


@pytest.fixture
def tiles(journal: Journal) -> Tiles:
    """The log of the journal as it was before anybody laid hands on it."""
    return tiles_of(journal)


def whole(journal: Journal, tiles: Tiles) -> Audit:
    """The audit of everything."""
    return audit(journal, tiles.read, tiles.checkpoint, 1, tiles.checkpoint.size)


def named(found: list[Discrepancy]) -> list[tuple[str | None, str]]:
    return [(each.event, each.field) for each in found]


# -- true journals


def test_a_true_journal_is_as_its_log_says(journal: Journal, tiles: Tiles) -> None:
    assert whole(journal, tiles) == ([], 0, tiles.checkpoint.size)
    assert tiles.checkpoint.size > 512


@pytest.mark.parametrize("range_", [(1, 1), (1, 256), (2, 256), (256, 257), (257, 512), (255, 258), (300, 299)])
def test_any_range_may_be_audited(journal: Journal, tiles: Tiles, range_: tuple[int, int]) -> None:
    """Where it begins or ends in a tile makes no difference; it may be empty."""
    first, last = range_
    heard: list[int] = []

    done = audit(journal, tiles.read, tiles.checkpoint, first, last, lambda position, _: heard.append(position))

    assert done == ([], 0, last - first + 1)
    assert heard == list(range(first, last + 1))


def test_whoever_wants_the_events_hears_of_each_in_order(journal: Journal, tiles: Tiles) -> None:
    heard: list[tuple[int, Record]] = []

    audit(journal, tiles.read, tiles.checkpoint, 1, 400, lambda *event: heard.append(event))

    assert heard == [tuple(stored) for stored in events_between(journal, 1, 400)]
    assert [position for position, _ in heard] == list(range(1, 401))


def test_events_behind_the_checkpoint_are_not_judged(journal: Journal) -> None:
    """They may come while the audit runs."""
    tiles = tiles_of(journal, 300)

    assert whole(journal, tiles) == ([], 0, 300)


@pytest.mark.parametrize("range_", [(0, 3), (-1, 3), (5, 3), (1, 10**9)])
def test_a_range_beyond_the_checkpoint_is_refused(journal: Journal, tiles: Tiles, range_: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="the checkpoint has 1 to"):
        audit(journal, tiles.read, tiles.checkpoint, *range_)


# -- what a superuser may do


DELETE: LiteralString = "delete from dealproof.events where notification_id = 300"
SHIFT: LiteralString = """
alter table dealproof.events drop constraint events_position;
update dealproof.events set notification_id = notification_id {} where notification_id > 300
"""
CLOSE_RANKS: LiteralString = f"{DELETE}; {SHIFT.format('- 1')}"
ADD: LiteralString = """
insert into dealproof.events (originator_id, originator_version, topic, state, notification_id)
select originator_id, originator_version + 1000, topic, state, {} from dealproof.events where notification_id = 300
"""
SWAP: LiteralString = """
update dealproof.events set notification_id = 10000000 where notification_id = 300;
update dealproof.events set notification_id = 300 where notification_id = 301;
update dealproof.events set notification_id = 301 where notification_id = 10000000
"""
WHERE_300: LiteralString = "where notification_id = 300"
AS_OFTEN_AS_YOU_LIKE: LiteralString = "alter table dealproof.events drop constraint events_position"
FROM_ANYWHERE: LiteralString = "alter table dealproof.events drop constraint events_notification_id_check"
NULL: LiteralString = "alter table dealproof.events alter {0} drop not null; update dealproof.events set {0} = null"


@pytest.mark.parametrize(
    ("deed", "wanted"),
    [
        (DELETE, ("position 300", "event")),
        ("delete from dealproof.events where notification_id = 1", ("position 1", "event")),
        ("delete from dealproof.events where notification_id between 200 and 400", ("position 256", "event")),
        (CLOSE_RANKS, ("position 300", "leaf")),
        (f"{SHIFT.format('+ 1')}; {ADD.format('301')}", ("position 301", "leaf")),
        (SWAP, ("position 300", "leaf")),
        (SWAP, ("position 301", "leaf")),
        (f"{AS_OFTEN_AS_YOU_LIKE}; {ADD.format('300')}", ("position 300", "event")),
        (f"{FROM_ANYWHERE}; {ADD.format('0')}", ("position 0", "event")),
        (f"{FROM_ANYWHERE}; {ADD.format('-7')}", ("position -7", "event")),
        (f"alter table dealproof.events alter notification_id drop not null; {ADD.format('null')}",
         ("position None", "event")),
        (f"update dealproof.events set state = state || ' ' {WHERE_300}", ("position 300", "leaf")),
        (f"update dealproof.events set state = '' {WHERE_300}", ("position 300", "leaf")),
        (f"{NULL.format('state')} {WHERE_300}", ("position 300", "leaf")),
        (f"{NULL.format('topic')} {WHERE_300}", ("", "type")),
        (f"update dealproof.events set topic = 'bet-made.v2' {WHERE_300}", ("bet-made.v2", "type")),
        ("delete from dealproof.events", ("position 256", "event")),
    ],
)  # fmt: skip
def test_what_was_done_to_events_is_named(
    journal: Journal, owner: Owner, tiles: Tiles, deed: LiteralString, wanted: tuple[str, str]
) -> None:
    for statement in deed.split(";"):
        owner.execute(statement)

    done = whole(journal, tiles)

    assert wanted in named(done.findings)
    assert done.found == len(done.findings) > 0


@pytest.mark.parametrize("column", ["originator_id", "originator_version"])
def test_a_column_that_says_something_else_is_named(
    journal: Journal, owner: Owner, tiles: Tiles, column: LiteralString
) -> None:
    """The body is that of the log, but whoever looks for it finds it elsewhere."""
    value: LiteralString = "'round:' || repeat('7', 32)" if column == "originator_id" else "4711"
    owner.execute(f"update dealproof.events set {column} = {value} where notification_id = 300")

    [finding] = whole(journal, tiles).findings

    assert finding.field == {"originator_id": "stream", "originator_version": "seq"}[column]
    assert finding.recorded in ("round:" + "7" * 32, 4711)


def test_a_whole_round_that_is_gone_is_missed_position_by_position(
    journal: Journal, owner: Owner, tiles: Tiles
) -> None:
    """With its postings, its number, its identity and the commands that wrote it."""
    identity = journal.last_rounds(5)[-1]
    mention = b'"round":"' + identity.stream.removeprefix("round:").encode() + b'"'
    gone = "originator_id = %s or position(%s::bytea in state) > 0"
    select = f"select notification_id from dealproof.events where {gone} order by 1"
    positions = [row[0] for row in owner.execute(select.encode(), (identity.stream, mention)).fetchall()]
    owner.execute("alter table dealproof.round_identity disable trigger user")
    owner.execute(f"delete from dealproof.events where {gone}".encode(), (identity.stream, mention))
    owner.execute("delete from dealproof.round_identity where stream = %s", (identity.stream,))

    done = whole(journal, tiles)

    assert named(done.findings) == [(f"position {position}", "event") for position in positions]
    assert {finding.recorded for finding in done.findings} == {"missing"}


def test_a_round_that_was_added_behind_the_end_leaves_a_gap_or_is_judged_later(
    journal: Journal, owner: Owner, tiles: Tiles
) -> None:
    """Positions are dense behind the checkpoint too, so that nothing lies where nobody looks."""
    owner.execute(ADD.format("1000000"))

    [finding] = whole(journal, tiles).findings

    assert finding.event == f"position {tiles.checkpoint.size + 1} to 999999"


def test_the_largest_position_there_is_ends_nothing(journal: Journal, owner: Owner, tiles: Tiles) -> None:
    owner.execute(ADD.format("9223372036854775807"))

    assert whole(journal, tiles).found == 1


def test_an_end_that_was_cut_off_is_missed_by_the_audit_of_another_range(
    journal: Journal, owner: Owner, tiles: Tiles
) -> None:
    size = tiles.checkpoint.size
    owner.execute("delete from dealproof.events where notification_id > %s", (size - 3,))

    done = audit(journal, tiles.read, tiles.checkpoint, 1, 100)

    assert named(done.findings) == [(f"position {size - 2} to {size}", "event")]


def test_only_so_many_findings_are_kept(
    journal: Journal, owner: Owner, tiles: Tiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.findings.MOST_FINDINGS", 10)
    owner.execute("update dealproof.events set state = state || ' '")

    done = whole(journal, tiles)

    assert len(done.findings) == 10
    assert done.found == tiles.checkpoint.size


# -- what may be wrong with the log


def flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize("path", ["tile/0/000", "tile/0/001"])
@pytest.mark.parametrize("change", [flip, lambda data: data[:-1], lambda data: data + data[:32], lambda data: b""])
def test_a_tile_that_is_not_in_the_tree_is_not_believed(
    journal: Journal, tiles: Tiles, path: str, change: Callable[[bytes], bytes]
) -> None:
    """Only its own positions can't be held against the log."""
    tiles.changed(path, change)

    [finding] = whole(journal, tiles).findings

    first = 256 * int(path[-3:]) + 1
    assert (finding.stream, finding.event, finding.field) == ("log", f"position {first} to {first + 255}", "tile")
    assert path in str(finding.recorded)


def test_a_tile_that_is_missing_is_named(journal: Journal, tiles: Tiles) -> None:
    del tiles.files["tile/0/001"]

    [finding] = whole(journal, tiles).findings

    assert "tile/0/001" in str(finding.recorded)


@pytest.mark.parametrize("level", [0, 1])
def test_an_edge_that_does_not_give_the_root_is_not_believed(journal: Journal, tiles: Tiles, level: int) -> None:
    [path] = [path for path in tiles.files if path.startswith(f"tile/{level}/") and ".p/" in path]
    tiles.changed(path, flip)

    done = whole(journal, tiles)

    assert named(done.findings) == [("the log", "root")]
    assert done.findings[0].recomputed == tiles.checkpoint.root.hex()


@pytest.mark.parametrize(("root", "size"), [(bytes(32), None), (b"short", None), (None, 511), (None, 1)])
def test_a_checkpoint_of_another_log_is_told(
    journal: Journal, tiles: Tiles, root: bytes | None, size: int | None
) -> None:
    true = tiles.checkpoint
    other = true._replace(root=root or true.root, size=size or true.size)

    done = audit(journal, tiles.read, other, 1, 1)

    assert ("the log", "root") in named(done.findings)


def test_a_forged_log_that_agrees_with_a_forged_journal_is_not_the_checkpoint_s(
    journal: Journal, owner: Owner, tiles: Tiles
) -> None:
    """Who has both the database and the folder still lacks the key, and the witness has the true root."""
    owner.execute("update dealproof.events set state = state || ' ' where notification_id = 300")
    forged = tiles_of(journal)

    assert whole(journal, forged).findings == []
    assert audit(journal, forged.read, tiles.checkpoint, 1, 300).findings != []


# -- proven tiles


@cache
def large() -> Tiles:
    """Three levels of tiles."""
    return Tiles([sha256(number.to_bytes(4)).digest() for number in range(66_000)])


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, 66_000])
def test_every_leaf_and_every_earlier_root_comes_out_of_proven_tiles(size: int) -> None:
    leaves = [sha256(number.to_bytes(4)).digest() for number in range(size)]
    tiles = Tiles(leaves)
    proven = ProvenTiles(tiles.read, tiles.checkpoint)

    for position in {1, 2, size // 2, size // 2 + 1, size - 1, size} & set(range(1, size + 1)):
        assert proven.leaf(position) == leaves[position - 1]
        assert proven.root(position) == root_of(leaves[:position])
    assert proven.root(0) == root_of([])


@pytest.mark.parametrize("position", [0, -1, 66_001])
def test_there_is_no_leaf_outside_of_the_tree(position: int) -> None:
    with pytest.raises(ValueError, match="the checkpoint has 1 to"):
        ProvenTiles(large().read, large().checkpoint).leaf(position)


@pytest.mark.parametrize("path", ["tile/0/007", "tile/1/000"])
def test_a_tile_of_any_level_is_held_against_the_one_above(path: str) -> None:
    tiles = Tiles([])
    tiles.files, tiles.checkpoint = dict(large().files), large().checkpoint
    tiles.changed(path, flip)
    proven = ProvenTiles(tiles.read, tiles.checkpoint)

    with pytest.raises((ProofError, TileError), match=path):
        proven.leaf(7 * 256 + 1)


def test_a_leaf_is_that_of_the_stored_body(journal: Journal, tiles: Tiles) -> None:
    [stored] = events_between(journal, 300, 300)

    assert ProvenTiles(tiles.read, tiles.checkpoint).leaf(300) == leaf_hash(stored.record.body)
