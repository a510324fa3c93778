"""The files that the tree is published in: tiles of 256 hashes, found by their path alone.

Source: C2SP tlog-tiles (https://c2sp.org/tlog-tiles), docs/formats/log.md.  Tile level L holds hashes of tree level
8 * L, 256 to a tile, one after the other; the nodes between are computed.  A full tile never changes; the last one of a
level is partial, and one of another width is another file.

Not here: writing and reading files (`ops.log`), tiles of entries (bodies hold players' pseudonyms: not published).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from domain.log.merkle import HASH_SIZE, LARGEST_SIZE

TILE_WIDTH: Final = 256
TILE_HEIGHT: Final = 8
"""Levels of the tree from one tile level to the next: 2^8 = 256."""


class TileError(ValueError):
    """No tile's path, no tile of this tree, or no tile's bytes; one line with the reason."""


@dataclass(frozen=True)
class Tile:
    """Hashes index * 256 to index * 256 + width of tree level 8 * level."""

    level: int
    index: int
    width: int

    def path(self) -> str:
        """`tile/0/x001/x234/067` for tile 1,234,067 of level 0; with `.p/17` behind it where it has only 17 hashes."""
        *above, last = (group.zfill(3) for group in f"{self.index:,}".split(","))
        number = "/".join([*(f"x{group}" for group in above), last])
        partial = "" if self.width == TILE_WIDTH else f".p/{self.width}"
        return f"tile/{self.level}/{number}{partial}"

    @classmethod
    def parse(cls, path: str) -> Tile:
        """The tile that has this path; TileError for any other text, a second spelling of a tile's path too."""
        match = _PATH.fullmatch(path)
        if match is None:
            raise TileError("path: not that of a tile")
        level, index, width = match.groups()
        tile = cls(int(level), int(re.sub("[x/]", "", index)), int(width or TILE_WIDTH))
        # A leading group of zeros, or a width of more than 255, would be another spelling.
        if tile.path() != path or tile.width > TILE_WIDTH:
            raise TileError("path: not the canonical one of a tile")
        if tile.last_leaf() > LARGEST_SIZE:
            raise TileError(f"path: beyond {LARGEST_SIZE} leaves")
        return tile

    def last_leaf(self) -> int:
        """The number of its last leaf, counted from 1: the least size of a tree that has this tile."""
        return (self.index * TILE_WIDTH + self.width) << TILE_HEIGHT * self.level


# Levels and groups as many as 2^63 leaves need.
_PATH: Final = re.compile(r"tile/([0-7])/((?:x[0-9]{3}/){0,5}[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


def tiles_of(size: int, before: int = 0) -> list[Tile]:
    """The tiles that a tree of `size` leaves has and the one of `before` leaves had not, lowest level first.

    Where both have the same hashes of a level there is none; a partial tile that has grown is a new one.
    """
    if not 0 <= before <= size <= LARGEST_SIZE:
        raise TileError(f"before: {before} leaves and then {size}, which is no growth up to {LARGEST_SIZE}")
    tiles: list[Tile] = []
    level, hashes, had = 0, size, before
    while hashes > had:
        for index in range(had // TILE_WIDTH, -(-hashes // TILE_WIDTH)):
            tiles.append(Tile(level, index, min(TILE_WIDTH, hashes - index * TILE_WIDTH)))
        level, hashes, had = level + 1, hashes >> TILE_HEIGHT, had >> TILE_HEIGHT
    return tiles


class TileNodes:
    """The nodes of a tree of `size` leaves, out of its tiles: what the proofs of `merkle` ask for.

    `read` gives the bytes of a tile.  Each tile is read once, and the nodes between its hashes are made once, row by
    row, as far up as they are asked for.  All of it is kept: make one of these for a proof, or for a few.
    """

    def __init__(self, size: int, read: Callable[[Tile], bytes]) -> None:
        self._size = size
        self._read = read
        self._rows: dict[tuple[int, int], list[bytes]] = {}
        """By level and index of the tile: its bytes, and above them the rows made of them."""

    def __call__(self, level: int, index: int) -> bytes:
        """The hash of the leaves index << level to (index + 1) << level; TileError where not all are in the tree."""
        if level < 0 or index < 0 or (index + 1) << level > self._size:
            raise TileError(f"node: {index} of level {level} is not in a tree of {self._size} leaves")
        tile_level, height = divmod(level, TILE_HEIGHT)
        number, at = divmod(index, TILE_WIDTH >> height)
        return self._row(tile_level, number, height)[at * HASH_SIZE : (at + 1) * HASH_SIZE]

    def _row(self, tile_level: int, number: int, height: int) -> bytes:
        rows = self._rows.get((tile_level, number))
        if rows is None:
            rows = self._rows[tile_level, number] = [self._bytes_of(tile_level, number)]
        while len(rows) <= height:
            rows.append(_row_above(rows[-1]))
        return rows[height]

    def _bytes_of(self, tile_level: int, number: int) -> bytes:
        hashes = self._size >> TILE_HEIGHT * tile_level
        tile = Tile(tile_level, number, min(TILE_WIDTH, hashes - number * TILE_WIDTH))
        data = self._read(tile)
        if len(data) != tile.width * HASH_SIZE:
            raise TileError(f"{tile.path()}: {len(data)} bytes instead of {tile.width * HASH_SIZE}")
        return data


def top_of(hashes: bytes) -> bytes:
    """The hash of a complete subtree, out of all hashes of one of its levels side by side: of a full tile, say."""
    while len(hashes) > HASH_SIZE:
        hashes = _row_above(hashes)
    return hashes


def _row_above(row: bytes) -> bytes:
    """The hashes of each two of a row; a last one without a partner is no complete subtree and has none."""
    starts = range(0, len(row) - HASH_SIZE, 2 * HASH_SIZE)
    # Two hashes lie side by side as `node_hash` puts them: to cut them apart would take as long as to hash them.
    return b"".join([sha256(b"\x01" + row[at : at + 2 * HASH_SIZE]).digest() for at in starts])
