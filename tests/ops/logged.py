"""A log without a sequencer: the tiles of a tree, in memory or in a folder, with a checkpoint; for tests of readers.

Not here: the sequencer's own tests (tests/ops/log).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from domain.log.checkpoint import Checkpoint
from domain.log.merkle import leaf_hash, root_of
from domain.log.tiles import Tile, TileError
from ops.journal import Journal

ORIGIN = "casino.example/log"


class Tiles:
    """The tiles of a tree with these leaf hashes, by path; a test may change them."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self.files: dict[str, bytes] = {}
        self.checkpoint = Checkpoint(ORIGIN, len(leaves), root_of(leaves))
        level, row = 0, list(leaves)
        while row:
            for at in range(0, len(row), 256):
                part = row[at : at + 256]
                self.files[Tile(level, at // 256, len(part)).path()] = b"".join(part)
            row = [root_of(row[at : at + 256]) for at in range(0, len(row) - 255, 256)]
            level += 1

    def read(self, tile: Tile) -> bytes:
        """As `LogStore.read_tile`."""
        try:
            return self.files[tile.path()]
        except KeyError:
            raise TileError(f"{tile.path()}: is missing") from None

    def changed(self, path: str, change: Callable[[bytes], bytes]) -> None:
        self.files[path] = change(self.files[path])


def leaves_of(journal: Journal, size: int | None = None) -> list[bytes]:
    """The leaf hashes of the first events of a journal, or of all."""
    rows = journal.application.recorder.datastore.rows(
        "select state from dealproof.events where notification_id > 0 order by notification_id limit %b", (size,)
    )
    return [leaf_hash(body) for (body,) in rows]


def tiles_of(journal: Journal, size: int | None = None) -> Tiles:
    """The log of a journal as it is now, or was when it had so many events."""
    return Tiles(leaves_of(journal, size))
