"""Events to stored bodies and back, for every kind of stream; old stored names are read as today's events.

Format: docs/formats/event-record.md.  One decoder a kind of stream: the stored name tags a union of records.  Upcasting
changes what we read, never what we hash: the bytes stay as they were written.

Not here: which events a kind of stream has (`round.events`, `account`, `table`, `jackpot`, `access`), the store
(`ops.journal`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar, Union

import msgspec

from domain.record import CHAIN_START, FORMAT_VERSION, BodyError, Record, leaf_hash, read_envelope


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any stored fact.  NAME is the stored name; the fields stand in the order of the alphabet, as the bytes do."""

    NAME: ClassVar[str]


E = TypeVar("E", bound=Event)
E_co = TypeVar("E_co", bound=Event, covariant=True)


class EventRecord(Protocol[E_co]):
    """A decoded body: the frame of every event with its data."""

    @property
    def at(self) -> str: ...
    @property
    def data(self) -> E_co: ...
    @property
    def prev(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def stream(self) -> str: ...
    @property
    def v(self) -> int: ...


Upcast = Callable[[dict[str, Any]], dict[str, Any]]


class Codec(Generic[E]):
    """The closed list of events that streams of one kind may hold.

    `upcasts`: older stored name -> (current name, how its data reads today).
    """

    def __init__(self, events: Sequence[type[E]], upcasts: Mapping[str, tuple[str, Upcast]] | None = None) -> None:
        self.types: Final = {event.NAME: event for event in events}
        self._upcasts: Final = {} if upcasts is None else upcasts
        self._records = {event: _record_type(event) for event in events}
        self._decoder: msgspec.json.Decoder[EventRecord[E]] = msgspec.json.Decoder(
            Union[tuple(self._records.values())]  # noqa: UP007 - made from a tuple
        )

    def encode(self, event: E, *, at: str, prev: str, seq: int, stream: str) -> bytes:
        """The canonical body of an event."""
        return _ENCODER.encode(_Body(at, event, prev, seq, stream, event.NAME, FORMAT_VERSION))

    def encode_stream(self, events: Sequence[E], ats: Sequence[str], prevs: Sequence[str], stream: str) -> bytes:
        """The canonical bodies of a stream from its start, each with a line feed behind it.

        A body has no line feed of its own, so these bytes tell where each one ends.
        """
        bodies = [
            _Body(at, event, prev, seq, stream, event.NAME, FORMAT_VERSION)
            for seq, (event, at, prev) in enumerate(zip(events, ats, prevs, strict=True))
        ]
        return _ENCODER.encode_lines(bodies)

    def decode(self, body: bytes) -> EventRecord[E]:
        """A stored body of a current or an older name.  Raises BodyError that says what and where."""
        try:
            return self._decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return self._decode_older(body, error)

    def read(self, body: bytes) -> EventRecord[E] | BodyError:
        """A stored body, or what is wrong with it: for those who look at records that may have been changed."""
        try:
            return self.decode(body)
        except BodyError as error:
            return error

    def decode_stream(self, lines: bytes) -> list[EventRecord[E]]:
        """Bodies of current names, each with a line feed behind it.  Raises msgspec.DecodeError for any other."""
        return self._decoder.decode_lines(lines)

    def append_to(self, stream: str, head: tuple[int, str] | None, events: Sequence[E], at: str) -> list[Record]:
        """Records that continue a stream after its head (seq, leaf hash of its last body), None for a new stream."""
        seq, prev = (-1, CHAIN_START) if head is None else head
        records = []
        for event in events:
            seq += 1
            body = self.encode(event, at=at, prev=prev, seq=seq, stream=stream)
            records.append(Record(stream, seq, event.NAME, body))
            prev = leaf_hash(body)
        return records

    def _decode_older(self, body: bytes, error: Exception) -> EventRecord[E]:
        envelope = read_envelope(body)
        if envelope.type not in self._upcasts:
            raise BodyError(f"{envelope.type!r} event: {error}") from None
        name, upcast = self._upcasts[envelope.type]
        kind = self.types[name]
        try:
            data = msgspec.convert(upcast(msgspec.json.decode(envelope.data)), kind)
        except (msgspec.ValidationError, LookupError, TypeError, AttributeError, ValueError) as reason:
            # The upcast is ours, but what it meets may have been tampered with.
            raise BodyError(f"{envelope.type!r} event read as {name!r}: {reason}") from None
        frame = {field: getattr(envelope, field) for field in ("at", "prev", "seq", "stream", "v")}
        record: EventRecord[E] = self._records[kind](data=data, **frame)
        return record


class _Body(msgspec.Struct, frozen=True, gc=False):
    """The frame as it is written; its fields, as those of every event, stand in JCS order."""

    at: str
    data: Event
    prev: str
    seq: int
    stream: str
    type: str
    v: int


def _record_type(event: type[Event]) -> type[Any]:
    fields = [("at", str), ("data", event), ("prev", str), ("seq", int), ("stream", str), ("v", int)]
    name, tag = f"{event.__name__}Record", event.NAME
    return msgspec.defstruct(
        name, fields, tag_field="type", tag=tag, frozen=True, gc=False, forbid_unknown_fields=True
    )


_ENCODER: Final = msgspec.json.Encoder()
