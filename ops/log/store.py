"""The log's folder: tiles, the newest checkpoint, the notes that witnesses have signed.

    tile/…           hashes, at the paths of C2SP tlog-tiles: docs/formats/log.md
    checkpoint       the newest note of the log itself
    cosigned/<size>  notes with cosignatures, the newest hundred
    lock             held by the one sequencer that writes here

Every file appears whole or not at all, under its name only when its bytes are on the disk.  Tiles are never overwritten
with other bytes.  Whoever only reads needs no lock.

Not here: which hashes are right (`ops.log.sequencer`), whose signatures are good (`domain.log.checkpoint`).
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from domain.log.checkpoint import LARGEST_NOTE, MOST_SIGNATURES, Checkpoint, Note, NoteError, parse_note
from domain.log.merkle import HASH_SIZE
from domain.log.tiles import TILE_WIDTH, Tile, TileNodes, tiles_of
from ops.files import read_if_there, sync_folder, write_whole

KEPT_COSIGNED: Final = 100
"""Notes with cosignatures that are kept; the older ones say nothing that a newer one does not."""

COSIGNATURE_SIZE: Final = 72
"""Bytes of a cosignature: eight of time before the signature (C2SP tlog-cosignature)."""


SECONDS_FOR_LOCK: Final = 0.5


class StoreError(Exception):
    """The folder can't be read or written, or holds something else than it must; one line with path and reason."""


class NotStored(StoreError):
    """There is no such file."""


class Locked(StoreError):
    """Another sequencer writes here."""


class LogDamaged(StoreError):
    """What is stored is not what was written, or not what the journal says; nothing more is published."""


class LogStore:
    """Reads and writes one log's folder.  Safe to share among threads and processes, but for a single sequencer."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self._renamed: set[Path] = set()

    # -- tiles

    def write_tile(self, tile: Tile, hashes: bytes) -> None:
        """Store a tile; `sync` must follow before anybody hears of it.

        A crash right after this leaves a tile that no checkpoint needs; the next start writes the same bytes.  Raises
        LogDamaged where the file is there with other bytes.
        """
        path = self.folder / tile.path()
        if len(hashes) != tile.width * HASH_SIZE:
            raise StoreError(f"{path}: {len(hashes)} bytes given, a tile of {tile.width} has {tile.width * HASH_SIZE}")
        present = _read(path)
        if present is None:
            self._renamed |= self._write(path, hashes)
        elif present != hashes:
            raise LogDamaged(f"{path}: holds other bytes than the journal's events give; nothing was overwritten")

    def read_tile(self, tile: Tile) -> bytes:
        """The tile's hashes; those of a partial one also out of a wider one, which begins with them.

        Raises NotStored, and StoreError for a file that is too short or can't be read.
        """
        for width in self._widths(tile):
            path = self.folder / Tile(tile.level, tile.index, width).path()
            found = _read(path)
            if found is None:
                continue
            if len(found) != width * HASH_SIZE:
                raise StoreError(f"{path}: has {len(found)} bytes, a tile of {width} has {width * HASH_SIZE}")
            return found[: tile.width * HASH_SIZE]
        raise NotStored(f"{self.folder / tile.path()}: is missing")

    def _widths(self, tile: Tile) -> Iterator[int]:
        """Files that the tile may be found in.  The whole one last, again: a partial one may go while we look."""
        yield tile.width
        if tile.width < TILE_WIDTH:
            yield TILE_WIDTH
            yield from sorted(width for width in self._partials(tile) if width > tile.width)
            yield TILE_WIDTH

    def _partials(self, tile: Tile) -> list[int]:
        with suppress(FileNotFoundError):
            return [int(name) for name in os.listdir(self._folder_of_partials(tile)) if _WIDTH.fullmatch(name)]
        return []

    def _folder_of_partials(self, tile: Tile) -> Path:
        return (self.folder / Tile(tile.level, tile.index, 1).path()).parent

    def nodes(self, size: int) -> TileNodes:
        """What a proof in the tree of `size` leaves is made of; reads as `read_tile` does."""
        return TileNodes(size, self.read_tile)

    def sync(self) -> None:
        """Make all tiles that were written since the last time outlive a power cut."""
        _sync_folders(self._renamed)
        self._renamed.clear()

    def drop_partials(self, size: int, before: int) -> None:
        """Remove partial tiles that the tree of `size` does not need, of those that have grown since `before`.

        A crash in the middle leaves partial tiles that nobody asks for; they go when their tile has grown again.
        """
        edge = {(level, size >> 8 * level >> 8): (size >> 8 * level) % TILE_WIDTH for level in range(8)}
        for tile in tiles_of(size, before):
            folder = self._folder_of_partials(tile)
            for width in self._partials(tile):
                if width != edge.get((tile.level, tile.index)):
                    _remove(folder / str(width))
            with suppress(OSError):
                folder.rmdir()  # only an empty one goes

    # -- notes

    def checkpoint(self) -> bytes | None:
        """The newest note of the log, None before the first.  Raises StoreError."""
        return _read(self.folder / "checkpoint", LARGEST_NOTE + 1)

    def size(self) -> int:
        """Events that the newest checkpoint covers, 0 before the first.  Raises StoreError."""
        note = self.checkpoint()
        try:
            return 0 if note is None else Checkpoint.from_body(parse_note(note).body).size
        except NoteError as error:
            raise StoreError(f"{self.folder / 'checkpoint'}: {error}") from None

    def publish(self, note: bytes) -> None:
        """Make this the newest note.  A crash right after this leaves it published, which is all there is to do."""
        _sync_folders(self._write(self.folder / "checkpoint", note))

    def add_cosigned(self, note: Note) -> None:
        """Keep a note with cosignatures, together with those that came before for the same body.

        Raises StoreError where a note of the same size has another body.
        """
        size = int(note.body.split(b"\n", 2)[1])
        path = self.folder / "cosigned" / str(size)
        with self._locked("cosigned/lock", wait=True):
            standing = self.cosigned(size)
            signatures = dict.fromkeys(note.signatures)
            if standing is not None:
                if standing.body != note.body:
                    raise StoreError(f"{path}: is a note of the same size with another body")
                known = {(signature.name, signature.key_id) for signature in standing.signatures}
                new = [signature for signature in signatures if (signature.name, signature.key_id) not in known]
                if not new:
                    return
                signatures = dict.fromkeys([*standing.signatures, *new][:MOST_SIGNATURES])
            # A crash right after this leaves the note kept; its witness may send it again.
            _sync_folders(self._write(path, Note(note.body, tuple(signatures)).to_bytes()))
            for old in self.cosigned_sizes()[KEPT_COSIGNED:]:
                _remove(self.folder / "cosigned" / str(old))

    def cosigned(self, size: int) -> Note | None:
        """The note with cosignatures of a size, None if there is none.  Raises StoreError."""
        path = self.folder / "cosigned" / str(size)
        found = _read(path, LARGEST_NOTE + 1)
        try:
            return None if found is None else parse_note(found)
        except NoteError as error:
            raise StoreError(f"{path}: {error}") from None

    def cosigned_sizes(self) -> list[int]:
        """Sizes with cosigned notes, the largest first."""
        with suppress(FileNotFoundError):
            names = os.listdir(self.folder / "cosigned")
            return sorted((int(name) for name in names if _SIZE.fullmatch(name)), reverse=True)
        return []

    def best(self, needed: int) -> bytes | None:
        """The newest note with the cosignatures of at least so many witnesses.  Raises StoreError."""
        for size in self.cosigned_sizes():
            note = self.cosigned(size)
            if note is not None and len(_cosigners(note)) >= needed:
                return note.to_bytes()
        return None

    # -- files

    def lock(self) -> int:
        """A file descriptor that keeps every other sequencer out until it is closed.  Raises Locked, StoreError."""
        return self._take_lock("lock", wait=False)

    def is_locked(self) -> bool:
        """Whether a sequencer runs.  Raises StoreError."""
        try:
            os.close(self.lock())
        except Locked:
            return True
        return False

    @contextmanager
    def _locked(self, name: str, *, wait: bool) -> Iterator[None]:
        descriptor = self._take_lock(name, wait=wait)
        try:
            yield
        finally:
            os.close(descriptor)

    def _take_lock(self, name: str, *, wait: bool) -> int:
        path = self.folder / name
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                _flock(descriptor, wait=wait)
            except BlockingIOError:
                os.close(descriptor)
                raise Locked(f"{path}: another sequencer runs on this log") from None
            except OSError:
                os.close(descriptor)
                raise
        return descriptor

    def _write(self, path: Path, data: bytes) -> set[Path]:
        """Put a whole file in its place; gives the folders to sync, for a new one must outlive a power cut as well."""
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, data)
        return {parent for parent in path.parents if parent.is_relative_to(self.folder)}


def _flock(descriptor: int, *, wait: bool) -> None:
    """Lock an open file.  Without `wait`, try for a moment: somebody may only be asking whether it is locked."""
    if wait:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    until = time.monotonic() + SECONDS_FOR_LOCK
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(0.02)


_WIDTH: Final = re.compile("[1-9][0-9]{0,2}")
_SIZE: Final = re.compile("[1-9][0-9]{0,18}")


def _cosigners(note: Note) -> set[tuple[str, bytes]]:
    return {(line.name, line.key_id) for line in note.signatures if len(line.value) == COSIGNATURE_SIZE}


def _read(path: Path, most: int = TILE_WIDTH * HASH_SIZE + 1) -> bytes | None:
    """A file's bytes, None where it is missing.  Raises StoreError."""
    with _explained(path):
        return read_if_there(path, most)


def _remove(path: Path) -> None:
    with _explained(path):
        path.unlink(missing_ok=True)


def _sync_folders(folders: set[Path]) -> None:
    for folder in sorted(folders):
        with _explained(folder):
            sync_folder(folder)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or type(error).__name__}") from None
