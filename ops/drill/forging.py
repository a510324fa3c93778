"""A forger's tools: another value somewhere, the chain made anew, the tables beside it made to agree, another log.

He knows the formats and has the whole server; what he lacks is the witness's key, and mostly the log's.

Not here: what he does with them (`ops.drill.kinds`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import msgspec

from domain.cards import CARD_TEXTS
from domain.log.checkpoint import Checkpoint, signed_by_log
from domain.log.merkle import leaf_hash, root_of
from domain.log.tiles import TILE_WIDTH, tiles_of
from domain.record import CHAIN_START, Record, canonical_json
from domain.record import leaf_hash as chain_hash
from domain.round.codec import decode
from domain.round.events import RoundOpened, SeedRevealed
from domain.wager import WagersAccepted
from ops.drill.original import Change, CommandRow, Original, Tables, restacked
from ops.log.signing import SigningKey
from ops.recorder import RoundIdentity

Plain = dict[str, Any]
Path = tuple[str | int, ...]


class Line(NamedTuple):
    """An event of the forged journal, and its position in the true one (None: it was not there)."""

    old: int | None
    record: Record


# -- bodies


def plain(record: Record) -> Plain:
    """A body as plain values."""
    value: Plain = msgspec.json.decode(record.body)
    return value


def written(value: Plain) -> Record:
    """Plain values as a record whose columns say what its body says."""
    return Record(value["stream"], value["seq"], value["type"], canonical_json(value))


def with_body(record: Record, body: bytes) -> Record:
    """The same columns over another body."""
    return record._replace(body=body)


def another_field(random: Random, record: Record) -> tuple[str, Record]:
    """Another value, a key or an element more or less, anywhere in the data; with the name of the place."""
    value = plain(record)
    places = list(_places(value["data"], ("data",)))
    if not places:
        value["data"]["added"] = 0
        return "data", with_body(record, canonical_json(value))
    path = random.choice(places)
    holder: Any = value
    for step in path[:-1]:
        holder = holder[step]
    if random.random() < 0.9:
        holder[path[-1]] = another_value(random, holder[path[-1]])
    elif random.random() < 0.5:
        del holder[path[-1]]
    elif isinstance(holder, list):
        holder.append(random.choice(holder))
    else:
        holder["added"] = holder[path[-1]]
    return ".".join(map(str, path)), with_body(record, canonical_json(value))


def _places(value: Any, path: Path) -> Iterator[Path]:
    """Every value that is no object and no list with something in it."""
    steps: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        steps = value.items()
    elif isinstance(value, list):
        steps = enumerate(value)
    for step, inner in steps:
        if isinstance(inner, dict | list) and inner:
            yield from _places(inner, (*path, step))
        else:
            yield (*path, step)


def another_value(random: Random, value: Any) -> Any:
    """Another value of the same type, most often."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice((value + 1, value - 1, 2 * value, value + 100, -value, 0, random.randrange(10**6)))
    if isinstance(value, str):
        return _another_text(random, value)
    return random.choice((0, "", "x", 1, True))


def _another_text(random: Random, text: str) -> str:
    if text in CARD_TEXTS:
        return random.choice([card for card in CARD_TEXTS if card != text])
    at = random.randrange(len(text)) if text else 0
    digits = "0123456789abcdef"
    if len(text) >= 16 and set(text) <= set(digits):
        return text[:at] + random.choice([digit for digit in digits if digit != text[at]]) + text[at + 1 :]
    return random.choice((text + "x", text[:at] + text[at + 1 :], text.swapcase(), text[:at] + "-" + text[at:], "x"))


# -- whole journals


def lines_of(original: Original) -> list[Line]:
    """The true journal, to be edited."""
    return [Line(position, record) for position, record in enumerate(original.events, 1)]


def rechained(original: Original, lines: list[Line], streams: Iterable[str]) -> None:
    """Number the events of these streams anew and hash them anew, from the first one on that is not as it was."""
    heads: dict[str, tuple[int, str]] = dict.fromkeys(streams, (-1, CHAIN_START))
    dirty = set[str]()
    for at, (old, record) in enumerate(lines):
        head = heads.get(record.stream)
        if head is None:
            continue
        seq, prev = head[0] + 1, head[1]
        if record.stream not in dirty and old is not None and record is original.at(old) and record.seq == seq:
            heads[record.stream] = seq, original.leaves[old - 1].hex()
            continue
        dirty.add(record.stream)
        value = plain(record) | {"seq": seq, "prev": prev, "stream": record.stream}
        lines[at] = Line(old, written(value))
        heads[record.stream] = seq, chain_hash(lines[at].record.body)


def whole_change(original: Original, place: str, lines: Sequence[Line]) -> Change:
    """The journal with these events, and the tables beside it as they then must be."""
    events = restacked(original, [line.record for line in lines])
    return Change(place, events, tables_for(original, lines))


def tables_for(original: Original, lines: Sequence[Line]) -> Tables:
    """The tables as the events say, so that whoever holds them against each other finds nothing."""
    openings = {line.record.stream for line in lines if line.record.seq == 0}
    ended = {line.record.stream for line in lines if line.record.type == SeedRevealed.NAME}
    identities = tuple(_identity(row, lines, original) for row in original.tables.identities if row.stream in openings)
    opened = tuple(row.stream for row in identities if row.stream not in ended)
    return Tables(tuple(_commands(original, lines)), identities, opened)


def _identity(row: RoundIdentity, lines: Sequence[Line], original: Original) -> RoundIdentity:
    """The row as the opening says now; a body that can't be read leaves it alone."""
    position = original.streams[row.stream][0]
    record = next((line.record for line in lines if line.old == position), None)
    if record is None or record is original.at(position):
        return row
    try:
        opened = decode(record.body).data
    except ValueError:
        return row
    if not isinstance(opened, RoundOpened) or len(opened.commitment) != 64:
        return row
    try:
        commitment = bytes.fromhex(opened.commitment)
    except ValueError:
        return row
    # What the table itself would refuse, a forger can't write there.
    return RoundIdentity(opened.table or row.table_id, max(opened.number, 1), commitment, row.stream)


def _commands(original: Original, lines: Sequence[Line]) -> Iterator[CommandRow]:
    """Each command with what is left of its events; what was put in belongs to the command of the event before."""
    counts: dict[str, list[int]] = {}
    command = original.command_of[0]
    for position, line in enumerate(lines, 1):
        if line.old is not None:
            command = original.command_of[line.old - 1]
        counts.setdefault(command.command_id, [position, 0])[1] += 1
    for row in original.tables.commands:
        if row.command_id in counts:
            first, count = counts[row.command_id]
            yield row._replace(first_position=first, event_count=count)


# -- the log


def forged_log(
    original: Original, leaves: Sequence[bytes], note: Callable[[Checkpoint], bytes]
) -> dict[str, bytes | None]:
    """The log's folder over other events: tiles, and the note for its checkpoint; no witness has signed that."""
    checkpoint = Checkpoint(original.keys.origin, len(leaves), root_of(leaves))
    files: dict[str, bytes | None] = {
        path: None for path in original.files if path.startswith(("tile/", "cosigned/"))
    }
    return {**files, **tile_files(leaves), "checkpoint": note(checkpoint)}


def with_forged_roots(original: Original, change: Change) -> Change:
    """The wagers behind a change name the roots of the forged log: those in the players' hands name others."""
    lowest, leaves = min(change.events), list[bytes]()
    heads: dict[str, str] = {}
    now = list[Record]()
    for record in records_after(original, change):
        if record.type == WagersAccepted.NAME and len(leaves) >= lowest:
            record = _with_root(record, leaves, heads)
        now.append(record)
        leaves.append(leaf_hash(record.body))
    return replace(change, events=restacked(original, now))


def _with_root(record: Record, leaves: Sequence[bytes], heads: dict[str, str]) -> Record:
    value = plain(record)
    size = value["data"].get("checkpoint_size")  # the change may have been of it
    if isinstance(size, int) and 0 <= size <= len(leaves):
        value["data"]["checkpoint_root"] = root_of(leaves[:size]).hex()
    named = written(value | {"prev": heads.get(record.stream, value["prev"])})
    heads[record.stream] = chain_hash(named.body)
    return named


def records_after(original: Original, change: Change) -> list[Record]:
    """All events as they are after a change, in the order of positions."""
    end = max([len(original.events), *change.events])
    standing = (change.events.get(at, original.events[at - 1 : at]) for at in range(1, end + 1))
    return [record for now in standing for record in now]


def tile_files(leaves: Sequence[bytes]) -> Mapping[str, bytes]:
    """Path and bytes of every tile of the tree with these leaf hashes."""
    rows = [list(leaves)]
    while len(rows[-1]) >= TILE_WIDTH:
        below = rows[-1]
        rows.append([root_of(below[at : at + TILE_WIDTH]) for at in range(0, len(below) - TILE_WIDTH + 1, TILE_WIDTH)])
    return {
        tile.path(): b"".join(rows[tile.level][tile.index * TILE_WIDTH :][: tile.width])
        for tile in tiles_of(len(leaves))
    }


def signing(key: SigningKey) -> Callable[[Checkpoint], bytes]:
    """Notes signed with this key."""
    return lambda checkpoint: signed_by_log(checkpoint, key.verifier, key.sign).to_bytes()


def leaves_after(original: Original, change: Change, size: int) -> list[bytes]:
    """The leaf hashes of the first events as they are after a change."""
    return [leaf_hash(record.body) for record in records_after(original, change)[:size]]

