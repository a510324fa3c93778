"""The log's folder: whole files or none, no tile overwritten with other bytes, cosignatures gathered."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from domain.log.checkpoint import Checkpoint, Note, Signature
from domain.log.merkle import root, root_of
from domain.log.tiles import Tile, tiles_of
from ops.log.store import KEPT_COSIGNED, Locked, LogDamaged, LogStore, NotStored, StoreError


@pytest.fixture
def store(tmp_path: Path) -> LogStore:
    return LogStore(tmp_path / "log")


def hashes(count: int) -> list[bytes]:
    return [number.to_bytes(32, "big") for number in range(count)]


def files(store: LogStore) -> list[str]:
    return sorted(str(path.relative_to(store.folder)) for path in store.folder.rglob("*") if path.is_file())


def note(size: int, *witnesses: str, root_hash: bytes = b"r" * 32, time: int = 1) -> Note:
    """A note whose signatures are none: the folder doesn't look at them."""
    lines = [Signature("log", b"logk", b"s" * 64)]
    lines += [Signature(name, name.encode()[:4].ljust(4), time.to_bytes(8, "big") + b"w" * 64) for name in witnesses]
    return Note(Checkpoint("play.example/log", size, root_hash).body(), tuple(lines))


# -- tiles


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 0, 256), "tile/0/000"),
        (Tile(0, 1_234_067, 256), "tile/0/x001/x234/067"),
        (Tile(1, 3, 17), "tile/1/003.p/17"),
    ],
)
def test_a_tile_lies_at_its_path_and_is_read_back(store: LogStore, tile: Tile, path: str) -> None:
    data = b"".join(hashes(tile.width))
    store.write_tile(tile, data)
    store.sync()

    assert files(store) == [path]
    assert store.read_tile(tile) == data


def test_a_partial_tile_is_found_in_a_wider_one(store: LogStore) -> None:
    """Whoever asks for the tree of some seconds ago still gets its tiles."""
    data = b"".join(hashes(256))
    for width in (40, 200):
        store.write_tile(Tile(0, 0, width), data[: 32 * width])
    assert [store.read_tile(Tile(0, 0, width)) for width in (3, 40, 41)] == [data[: 32 * w] for w in (3, 40, 41)]
    with pytest.raises(NotStored):
        store.read_tile(Tile(0, 0, 201))

    store.write_tile(Tile(0, 0, 256), data)
    assert store.read_tile(Tile(0, 0, 201)) == data[: 32 * 201]


def test_a_missing_tile_is_named(store: LogStore) -> None:
    with pytest.raises(NotStored) as error:
        store.read_tile(Tile(0, 5, 256))

    assert str(error.value) == f"{store.folder}/tile/0/005: is missing"


@pytest.mark.parametrize("length", [0, 31, 8191, 8193])
def test_a_tile_of_another_length_is_named(store: LogStore, length: int) -> None:
    path = store.folder / "tile/0/000"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"h" * length)

    with pytest.raises(StoreError, match=rf"^{path}: has {length} bytes, a tile of 256 has 8192$"):
        store.read_tile(Tile(0, 0, 256))


def test_a_folder_in_the_place_of_a_tile_is_named(store: LogStore) -> None:
    (store.folder / "tile/0/000").mkdir(parents=True)

    with pytest.raises(StoreError, match=r"tile/0/000: Is a directory"):
        store.read_tile(Tile(0, 0, 256))


@pytest.mark.parametrize("width", [256, 17])
def test_a_tile_is_never_overwritten_with_other_bytes(store: LogStore, width: int) -> None:
    """With the same ones it may be written again, as after a crash."""
    tile, data = Tile(0, 0, width), b"".join(hashes(width))
    store.write_tile(tile, data)
    store.write_tile(tile, data)

    with pytest.raises(LogDamaged, match=r"tile/0/000.*: holds other bytes"):
        store.write_tile(tile, data[:-1] + b"x")
    assert store.read_tile(tile) == data


def test_a_tile_of_too_few_hashes_is_not_written(store: LogStore) -> None:
    with pytest.raises(StoreError, match="31 bytes given, a tile of 1 has 32"):
        store.write_tile(Tile(0, 0, 1), b"h" * 31)
    assert files(store) == []


@contextmanager
def disk_for(octets: int) -> Iterator[None]:
    """Files can't grow larger than this, as on a disk that is full; the kernel says so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_nothing_half_written(store: LogStore) -> None:
    """Neither a tile nor a checkpoint; what was there stays."""
    store.publish(b"the first note\n")
    with disk_for(100):
        with pytest.raises(StoreError, match=r"tile/0/000: File too large"):
            store.write_tile(Tile(0, 0, 256), b"".join(hashes(256)))
        with pytest.raises(StoreError, match=r"checkpoint: File too large"):
            store.publish(b"n" * 5000)

    assert files(store) == ["checkpoint"]
    assert store.checkpoint() == b"the first note\n"


def test_partial_tiles_that_nobody_needs_are_removed(store: LogStore) -> None:
    """Those of the last tree, and those that a crash has left."""
    data = b"".join(hashes(256))
    for width in (10, 20, 30):
        store.write_tile(Tile(0, 0, width), data[: 32 * width])
    store.drop_partials(30, 20)
    assert files(store) == ["tile/0/000.p/30"]

    for tile in (Tile(0, 0, 256), Tile(0, 1, 44), Tile(1, 0, 1)):
        store.write_tile(tile, data[: 32 * tile.width])
    store.drop_partials(300, 30)
    assert files(store) == ["tile/0/000", "tile/0/001.p/44", "tile/1/000.p/1"]
    assert not (store.folder / "tile/0/000.p").exists()


def test_proofs_are_made_out_of_the_folder(store: LogStore) -> None:
    leaves = hashes(600)
    above = [root_of(leaves[:256]), root_of(leaves[256:512])]
    for tile in tiles_of(600):
        row = leaves if tile.level == 0 else above
        store.write_tile(tile, b"".join(row[256 * tile.index :][: tile.width]))

    assert [root(size, store.nodes(size)) for size in (1, 256, 257, 600)] == [
        root_of(leaves[:size]) for size in (1, 256, 257, 600)
    ]


# -- notes


def test_the_newest_note_replaces_the_one_before(store: LogStore) -> None:
    assert (store.checkpoint(), store.size()) == (None, 0)
    store.publish(note(7).to_bytes())
    store.publish(note(9).to_bytes())

    assert store.checkpoint() == note(9).to_bytes()
    assert (store.size(), files(store)) == (9, ["checkpoint"])


def test_a_checkpoint_that_is_no_note_is_named(store: LogStore) -> None:
    store.publish(b"nothing\n")

    with pytest.raises(StoreError, match=rf"^{store.folder}/checkpoint: "):
        store.size()


def test_cosignatures_of_one_checkpoint_are_gathered(store: LogStore) -> None:
    """In the order in which they came; a second one of the same witness changes nothing."""
    for brought in (note(7, "anna"), note(7, "boris"), note(7, "anna", time=2)):
        store.add_cosigned(brought)

    gathered = store.cosigned(7)
    assert gathered == note(7, "anna", "boris")
    assert store.best(2) == note(7, "anna", "boris").to_bytes()


def test_the_best_note_is_the_newest_with_enough_witnesses(store: LogStore) -> None:
    for brought in (note(7, "anna", "boris"), note(8, "anna", "boris", "clara"), note(9, "anna"), note(10)):
        store.add_cosigned(brought)

    sizes = {needed: store.best(needed) for needed in range(5)}
    assert sizes == {
        0: note(10).to_bytes(),
        1: note(9, "anna").to_bytes(),
        2: note(8, "anna", "boris", "clara").to_bytes(),
        3: note(8, "anna", "boris", "clara").to_bytes(),
        4: None,
    }


def test_another_body_of_the_same_size_is_refused(store: LogStore) -> None:
    store.add_cosigned(note(7, "anna"))

    with pytest.raises(StoreError, match="cosigned/7: is a note of the same size with another body"):
        store.add_cosigned(note(7, "boris", root_hash=b"q" * 32))
    assert store.cosigned(7) == note(7, "anna")


def test_the_newest_hundred_are_kept(store: LogStore) -> None:
    for size in range(1, KEPT_COSIGNED + 4):
        store.add_cosigned(note(size, "anna"))

    assert store.cosigned_sizes() == list(range(KEPT_COSIGNED + 3, 3, -1))


def test_witnesses_that_come_at_once_are_all_kept(store: LogStore) -> None:
    names = [f"{number:04}-witness" for number in range(24)]
    start = threading.Barrier(8)

    def bring(name: str) -> None:
        start.wait(10)
        LogStore(store.folder).add_cosigned(note(7, name))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(bring, names))

    gathered = store.cosigned(7)
    assert gathered is not None and {line.name for line in gathered.signatures} == {"log", *names}


def test_a_damaged_cosigned_note_is_named(store: LogStore) -> None:
    store.add_cosigned(note(7, "anna"))
    (store.folder / "cosigned/7").write_bytes(b"nothing")

    with pytest.raises(StoreError, match=rf"^{store.folder}/cosigned/7: "):
        store.best(1)


# -- the lock


def test_the_lock_is_held_by_one_and_free_when_it_is_closed(store: LogStore) -> None:
    import os

    held = store.lock()
    assert store.is_locked()
    with pytest.raises(Locked, match=r"log/lock: another sequencer runs on this log"):
        LogStore(store.folder).lock()

    os.close(held)
    assert not store.is_locked()
