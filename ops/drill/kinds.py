"""The mutations: what a careless hand, a careful administrator, or a thief of keys may do to a journal and its log.

Each is a small function of a source of chance, the original and the positions of a zone, and gives the change, or None
where nothing there suits it.

Not here: carrying a change out (`ops.drill.copy`), finding it (`ops.drill.verifier`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Final, NamedTuple

from domain.log.merkle import HASH_SIZE
from domain.log.tiles import TILE_WIDTH, Tile
from domain.record import Record, canonical_json
from ops.clock import as_text, milliseconds
from ops.drill import forging as f
from ops.drill import money
from ops.drill.original import Change, Original, Tables, Zone, changed
from ops.recorder import RoundIdentity

Make = Callable[[Random, Original, range], Change | None]

LOGGED: Final = (Zone.BELOW, Zone.BETWEEN)
EVERYWHERE: Final = (Zone.BELOW, Zone.BETWEEN, Zone.ABOVE)
TRIES: Final = 40


class Kind(NamedTuple):
    """A kind of mutation; `zones`: where it can be."""

    name: str
    make: Make
    zones: Sequence[Zone] = EVERYWHERE


# -- careless: bytes and rows


def _with_another_body(change: Callable[[Random, bytes], bytes]) -> Make:
    def make(random: Random, original: Original, places: range) -> Change:
        position = random.choice(places)
        record = original.at(position)
        body = change(random, record.body)
        return Change(f"position {position}", changed(original, {position: [f.with_body(record, body)]}))

    return make


def _bit(random: Random, body: bytes) -> bytes:
    at = random.randrange(len(body))
    return body[:at] + bytes([body[at] ^ 1 << random.randrange(8)]) + body[at + 1 :]


def _byte(random: Random, body: bytes) -> bytes:
    at = random.randrange(len(body))
    return body[:at] + random.randbytes(1) + body[at + 1 :]


def _byte_more(random: Random, body: bytes) -> bytes:
    at = random.randrange(len(body) + 1)
    return body[:at] + random.choice((b" ", b"0", b'"', b"\n", random.randbytes(1))) + body[at:]


def _byte_less(random: Random, body: bytes) -> bytes:
    at = random.randrange(len(body))
    return body[:at] + body[at + 1 :]


def _field(random: Random, original: Original, places: range) -> Change:
    position = random.choice(places)
    where, record = f.another_field(random, original.at(position))
    return Change(f"position {position} {where}", changed(original, {position: [record]}))


def _column(random: Random, original: Original, places: range) -> Change:
    """The body stays; whoever looks for the event finds it elsewhere."""
    position, other = random.choice(places), original.at(random.choice(places))
    record = original.at(position)
    now = random.choice((
        record._replace(type=other.type), record._replace(stream=other.stream), record._replace(seq=record.seq + 1000),
    ))  # fmt: skip
    return Change(f"position {position}", changed(original, {position: [now]}))


def _bodies_swapped(random: Random, original: Original, places: range) -> Change:
    one, two = random.choice(places), random.choice(places)
    first, second = original.at(one), original.at(two)
    now = {one: [f.with_body(first, second.body)], two: [f.with_body(second, first.body)]}
    return Change(f"positions {one} and {two}", changed(original, now))


def _positions_swapped(random: Random, original: Original, places: range) -> Change:
    one, two = random.choice(places), random.choice(places)
    now = {one: [original.at(two)], two: [original.at(one)]}
    return Change(f"positions {one} and {two}", changed(original, now))


def _seqs_swapped(random: Random, original: Original, places: range) -> Change | None:
    one = random.choice(places)
    others = [position for position in original.streams[original.at(one).stream] if position in places]
    two = random.choice(others)
    first, second = original.at(one), original.at(two)
    now = {one: [first._replace(seq=second.seq)], two: [second._replace(seq=first.seq)]}
    return Change(f"positions {one} and {two}", changed(original, now)) if one != two else None


def _dropped(random: Random, original: Original, places: range) -> Change:
    position = random.choice(places)
    return Change(f"position {position}", changed(original, {position: []}))


def _doubled(random: Random, original: Original, places: range) -> Change:
    """At its own place twice, or once more further on."""
    position = random.choice(places)
    record = original.at(position)
    if random.random() < 0.3:
        return Change(f"position {position} twice", changed(original, {position: [record, record]}))
    lines = f.lines_of(original)
    after = random.choice(range(position, min(position + 20, places.stop - 1) + 1))
    lines.insert(after, f.Line(None, record))
    return f.whole_change(original, f"position {position} once more behind {after}", lines)


# -- careful: everything is made to agree


def _re_chained(random: Random, original: Original, places: range) -> Change:
    position = random.choice(places)
    where, record = f.another_field(random, original.at(position))
    lines = f.lines_of(original)
    lines[position - 1] = f.Line(position, record)
    f.rechained(original, lines, [record.stream])
    return f.whole_change(original, f"position {position} {where}", lines)


def _dropped_closed_up(random: Random, original: Original, places: range) -> Change:
    position = random.choice(places)
    lines = f.lines_of(original)
    del lines[position - 1]
    f.rechained(original, lines, [original.at(position).stream])
    return f.whole_change(original, f"position {position}", lines)


def _inserted(random: Random, original: Original, places: range) -> Change:
    """An event like another one, in a place of its own, with all that comes after moved on."""
    model, before = original.at(random.choice(places)), random.choice(places)
    record = f.another_field(random, model)[1] if random.random() < 0.5 else model
    value = f.plain(record) | {"at": f.plain(original.at(before))["at"]}
    lines = f.lines_of(original)
    lines.insert(before - 1, f.Line(None, f.with_body(record, canonical_json(value))))
    f.rechained(original, lines, [record.stream])
    return f.whole_change(original, f"position {before} an event of {record.stream}", lines)


def _back_dated(random: Random, original: Original, places: range) -> Change:
    """One event, or a whole append with its chains."""
    position = random.choice(places)
    earlier = random.choice((1, 1000, 60_000, 3_600_000, 86_400_000)) * random.randint(1, 9)
    if random.random() < 0.5:
        record = _dated(original.at(position), earlier)
        return Change(f"position {position} by {earlier} ms", changed(original, {position: [record]}))
    command, lines = original.command_of[position - 1], f.lines_of(original)
    appended = range(command.first_position, command.first_position + command.event_count)
    for at in appended:
        lines[at - 1] = f.Line(at, _dated(original.at(at), earlier))
    f.rechained(original, lines, {original.at(at).stream for at in appended})
    return f.whole_change(original, f"append at position {appended.start} by {earlier} ms", lines)


def _dated(record: Record, earlier: int) -> Record:
    value = f.plain(record)
    value["at"] = as_text(milliseconds(value["at"]) - earlier)
    return f.with_body(record, canonical_json(value))


def _round_dropped(random: Random, original: Original, places: range) -> Change | None:
    """With postings, number and all rows; half of the time nothing is left to show where it was."""
    stream = _a_round(random, original, places)
    if stream is None:
        return None
    name = stream.removeprefix("round:").encode()
    mentions = (b'"round":"' + name + b'"', b":" + name + b'"')
    lines = f.lines_of(original)
    kept = [line for line in lines if not any(mention in line.record.body for mention in mentions)]
    gone = {line.old for line in lines} - {line.old for line in kept}
    if random.random() < 0.5:
        f.rechained(original, kept, {line.record.stream for line in lines if line.old in gone})
        return f.whole_change(original, f"{stream}, closed up", kept)
    events = changed(original, {position: [] for position in gone if position is not None})
    commands = tuple(row for row in original.tables.commands if row.first_position not in gone)
    return Change(stream, events, replace(f.tables_for(original, kept), commands=commands))


def _a_round(random: Random, original: Original, places: range) -> str | None:
    opened = [row.stream for row in original.tables.identities if original.streams[row.stream][0] in places]
    return random.choice(opened) if opened else None


def _truncated(random: Random, original: Original, places: range) -> Change:
    position = random.choice(places)
    return f.whole_change(original, f"all from position {position} on", f.lines_of(original)[: position - 1])


def _payout(random: Random, original: Original, places: range) -> Change | None:
    return _somewhere(random, places, lambda at: money.higher_payout(original, at, 100 * random.randint(1, 500)))


def _cash(random: Random, original: Original, places: range) -> Change | None:
    return _somewhere(random, places, lambda at: money.higher_deposit(original, at, 100 * random.randint(1, 500)))


def _somewhere(random: Random, places: range, change: Callable[[int], Change | None]) -> Change | None:
    """At the first place that suits, from a random one on."""
    start = random.randrange(len(places))
    for at in (*places[start:], *places[:start]):
        made = change(at)
        if made is not None:
            return made
    return None


# -- the log


def _re_signed_by_another(random: Random, original: Original, places: range) -> Change | None:
    return _re_signed(random, original, places, stolen=False)


def _re_signed_by_stolen_key(random: Random, original: Original, places: range) -> Change | None:
    return _re_signed(random, original, places, stolen=True)


def _re_signed(random: Random, original: Original, places: range, *, stolen: bool) -> Change | None:
    """A careful change, and a new log over it that agrees with it in every hash."""
    careful = [_re_chained, _cash, _payout, _truncated, _dropped_closed_up, _back_dated]
    change = random.choice(careful)(random, original, places) or _re_chained(random, original, places)
    if not change.events:
        return None
    if stolen and random.random() < 0.5:
        change = f.with_forged_roots(original, change)
    size = min(original.signed, change.length(original))
    key = original.keys.log if stolen else original.keys.thief
    files = f.forged_log(original, f.leaves_after(original, change, size), f.signing(key))
    return replace(change, files=files)


def _tile_bit(random: Random, original: Original, places: range) -> Change | None:
    """In the hash of an event, or of a whole tile of them."""
    position = random.choice(places)
    level, index = 0, position - 1
    if random.random() < 0.2:
        level, index = 1, index // TILE_WIDTH
        # Only where all of the events under it lie in the zone does the zone's verifier look at it.
        if index * TILE_WIDTH + 1 not in places or (index + 1) * TILE_WIDTH not in places:
            return None
    path, place = _tile_with(original, level, index)
    data = original.files[path]
    at = place * HASH_SIZE + random.randrange(HASH_SIZE)
    flipped = data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]
    return Change(f"{path} byte {at}", files={path: flipped}, position=(index << 8 * level) + 1)


def _tile_with(original: Original, level: int, index: int) -> tuple[str, int]:
    number, place = divmod(index, TILE_WIDTH)
    width = min(TILE_WIDTH, (original.signed >> 8 * level) - number * TILE_WIDTH)
    return Tile(level, number, width).path(), place


def _older_checkpoint(random: Random, original: Original, places: range) -> Change:
    """An older note of the log's own in place of the newest; the witness's may be gone or stay."""
    size = original.early if places.start <= original.cosigned else original.cosigned
    files: dict[str, bytes | None] = {"checkpoint": original.notes[size]}
    if random.random() < 0.5:
        files |= {path: None for path in original.files if path.startswith("cosigned/")}
    return Change(f"the note of {size} events", files=files, position=size + 1)


def _rolled_back(random: Random, original: Original, places: range) -> Change:
    """An older backup of journal and log in place of both."""
    size = original.early if places.start <= original.cosigned else original.cosigned
    change = f.whole_change(original, f"all as it was with {size} events", f.lines_of(original)[:size])
    files = f.forged_log(original, original.leaves[:size], lambda _: original.notes[size])
    return replace(change, files=files)


# -- the tables beside the events


def _identity_row(random: Random, original: Original, places: range) -> Change | None:
    stream = _a_round(random, original, places)
    if stream is None:
        return None
    rows = original.tables.identities
    old = next(row for row in rows if row.stream == stream)
    flipped = bytes([old.commitment[0] ^ 1]) + old.commitment[1:]
    new = random.choice((
        [], [old._replace(table_id=old.table_id + "x")], [old._replace(number=old.number + 1000)],
        [old._replace(commitment=flipped)], [old._replace(stream="round:" + random.randbytes(16).hex())],
        [old, RoundIdentity(old.table_id, old.number + 1000, flipped, "round:" + random.randbytes(16).hex())],
    ))  # fmt: skip
    now = (*(row for row in rows if row != old), *new)
    return _beside_event(original, original.streams[stream][0], replace(original.tables, identities=now), stream)


def _command_row(random: Random, original: Original, places: range) -> Change:
    position = random.choice(places)
    rows = original.tables.commands
    old = original.command_of[position - 1]
    new = random.choice((
        [], [old._replace(first_position=old.first_position + 1)], [old._replace(event_count=old.event_count + 1)],
        [old, old._replace(command_id=old.command_id + "x")],
    ))  # fmt: skip
    now = (*(row for row in rows if row != old), *new)
    tables = replace(original.tables, commands=now)
    return _beside_event(original, old.first_position, tables, f"command {old.command_id}")


def _open_round_row(random: Random, original: Original, places: range) -> Change | None:
    stream = _a_round(random, original, places)
    if stream is None:
        return None
    now = tuple(each for each in original.tables.open_rounds if each != stream)
    if stream not in original.tables.open_rounds:
        now = (*now, stream)
    return _beside_event(original, original.streams[stream][0], replace(original.tables, open_rounds=now), stream)


def _beside_event(original: Original, position: int, tables: Tables, place: str) -> Change:
    return Change(place, tables=tables, position=position)


def _command_request(random: Random, original: Original, places: range) -> Change:
    """What a caller had asked for, or under which name: nothing else in the house says it."""
    old = original.command_of[random.choice(places) - 1]
    new = random.choice((
        old._replace(request_hash=random.randbytes(32)), old._replace(command_id=old.command_id + "x"),
        old._replace(recorded_at=old.recorded_at - timedelta(days=1)),
    ))  # fmt: skip
    now = (*(row for row in original.tables.commands if row != old), new)
    tables = replace(original.tables, commands=now)
    return Change(f"command {old.command_id}", tables=tables, beside=True)


KINDS: Final = (
    Kind("bit flipped", _with_another_body(_bit)),
    Kind("byte changed", _with_another_body(_byte)),
    Kind("byte inserted", _with_another_body(_byte_more)),
    Kind("byte removed", _with_another_body(_byte_less)),
    Kind("field changed", _field),
    Kind("column changed", _column),
    Kind("bodies swapped", _bodies_swapped),
    Kind("positions swapped", _positions_swapped),
    Kind("seqs swapped", _seqs_swapped),
    Kind("event dropped", _dropped),
    Kind("event dropped, closed up", _dropped_closed_up),
    Kind("event doubled", _doubled),
    Kind("event inserted", _inserted),
    Kind("back-dated", _back_dated),
    Kind("field changed, re-chained", _re_chained),
    Kind("round dropped", _round_dropped),
    Kind("payout raised, all made to agree", _payout),
    Kind("deposit raised, all made to agree", _cash),
    Kind("end cut off", _truncated),
    Kind("re-signed with another key", _re_signed_by_another, LOGGED),
    Kind("re-signed with the stolen log key", _re_signed_by_stolen_key, LOGGED),
    Kind("tile bit flipped", _tile_bit, LOGGED),
    Kind("older checkpoint in place", _older_checkpoint, LOGGED),
    Kind("older backup in place", _rolled_back, LOGGED),
    Kind("row of round_identity", _identity_row),
    Kind("row of commands", _command_row),
    Kind("row of open_rounds", _open_round_row),
    Kind("request of a command", _command_request, (Zone.BESIDE,)),
)


class Mutation(NamedTuple):
    """One mutation with its number, by which it comes again from the same seed."""

    number: int
    kind: str
    zone: Zone
    change: Change

    def __str__(self) -> str:
        return f"mutation {self.number}: {self.kind}, {self.zone}, {self.change.place}"


def mutation(seed: int, number: int, original: Original, kinds: Iterable[Kind] = KINDS) -> Mutation:
    """The mutation of this number.  What would change nothing is left aside, and another one is made."""
    random, known = Random(f"{seed}/{number}"), tuple(kinds)
    for _ in range(TRIES):
        kind = random.choice(known)
        zone = random.choices(kind.zones, [WEIGHTS[zone] for zone in kind.zones])[0]
        change = kind.make(random, original, original.places(zone))
        if change is not None and not change.is_nothing(original):
            return Mutation(number, kind.name, change.zone(original), change)
    raise LookupError(f"seed {seed}, mutation {number}: nothing to mutate was found")


WEIGHTS: Final = {Zone.BELOW: 6, Zone.BETWEEN: 1, Zone.ABOVE: 1, Zone.BESIDE: 1}
"""Most of them where all must be found."""
