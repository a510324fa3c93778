"""Hourly series: what closed rounds took and gave back, by the hour in which they ended.

By the clock of the period's time zone.  An hour that comes twice when the clocks change is two, with two offsets.

Not here: how (`series`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ops.reports.building import Body, Request
from ops.reports.definitions import series
from projections.reading import Reading

NAME: Final = "series-hourly"
VERSION: Final = 1
TITLE: Final = "Hourly series"
FILTERS: Final = frozenset({"table", "ruleset", "currency"})
NEEDS: Final = series.NEEDS


def build(reading: Reading, request: Request) -> Body:
    """By currency."""
    return series.series(reading, request, _bucket, TITLE, "Hour")


def _bucket(local: datetime) -> str:
    return f"{local:%Y-%m-%d %H}:00 {local:%z}"
