"""What the hourly and the daily series share: sums of quarters put into the hours or days of the period's time zone.

Not here: their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from ops.reports.building import Body, Request
from ops.reports.definitions import performance_sums as sums
from ops.reports.definitions.common import Columns, Key, added, empty, keys_of, ratio, section, who, with_totals
from ops.reports.model import Cell, Chart, Column, Identity
from ops.reports.words import Words, plain_money
from projections.reading import Reading

Bucket = Callable[[datetime], str]
"""From a local time to the name of its hour or day."""

NEEDS: Final = sums.NEEDS


def series(reading: Reading, request: Request, bucket: Bucket, title: str, bucket_title: str) -> Body:
    """By currency: a row an hour or a day with rounds that closed, and a chart of turnover and GGR."""
    words = request.words
    zone = ZoneInfo(request.period.zone)
    by_bucket: dict[Key, dict[str, list[int]]] = {}
    quarters = sums.revenue_sums(reading, request, by_quarter=True)
    # In the order of time: an hour that comes twice has names that are not.
    for place, row in sorted(quarters.items(), key=lambda each: str(each[0].quarter)):
        local = datetime.fromisoformat(str(place.quarter)).astimezone(zone)
        own = by_bucket.setdefault((place.currency, place.test), {})
        name = bucket(local)
        own[name] = added([row[:5], own.get(name, [0] * 5)], 5)
    whole = sums.revenue_sums(reading, request)
    keys = keys_of(by_bucket)

    def identities() -> list[Identity]:
        return [_identity(words, key, by_bucket[key], whole) for key in keys]

    columns = _columns(words, bucket_title)
    sections = [
        section(words, "series", title, key, columns, lambda key=key: with_totals(  # type: ignore[misc]
            _rows(by_bucket[key]), _cells, words("Total")))
        for key in keys
    ]  # fmt: skip
    charts = tuple(_chart(words, key, by_bucket[key], title) for key in keys)
    return Body(tuple(sections) or (empty(words, "series", title, columns),), identities, charts)


def _columns(words: Words, bucket_title: str) -> list[Column]:
    of = Columns(words)
    return [
        of.text("time", bucket_title), of.count("rounds", "Rounds"), of.count("boxes", "Boxes"),
        of.money("turnover", "Turnover"), of.money("fees", "of it fees"), of.money("returned", "Returned"),
        of.money("ggr", "GGR"), of.ratio("hold_on_turnover", "Hold on turnover"),
    ]  # fmt: skip


def _rows(buckets: dict[str, list[int]]) -> list[tuple[tuple[str, ...], list[int]]]:
    return [((name,), row) for name, row in buckets.items()]


def _cells(row: Sequence[int]) -> Sequence[Cell]:
    rounds, boxes, turnover, fees, returned = row
    return rounds, boxes, turnover, fees, returned, turnover - returned, ratio(turnover - returned, turnover)


def _identity(words: Words, key: Key, buckets: dict[str, list[int]], whole: dict[Any, list[int]]) -> Identity:
    left = added(buckets.values(), 5)
    right = added((row for place, row in whole.items() if (place.currency, place.test) == key), 10)
    sentence = words("Turnover of the series = turnover of the period's games ({who})", who=who(words, key))
    return Identity(sentence, left[2], right[sums.TURNOVER], key[0])


def _chart(words: Words, key: Key, buckets: dict[str, list[int]], title: str) -> Chart:
    currency, test = key
    turnover, ggr = words("Turnover"), words("GGR")
    values = [
        # A drawing is no account: here, and only here, an amount is read as a number with a point.
        {"time": name, "kind": kind, "amount": float(plain_money(amount, currency))}
        for name, row in buckets.items()
        for kind, amount in ((turnover, row[2]), (ggr, row[2] - row[4]))
    ]
    said = f"{words(title)}, {who(words, key)}"
    specification = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "title": said, "width": 820, "height": 220,
        "data": {"values": values}, "mark": {"type": "bar"},
        "encoding": {
            "x": {"field": "time", "type": "ordinal", "title": None, "axis": {"labelAngle": -60, "labelOverlap": True}},
            "xOffset": {"field": "kind", "sort": [turnover, ggr]},
            "y": {"field": "amount", "type": "quantitative", "title": currency},
            "color": {"field": "kind", "sort": [turnover, ggr], "title": None},
        },
        "config": {"font": "DejaVu Sans"},
    }  # fmt: skip
    return Chart(f"{'test-' if test else ''}{currency}", said, specification)
