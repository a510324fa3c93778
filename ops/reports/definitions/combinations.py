"""Combinations dealt: how often each came to the dealer, to the boxes at their settlement, to a bonus's five cards.

Closed rounds; a box that folded showed no hand.  Cards know no accounts, so test rounds are among them.

Not here: how often they should come.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from domain.hands import COMBINATION_BY_NAME
from ops.reports.building import Body, Request
from ops.reports.definitions.common import Columns, parameters, section
from ops.reports.model import Identity, Row, Weight
from projections.reading import Reading

NAME: Final = "combinations"
VERSION: Final = 1
TITLE: Final = "Combinations dealt"
FILTERS: Final = frozenset({"table", "ruleset"})
NEEDS: Final = ("combinations", "rounds", "performance")

HANDS: Final = {"dealer": "The dealer", "box": "Boxes", "bonus": "Bonus, first five cards"}


def build(reading: Reading, request: Request) -> Body:
    """A table for each kind of hand, the rarest combination last."""
    words, counts = request.words, _counts(reading, request)
    of = Columns(words)
    columns = [of.text("combination", "Combination"), of.count("count", "Count"), of.ratio("share", "Share")]
    sections = tuple(
        section(words, hand, title, None, columns, lambda hand=hand: _rows(request, hand, counts))  # type: ignore[misc]
        for hand, title in HANDS.items()
    )

    def identities() -> list[Identity]:
        [(rounds,)] = reading.rows(_CLOSED, parameters(request))
        shown = sum(count for (hand, _), count in counts.items() if hand == "dealer")
        [(hidden,)] = reading.rows(_NOT_SHOWN, parameters(request))
        return [Identity(words("Dealer's hands shown = closed rounds in which he showed one"), shown, rounds - hidden)]

    return Body(sections, identities)


def _counts(reading: Reading, request: Request) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for hand, combination, count in reading.rows(_BLOCKS, parameters(request)):
        counts[hand, combination] += int(count)
    for (parts,) in reading.rows(_REST, parameters(request)):
        for hand, combination, count in json.loads(parts)["combinations"]:
            counts[hand, combination] += count
    return counts


def _rows(request: Request, hand: str, counts: Counter[tuple[str, str]]) -> Iterator[Row]:
    own = {name: count for (of, name), count in counts.items() if of == hand}
    total = sum(own.values())
    for name in sorted(own, key=_strength):
        yield Row((request.words(name.replace("_", " ")), own[name], Fraction(own[name], total)))
    if total:
        yield Row((request.words("Total"), total, Fraction(1)), Weight.TOTAL)


def _strength(name: str) -> tuple[int, str]:
    combination = COMBINATION_BY_NAME.get(name)
    return (99, name) if combination is None else (int(combination), name)


_BLOCKS: Final = """
select hand, combination, sum(count) from {combination}
where block < %(block)s and quarter >= %(begin)s::timestamptz and quarter < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
group by hand, combination
"""

_REST: Final = """
select parts from {round}
where ended_position >= %(block_begin)s and ended_position <= %(position)s and ending = 'closed'
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
"""

_CLOSED: Final = """
select count(*) from {round}
where ended_position <= %(position)s and ending = 'closed'
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
"""

_NOT_SHOWN: Final = """
select count(*) from {round}
where ended_position <= %(position)s and ending = 'closed' and dealer_shown_at is null
and ended_at >= %(begin)s::timestamptz and ended_at < %(end)s::timestamptz
and (%(table)s::text is null or table_name = %(table)s) and (%(ruleset)s::text is null or ruleset = %(ruleset)s)
"""
