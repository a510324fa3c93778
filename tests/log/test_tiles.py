"""Tiles: their paths, which of them a tree has, and the same proofs out of tiles as out of leaves."""

import re
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.log import tiles as module
from domain.log.merkle import (
    HASH_SIZE,
    LARGEST_SIZE,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root,
    root_of,
)
from domain.log.tiles import TILE_WIDTH, Tile, TileError, TileNodes, tiles_of

SIZE = 70_000
LEAVES = [leaf_hash(b"%d" % number) for number in range(SIZE)]

PATHS = [
    ("tile/0/000", Tile(0, 0, 256)),
    ("tile/0/000.p/1", Tile(0, 0, 1)),
    ("tile/0/067.p/17", Tile(0, 67, 17)),
    ("tile/1/999.p/255", Tile(1, 999, 255)),
    ("tile/0/x001/000", Tile(0, 1000, 256)),
    ("tile/0/x001/x234/067", Tile(0, 1_234_067, 256)),
    ("tile/2/x999/x999/999.p/10", Tile(2, 999_999_999, 10)),
    ("tile/0/x036/x028/x797/x018/x963/967", Tile(0, 2**55 - 1, 256)),
    ("tile/7/000.p/128", Tile(7, 0, 128)),
]


# -- paths


@pytest.mark.parametrize(("path", "tile"), PATHS)
def test_a_tile_has_one_path(path: str, tile: Tile) -> None:
    """C2SP tlog-tiles; the example with three groups is its own."""
    assert tile.path() == path
    assert Tile.parse(path) == tile


@pytest.mark.parametrize(
    "path",
    [
        "", "tile", "tile/0", "tile/0/", "tile/0/0", "tile/0/00", "tile/0/67", "tile/0/0000", "tile/0/1000",
        "tile/00/000", "tile/01/000", "tile/-1/000", "tile/+1/000", "tile/8/000", "tile/63/000", "tile/x/000",
        "tile//000", "/tile/0/000", "tile/0/000/", "./tile/0/000", "tile/0/../0/000", "tile\\0\\000", "tile/0/000\n",
        " tile/0/000", "tile/0/000 ", "Tile/0/000", "TILE/0/000", "tile/0/X001/000", "tile/0/000.P/1",
        "tile/0/x000/001", "tile/0/x000/x001/000", "tile/0/001/000", "tile/0/x001", "tile/0/x001/x000",
        "tile/0/001/x000", "tile/0/x001000", "tile/0/x1/000", "tile/0/x0001/000", "tile/0/xx001/000",
        "tile/0/x001//000", "tile/0/x001.p/1/000", "tile/0/000.p", "tile/0/000.p/", "tile/0/000.p/0", "tile/0/000.p/00",
        "tile/0/000.p/01", "tile/0/000.p/017", "tile/0/000.p/256", "tile/0/000.p/257", "tile/0/000.p/999",
        "tile/0/000.p/1000", "tile/0/000.p/-1", "tile/0/000.p/+1", "tile/0/000.p/1/", "tile/0/000.p/1.p/1",
        "tile/0/000.p1", "tile/0/000p/1", "tile/0/000/p/1", "tile/0/00a", "tile/0/0x1", "tile/0/٠٠٠", "tile/0/000.p/１",
        "tile/٠/000", "tile/entries/000", "tile/data/000", "tile/0/x001/x000/x000/x000/x000/x000/000",
        "tile/0/" + "x001/" * 99 + "000", "tile/0/x036/x028/x797/x018/x963/968",
        "tile/0/x036/x028/x797/x018/x963/968.p/1", "tile/7/000", "tile/7/000.p/129", "tile/7/001.p/1",
        "tile/1/x140/x737/x488/x355/328.p/1",
    ],
)  # fmt: skip
def test_any_other_path_is_refused(path: str) -> None:
    """A second spelling, a partial tile of no or of all hashes, a tile of no tree: a line that names the field."""
    with pytest.raises(TileError, match=r"\Apath: [^\n]+\Z"):
        Tile.parse(path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tile/0/67", "path: not that of a tile"),
        ("tile/0/x000/067", "path: not the canonical one of a tile"),
        ("tile/0/067.p/256", "path: not the canonical one of a tile"),
        ("tile/7/000.p/129", "path: beyond 9223372036854775808 leaves"),
    ],
)
def test_the_reason_is_said(path: str, reason: str) -> None:
    """What is wrong, without the text itself: it may come from anybody and be of any length."""
    with pytest.raises(TileError, match=f"^{re.escape(reason)}$"):
        Tile.parse(path)


near_paths = st.from_regex(r"tile/[0-9]{1,2}/(x[0-9]{3}/){0,7}[0-9]{3}(\.p/[0-9]{1,3})?")


@given(st.text("tile/0123456789x.p", max_size=40) | near_paths)
def test_a_path_that_is_accepted_is_the_path_of_the_tile(text: str) -> None:
    """There is no second spelling of anything."""
    try:
        tile = Tile.parse(text)
    except TileError:
        return
    assert tile.path() == text
    assert 1 <= tile.width <= TILE_WIDTH and tile.last_leaf() <= LARGEST_SIZE


@given(st.integers(0, 7), st.integers(0, 2**55 - 1), st.integers(1, 256))
def test_every_tile_that_a_tree_can_have_is_read_back(level: int, index: int, width: int) -> None:
    """And one that no tree can have is not."""
    tile = Tile(level, index >> 8 * level, width)

    if tile.last_leaf() <= LARGEST_SIZE:
        assert Tile.parse(tile.path()) == tile
    else:
        with pytest.raises(TileError, match=r"^path: beyond 9223372036854775808 leaves$"):
            Tile.parse(tile.path())


# -- which tiles a tree has


def counted(size: int) -> set[Tile]:
    """By C2SP's words: floor(size / 256^L) hashes at level L, 256 to a tile; empty tiles don't exist."""
    found = set()
    for level in range(8):
        hashes = size // 256**level
        found |= {Tile(level, index, 256) for index in range(hashes // 256)}
        if hashes % 256:
            found.add(Tile(level, hashes // 256, hashes % 256))
    return found


def test_the_example_of_the_specification() -> None:
    """70,000 leaves: 273 full tiles and one of 112, one full and one of 17, one of 1."""
    tiles = tiles_of(70_000)

    assert Counter(tile.level for tile in tiles) == {0: 274, 1: 2, 2: 1}
    assert [tile for tile in tiles if tile.width < 256] == [Tile(0, 273, 112), Tile(1, 1, 17), Tile(2, 0, 1)]
    assert tiles_of(256) == [Tile(0, 0, 256), Tile(1, 0, 1)]
    assert tiles_of(0) == []


edges = st.sampled_from([0, 1, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, 65_792, 131_072, 200_000])
counts = edges | st.integers(0, 1000) | st.integers(0, 200_000)


@given(counts, counts)
def test_a_tree_that_grew_has_exactly_the_tiles_that_are_new(one: int, other: int) -> None:
    """Each once, lowest level first, and none that the smaller tree had already."""
    before, size = sorted((one, other))
    tiles = tiles_of(size, before)

    assert len(tiles) == len(set(tiles))
    assert set(tiles) == counted(size) - counted(before)
    assert tiles == sorted(tiles, key=lambda tile: (tile.level, tile.index))


def test_a_huge_tree_that_grew_by_one_has_few_new_tiles() -> None:
    """Counted by what is new, not by what is there."""
    assert tiles_of(10_000_000, 9_999_999) == [Tile(0, 39_062, 128)]
    assert tiles_of(2**24, 2**24 - 1) == [Tile(0, 65_535, 256), Tile(1, 255, 256), Tile(2, 0, 256), Tile(3, 0, 1)]
    assert tiles_of(LARGEST_SIZE, LARGEST_SIZE - 1)[-1] == Tile(7, 0, 128)
    assert tiles_of(LARGEST_SIZE, LARGEST_SIZE) == []


@pytest.mark.parametrize(("size", "before"), [(-1, 0), (0, -1), (3, 4), (LARGEST_SIZE + 1, LARGEST_SIZE)])
def test_no_growth_has_no_tiles(size: int, before: int) -> None:
    """A tree never shrinks, and ends at 2^63 leaves."""
    reason = f"before: {before} leaves and then {size}, which is no growth up to 9223372036854775808"
    with pytest.raises(TileError, match=f"^{reason}$"):
        tiles_of(size, before)


# -- nodes out of tiles


def rows_of(leaves: list[bytes]) -> list[list[bytes]]:
    """The hashes of each tile level: every 256 of one are a subtree, whose root stands in the next."""
    rows = [leaves]
    while len(rows[-1]) >= 256:
        below = rows[-1]
        rows.append([root_of(below[at : at + 256]) for at in range(0, len(below) // 256 * 256, 256)])
    return rows


ROWS = rows_of(LEAVES)


def read(tile: Tile) -> bytes:
    """From the tiles of a tree of any size up to SIZE."""
    start = tile.index * 256
    return b"".join(ROWS[tile.level][start : start + tile.width])


def levels_of(leaves: list[bytes]) -> list[list[bytes]]:
    """Every complete subtree, level by level."""
    levels = [leaves]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([node_hash(below[at], below[at + 1]) for at in range(0, len(below) // 2 * 2, 2)])
    return levels


LEVELS = levels_of(LEAVES)


def out_of_leaves(level: int, index: int) -> bytes:
    """The node without any tile."""
    return LEVELS[level][index]


tree_sizes = st.sampled_from([1, 2, 255, 256, 257, 512, 65_535, 65_536, 65_537, SIZE]) | st.integers(1, SIZE)


@given(tree_sizes, st.integers(0, SIZE), st.integers(0, SIZE))
@example(65_793, 256, 65_536)
def test_proofs_out_of_tiles_are_those_out_of_leaves(size: int, one: int, other: int) -> None:
    """Of any size, and they read only tiles that this tree has, each once."""
    index, first = one % size, other % size + 1
    reads: Counter[Tile] = Counter()
    nodes = TileNodes(size, noting(reads))

    assert root(size, nodes) == root(size, out_of_leaves)
    assert inclusion_proof(index, size, nodes) == inclusion_proof(index, size, out_of_leaves)
    assert consistency_proof(first, size, nodes) == consistency_proof(first, size, out_of_leaves)
    assert set(reads.values()) == {1}
    assert reads.keys() <= counted(size)


def noting(reads: Counter[Tile]) -> Callable[[Tile], bytes]:
    """A reader that counts."""

    def reader(tile: Tile) -> bytes:
        reads[tile] += 1
        return read(tile)

    return reader


@pytest.mark.parametrize("size", [1, 2, 3, 300, 513])
def test_every_node_of_a_tree_is_found_in_its_tiles(size: int) -> None:
    """All complete subtrees, and no other node."""
    nodes = TileNodes(size, read)
    for level in range(size.bit_length() + 2):
        for index in range(size >> level):
            assert nodes(level, index) == out_of_leaves(level, index)
        behind = size >> level
        with pytest.raises(TileError, match=f"^node: {behind} of level {level} is not in a tree of {size} leaves$"):
            nodes(level, behind)


@pytest.mark.parametrize(("level", "index"), [(-1, 0), (0, -1), (8, -1)])
def test_a_node_below_zero_is_refused(level: int, index: int) -> None:
    """Not counted from the end."""
    with pytest.raises(TileError, match=f"^node: {index} of level {level} is not in a tree of 300 leaves$"):
        TileNodes(300, read)(level, index)


@pytest.mark.parametrize("off", [-1, 1, -HASH_SIZE, HASH_SIZE])
def test_a_tile_of_a_wrong_length_is_refused(off: int) -> None:
    """Cut off, or with something behind it; full or partial."""
    nodes = TileNodes(300, lambda tile: bytes(tile.width * HASH_SIZE + off))

    with pytest.raises(TileError, match=f"^tile/0/000: {8192 + off} bytes instead of 8192$"):
        nodes(0, 0)
    with pytest.raises(TileError, match=f"^tile/0/001.p/44: {1408 + off} bytes instead of 1408$"):
        nodes(2, 64)


def test_no_node_is_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked for, and nothing is made before it is asked for."""
    made: Counter[bytes] = Counter()

    def noted(data: bytes) -> Any:
        made[data] += 1
        return sha256(data)

    monkeypatch.setattr(module, "sha256", noted)
    nodes = TileNodes(600, read)

    assert nodes(0, 5) == LEAVES[5]
    assert not made
    for index in range(600):
        inclusion_proof(index, 600, nodes)
    assert set(made.values()) == {1}
    assert len(made) <= 600


@pytest.mark.parametrize(("size", "tiles", "hashes"), [(10_000, 3, 310), (10_000_000, 5, 940), (LARGEST_SIZE, 8, 2160)])
def test_what_a_proof_costs_at_most(size: int, tiles: int, hashes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles read and nodes made for one proof, whichever it is: this, not a clock, says that it stays milliseconds."""
    costs: Counter[str] = Counter()

    def noted(data: bytes) -> Any:
        costs["hash"] += 1
        return sha256(data)

    def blank(tile: Tile) -> bytes:
        costs["tile"] += 1
        return bytes(tile.width * HASH_SIZE)

    monkeypatch.setattr(module, "sha256", noted)
    for proof in (inclusion_proof, consistency_proof):
        for place in (1, 2, 255, 256, 257, size // 3, size // 2, size - 2, size - 1):
            costs.clear()
            proof(place, size, TileNodes(size, blank))
            assert costs["tile"] <= tiles and costs["hash"] <= hashes
