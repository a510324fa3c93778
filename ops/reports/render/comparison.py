"""A comparison of a report with itself as of a later position, in lines for people or as values for JSON.

Not here: what is compared (`ops.reports.comparing`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from ops.reports.comparing import Change, Step
from ops.reports.model import Frame, Weight
from ops.reports.render.cells import for_machines, for_people
from ops.reports.words import Words

SHOWN_EVENTS: Final = 6
"""Of an append, for people."""


class ForPeople:
    """Lines in a language, with times by the clock of the report's zone."""

    def __init__(self, frame: Frame, words: Words) -> None:
        self._frame, self._words = frame, words

    def head(self, later: int, changes: list[Change]) -> Iterator[str]:
        """All that differs."""
        first = self._frame.position
        between = self._words("as of {first} and as of {last}", first=first, last=later)
        yield f"{self._frame.title}: {between}"
        if not changes:
            yield self._words("Nothing differs.")
        yield from self._changes(changes)

    def step(self, step: Step) -> Iterator[str]:
        """The append that did it, then what it did."""
        first, last = step.positions
        yield ""
        if step.whole:
            at = self._words.time(step.events[0].at, self._frame.zone)
            yield self._words("Positions {first} to {last}, {at}", first=first, last=last, at=at)
            yield from self._events(step)
        else:
            yield self._words("All else, from position {first} to {last}:", first=first, last=last)
        yield from self._changes(step.changes)

    def _events(self, step: Step) -> Iterator[str]:
        for each in step.events[:SHOWN_EVENTS]:
            who = "" if each.by is None else f", {each.by}"
            why = "" if each.reason is None else f": {each.reason}"
            yield f"  {each.name} {each.stream}{who}{why}"
        more = len(step.events) - SHOWN_EVENTS
        if more > 0:
            yield f"  … +{more}"

    def _changes(self, changes: list[Change]) -> Iterator[str]:
        """A line a row: every cell that differs."""
        by_row: dict[tuple[str, str | None, str, Weight], list[Change]] = defaultdict(list)
        for change in changes:
            by_row[change.section.name, change.section.currency, change.row, change.weight].append(change)
        for (_, currency, row, _), cells in by_row.items():
            title = cells[0].section.title if currency is None else f"{cells[0].section.title}, {currency}"
            yield f"    {title} | {row} | {'; '.join(self._cell(change) for change in cells)}"

    def _cell(self, change: Change) -> str:
        before, after = (
            for_people(cell, change.column, change.section, self._frame, self._words) or "-"
            for cell in (change.before, change.after)
        )
        return f"{change.column.title} {before} → {after}"


def head_for_machines(frame: Frame, later: int, changes: list[Change]) -> dict[str, Any]:
    """The first object."""
    return {
        "report": frame.name, "begin": frame.begin, "end": frame.end, "from_position": frame.position,
        "to_position": later, "same": not changes, "changes": [_as_json(change) for change in changes],
    }  # fmt: skip


def step_for_machines(step: Step) -> dict[str, Any]:
    """An object an append."""
    return {
        "first_position": step.positions[0], "last_position": step.positions[1], "one_append": step.whole,
        "events": [each._asdict() for each in step.events],
        "changes": [_as_json(change) for change in step.changes],
    }  # fmt: skip


def _as_json(change: Change) -> dict[str, Any]:
    before, after = (
        None if cell is None else for_machines(cell, change.column, change.section)
        for cell in (change.before, change.after)
    )
    return {
        "section": change.section.name, "currency": change.section.currency, "weight": change.weight,
        "row": change.row, "column": change.column.name, "before": before, "after": after,
    }  # fmt: skip
