"""A witness beside the copy: the product's own, which looks at the copy's folder instead of a server.

Not here: what a witness does (`ops.log.witness`).
"""

from __future__ import annotations

from domain.log.checkpoint import NoteError, parse_note
from domain.log.tiles import Tile
from ops.log.remote import LogUnavailable, RemoteLog
from ops.log.store import LogStore, StoreError
from ops.log.witness import Refused, Witness, forks


class FolderLog(RemoteLog):
    """A log's folder as a witness sees it through the server."""

    def __init__(self, store: LogStore) -> None:
        super().__init__("http://drill")
        self._store = store

    def checkpoint(self) -> bytes | None:
        """See `RemoteLog`."""
        return self._store.checkpoint()

    def cosigned(self) -> bytes | None:
        """See `RemoteLog`."""
        return self._store.best(1)

    def tile(self, tile: Tile) -> bytes:
        """See `RemoteLog`."""
        try:
            return self._store.read_tile(tile)
        except StoreError as error:
            raise LogUnavailable(str(error)) from None

    def bring(self, note: bytes) -> None:
        """See `RemoteLog`."""
        try:
            self._store.add_cosigned(parse_note(note))
        except NoteError as error:
            raise LogUnavailable(str(error)) from None


class LookingLog(FolderLog):
    """The same, but what the witness signs is not kept."""

    def bring(self, note: bytes) -> None:
        """See `RemoteLog`."""


def refuses(witness: Witness, store: LogStore) -> bool:
    """Whether the witness, with what it holds, would not sign what the log shows now; afterwards it holds the same."""
    held = witness.folder / "held"
    before = held.read_bytes()
    try:
        witness.look(LookingLog(store))
    except (Refused, LogUnavailable):
        return True
    finally:
        held.write_bytes(before)
        for fork in forks(witness.folder):
            fork.unlink()
    return False
