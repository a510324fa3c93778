"""The wall clock and what is made from it: event times and round ids.

Not here: any decision; domain and replay get times as arguments.
"""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> str:
    """The time in the record's format, UTC to the millisecond."""
    return as_text(time.time_ns() // 1_000_000)


def as_text(milliseconds: int) -> str:
    """Milliseconds since 1970 in the record's format."""
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


def milliseconds(text: str) -> int:
    """A time in the record's format as milliseconds since 1970."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)


def new_round_id() -> bytes:
    """A UUIDv7 (RFC 9562 section 5.7): 48 bits of time in milliseconds, then random bits."""
    return round_id_at(time.time_ns() // 1_000_000, secrets.token_bytes(10))


def round_id_at(milliseconds: int, random: bytes) -> bytes:
    """The UUIDv7 of a moment with ten random bytes."""
    value = bytearray(milliseconds.to_bytes(6, "big") + random)
    value[6] = 0x70 | value[6] & 0x0F
    value[8] = 0x80 | value[8] & 0x3F
    return bytes(value)
