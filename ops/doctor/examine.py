"""Examine an installation, and record what came out.

    report = examine(url, settings, journal)
    record(journal, report, by="Ann")

On demand (`dealproof doctor`) and daily.  Each control looks for itself: one that can't be looked at, for want of a
right or through an error of the database, says so and leaves the others alone.

Not here: the controls (`catalogue`, `roles`, `server`, `files`, `software`, `journal`), their words (`controls`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import psycopg

from domain.doctor import CODEC, DOCTOR, Configuration, ControlExamined, ControlStatus, DoctorReported, Software
from domain.record import BodyError, canonical_json
from ops import clock, database
from ops.commands import Carried, Command, carry_out_one, newest
from ops.doctor import controls as c
from ops.doctor.catalogue import (
    examine_functions,
    examine_grants,
    examine_revision,
    examine_schema,
    examine_triggers,
)
from ops.doctor.files import examine_key_files
from ops.doctor.journal import examine_journal
from ops.doctor.patient import Before, Found, Patient
from ops.doctor.roles import examine_roles
from ops.doctor.server import examine_clock, examine_settings
from ops.doctor.software import configuration, examine_configuration, examine_software, installed_software
from ops.journal import Journal, Stored
from ops.record_line import record_line
from ops.settings import Settings

EXAMINATIONS: Final[Mapping[c.Control, Callable[[Patient], Found]]] = {
    c.ROLES: examine_roles,
    c.GRANTS: examine_grants,
    c.TRIGGERS: examine_triggers,
    c.FUNCTIONS: examine_functions,
    c.SCHEMA: examine_schema,
    c.REVISION: examine_revision,
    c.SETTINGS: examine_settings,
    c.CLOCK: examine_clock,
    c.KEY_FILES: examine_key_files,
    c.SOFTWARE: examine_software,
    c.CONFIGURATION: examine_configuration,
    c.JOURNAL: examine_journal,
}

MOST_LINES: Final = 20
"""Findings, and notes, of one control that are kept; a schema that is wrong throughout is as wrong after these."""


@dataclass(frozen=True)
class Report:
    """What an examination found at a moment."""

    at: str
    checks: tuple[ControlExamined, ...]
    configuration: Configuration
    software: Software

    @property
    def status(self) -> ControlStatus:
        """The worst of the controls'."""
        worst_first = list(ControlStatus)[::-1]
        return min((check.status for check in self.checks), key=worst_first.index)

    def as_json(self) -> dict[str, Any]:
        """The report with the words of its controls (docs/runbooks/doctor.md)."""
        checks = [
            {
                **msgspec.to_builtins(check),
                "remedy": c.BY_NAME[check.name].remedy,
                "does_not_protect_from": c.BY_NAME[check.name].not_from,
            }
            for check in self.checks
        ]
        parts = msgspec.to_builtins({"software": self.software, "configuration": self.configuration})
        return {"at": self.at, "status": self.status, "checks": checks, **parts}


def examine(url: str, settings: Settings, journal: Journal, now: Callable[[], str] = clock.now) -> Report:
    """Look at everything, change nothing.  Raises DatabaseUnavailable, JournalUnavailable."""
    ours, configured = installed_software(), configuration(settings, journal)
    try:
        with database.connect(url) as connection, connection.transaction():
            connection.execute(_ONE_MOMENT)
            patient = Patient(connection, settings, journal, now, ours, configured, _before(journal))
            checks = tuple(_examined(control, look, patient) for control, look in EXAMINATIONS.items())
    except psycopg.Error as error:
        raise database.DatabaseUnavailable(f"doctor: the database was lost: {database.one_line(error)}") from None
    return Report(now(), checks, configured, ours)


def record(journal: Journal, report: Report, by: str = "daily examination") -> Stored:
    """Keep the report in the journal; the event it became.  Raises JournalError."""
    event = DoctorReported(
        by=by, checks=list(report.checks), configuration=report.configuration, software=report.software
    )
    # Drawn anew: two examinations that found the same are two events.
    command = Command(f"doctor {secrets.token_hex(8)}", canonical_json(msgspec.to_builtins(event)), by)
    carried = carry_out_one(journal, command, CODEC, DOCTOR, lambda _: event)
    assert isinstance(carried, Carried)  # nothing here refuses
    return carried.last


def _before(journal: Journal) -> Before | str | None:
    stored = newest(journal, DOCTOR)
    if stored is None:
        return None
    found = CODEC.read(stored.record.body)
    if isinstance(found, BodyError):
        return f"the last examination, event {stored.record.seq} of {DOCTOR}, can't be read: {found}"
    return Before(found.at, found.data)


def _examined(control: c.Control, look: Callable[[Patient], Found], patient: Patient) -> ControlExamined:
    try:
        with patient.connection.transaction():  # a savepoint: one refused statement spoils nobody else's
            found = look(patient)
    except psycopg.OperationalError:
        raise  # the server is gone
    except psycopg.Error as error:
        found = Found(unchecked=[f"the database refuses to tell: {database.one_line(error)}"])
    lines = _lines(found.findings), _lines([*found.notes, *found.unchecked])
    return ControlExamined(findings=lines[0], name=control.name, notes=lines[1], status=_status(found))


def _status(found: Found) -> ControlStatus:
    if found.findings:
        return ControlStatus.FINDING
    if found.unchecked:
        return ControlStatus.NOT_CHECKABLE
    return ControlStatus.NOTE if found.notes else ControlStatus.OK


def _lines(texts: Iterable[str]) -> list[str]:
    """Lines as a record holds them, and not too many: names of roles and files may have any sign in them."""
    lines = [record_line(text) for text in texts]
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"and {more:,} more"]


_ONE_MOMENT: Final = """
set transaction isolation level repeatable read, read only;
set local search_path = pg_catalog, pg_temp
"""
