"""The journal's end, and how far behind it whoever reads along is: each projection, the log, the holes they wait at.

Every query here costs the same on a long journal as on a short one: the last event, the state of the projections, and
for each place where a reader stands the one event behind it.  So a hole is seen when a reader has come to it.

Not here: every hole with its cause, and what else waits (`projections.status`), holes that all have passed (`replay`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from domain.record import BodyError, read_envelope
from ops import clock
from ops.metrics.line import Connection
from projections.catalogue import VERSIONS


class Reader(NamedTuple):
    """Where somebody stands who reads along; `since`: the time of the oldest event he has not read.

    Times are milliseconds since 1970; None where nothing waits, or where the event's can't be read.
    """

    position: int
    waiting: int
    since: int | None


class Projection(NamedTuple):
    """`trouble`: why it goes no further, None while it does; without anybody's name in it."""

    name: str
    reader: Reader
    stopped: bool
    trouble: str | None


class Hole(NamedTuple):
    """A reader waits at a position without an event, though there is one further on, of the time `at`."""

    position: int
    at: int | None


@dataclass(frozen=True)
class JournalSeen:
    """`head`: position of the last event; `log`: how far the log is, None without one."""

    head: int
    projections: tuple[Projection, ...]
    log: Reader | None
    holes: tuple[Hole, ...]


def look_at_journal(connection: Connection, log_size: int | None) -> JournalSeen:
    """Who stands where, with what the log has, which was read before.  Raises psycopg.Error."""
    # The readers first: what is appended meanwhile makes them look further behind than they are, never ahead.
    states = {name: _State(*rest) for name, *rest in connection.execute(_STATES).fetchall()}
    readers = {state.position for state in states.values()} | (set() if log_size is None else {log_size})
    [(head,)] = connection.execute(_HEAD).fetchall()
    rows = connection.execute(_NEXT, (sorted(readers | {0}),)).fetchall()
    behind = {place: _Next(position, _time(body)) for place, position, body in rows}
    return JournalSeen(
        head,
        tuple(_projection(name, states.get(name), head, behind) for name in VERSIONS),
        None if log_size is None else _reader(log_size, head, behind),
        tuple(Hole(place + 1, behind[place].at) for place in sorted(readers) if _is_hole(place, behind)),
    )


class _State(NamedTuple):
    version: int
    position: int
    stopped: bool


class _Next(NamedTuple):
    position: int
    at: int | None


def _projection(name: str, state: _State | None, head: int, behind: Mapping[int, _Next]) -> Projection:
    if state is None:
        return Projection(name, _reader(0, head, behind), False, "was never run")
    return Projection(name, _reader(state.position, head, behind), state.stopped, _trouble(name, state))


def _trouble(name: str, state: _State) -> str | None:
    if state.version != VERSIONS[name]:
        return f"its tables are of definition {state.version}, this program has {VERSIONS[name]}"
    return f"stopped behind position {state.position}" if state.stopped else None


def _reader(position: int, head: int, behind: Mapping[int, _Next]) -> Reader:
    following = behind.get(position)
    return Reader(position, max(head - position, 0), None if following is None else following.at)


def _is_hole(place: int, behind: Mapping[int, _Next]) -> bool:
    return place in behind and behind[place].position > place + 1


def _time(body: Any) -> int | None:
    try:
        return clock.milliseconds(read_envelope(bytes(body)).at)
    except (BodyError, ValueError):
        return None


_STATES: Final = "select name, version, position, error is not null from projections.state"

_HEAD: Final = "select coalesce(max(notification_id), 0) from dealproof.events"

_NEXT: Final = """
select place, following.notification_id, following.state
from unnest(%s::bigint[]) as place cross join lateral (
    select notification_id, state from dealproof.events
    where notification_id > place order by notification_id limit 1
) as following
"""
