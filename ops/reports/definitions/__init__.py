"""The reports there are, by name; each is imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import Final, cast

from ops.reports.building import Definition, ReportError

REPORTS: Final[dict[str, str]] = {
    name: f"ops.reports.definitions.{name.replace('-', '_')}"
    for name in (
        "gaming-revenue",
        "game-performance",
        "insurance-and-purchase",
        "series-hourly",
        "series-daily",
        "combinations",
        "player-account-summary",
        "player-statement",
        "cash-history",
        "game-history",
        "ledger",
        "jackpot",
        "pending-rounds",
        "voids-and-adjustments",
        "exceptions",
        "large-wins",
        "verdicts",
    )
}


def definition(name: str) -> Definition:
    """Raises ReportError for a name that is none."""
    if name not in REPORTS:
        raise ReportError(f"report {name!r}: there is none; there are {', '.join(REPORTS)}")
    return cast(Definition, importlib.import_module(REPORTS[name]))
