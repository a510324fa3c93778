"""Round events to stored bodies and back; old stored names are read as today's events.

Format: docs/formats/event-record.md.  One decoder for all events: the stored name tags a union of records.  Upcasting
changes what we read, never what we hash: the bytes stay as they were written.

Not here: the chain over several events (`record` has the link), the store (`ops.journal`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, Union

import msgspec

from domain.record import CHAIN_START, FORMAT_VERSION, BodyError, Record, leaf_hash, read_envelope
from domain.round.events import EVENT_TYPES, ROUND_EVENTS, RoundEvent


class EventRecord(Protocol):
    """A decoded body: the frame of every event with its data."""

    @property
    def at(self) -> str: ...
    @property
    def data(self) -> RoundEvent: ...
    @property
    def prev(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def stream(self) -> str: ...
    @property
    def v(self) -> int: ...


def encode(event: RoundEvent, *, at: str, prev: str, seq: int, stream: str) -> bytes:
    """The canonical body of an event."""
    return _ENCODER.encode(_Body(at, event, prev, seq, stream, event.NAME, FORMAT_VERSION))


def encode_stream(events: Sequence[RoundEvent], ats: Sequence[str], prevs: Sequence[str], stream: str) -> bytes:
    """The canonical bodies of a stream from its start, each with a line feed behind it.

    A body has no line feed of its own, so these bytes tell where each one ends.
    """
    bodies = [
        _Body(at, event, prev, seq, stream, event.NAME, FORMAT_VERSION)
        for seq, (event, at, prev) in enumerate(zip(events, ats, prevs, strict=True))
    ]
    return _ENCODER.encode_lines(bodies)


class _Body(msgspec.Struct, frozen=True, gc=False):
    """The frame as it is written; its fields, as those of every event, stand in JCS order."""

    at: str
    data: RoundEvent
    prev: str
    seq: int
    stream: str
    type: str
    v: int


def decode(body: bytes) -> EventRecord:
    """A stored body of a current or an older name.  Raises BodyError that says what and where."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _decode_older(body, error)


def decode_stream(lines: bytes) -> list[EventRecord]:
    """Bodies of current names, each with a line feed behind it.  Raises msgspec.DecodeError for any other."""
    return _DECODER.decode_lines(lines)


def append_to(stream: str, head: tuple[int, str] | None, events: list[RoundEvent], at: str) -> list[Record]:
    """Records that continue a stream after its head (seq, leaf hash of its last body), None for a new stream."""
    seq, prev = (-1, CHAIN_START) if head is None else head
    records = []
    for event in events:
        seq += 1
        body = encode(event, at=at, prev=prev, seq=seq, stream=stream)
        records.append(Record(stream, seq, event.NAME, body))
        prev = leaf_hash(body)
    return records


Upcast = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTS: dict[str, tuple[str, Upcast]] = {}
"""Older stored name -> (current name, how its data reads today).  Nothing has been superseded yet."""


def _decode_older(body: bytes, error: Exception) -> EventRecord:
    envelope = read_envelope(body)
    if envelope.type not in UPCASTS:
        raise BodyError(f"{envelope.type!r} event: {error}") from None
    name, upcast = UPCASTS[envelope.type]
    kind = EVENT_TYPES[name]
    try:
        data = msgspec.convert(upcast(msgspec.json.decode(envelope.data)), kind)
    except (msgspec.ValidationError, LookupError, TypeError, AttributeError, ValueError) as reason:
        # The upcast is ours, but what it meets may have been tampered with.
        raise BodyError(f"{envelope.type!r} event read as {name!r}: {reason}") from None
    frame = {field: getattr(envelope, field) for field in ("at", "prev", "seq", "stream", "v")}
    record: EventRecord = _RECORD_TYPES[kind](data=data, **frame)
    return record


def _record_type(event: type[RoundEvent]) -> type[Any]:
    fields = [("at", str), ("data", event), ("prev", str), ("seq", int), ("stream", str), ("v", int)]
    name, tag = f"{event.__name__}Record", event.NAME
    return msgspec.defstruct(
        name, fields, tag_field="type", tag=tag, frozen=True, gc=False, forbid_unknown_fields=True
    )


_RECORD_TYPES: Final[dict[type[RoundEvent], type[Any]]] = {event: _record_type(event) for event in ROUND_EVENTS}
_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final[msgspec.json.Decoder[EventRecord]] = msgspec.json.Decoder(Union[tuple(_RECORD_TYPES.values())])  # noqa: UP007 - made from a tuple
