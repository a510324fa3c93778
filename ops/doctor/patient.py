"""What an examination looks at, and the form in which each control answers.

Not here: the controls themselves (the other modules), which there are (`controls`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString, NamedTuple

import psycopg

from domain.doctor import Configuration, DoctorReported, Software
from ops.journal import Journal
from ops.settings import Settings


class Before(NamedTuple):
    """The examination recorded last."""

    at: str
    report: DoctorReported


@dataclass(frozen=True)
class Patient:
    """An installation at one moment.

    `connection` is in one read-only transaction of one snapshot; `now` gives this machine's time as a record has it.
    `before` is None where nothing is recorded yet, and a text where the last record can't be read.
    """

    connection: psycopg.Connection[tuple[Any, ...]]
    settings: Settings
    journal: Journal
    now: Callable[[], str]
    software: Software
    configuration: Configuration
    before: Before | str | None

    def rows(self, query: LiteralString, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of one statement."""
        return self.connection.execute(query, parameters).fetchall()


@dataclass(frozen=True)
class Found:
    """What a control found: lines to mend, lines to know, and lines about what could not be looked at."""

    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
