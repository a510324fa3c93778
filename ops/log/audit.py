"""Is the journal what the log says it is?  Positions held against tiles that a signed checkpoint vouches for.

A tile is believed when its own hash leads to the checkpoint's root, over the tiles above it.  Then every leaf in it
must be that of the event at its position: none missing, none twice, none more, each with the columns that its body
names.  One pass in the order of positions, in constant memory; whoever wants the events as well hears of each.

Not here: whether the checkpoint is signed (`domain.log.checkpoint`), where tiles lie (`ops.log.store`), what events
mean (`replay`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from domain.log.checkpoint import Checkpoint
from domain.log.merkle import HASH_SIZE, ProofError, root
from domain.log.tiles import TILE_HEIGHT, TILE_WIDTH, Tile, top_of
from domain.record import Record
from ops.findings import Findings
from ops.journal import Journal, Stored
from ops.log.store import StoreError
from replay.verdict import EVENTS, Discrepancy

TILES_AT_ONCE: Final = 16
"""4,096 events: a few megabytes in memory."""

UNREADABLE: Final = (StoreError, ValueError)
"""What tiles that are missing, damaged or of another tree raise."""

ReadTile = Callable[[Tile], bytes]
Row = tuple[int, str, int, str, bytes]
"""Position, stream, seq, topic, body: as they are stored."""

Seen = Callable[[int, Record], None]


class Audit(NamedTuple):
    """What is wrong (the first 10,000), how much was found, and how many positions were held against the log."""

    findings: list[Discrepancy]
    found: int
    checked: int


class ProvenTiles:
    """The tiles of the tree that a checkpoint names, each given out only when the checkpoint's root vouches for it.

    Raises ProofError where it does not, and what the reader raises.
    """

    def __init__(self, read_tile: ReadTile, checkpoint: Checkpoint) -> None:
        self._read = read_tile
        self.size = checkpoint.size
        self._path: dict[int, tuple[int, bytes]] = {}  # of each level the tile that was proved last
        self._edge = {tile.level: (tile.index, self._whole(tile)) for tile in self._edge_tiles()}
        # The complete subtrees of the whole tree lie at the edge, so the root vouches for all of these tiles.
        if self.root(self.size) != checkpoint.root:
            raise ProofError(f"the tiles don't lead to the root of the checkpoint of {self.size} events")

    def leaves(self, index: int) -> bytes:
        """The leaf hashes of one tile of the lowest level: 256, fewer at the end of the tree."""
        return self._proven(0, index)

    def leaf(self, position: int) -> bytes:
        """The leaf hash of the event at a position."""
        if not 1 <= position <= self.size:
            raise ValueError(f"position {position}: the checkpoint has 1 to {self.size}")
        index, place = divmod(position - 1, TILE_WIDTH)
        return self.leaves(index)[place * HASH_SIZE : (place + 1) * HASH_SIZE]

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree of the tree."""
        of_tile, height = divmod(level, TILE_HEIGHT)
        tile, place = divmod(index << height, TILE_WIDTH)
        return top_of(self._proven(of_tile, tile)[place * HASH_SIZE : (place + (1 << height)) * HASH_SIZE])

    def root(self, size: int) -> bytes:
        """The root of the first `size` leaves."""
        return root(size, self.node)

    def _proven(self, level: int, index: int) -> bytes:
        known, hashes = self._path.get(level, (-1, b""))
        if known == index:
            return hashes
        edge, hashes = self._edge.get(level, (-1, b""))
        if edge == index:
            return hashes
        hashes = self._whole(Tile(level, index, TILE_WIDTH))
        above, place = divmod(index, TILE_WIDTH)
        wanted = self._proven(level + 1, above)[place * HASH_SIZE : (place + 1) * HASH_SIZE]
        if top_of(hashes) != wanted:
            raise ProofError(f"{Tile(level, index, TILE_WIDTH).path()}: is not in the tree of the checkpoint")
        self._path[level] = index, hashes
        return hashes

    def _edge_tiles(self) -> Iterator[Tile]:
        """The partial tiles at the right edge: together they give the root."""
        level, nodes = 0, self.size
        while nodes:
            if nodes % TILE_WIDTH:
                yield Tile(level, nodes // TILE_WIDTH, nodes % TILE_WIDTH)
            level, nodes = level + 1, nodes // TILE_WIDTH

    def _whole(self, tile: Tile) -> bytes:
        hashes = self._read(tile)
        if len(hashes) != tile.width * HASH_SIZE:
            raise ProofError(f"{tile.path()}: has {len(hashes)} bytes, not {tile.width * HASH_SIZE}")
        return hashes


# -- the audit


def audit(
    journal: Journal, read_tile: ReadTile, checkpoint: Checkpoint, first: int, last: int, seen: Seen | None = None
) -> Audit:
    """Hold the events at the positions from first to last, both included, against the log.

    `seen` hears of every event there is in the range, in the order of positions.  Raises ValueError for a range that
    the checkpoint does not cover.
    """
    if not 1 <= first <= last + 1 or last > checkpoint.size:
        raise ValueError(f"positions {first} to {last}: the checkpoint has 1 to {checkpoint.size}")
    findings = Findings()
    findings.add(_outside(journal, last, checkpoint.size))
    try:
        tiles: ProvenTiles | None = ProvenTiles(read_tile, checkpoint)
    except UNREADABLE as error:
        tiles = None
        findings.add([_of_log("the log", "root", str(error), checkpoint.root.hex())])
    checked = 0
    for begin, end, rows in _rows_by_tile(journal, first, last):
        checked += end - begin + 1
        for row in rows:
            wrong = _columns(row)
            if wrong:
                findings.add(wrong)
            if seen is not None:
                seen(row[0], Record(*row[1:]))
        if tiles is not None:
            findings.add(_against_log(tiles, begin, end, rows))
    return Audit(findings.kept, findings.count, checked)


def _against_log(tiles: ProvenTiles, first: int, last: int, rows: Sequence[Row]) -> list[Discrepancy]:
    """The events of one tile's positions against its leaves."""
    index, place = divmod(first - 1, TILE_WIDTH)
    try:
        leaves = tiles.leaves(index)[place * HASH_SIZE : (place + last - first + 1) * HASH_SIZE]
    except UNREADABLE as error:
        return [_of_log(f"position {first} to {last}", "tile", str(error), "a tile of the checkpoint's tree")]
    own = b"".join([sha256(b"\x00" + row[4]).digest() for row in rows])
    if own == leaves and [row[0] for row in rows] == list(range(first, last + 1)):
        return []
    return list(_differing(first, last, rows, leaves))


def _differing(first: int, last: int, rows: Sequence[Row], leaves: bytes) -> Iterator[Discrepancy]:
    there: dict[int, Record] = {}
    for position, stream, seq, topic, body in rows:
        record = Record(stream, seq, topic, body)
        if position in there:
            yield Discrepancy(record.seq, f"position {position}", "event", "there twice", "there once", record.stream)
        there.setdefault(position, record)
    for position in range(first, last + 1):
        at = (position - first) * HASH_SIZE
        wanted = leaves[at : at + HASH_SIZE].hex()
        if position not in there:
            yield Discrepancy(None, f"position {position}", "event", "missing", f"leaf {wanted}", EVENTS)
            continue
        record = there[position]
        leaf = sha256(b"\x00" + record.body).hexdigest()
        if leaf != wanted:
            yield Discrepancy(record.seq, f"position {position}", "leaf", leaf, wanted, record.stream)


def _columns(row: Row) -> Sequence[Discrepancy]:
    """The columns beside a body say what the body says."""
    _, stream, seq, topic, body = row
    # A canonical body ends with just these; to look at its end is three times as fast as to decode it.
    if body.endswith(f',"seq":{seq},"stream":"{stream}","type":"{topic}","v":1}}'.encode()):
        return ()
    try:
        frame = _FRAME.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return [Discrepancy(seq, topic, "body", str(error), "an event body", stream)]
    if frame.seq == seq and frame.stream == stream and frame.type == topic:
        return ()
    said = (("stream", stream, frame.stream), ("seq", seq, frame.seq), ("type", topic, frame.type))
    return [
        Discrepancy(seq, topic, field, column, in_body, stream) for field, column, in_body in said if column != in_body
    ]


def _of_log(where: str, field: str, recorded: str, recomputed: str) -> Discrepancy:
    return Discrepancy(None, where, field, recorded, recomputed, "log")


class _Frame(msgspec.Struct, gc=False):
    """What the columns of the store repeat."""

    seq: int
    stream: str
    type: str


_FRAME: Final = msgspec.json.Decoder(_Frame)


# -- reading


def events_between(journal: Journal, first: int, last: int) -> Iterator[Stored]:
    """The events at these positions in their order, read some thousands at once."""
    for begin, end in _pieces(first, last):
        for position, stream, seq, topic, body in _read(journal, begin, end):
            yield Stored(position, Record(stream, seq, topic, body))


def _rows_by_tile(journal: Journal, first: int, last: int) -> Iterator[tuple[int, int, list[Row]]]:
    """The positions of each tile within the range, with the events there."""
    for begin, end in _pieces(first, last):
        rows, at = _read(journal, begin, end), 0
        while begin <= end:
            until = min(end, begin + TILE_WIDTH - 1 - (begin - 1) % TILE_WIDTH)
            start = at
            while at < len(rows) and rows[at][0] <= until:
                at += 1
            yield begin, until, rows[start:at]
            begin = until + 1


def _pieces(first: int, last: int) -> Iterator[tuple[int, int]]:
    """The range cut where tiles begin."""
    width = TILES_AT_ONCE * TILE_WIDTH
    while first <= last:
        end = min(last, first + width - 1 - (first - 1) % width)
        yield first, end
        first = end + 1


def _read(journal: Journal, first: int, last: int) -> list[Row]:
    rows: list[Row] = journal.application.recorder.datastore.rows(_BETWEEN, (first, last))
    return rows


def _outside(journal: Journal, last: int, size: int) -> Iterator[Discrepancy]:
    """Events where none can be, gaps behind the checkpoint, and an end before it (but not in the range itself)."""
    rows: Callable[..., list[tuple[Any, ...]]] = journal.application.recorder.datastore.rows
    for position, stream, seq in rows(_NOWHERE):
        yield Discrepancy(seq, f"position {position}", "event", "there", "not there: positions are from 1", stream)
    for first, last in rows(_GAPS, (size, size)):
        first, last = int(first), int(last)
        if first > last:
            yield Discrepancy(None, f"position {last + 1}", "event", "there twice", "there once", EVENTS)
        else:
            gone = f"position {first}" if first == last else f"position {first} to {last}"
            yield Discrepancy(None, gone, "event", "missing", "there: others lie behind", EVENTS)
    [(head,)] = rows(_HEAD)
    missing = max(head, last) + 1
    if missing <= size:
        gone = f"position {size}" if missing == size else f"position {missing} to {size}"
        yield Discrepancy(None, gone, "event", "missing", f"there: the log has {size} events", EVENTS)


# Whoever has the server may have dropped "not null"; that must not end the audit.
_BETWEEN: Final = """
select notification_id, coalesce(originator_id, ''), coalesce(originator_version, -1), coalesce(topic, ''),
    coalesce(state, '')
from dealproof.events where notification_id between %b and %b order by notification_id
"""

_NOWHERE: Final = """
select notification_id, coalesce(originator_id, ''), originator_version
from dealproof.events where notification_id < 1 or notification_id is null
order by notification_id limit 1000
"""

# Numeric: a position that somebody made as large as can be must not end the audit.
_GAPS: Final = """
select before::numeric + 1, notification_id::numeric - 1 from (
    select notification_id, lag(notification_id, 1, %b::bigint) over (order by notification_id) as before
    from dealproof.events where notification_id > %b
) as event
where notification_id::numeric <> before::numeric + 1
order by notification_id limit 1000
"""

_HEAD: Final = "select coalesce(max(notification_id), 0) from dealproof.events"
