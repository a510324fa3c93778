"""Keep the events: the only place that appends them, and where the rest of the house reads them.

    with Journal.open(url) as journal:
        journal.append("req-7", request, [Record("round:018f…", 0, "round-opened.v1", body)], [RoundIdentity(…)])

The journal knows nothing of poker.  It stores the bytes it is given, one dense stream a round, an account, a table,
and gives every event the next position.  Formats: docs/formats/event-record.md.

Not here: what the bytes mean (`domain.record`), whether they are true (`replay`), the write itself (`ops.recorder`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, LiteralString, NamedTuple, Self

import msgspec
from eventsourcing.application import Application
from eventsourcing.persistence import InfrastructureFactory, Mapper, MapperDeserialisationError, StoredEvent
from eventsourcing.utils import Environment

from domain.record import Record, leaf_hash
from ops import database
from ops.recorder import (
    Appended,
    BelowZero,
    CommandMismatch,
    CommandRefused,
    JournalError,
    JournalFactory,
    JournalRecorder,
    JournalUnavailable,
    RoundIdentity,
    RoundTaken,
    StreamConflict,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from eventsourcing.utils import EnvType

__all__ = [
    "Appended", "BelowZero", "CommandMismatch", "CommandRefused", "EnvelopeMismatch", "Found", "Journal",
    "JournalApplication", "JournalError", "JournalEvent", "JournalMapper", "JournalUnavailable", "RoundIdentity",
    "RoundTaken", "Stored", "StreamConflict",
]

# All round streams lie between these two, whatever their id: ';' follows ':' in the order of bytes.
FIRST_ROUND: Final = "round:"
LAST_ROUND: Final = "round;"

ROWS_AT_ONCE: Final = 1000   # of a streamed read: about half a megabyte in memory


class EnvelopeMismatch(MapperDeserialisationError):
    """The columns of a stored event say something else than its body; one line."""


class Stored(NamedTuple):
    """An event with its position in the journal, from 1."""

    position: int
    record: Record


class Found(NamedTuple):
    """A stream as it lies in the journal: its bodies by seq, the lowest and the highest of their positions."""

    stream: str
    bodies: list[bytes]
    first: int
    last: int


class Journal:
    """Appends and reads events.  Safe to share among threads; a process opens its own."""

    def __init__(self, application: JournalApplication) -> None:
        self.application = application
        self._datastore = application.recorder.datastore

    @classmethod
    def open(cls, url: str) -> Self:
        """Open the journal in a migrated database.  Raises DatabaseUnavailable."""
        database.require_migrated(url)
        return cls(JournalApplication(url))

    def close(self) -> None:
        self.application.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(
        self, command_id: str, request: bytes, records: Sequence[Record], rounds: Sequence[RoundIdentity] = ()
    ) -> Appended:
        """Write all records, and the identities of the rounds they open, or nothing.

        The same command id with the same request bytes is answered with the positions of the first time.  Raises
        StreamConflict, CommandMismatch, RoundTaken, JournalUnavailable, and ValueError for a malformed append.
        """
        return self.application.recorder.append(command_id, hashlib.sha256(request).digest(), records, rounds)

    def answered(self, command_id: str, request: bytes) -> Appended | None:
        """What this command was answered before, None if it is new.  Raises CommandMismatch for another request."""
        rows = self._datastore.rows(_COMMAND, (command_id,))
        if not rows:
            return None
        [(request_hash, first, count)] = rows
        _require_same(command_id, request_hash, request)
        return Appended(tuple(range(first, first + count)), repeated=True)

    def refuse(self, command_id: str, request: bytes, reply: bytes) -> bytes | None:
        """Keep the answer to a command that was refused, so that a retry gets it again.

        Gives the answer that stands: this one or an earlier one, None if the command was carried out meanwhile.  Raises
        CommandMismatch for another request.
        """
        return self.application.recorder.refuse(command_id, hashlib.sha256(request).digest(), reply)

    def refused(self, command_id: str, request: bytes) -> bytes | None:
        """The answer to a command that was refused before, None if it was not.  Raises CommandMismatch."""
        rows = self._datastore.rows(_REFUSED, (command_id,))
        if not rows:
            return None
        [(request_hash, reply)] = rows
        _require_same(command_id, request_hash, request)
        return bytes(reply)

    def heads(self, streams: Sequence[str]) -> dict[str, Stored]:
        """The newest event of each of these streams, in one round trip; a stream without events is left out."""
        rows = self._datastore.rows(_HEADS, (list(streams),))
        return {row[1]: Stored(row[0], Record(row[1], row[2], row[3], row[4])) for row in rows}

    def read_event(self, stream: str, seq: int) -> Stored | None:
        """One event of a stream, None if it isn't there."""
        rows = self._datastore.rows(_EVENT, (stream, seq))
        return Stored(rows[0][0], Record(stream, seq, rows[0][1], rows[0][2])) if rows else None

    def read_positions(self, positions: Sequence[int]) -> list[Stored]:
        """The events at these positions, in their order."""
        rows = self._datastore.rows(_POSITIONS, (list(positions),))
        return [Stored(row[0], Record(row[1], row[2], row[3], row[4])) for row in rows]

    def read_page(
        self, stream: str, limit: int, *, before: int | None = None, types: Sequence[str] = ()
    ) -> list[Stored]:
        """Events of a stream, newest first, below the seq `before`; of these types only, if any are named."""
        below = 2**62 if before is None else before
        if types:
            rows = self._datastore.rows(_PAGES[tuple(types)], (stream, below, limit))
        else:
            rows = self._datastore.rows(_PAGE, (stream, below, limit))
        return [Stored(row[0], Record(stream, row[1], row[2], row[3])) for row in rows]

    def heads_between(self, first: str, last: str, limit: int) -> list[Stored]:
        """The newest event of each stream whose name lies above `first` and below `last`, in the order of the names."""
        rows = self._datastore.rows(_HEADS_BETWEEN, (first, last, limit))
        return [Stored(row[0], Record(row[1], row[2], row[3], row[4])) for row in rows]

    def open_rounds(self, after: str = "", limit: int = 1000, table: str | None = None) -> list[str]:
        """Streams of rounds that have not ended, oldest first, behind `after`, of one table or of all."""
        if table is None:
            rows = self._datastore.rows(_OPEN_ROUNDS, (after, limit))
        else:
            rows = self._datastore.rows(_OPEN_ROUNDS_AT, (after, table, limit))
        return [stream for (stream,) in rows]

    def missing_rounds(self, first_stream: str, last_stream: str) -> list[tuple[str, str]]:
        """(table, stream) of rounds that were opened but have no event left, between two streams, both included."""
        return [(table, stream) for table, stream in self._datastore.rows(_MISSING, (first_stream, last_stream))]

    def read_stream(self, stream: str) -> list[Stored]:
        """All events of a stream by seq; none if there is no such stream.  Raises EnvelopeMismatch."""
        return [
            Stored(position, _checked(Record(stream, seq, name, body)))
            for position, seq, name, body in self._datastore.rows(_STREAM, (stream,))
        ]

    def stream_head(self, stream: str) -> tuple[int, str] | None:
        """Seq and leaf hash (hex) of a stream's last event: what the next event is chained to."""
        rows = self._datastore.rows(_STREAM_HEAD, (stream,))
        return (rows[0][0], leaf_hash(rows[0][1])) if rows else None

    def head_position(self) -> int:
        """Position of the last event; 0 in an empty journal."""
        return int(self._datastore.rows(_HEAD_POSITION)[0][0])

    def next_round_number(self, table_id: str) -> int:
        """The number of the table's next round, from 1.  Two who ask at once get the same: one append is refused."""
        return int(self._datastore.rows(_NEXT_ROUND_NUMBER, (table_id,))[0][0])

    def last_rounds(self, limit: int, table: str | None = None, before: str | None = None) -> list[RoundIdentity]:
        """The newest rounds, of one table or of all, newest first: those opened before the round `before`, if given."""
        below = LAST_ROUND if before is None else before
        if table is None:
            rows = self._datastore.rows(_LAST_ROUNDS, (below, limit))
        else:
            rows = self._datastore.rows(_LAST_ROUNDS_OF_TABLE, (table, below, limit))
        return [RoundIdentity(*row) for row in rows]

    def count_rounds(self) -> int:
        """How many rounds have been opened."""
        return int(self._datastore.rows(_COUNT_ROUNDS)[0][0])

    def first_leaf_hash(self) -> str:
        """Leaf hash of the first event there is: it tells one journal from another; empty in an empty journal."""
        rows = self._datastore.rows(_FIRST_BODY)
        return leaf_hash(rows[0][0]) if rows else ""

    def published_rulesets(self) -> list[tuple[str, bytes]]:
        """Stream and first body of every published ruleset."""
        return [(stream, body) for stream, body in self._datastore.rows(_PUBLISHED)]

    def stream_of(self, table_id: str, number: int) -> str | None:
        """The stream of a table's round, None if it has no such round."""
        rows = self._datastore.rows(_STREAM_OF, (table_id, number))
        return rows[0][0] if rows else None

    def split_rounds(self, first: str = FIRST_ROUND, last: str = LAST_ROUND, parts: int = 1) -> list[tuple[str, str]]:
        """Cut the streams from `first` to `last` into at most `parts` ranges of equally many rounds.

        Each range is (first stream, last stream), both included.  Together they hold every stream there is now.
        """
        if parts < 1:
            raise ValueError(f"split_rounds: parts must be at least 1, not {parts}")
        [(lowest, highest)] = self._datastore.rows(_BOUNDS, (first, last, first, last))
        if lowest is None:
            return []
        cuts = self._datastore.rows(_CUTS, (parts, lowest, highest, lowest))
        firsts = [lowest, *(begin for _, begin in cuts)]
        lasts = [*(end for end, _ in cuts), highest]
        return list(zip(firsts, lasts, strict=True))

    def read_rounds(
        self, first_stream: str = FIRST_ROUND, last_stream: str = LAST_ROUND, after: str | None = None
    ) -> Generator[tuple[str, list[bytes]]]:
        """The bodies of each stream from first to last, both included, as (stream, bodies by seq), in stream order.

        Begins behind `after`, to go on where a reader stopped.  Takes the memory of a thousand events.  Bodies come as
        they are, gaps and all.  Raises JournalUnavailable, at any time.
        """
        for found in self.find_rounds(first_stream, last_stream, after):
            yield found.stream, found.bodies

    def find_rounds(
        self, first_stream: str = FIRST_ROUND, last_stream: str = LAST_ROUND, after: str | None = None
    ) -> Generator[Found]:
        """What `read_rounds` gives, with the positions between which each stream lies."""
        stream, bodies, first, last = "", list[bytes](), 0, 0
        with self._datastore.tuples() as cursor:
            asked = (first_stream, last_stream, after or "")
            # No name for the stream: one that outlives the loop holds the connection when a reader stops early.
            for name, body, position in cursor.stream(_ROUNDS, asked, size=ROWS_AT_ONCE):
                if name != stream:
                    if bodies:
                        yield Found(stream, bodies, first, last)
                    stream, bodies, first, last = name, [], position, position
                bodies.append(body)
                first, last = min(first, position), max(last, position)
        if bodies:
            yield Found(stream, bodies, first, last)


def _require_same(command_id: str, request_hash: bytes, request: bytes) -> None:
    if bytes(request_hash) != hashlib.sha256(request).digest():
        raise CommandMismatch(f"command {command_id} was used before for another request")


_STREAM: Final = """
select notification_id, originator_version, topic, state from dealproof.events
where originator_id = %b order by originator_version
"""

_STREAM_HEAD: Final = """
select originator_version, state from dealproof.events
where originator_id = %b order by originator_version desc limit 1
"""

_HEADS: Final = """
select head.notification_id, stream, head.originator_version, head.topic, head.state
from unnest(%b::text[]) as stream cross join lateral (
    select notification_id, originator_version, topic, state from dealproof.events
    where originator_id = stream order by originator_version desc limit 1
) as head
"""

_EVENT: Final = """
select notification_id, topic, state from dealproof.events where originator_id = %b and originator_version = %b
"""

_POSITIONS: Final = """
select notification_id, originator_id, originator_version, topic, state from dealproof.events
where notification_id = any (%b::bigint[]) order by notification_id
"""

_PAGE: Final = """
select notification_id, originator_version, topic, state from dealproof.events
where originator_id = %b and originator_version < %b order by originator_version desc limit %b
"""

# Each has an index of its own, whose condition the planner must find in the query word by word.
_PAGES: Final[dict[tuple[str, ...], LiteralString]] = {
    ("round-finished.v1",): """
        select notification_id, originator_version, topic, state from dealproof.events
        where originator_id = %b and originator_version < %b and topic = 'round-finished.v1'
        order by originator_version desc limit %b
        """,
    ("funds-deposited.v1", "funds-withdrawn.v1", "funds-adjusted.v1", "funds-reversed.v1"): """
        select notification_id, originator_version, topic, state from dealproof.events
        where originator_id = %b and originator_version < %b
        and topic in ('funds-deposited.v1', 'funds-withdrawn.v1', 'funds-adjusted.v1', 'funds-reversed.v1')
        order by originator_version desc limit %b
        """,
}

_HEADS_BETWEEN: Final = """
with recursive stream (name) as (
    (select originator_id from dealproof.events where originator_id > %b order by originator_id limit 1)
    union all
    select (select originator_id from dealproof.events where originator_id > name order by originator_id limit 1)
    from stream where name is not null
)
select head.notification_id, name, head.originator_version, head.topic, head.state
from stream cross join lateral (
    select notification_id, originator_version, topic, state from dealproof.events
    where originator_id = name order by originator_version desc limit 1
) as head
where name < %b limit %b
"""

_OPEN_ROUNDS: Final = "select stream from dealproof.open_rounds where stream > %b order by stream limit %b"

_OPEN_ROUNDS_AT: Final = """
select stream from dealproof.open_rounds as open join dealproof.round_identity as identity using (stream)
where stream > %b and identity.table_id = %b order by stream limit %b
"""

_REFUSED: Final = "select request_hash, reply from dealproof.refusals where command_id = %b"

_HEAD_POSITION: Final = "select coalesce(max(notification_id), 0) from dealproof.events"

_NEXT_ROUND_NUMBER: Final = "select coalesce(max(number), 0) + 1 from dealproof.round_identity where table_id = %b"

_COMMAND: Final = "select request_hash, first_position, event_count from dealproof.commands where command_id = %b"

# A scalar subquery, so that each round is looked up in the index: "not exists" reads the whole table for every range.
_MISSING: Final = """
select table_id, stream from dealproof.round_identity as identity
where stream >= %b and stream <= %b
and (select originator_version from dealproof.events where originator_id = identity.stream limit 1) is null
order by stream
"""

_COUNT_ROUNDS: Final = "select count(*) from dealproof.round_identity"

_FIRST_BODY: Final = "select state from dealproof.events order by notification_id limit 1"

_PUBLISHED: Final = """
select originator_id, state from dealproof.events
where originator_id >= 'ruleset:' and originator_id < 'ruleset;' and originator_version = 0
order by originator_id
"""

_STREAM_OF: Final = "select stream from dealproof.round_identity where table_id = %b and number = %b"

# A round stream is named by a UUIDv7, so the order of names is the order of time.
_LAST_ROUNDS: Final = """
select table_id, number, commitment, stream from dealproof.round_identity
where stream < %b order by stream desc limit %b
"""

_LAST_ROUNDS_OF_TABLE: Final = """
select table_id, number, commitment, stream from dealproof.round_identity
where table_id = %b and number < coalesce(
    (select number from dealproof.round_identity as last where last.stream = %b), 9223372036854775807)
order by number desc limit %b
"""

# One row an event, grouped here: packing a round into one row costs the server more than it spares the client.
_ROUNDS: Final = """
select originator_id, state, notification_id from dealproof.events
where originator_id >= %b and originator_id <= %b and originator_id > %b
order by originator_id, originator_version
"""

_BOUNDS: Final = """
select min(first), max(last) from (
    select min(originator_id) as first, max(originator_id) as last
    from dealproof.events where originator_id >= %b and originator_id <= %b
    union all
    select min(stream), max(stream) from dealproof.round_identity where stream >= %b and stream <= %b
) as bound
"""

# The identities are twelve times fewer than the events, so they place the cuts.  They don't say what is in a range:
# a stream without an identity is in one all the same.
_CUTS: Final = """
select greatest(
    (select max(originator_id) from dealproof.events where originator_id < part.first),
    (select max(stream) from dealproof.round_identity where stream < part.first)
), part.first
from (
    select min(round.stream) as first
    from (
        select stream, ntile(%b::integer) over (order by stream) as nth
        from dealproof.round_identity where stream >= %b and stream <= %b
    ) as round
    group by round.nth
) as part
where part.first > %b
order by part.first
"""


class JournalApplication(Application[str]):
    """The eventsourcing library over the journal's table: for projections, and to hold our SQL against the library."""

    name = "Journal"
    recorder: JournalRecorder

    def __init__(self, url: str) -> None:
        self._url = url
        super().__init__()

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        # The library would let the process environment choose classes by name, ciphers and compressors.
        return Environment(name, env)

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        return JournalFactory(env, self._url)

    def construct_mapper(self) -> JournalMapper:
        return JournalMapper()


class JournalEvent(NamedTuple):
    """A record under the names by which the library asks."""

    record: Record

    @property
    def originator_id(self) -> str:
        return self.record.stream

    @property
    def originator_version(self) -> int:
        return self.record.seq


class JournalMapper(Mapper[str]):
    """Store the bytes as they are.  The stored type is a name, never a class or a module to import."""

    def __init__(self) -> None:
        """Needs none of the library's transcoder, compressor and cipher."""

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        stream, seq, name, body = domain_event.record
        return StoredEvent(stream, seq, name, body)

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        stream, seq, name, body = (
            stored_event.originator_id, stored_event.originator_version, stored_event.topic, stored_event.state,
        )
        return JournalEvent(_checked(Record(str(stream), seq, name, body)))


class _Frame(msgspec.Struct):
    stream: str
    seq: int
    type: str


_FRAME: Final = msgspec.json.Decoder(_Frame)


def _checked(record: Record) -> Record:
    """The record, if its columns and the frame of its body agree.  Raises EnvelopeMismatch."""
    where = f"stream {record.stream} seq {record.seq}"
    try:
        frame = _FRAME.decode(record.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EnvelopeMismatch(f"{where}: the body is no event: {error}") from None
    for field in ("stream", "seq", "type"):
        column, body = getattr(record, field), getattr(frame, field)
        if column != body:
            raise EnvelopeMismatch(f"{where}: the body says {field} {body!r}, the column {column!r}")
    return record
