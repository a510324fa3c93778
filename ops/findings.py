"""Findings of a long look at a whole journal: all are counted, the first ones kept.

Not here: what is found (`ops.accounts_proof`, `ops.log.audit`, `ops.day_proof`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from replay.verdict import Discrepancy

MOST_FINDINGS: Final = 10_000
"""A journal that is wrong throughout is as wrong after these."""


class Findings:
    """`kept` are the first ones, `count` is how many there were."""

    def __init__(self) -> None:
        self.kept: list[Discrepancy] = []
        self.count = 0

    def add(self, found: Iterable[Discrepancy]) -> None:
        """Count them, and keep them while there is room."""
        for finding in found:
            self.count += 1
            if self.count <= MOST_FINDINGS:
                self.kept.append(finding)
