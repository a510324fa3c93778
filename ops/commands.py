"""Carry a command out exactly once: decide, append, and give the same answer whenever it is asked again.

A command has an id that its sender chose.  What it led to is in the journal under that id; where it was refused, the
refusal is kept instead.  Losing a race (StreamConflict) means: read again, decide again.  So a retry after a lost
answer, a doubled request or a restart never does a thing twice, and never does what was refused before.

Not here: what commands there are (`ops.cashier`, `ops.pit`, `ops.floor`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from domain.codec import Codec, E
from domain.record import Record, is_record_text, leaf_hash
from domain.round.refusals import Refusal
from ops import clock
from ops.journal import (
    Appended,
    CommandRefused,
    Journal,
    JournalError,
    RoundIdentity,
    RoundTaken,
    Stored,
    StreamConflict,
)

TRIES: Final = 60
"""So many lost races make a command give up: each means that another one went through."""


class Command(NamedTuple):
    """A request to change something: its id, the bytes that say what is asked for, and who asks (for the record)."""

    id: str
    request: bytes
    by: str


class Plan(NamedTuple):
    """What a command wants to append."""

    records: list[Record]
    rounds: Sequence[RoundIdentity] = ()


class Carried(NamedTuple):
    """What a command led to, now or (`repeated`) when it was asked first, and where it stands in the journal."""

    records: list[Record]
    repeated: bool
    positions: tuple[int, ...] = ()

    @property
    def last(self) -> Stored:
        """The last event of what it led to; where it stands in the journal is not known."""
        return Stored(0, self.records[-1])


class Busy(JournalError):
    """A command lost every race; nothing was done, and it may be repeated."""


def carry_out(journal: Journal, command: Command, decide: Callable[[bool], Plan | Refusal]) -> Carried | Refusal:
    """Carry a command out.  `decide(True)` must look at the journal afresh; `decide(False)` may work from memory.

    Raises CommandMismatch where the id was used for another request, JournalUnavailable (repeat it), Busy.
    """
    fresh = False
    for _ in range(TRIES):
        planned = decide(fresh)
        if isinstance(planned, Refusal):
            if fresh:
                return _refuse(journal, command, planned)
            fresh = True  # memory may be behind the journal, and a refusal is for good
            continue
        try:
            # A crash right after this leaves the command done; its sender asks again and gets the answer.
            appended = journal.append(command.id, command.request, planned.records, planned.rounds)
        except (StreamConflict, RoundTaken):
            fresh = True
            continue
        except CommandRefused:
            return _KEPT.decode(journal.refused(command.id, command.request) or b"")
        if not appended.repeated:
            return Carried(planned.records, False, appended.positions)
        return _again(journal, appended)
    raise Busy(f"command {command.id}: others were faster {TRIES} times; nothing was done")


def carry_out_one(
    journal: Journal,
    command: Command,
    codec: Codec[E],
    stream: str,
    decide: Callable[[Stored | None], E | Refusal],
    at: str | None = None,
) -> Carried | Refusal:
    """Carry out a command that leads to one event at the end of one stream, decided from the newest one there.

    `at`: the event's time, else the time of each try; it never runs backwards in the stream.  Raises what `carry_out`
    does.
    """

    def plan(_: bool) -> Plan | Refusal:
        stored = newest(journal, stream)
        event = decide(stored)
        if isinstance(event, Refusal):
            return event
        moment = clock.now() if at is None else at
        if stored is None:
            return Plan(codec.append_to(stream, None, [event], moment))
        moment = max(moment, codec.decode(stored.record.body).at)
        return Plan(codec.append_to(stream, head_of(stored.record), [event], moment))

    return carry_out(journal, command, plan)


def _refuse(journal: Journal, command: Command, refusal: Refusal) -> Carried | Refusal:
    """The refusal that stands, or what the command led to when it was carried out before."""
    # A crash right after this leaves the refusal kept: a retry gets it.
    standing = journal.refuse(command.id, command.request, _REFUSAL.encode(refusal))
    if standing is not None:
        return _KEPT.decode(standing)
    appended = journal.answered(command.id, command.request)
    if appended is None:
        raise JournalError(f"command {command.id}: neither refused nor carried out")
    return _again(journal, appended)


def _again(journal: Journal, appended: Appended) -> Carried:
    stored = journal.read_positions(appended.positions)
    return Carried([each.record for each in stored], True, tuple(each.position for each in stored))


def newest(journal: Journal, stream: str) -> Stored | None:
    """The newest event of a stream, None if there is none: nor is there one whose name no record can hold."""
    if "\0" in stream or not is_record_text(stream):
        return None
    return journal.heads([stream]).get(stream)


_REFUSAL: Final = msgspec.json.Encoder()
_KEPT: Final = msgspec.json.Decoder(Refusal)


def head_of(record: Record) -> tuple[int, str]:
    """What the next event of a stream is chained to."""
    return record.seq, leaf_hash(record.body)
