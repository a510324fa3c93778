"""How many commands were refused, by code: counted once, then only what is new.

Refusals are never changed or taken away, and each has the time at which it was kept.  What is older than the settling
time is remembered; what is younger is counted anew at each look, so that a clock that was put back a little, or a
refusal that was committed late, loses none.

Not here: what a refusal is (`domain.round.refusals`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ops.metrics.line import Connection

SETTLING_SECONDS: Final = 300

ROWS_AT_ONCE: Final = 50_000

COUNT_SECONDS: Final = 1.0
"""Of one look for the first count; until that is complete there is no number, for half of one would be wrong."""


class Refusals:
    """The count so far.  For one thread at a time."""

    def __init__(self) -> None:
        self._settled: Counter[str] = Counter()
        self._until = datetime(1970, 1, 1, tzinfo=UTC)

    def count(self, connection: Connection) -> Mapping[str, int] | None:
        """Refusals by code; None while the first count goes on."""
        enough = time.monotonic() + COUNT_SECONDS
        while self._settle(connection) >= ROWS_AT_ONCE:
            if time.monotonic() >= enough:
                return None
        recent = connection.execute(_RECENT, (self._until,)).fetchall()
        return self._settled + Counter(_by_code(recent))

    def _settle(self, connection: Connection) -> int:
        """Remember the next refusals that are old enough; how many they were."""
        rows = connection.execute(_SETTLING, (self._until, SETTLING_SECONDS, ROWS_AT_ONCE)).fetchall()
        if rows:
            self._settled.update(_by_code(rows))
            self._until = max(newest for _, _, newest in rows)
        return sum(count for _, count, _ in rows)


def _by_code(rows: list[tuple[Any, ...]]) -> dict[str, int]:
    return {code: count for code, count, *_ in rows}


# With ties: two refusals of the same microsecond are not torn apart.
_SETTLING: Final = """
select code, count(*), max(recorded_at) from (
    select convert_from(reply, 'UTF8')::json ->> 'code' as code, recorded_at from dealproof.refusals
    where recorded_at > %s and recorded_at <= now() - make_interval(secs => %s)
    order by recorded_at fetch first %s rows with ties
) as refusal
group by code
"""

_RECENT: Final = """
select convert_from(reply, 'UTF8')::json ->> 'code', count(*) from dealproof.refusals
where recorded_at > %s group by 1
"""
