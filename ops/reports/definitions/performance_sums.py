"""Sums of closed rounds as of a position: whole blocks from the projection, the rest of the last one from its rounds.

Not here: which sums a report shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ops.reports.building import Request
from ops.reports.definitions.common import parameters
from projections.projection import quarter_of
from projections.reading import Reading

NEEDS: Final = ("performance", "rounds")


class Place(NamedTuple):
    """Where rounds were closed; `quarter` is None where times don't matter."""

    currency: str
    test: bool
    table: str
    ruleset: str
    quarter: str | None


ROUNDS, BOXES, TURNOVER, FEES, RETURNED, CONTRIBUTED, WON, SQUARES = 0, 1, 2, 3, 4, 5, 6, 7
"""Places in a row of `revenue_sums`; three squares follow: turnover², turnover x returned, returned²."""

W_ROUNDS, W_BETS, W_TURNOVER, W_RETURNED, W_SQUARES = 0, 1, 2, 3, 4
"""Places in a row of `wager_sums`."""


def revenue_sums(reading: Reading, request: Request, *, by_quarter: bool = False) -> dict[Place, list[int]]:
    """Place -> rounds, boxes, turnover, fees, returned, jackpot contributed, jackpot won, the three squares."""
    sums: dict[Place, list[int]] = {}
    query = _REVENUE_BY_QUARTER if by_quarter else _REVENUE
    for currency, test, table, ruleset, quarter, *row in reading.rows(query, parameters(request)):
        _add(sums, Place(currency, test, table, ruleset, quarter), [int(number) for number in row])
    for place, parts in _rest(reading, request, by_quarter):
        for test in (False, True):
            boxes = [box for box in parts["boxes"] if box[3] is test]
            if boxes:
                staked, fees, returned, contributed, won = (sum(box[n] for box in boxes) for n in range(4, 9))
                row = [1, len(boxes), staked, fees, returned, contributed, won, *_squares(staked, returned)]
                _add(sums, place._replace(test=test), row)
    return sums


def wager_sums(reading: Reading, request: Request) -> dict[tuple[Place, str, str], list[int]]:
    """(Place, box mode, wager) -> rounds, bets, turnover, returned, the three squares."""
    sums: dict[tuple[Place, str, str], list[int]] = {}
    for currency, test, table, ruleset, mode, wager, *row in reading.rows(_WAGERS, parameters(request)):
        _add(sums, (Place(currency, test, table, ruleset, None), mode, wager), [int(number) for number in row])
    for place, parts in _rest(reading, request, False):
        for test, mode, wager, bets, staked, returned in parts["wagers"]:
            row = [1, bets, staked, returned, *_squares(staked, returned)]
            _add(sums, (place._replace(test=test), mode, wager), row)
    return sums


def _rest(reading: Reading, request: Request, by_quarter: bool) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """The closed rounds of the last block, up to the position, with their parts."""
    for currency, table, ruleset, at, parts in reading.rows(_REST, parameters(request)):
        quarter = quarter_of(at) if by_quarter else None
        yield Place(currency, False, table, ruleset, quarter), json.loads(parts)


def _squares(staked: int, returned: int) -> tuple[int, int, int]:
    return staked * staked, staked * returned, returned * returned


def _add(sums: dict[Any, list[int]], key: Any, row: list[int]) -> None:
    kept = sums.get(key)
    sums[key] = row if kept is None else [one + other for one, other in zip(kept, row, strict=True)]


_REVENUE: Final = """
select currency, test, table_name, ruleset, null, sum(rounds), sum(boxes), sum(turnover), sum(fees), sum(returned),
    sum(jackpot_contributed), sum(jackpot_won), sum(turnover_squared), sum(turnover_returned), sum(returned_squared)
from {revenue}
where block < %(block)s and quarter >= %(begin)s::timestamptz and quarter < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
and (%(currency)s::text is null or currency = %(currency)s)
group by currency, test, table_name, ruleset
"""

_REVENUE_BY_QUARTER: Final = """
select currency, test, table_name, ruleset, to_char(quarter at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    sum(rounds), sum(boxes), sum(turnover), sum(fees), sum(returned),
    sum(jackpot_contributed), sum(jackpot_won), sum(turnover_squared), sum(turnover_returned), sum(returned_squared)
from {revenue}
where block < %(block)s and quarter >= %(begin)s::timestamptz and quarter < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
and (%(currency)s::text is null or currency = %(currency)s)
group by currency, test, table_name, ruleset, quarter
"""

_WAGERS: Final = """
select currency, test, table_name, ruleset, mode, wager, sum(rounds), sum(bets), sum(turnover), sum(returned),
    sum(turnover_squared), sum(turnover_returned), sum(returned_squared)
from {wager_performance}
where block < %(block)s and quarter >= %(begin)s::timestamptz and quarter < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
and (%(currency)s::text is null or currency = %(currency)s)
group by currency, test, table_name, ruleset, mode, wager
"""

_REST: Final = """
select currency, table_name, ruleset, to_char(ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), parts
from {round}
where ended_position >= %(block_begin)s and ended_position <= %(position)s and ending = 'closed'
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
and (%(currency)s::text is null or currency = %(currency)s)
"""
