"""How far the projections are, and what stands in their way.

Not here: ages (whoever has a clock), printing (`ops.cli.project`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import psycopg

from domain.record import BodyError, read_envelope
from projections.reading import State

MOST_HOLES: Final = 100


class Hole(NamedTuple):
    """Positions `first` to `last` have no event, though position `behind` has one, of the time `at` (None: unreadable).

    `may_be_filled`: a transaction that began before that event's did is still open.
    """

    first: int
    last: int
    behind: int
    at: str | None
    may_be_filled: bool


class Standing(NamedTuple):
    """A projection and the journal: `waiting` events that it has not taken in, the oldest of the time `since`."""

    state: State
    waiting: int
    since: str | None

    @property
    def caught_up(self) -> bool:
        """Whether it has all there is, and nothing stands in its way."""
        return self.waiting == 0 and self.state.error is None


class Status(NamedTuple):
    """All projections at one moment; `head` is the journal's last position."""

    head: int
    standings: list[Standing]
    holes: list[Hole]

    @property
    def caught_up(self) -> bool:
        """Never with a hole."""
        return not self.holes and all(each.caught_up for each in self.standings)


def read_status(connection: psycopg.Connection[Any], names: Sequence[str]) -> Status:
    """How these projections stand; one that was never run stands before the first event, in generation 0."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("set transaction isolation level repeatable read, read only")
        [(head,)] = cursor.execute(_HEAD).fetchall()
        kept = {row[0]: State._make(row) for row in cursor.execute(_STATES).fetchall()}
        states = [kept.get(name) or State(name, 0, 0, [], 0, None, None) for name in names]
        standings = []
        for state in states:
            [(waiting,)] = cursor.execute(_WAITING, (state.position,)).fetchall()
            row = cursor.execute(_OLDEST, (state.position,)).fetchone()
            standings.append(Standing(state, waiting, None if row is None else _time(row[0])))
        lowest = min((state.position for state in states), default=0)
        rows = cursor.execute(_HOLES, (lowest, lowest, MOST_HOLES)).fetchall()
    holes = [Hole(first, last, behind, _time(body), may) for first, last, behind, body, may in rows]
    return Status(head, standings, holes)


def _time(body: bytes) -> str | None:
    try:
        return read_envelope(body).at
    except BodyError:
        return None


_STATES: Final = """
select name, generation, version, tables, position, error_position, error from projections.state order by name
"""

_HEAD: Final = "select coalesce(max(notification_id), 0) from dealproof.events"
_WAITING: Final = "select count(*) from dealproof.events where notification_id > %s"
_OLDEST: Final = "select state from dealproof.events where notification_id > %s order by notification_id limit 1"

# A transaction can fill a hole only if it began before the one that wrote behind it had ended: then the lowest one that
# is still open is not above that one's id.  Ids go around a circle of 2^32.
_HOLES: Final = """
select hole.before + 1, hole.position - 1, hole.position, event.state, mod(
    mod(pg_snapshot_xmin(pg_current_snapshot())::text::numeric, 4294967296)
        - event.xmin::text::numeric - 1 + 4294967296, 4294967296) >= 2147483648
from (
    select notification_id as position, lag(notification_id, 1, %s::bigint) over (order by notification_id) as before
    from dealproof.events where notification_id > %s
) as hole
join dealproof.events as event on event.notification_id = hole.position
where hole.position <> hole.before + 1
order by hole.position limit %s
"""
