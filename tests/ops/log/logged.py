"""A journal with events by the thousand, a folder for its log, and what the log must come to.

Not here: what is expected of the sequencer (`test_sequencer`), of the folder (`test_store`).
"""

from __future__ import annotations

from pathlib import Path

from domain.log.checkpoint import Checkpoint, open_checkpoint
from domain.log.merkle import leaf_hash, root_of
from domain.log.tiles import tiles_of
from domain.log.trust import PinnedKey, Trust
from ops.journal import Journal
from ops.log.ed25519 import check_signature
from ops.log.sequencer import Sequencer
from ops.log.signing import FileSigningKey, SigningKey
from ops.log.store import LogStore
from tests.ops.played import Owner

ORIGIN = "play.example/log"


def body_of(position: int) -> bytes:
    """The body of the event at a position."""
    return f'{{"at":"2026-11-30T12:00:00.000Z","n":{position}}}'.encode()


def insert(owner: Owner, first: int, last: int) -> None:
    """Events at these positions, each in a stream of its own; by a superuser, who needs no function for it."""
    owner.execute(
        """insert into dealproof.events (originator_id, originator_version, topic, state, notification_id)
        select 'note:' || n, 0, 'noted.v1',
            convert_to('{"at":"2026-11-30T12:00:00.000Z","n":' || n || '}', 'UTF8'), n
        from generate_series(%s::bigint, %s::bigint) as n""",
        (first, last),
    )


class Seconds:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def key_at(folder: Path) -> FileSigningKey:
    """The log's key, made on first use."""
    return FileSigningKey(folder / "log.key", ORIGIN)


def trust_in(key: SigningKey) -> Trust:
    return Trust(origin=ORIGIN, log_keys=(PinnedKey(key.verifier),), witness_keys=(), receipt_keys=())


def sequencer(journal: Journal, folder: Path, clock: Seconds | None = None) -> Sequencer:
    """The sequencer of the log in this folder; each step publishes unless the clock is given."""
    store = LogStore(folder / "log")
    if clock is not None:
        return Sequencer(journal, store, key_at(folder), ORIGIN, clock)
    ticking = Seconds()

    def tick() -> float:
        ticking.now += 10
        return ticking.now

    return Sequencer(journal, store, key_at(folder), ORIGIN, tick)


def published(folder: Path) -> Checkpoint | None:
    """The newest checkpoint, its signature checked."""
    note = LogStore(folder / "log").checkpoint()
    return None if note is None else open_checkpoint(note, trust_in(key_at(folder)), check_signature).checkpoint


def expected(size: int) -> Checkpoint:
    """The checkpoint of so many events, made from the events alone."""
    return Checkpoint(ORIGIN, size, root_of([leaf_hash(body_of(position)) for position in range(1, size + 1)]))


def expected_tiles(size: int) -> dict[str, bytes]:
    """Path and bytes of every tile of a log of so many events, made from the events alone."""
    rows = [[leaf_hash(body_of(position)) for position in range(1, size + 1)]]
    while len(rows[-1]) >= 256:
        below = rows[-1]
        rows.append([root_of(below[at : at + 256]) for at in range(0, len(below) - 255, 256)])
    return {tile.path(): b"".join(rows[tile.level][tile.index * 256 :][: tile.width]) for tile in tiles_of(size)}


def stored_tiles(folder: Path) -> dict[str, bytes]:
    """Path and bytes of every tile in the folder, drafts left out."""
    log = folder / "log"
    found = {str(path.relative_to(log)): path for path in (log / "tile").rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not path.name.startswith(".")}


def flip(path: Path, byte: int = 0, bit: int = 0) -> None:
    """One bit of a file becomes the other one."""
    data = bytearray(path.read_bytes())
    data[byte] ^= 1 << bit
    path.write_bytes(data)
