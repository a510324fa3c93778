"""What the world gets of the log, and the one thing that it may bring: a witness's signature on a checkpoint.

Anybody may bring one, so nothing is believed: the note must be signed by a log key and by a witness that the site's own
trust file pins, and its root must be the one that our own tiles give.  Lines of others are left out.

Not here: the addresses (`ops.api.log`), the folder (`ops.log.store`).
"""

from __future__ import annotations

import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from domain.log.checkpoint import Checkpoint, Note, NoteError, Opened, open_checkpoint, parse_note
from domain.log.merkle import root
from domain.log.tiles import Tile, TileError
from domain.log.trust import Trust
from ops.log.ed25519 import check_signature
from ops.log.store import LogStore
from ops.log.trusting import read_trust
from ops.logs import logger


class NoteRefusal(StrEnum):
    """Why a note was not taken; codes are stable."""

    MALFORMED = "note-malformed"
    REFUSED = "note-refused"
    FORK = "log-fork"


class NoteRefused(Exception):
    """A note was not taken; one sentence."""

    def __init__(self, code: NoteRefusal, text: str) -> None:
        super().__init__(text)
        self.code: Final = code


class PublicLog:
    """One log's folder for everybody.  Safe to share among threads.  Its methods raise StoreError."""

    def __init__(self, store: LogStore, trust_file: Path) -> None:
        self.store: Final = store
        self._trust_file = trust_file
        self._trust: tuple[tuple[int, int, int], Trust] | None = None

    def checkpoint(self) -> bytes | None:
        """The newest note of the log, None before the first."""
        return self.store.checkpoint()

    def cosigned(self) -> bytes | None:
        """The newest note that a witness has signed, None before the first."""
        return self.store.best(1)

    def tile(self, path: str) -> tuple[Tile, bytes] | None:
        """A tile by its path; None where no checkpoint covers it: what is not published yet was not read back yet."""
        try:
            tile = Tile.parse(path)
        except TileError:
            return None
        return (tile, self.store.read_tile(tile)) if tile.last_leaf() <= self.store.size() else None

    def take(self, data: bytes) -> tuple[Checkpoint, list[str]]:
        """Keep a note with cosignatures; gives its checkpoint and the names of its witnesses.

        Raises NoteRefused, and TrustError where the site's own trust file can't be read.
        """
        opened = self._opened(data)
        checkpoint = opened.checkpoint
        size = self.store.size()
        if checkpoint.size > size:
            self._fork(checkpoint, f"this log has {size} events")
        ours = root(checkpoint.size, self.store.nodes(checkpoint.size))
        if ours != checkpoint.root:
            self._fork(checkpoint, f"the root of this log is {ours.hex()}")
        self.store.add_cosigned(self._only_ours(opened.note))
        return checkpoint, sorted({cosigned.witness for cosigned in opened.cosigned})

    def _opened(self, data: bytes) -> Opened:
        try:
            Checkpoint.from_body(parse_note(data).body)
        except NoteError as error:
            raise NoteRefused(NoteRefusal.MALFORMED, f"note: {error}") from None
        try:
            # One witness at a time brings his signature; how many are enough is for each verifier to say.
            opened = open_checkpoint(data, replace(self.trust(), witnesses_needed=0), check_signature)
        except NoteError as error:
            raise NoteRefused(NoteRefusal.REFUSED, f"note: {error}") from None
        if not opened.cosigned:
            raise NoteRefused(NoteRefusal.REFUSED, "note: no witness that this site pins has signed it")
        return opened

    def _fork(self, checkpoint: Checkpoint, ours: str) -> None:
        """The log's own key stands under something else: the worst that can be said of a log."""
        logger().error("log_fork", size=checkpoint.size, root=checkpoint.root.hex(), ours=ours)
        text = f"note: its log signature is over size {checkpoint.size} and root {checkpoint.root.hex()}; {ours}"
        raise NoteRefused(NoteRefusal.FORK, text)

    def _only_ours(self, note: Note) -> Note:
        """The note without lines of keys that are not pinned: anybody may have added them."""
        trust = self.trust()
        pinned = {(known.key.name, known.key.key_id) for known in (*trust.log_keys, *trust.witness_keys)}
        return Note(note.body, tuple(line for line in note.signatures if (line.name, line.key_id) in pinned))

    def trust(self) -> Trust:
        """The site's trust file, read again when it was changed.  Raises TrustError."""
        try:
            status = os.stat(self._trust_file)
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            seen = (0, 0, 0)
        if self._trust is None or self._trust[0] != seen:
            self._trust = (seen, read_trust(self._trust_file))
        return self._trust[1]
