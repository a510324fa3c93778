"""Round events to stored bodies and back: the codec of round streams.

Format: docs/formats/event-record.md.

Not here: how a codec works (`domain.codec`), the chain over several events (`record` has the link).
"""

from __future__ import annotations

from typing import Final

from domain import codec
from domain.codec import Codec, Upcast
from domain.round.events import ROUND_EVENTS, RoundEvent

EventRecord = codec.EventRecord[RoundEvent]
"""A decoded body of a round's stream."""

UPCASTS: dict[str, tuple[str, Upcast]] = {}
"""Older stored name -> (current name, how its data reads today).  Nothing has been superseded yet."""

_CODEC: Final[Codec[RoundEvent]] = Codec(ROUND_EVENTS, UPCASTS)

encode = _CODEC.encode
encode_stream = _CODEC.encode_stream
decode = _CODEC.decode
read = _CODEC.read
decode_stream = _CODEC.decode_stream
append_to = _CODEC.append_to
