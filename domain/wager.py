"""Wagers that were accepted, and which signed checkpoint of the log each of them names.

Stream `receipt:<round id>`: one event beside each append that places boxes.  The commitment of the round lies below the
size of the checkpoint that is named, and the checkpoint below the wager: so the house was bound to its deck before it
knew the stake, and a player's receipt says where both lie.

Not here: the receipt that a player is given (`log.receipt`), holding the order against the log (`replay.checks.log`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec

from domain.codec import Codec, Event
from domain.round import events as e


class Wager(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was staked on a box; `seq` is the place of its `box-placed.v1` in the round's stream."""

    box: int
    player: str
    seq: int
    stake: int


class WagersAccepted(Event, frozen=True, gc=False):
    """The house took these wagers; `checkpoint_root` (64 hex digits) is the log's root at `checkpoint_size` leaves."""

    NAME: ClassVar[str] = "wagers-accepted.v1"

    checkpoint_root: str
    checkpoint_size: int
    round: str
    wagers: list[Wager]


CODEC: Final[Codec[WagersAccepted]] = Codec((WagersAccepted,))


def receipt_stream(round_id: str) -> str:
    """The stream beside a round whose id is these 32 hex digits."""
    return f"receipt:{round_id}"


def wagers_in(events: Sequence[e.RoundEvent], first_seq: int) -> list[Wager]:
    """The wagers among a round's events, the first of which has this seq."""
    return [
        Wager(box=event.box, player=event.player, seq=seq, stake=event.ante + event.bet + event.bonus)
        for seq, event in enumerate(events, first_seq)
        if isinstance(event, e.BoxPlaced)
    ]
