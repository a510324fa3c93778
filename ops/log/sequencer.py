"""Build the log: follow the journal, put the hash of every event into tiles, sign a checkpoint each second.

    with Sequencer(journal, store, key, origin) as sequencer:
        sequencer.run(until)

What is published was read back first.  At the start the right edge of the tree comes from the stored tiles and must
give the root of the last signed checkpoint.  Before each new one everything that was written for it, the tiles at the
edge and the last checkpoint are read from the disk again, hashed again and held against what is in memory, which comes
from the events.  Whatever differs stops the sequencer (LogDamaged), and nothing is published: a flipped bit never
spreads, and never gets a signature.

Each read of the journal begins with the last event that the log has, which must still have the leaf in the tile:
another database, a lost tail or a changed event stops it too.  The other bodies are read once.  To read them twice
would find what the server or the wire did to them in between, but costs as much as all the rest; whoever verifies reads
them again (`ops.log.audit`), and an event in the log can't be explained away.

A position that is missing is never passed: the sequencer waits, and says so.

Not here: files (`ops.log.store`), keys (`ops.log.keys`), the tree and its proofs (`domain.log`), witnesses.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, Self

import msgspec

from domain.log.checkpoint import Checkpoint, NoteError, open_checkpoint, signed_by_log
from domain.log.events import KeyUse, LogKeyError, keys_of
from domain.log.merkle import EMPTY_ROOT, HASH_SIZE, leaf_hash, node_hash, root, root_of
from domain.log.tiles import TILE_HEIGHT, TILE_WIDTH, Tile, top_of
from domain.log.trust import PinnedKey, Trust
from ops import clock
from ops.journal import Journal, JournalUnavailable
from ops.log.ed25519 import check_signature
from ops.log.keys import make_keys, read_key_events, record_first_keys
from ops.log.signing import SigningKey
from ops.log.store import LogDamaged, LogStore
from ops.logs import logger
from ops.settings import Settings

BATCH: Final = 5000
"""Events read at once: some megabytes in memory."""

POLL_SECONDS: Final = 0.1
CHECKPOINT_SECONDS: Final = 1.0
GAP_SECONDS: Final = 60.0
"""How often a gap that stays is told."""

ROWS_AT_ONCE: Final = 1000


class Gap(NamedTuple):
    """A position without an event, though there is one behind it: at `behind`, of the time `at` (None: unreadable)."""

    position: int
    behind: int
    at: str | None

    @property
    def seconds(self) -> int | None:
        """How old the event behind the gap is."""
        return None if self.at is None else (clock.milliseconds(clock.now()) - clock.milliseconds(self.at)) // 1000


class Step(NamedTuple):
    """What one step did: the events now in the tree, those that came in, the size of the checkpoint published."""

    size: int
    integrated: int
    published: int | None
    gap: Gap | None


class Sequencer:
    """The one writer of a log's folder, until it is closed.  Not to be shared among threads.

    Raises StoreError where another one runs, LogDamaged, LogKeyError where the key may not sign, JournalUnavailable.
    A sequencer that has stopped raises the same again; a new one begins with what is on the disk.
    """

    def __init__(
        self,
        journal: Journal,
        store: LogStore,
        key: SigningKey,
        origin: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal, self._store, self._key, self._clock = journal, store, key, clock
        self._origin = origin
        self._edge = _Edge()
        self._filled: list[Tile] = []
        self._published: bytes | None = None
        self._published_size = 0
        self._published_tiles: list[tuple[Tile, bytes]] = []
        self._published_at = clock() - CHECKPOINT_SECONDS
        self._stopped: Exception | None = None
        self._lock = store.lock()
        try:
            self._trust = _trust(journal, key, origin)
            self._load()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let another sequencer write."""
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- at work

    def run(self, until: threading.Event) -> None:
        """Follow the journal until somebody sets the event; while the journal can't be reached, wait.

        Raises LogDamaged and StoreError; then it is over.
        """
        told = _Told()
        while not until.is_set():
            try:
                step = self.step()
            except JournalUnavailable as error:
                told.unavailable(error)
                until.wait(CHECKPOINT_SECONDS)
                continue
            told.step(step)
            if step.integrated < BATCH:
                until.wait(POLL_SECONDS)

    def step(self) -> Step:
        """Take in the next events, at most so many; publish a checkpoint if the last one is a second old."""
        return self._guarded(self._step)

    def catch_up(self) -> Step:
        """Take in all there is and publish it at once: for a command that needs a checkpoint now."""
        return self._guarded(self._catch_up)

    def _guarded(self, work: Callable[[], Step]) -> Step:
        if self._stopped is not None:
            raise self._stopped
        try:
            return work()
        except JournalUnavailable:
            raise  # nothing was taken in; the next step reads again
        except Exception as error:
            # Memory may be ahead of the disk now.
            self._stopped = error
            raise

    def _step(self) -> Step:
        integrated, gap = self._integrate()
        due = self._clock() - self._published_at >= CHECKPOINT_SECONDS
        return Step(self._edge.size, integrated, self._publish() if due else None, gap)

    def _catch_up(self) -> Step:
        before, (integrated, gap) = self._edge.size, self._integrate()
        while integrated == BATCH:
            integrated, gap = self._integrate()
        return Step(self._edge.size, self._edge.size - before, self._publish(), gap)

    # -- events to tiles

    def _integrate(self) -> tuple[int, Gap | None]:
        bodies, gap = self._read()
        for tile, hashes in self._edge.extend([leaf_hash(body) for body in bodies]):
            self._store.write_tile(tile, hashes)
            self._filled.append(tile)
        return len(bodies), gap

    def _read(self) -> tuple[list[bytes], Gap | None]:
        """The bodies that follow the log's last event, and the gap behind them.  Raises LogDamaged."""
        size, bodies, gap = self._edge.size, list[bytes](), None
        expected = max(size, 1)
        asked = (expected, BATCH + (1 if size else 0))
        with self._journal.application.recorder.datastore.tuples() as cursor:
            # No name for the stream: one that outlives the loop holds the connection when we stop early.
            for position, body in cursor.stream(_NEXT, asked, size=ROWS_AT_ONCE):
                if position != expected:
                    gap = Gap(expected, position, _time_of(body))
                    break
                bodies.append(body)
                expected += 1
        if gap is not None and gap.behind < gap.position:
            raise LogDamaged(f"journal: position {gap.behind} is there twice")
        if size == 0:
            return bodies, gap
        self._require_last(bodies)
        return bodies[1:], gap

    def _require_last(self, bodies: list[bytes]) -> None:
        """The journal still has the event that the log ends with."""
        size = self._edge.size
        why = "is this another database, or was an event changed or removed?"
        if not bodies:
            head = self._journal.head_position()
            raise LogDamaged(f"journal: has no event at position {size}, where the log is, and ends at {head}; {why}")
        if leaf_hash(bodies[0]) != self._edge.last_leaf:
            tile = Tile(0, (size - 1) // TILE_WIDTH, (size - 1) % TILE_WIDTH + 1).path()
            raise LogDamaged(f"journal: the event at position {size} is not the one that {tile} has; {why}")

    # -- tiles to a checkpoint

    def _publish(self) -> int | None:
        """The size of the checkpoint that was published, None if there was nothing new.

        A crash before the note is in its place leaves tiles that nobody heard of; the next start writes the same ones.
        A crash right after it leaves partial tiles too many.
        """
        size, before = self._edge.size, self._published_size
        if size == before:
            return None
        self._require_untouched()
        partial = self._edge.partial_tiles()
        for tile, hashes in partial:
            self._store.write_tile(tile, hashes)
        self._store.sync()
        self._require_stored()
        self._sign(Checkpoint(self._origin, size, self._edge.root()))
        self._published_tiles, self._filled = partial, []
        self._store.drop_partials(size, before)
        return size

    def _sign(self, checkpoint: Checkpoint) -> None:
        note = signed_by_log(checkpoint, self._key.verifier, self._key.sign).to_bytes()
        try:
            open_checkpoint(note, self._trust, check_signature)
        except NoteError as error:
            text = self._key.verifier.to_text()
            raise LogKeyError(f"log key {text}: may not sign this checkpoint: {error}") from None
        self._store.publish(note)
        self._published, self._published_size, self._published_at = note, checkpoint.size, self._clock()

    def _load(self) -> None:
        """Begin where the last checkpoint ends."""
        path, note = self._store.folder / "checkpoint", self._store.checkpoint()
        cosigned = self._store.cosigned_sizes()[:1]
        if note is None:
            if cosigned:
                raise LogDamaged(f"{path}: is missing, but there is a cosigned note of {cosigned[0]} events")
            return
        try:
            checkpoint = open_checkpoint(note, self._trust, check_signature).checkpoint
        except NoteError as error:
            raise LogDamaged(f"{path}: {error}") from None
        self._edge = _Edge.stored(self._store, checkpoint.size)
        if self._edge.root() != checkpoint.root:
            where = self._store.folder / self._suspect().path()
            raise LogDamaged(f"{where}: is not a tile of the tree that the last checkpoint is signed over")
        self._require_stored()
        self._published, self._published_size, self._published_at = note, checkpoint.size, self._clock()
        self._published_tiles = self._edge.partial_tiles()
        for size in cosigned:
            self._require_cosigned(size)

    def _require_cosigned(self, size: int) -> None:
        """What a witness has signed is a part of this log: to go on from an older checkpoint would be a fork."""
        path, note = self._store.folder / "cosigned" / str(size), self._store.cosigned(size)
        if size > self._published_size:
            raise LogDamaged(f"{path}: is newer than the checkpoint, which has {self._published_size} events")
        if note is not None and Checkpoint.from_body(note.body).root != root(size, self._store.nodes(size)):
            raise LogDamaged(f"{path}: has another root than the tiles give for its size")

    # -- reading back

    def _require_untouched(self) -> None:
        """The last checkpoint and its partial tiles lie on the disk as we left them."""
        if self._store.checkpoint() != self._published:
            raise LogDamaged(f"{self._store.folder / 'checkpoint'}: was changed by somebody else")
        for tile, hashes in self._published_tiles:
            self._require_bytes(tile, hashes)

    def _require_stored(self) -> None:
        """The tiles on the disk lead to the root in memory: those at the edge and all that are new."""
        edge = self._edge
        for tile, hashes in edge.partial_tiles():
            self._require_bytes(tile, hashes)
        nodes = self._store.nodes(edge.size)
        for tile in {*self._filled, *edge.last_full_tiles()}:
            above = Tile(tile.level + 1, tile.index // TILE_WIDTH, TILE_WIDTH)
            if top_of(self._store.read_tile(tile)) != nodes(TILE_HEIGHT * above.level, tile.index):
                where = self._store.folder / tile.path()
                raise LogDamaged(f"{where}: does not hash to what level {above.level} of the tiles has of it")
        if edge.size and root(edge.size, nodes) != edge.root():
            raise LogDamaged(f"{self._store.folder / 'tile'}: the tiles at the edge give another root than the events")

    def _suspect(self) -> Tile:
        """The tile at the edge that is wrong: one above others that differs from them, else the lowest one."""
        lowest, *above = self._edge.partial_tiles()
        for tile, hashes in above:
            for place, known in enumerate(_split(hashes), tile.index * TILE_WIDTH):
                below = Tile(tile.level - 1, place, TILE_WIDTH)
                if top_of(self._store.read_tile(below)) != known:
                    return tile
        return lowest[0]

    def _require_bytes(self, tile: Tile, hashes: bytes) -> None:
        if self._store.read_tile(tile) != hashes:
            raise LogDamaged(f"{self._store.folder / tile.path()}: holds other bytes than were written")


@contextmanager
def open_sequencer(settings: Settings, journal: Journal, by: str) -> Iterator[Sequencer]:
    """The site's sequencer; keys are made on first use and recorded by `by`.  Raises what `Sequencer` and keys do."""
    keys = make_keys(settings)
    record_first_keys(journal, keys, by)
    with Sequencer(journal, LogStore(settings.log_folder), keys.log, keys.origin) as sequencer:
        yield sequencer


class _Edge:
    """The right edge of the tree: of each level of tiles the hashes that don't fill one yet, and how many are full."""

    def __init__(self) -> None:
        self.size = 0
        self.last_leaf = b""
        self._rows: list[list[bytes]] = [[] for _ in range(LEVELS)]
        self._full = [0] * LEVELS

    @classmethod
    def stored(cls, store: LogStore, size: int) -> _Edge:
        """As the tiles on the disk have it.  Raises StoreError."""
        edge = cls()
        edge.size = size
        for level in range(LEVELS):
            edge._full[level], width = divmod(size >> TILE_HEIGHT * level, TILE_WIDTH)
            if width:
                edge._rows[level] = _split(store.read_tile(Tile(level, edge._full[level], width)))
        if size:
            last = Tile(0, (size - 1) // TILE_WIDTH, (size - 1) % TILE_WIDTH + 1)
            edge.last_leaf = store.read_tile(last)[-HASH_SIZE:]
        return edge

    def extend(self, leaves: list[bytes]) -> list[tuple[Tile, bytes]]:
        """Take in leaf hashes; gives the tiles that are full now, lower ones before those above them."""
        filled: list[tuple[Tile, bytes]] = []
        if leaves:
            self._put(0, leaves, filled)
            self.size += len(leaves)
            self.last_leaf = leaves[-1]
        return filled

    def _put(self, level: int, hashes: list[bytes], filled: list[tuple[Tile, bytes]]) -> None:
        row = self._rows[level]
        row += hashes
        while len(row) >= TILE_WIDTH:
            whole, row[:TILE_WIDTH] = row[:TILE_WIDTH], []
            filled.append((Tile(level, self._full[level], TILE_WIDTH), b"".join(whole)))
            self._full[level] += 1
            self._put(level + 1, [root_of(whole)], filled)

    def partial_tiles(self) -> list[tuple[Tile, bytes]]:
        """The tiles that are not full, lowest level first: together they give the root."""
        return [
            (Tile(level, full, len(row)), b"".join(row))
            for level, (full, row) in enumerate(zip(self._full, self._rows, strict=True))
            if row
        ]

    def last_full_tiles(self) -> list[Tile]:
        """Of each level the newest tile that is full."""
        return [Tile(level, full - 1, TILE_WIDTH) for level, full in enumerate(self._full) if full]

    def root(self) -> bytes:
        """Made from right to left: each set bit of the size is one complete subtree, the smallest furthest right."""
        whole: bytes | None = None
        for row in self._rows:
            for height in range(TILE_HEIGHT):
                leaves = 1 << height
                if len(row) & leaves:
                    start = len(row) >> height + 1 << height + 1
                    subtree = root_of(row[start : start + leaves])
                    whole = subtree if whole is None else node_hash(subtree, whole)
        return EMPTY_ROOT if whole is None else whole


LEVELS: Final = 8
"""Of tiles: 256 to the 8th power leaves are more than there will be."""


def _split(hashes: bytes) -> list[bytes]:
    return [hashes[at : at + HASH_SIZE] for at in range(0, len(hashes), HASH_SIZE)]


def _trust(journal: Journal, key: SigningKey, origin: str) -> Trust:
    """Who may have signed the last checkpoint: the log's keys as the journal has them.  Raises LogKeyError."""
    pinned = keys_of(read_key_events(journal), KeyUse.LOG) or (PinnedKey(key.verifier),)
    if key.verifier not in [known.key for known in pinned]:
        raise LogKeyError(f"log key {key.verifier.to_text()}: was never added; see `dealproof log keys add`")
    return Trust(origin=origin, log_keys=pinned, witness_keys=(), receipt_keys=())


# -- the journal

# Planned anew each time: a plan that was made for an empty table would sort a large one.
_NEXT: Final = """
select notification_id, coalesce(state, '') from dealproof.events
where notification_id >= %b order by notification_id limit %b
"""


class _Time(msgspec.Struct):
    at: str


_TIME: Final = msgspec.json.Decoder(_Time)


def _time_of(body: bytes) -> str | None:
    try:
        at = _TIME.decode(body).at
        clock.milliseconds(at)
    except (msgspec.DecodeError, ValueError, TypeError):
        return None
    return at


def find_gap(journal: Journal, size: int) -> Gap | None:
    """The first position behind the log's end that has no event, though there is one further on."""
    rows = journal.application.recorder.datastore.rows(_GAP, (size, size))
    return Gap(rows[0][0] + 1, rows[0][1], _time_of(rows[0][2])) if rows else None


_GAP: Final = """
select before, notification_id, coalesce(state, '') from (
    select notification_id, state, lag(notification_id, 1, %b::bigint) over (order by notification_id) as before
    from dealproof.events where notification_id > %b
) as event
where notification_id > before + 1 order by notification_id limit 1
"""


# -- what is logged


class _Told:
    """Says what happens, and what goes on being so only now and then."""

    def __init__(self) -> None:
        self._gap: Gap | None = None
        self._gap_at = 0.0
        self._away = False

    def unavailable(self, error: JournalUnavailable) -> None:
        if not self._away:
            logger().warning("log_journal_unavailable", reason=str(error))
        self._away = True

    def step(self, step: Step) -> None:
        if step.published is not None:
            logger().info("log_checkpoint_published", size=step.published)
        if self._away:
            logger().warning("log_journal_back")
            self._away = False
        if step.gap is None:
            self._gap = None
        elif step.gap != self._gap or time.monotonic() - self._gap_at >= GAP_SECONDS:
            self._gap, self._gap_at = step.gap, time.monotonic()
            logger().warning("log_gap", position=step.gap.position, behind=step.gap.behind, seconds=step.gap.seconds)
