"""Every kind of stream there is, and the codec that reads its events.

The kind is the first part of a stream's name: `round:018f…` is of the kind `round`.

Not here: what the events mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from domain import account, activation, day, doctor, jackpot, table, verification, wager
from domain.access import ACCESS_CODEC, KEY_CODEC
from domain.codec import EventRecord
from domain.log import events as log_keys
from domain.round import codec as rounds

Decode = Callable[[bytes], EventRecord[Any]]

DECODERS: Final[dict[str, Decode]] = {
    "access": ACCESS_CODEC.decode,
    "account": account.CODEC.decode,
    "days": day.CODEC.decode,
    "doctor": doctor.CODEC.decode,
    "jackpot": jackpot.CODEC.decode,
    "key": KEY_CODEC.decode,
    "log": log_keys.CODEC.decode,
    "receipt": wager.CODEC.decode,
    "round": rounds.decode,
    "ruleset": activation.CODEC.decode,
    "table": table.CODEC.decode,
    "verification": verification.CODEC.decode,
}
"""Kind -> stored body to event; each raises BodyError."""
