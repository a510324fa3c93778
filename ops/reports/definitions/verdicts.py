"""Verdicts: what recorded verifications and examinations came to, and every discrepancy that they found.

Not here: verifying again (`dealproof verify`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ops.reports.building import Body, Request
from ops.reports.definitions.common import Columns, at, parameters
from ops.reports.definitions.listing import Listing, plain
from ops.reports.model import Cell, Identity
from ops.reports.words import Words
from projections.reading import Reading

NAME: Final = "verdicts"
VERSION: Final = 1
TITLE: Final = "Verdicts and discrepancies"
FILTERS: Final = frozenset[str]()
NEEDS: Final = ("verdicts",)


def build(reading: Reading, request: Request) -> Body:
    """Runs, their findings, examinations of the site."""
    words = request.words

    def identities() -> list[Identity]:
        [(rounds, told)] = reading.rows(_ROUNDS, parameters(request))
        return [Identity(words("Rounds seen = verified + not checkable + with a discrepancy"), int(rounds), int(told))]

    return Body(
        tuple(plain(reading, request, each) for each in (_runs(words), _findings(words), _examinations(words))),
        identities,
    )


def _timed(row: Sequence[Any]) -> Sequence[Cell]:
    position, moment, *rest = row
    return position, at(moment), *rest


def _runs(words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.position("position", "Position"), of.time("time", "Time"), of.text("by", "By"), of.text("scope", "Scope"),
        of.position("to_position", "Up to position"), of.count("rounds", "Rounds"), of.count("verified", "Verified"),
        of.count("not_checkable", "Not checkable"), of.count("discrepancies", "With a discrepancy"),
    ]  # fmt: skip
    summed = frozenset({"rounds", "verified", "not_checkable", "discrepancies"})
    return Listing("verifications", "Verifications", columns, _RUNS, _RUNS, _timed, summed)


def _findings(words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.position("position", "Position"), of.time("time", "Time"), of.text("round", "Round"),
        of.text("check", "Check"), of.text("place", "Place"), of.text("field", "Field"),
        of.text("recorded", "Recorded"), of.text("recomputed", "Recomputed"),
    ]  # fmt: skip
    return Listing("findings", "Discrepancies", columns, _FINDINGS, _FINDINGS, _timed)


def _examinations(words: Words) -> Listing:
    of = Columns(words)
    columns = [
        of.position("position", "Position"), of.time("time", "Time"), of.text("by", "By"), of.text("status", "Status"),
        of.count("findings", "Findings"), of.text("software", "Software"), of.text("software_digest", "Digest"),
        of.text("configuration_digest", "Configuration"),
    ]  # fmt: skip
    return Listing("examinations", "Examinations", columns, _EXAMINATIONS, _EXAMINATIONS, _timed)


_RUNS: Final = """
select position, at, by, scope, to_position, rounds, verified, not_checkable, discrepancies from {verification}
where position <= %(position)s and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz order by position
"""

_FINDINGS: Final = """
select finding.position, run.at, finding.round, finding.check_name, finding.place, finding.field, finding.recorded,
    finding.recomputed
from {finding} as finding join {verification} as run using (position)
where finding.position <= %(position)s and run.at >= %(begin)s::timestamptz and run.at < %(end)s::timestamptz
order by finding.position, finding.nth
"""

_EXAMINATIONS: Final = """
select position, at, by, status, findings, software, software_digest, configuration_digest from {examination}
where position <= %(position)s and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz order by position
"""

_ROUNDS: Final = """
select coalesce(sum(rounds), 0), coalesce(sum(verified + not_checkable + discrepancies), 0) from {verification}
where position <= %(position)s and at >= %(begin)s::timestamptz and at < %(end)s::timestamptz
"""
