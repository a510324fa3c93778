"""Daily series: what closed rounds took and gave back, by the day in which they ended.

By the clock of the period's time zone.  The day on which the clocks change has 23 or 25 hours.

Not here: how (`series`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ops.reports.building import Body, Request
from ops.reports.definitions import series
from projections.reading import Reading

NAME: Final = "series-daily"
VERSION: Final = 1
TITLE: Final = "Daily series"
FILTERS: Final = frozenset({"table", "ruleset", "currency"})
NEEDS: Final = series.NEEDS


def build(reading: Reading, request: Request) -> Body:
    """By currency."""
    return series.series(reading, request, _bucket, TITLE, "Day")


def _bucket(local: datetime) -> str:
    return f"{local:%Y-%m-%d}"
