"""Settings of the server that what it acknowledged depends on, and the two clocks: the server's and ours.

Not here: the embedded server's own settings file (`ops.postgres_server`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from domain.record import TIME_PATTERN
from ops import clock
from ops.doctor.patient import Found, Patient

WANTED: Final[Mapping[str, tuple[str, ...]]] = {
    "data_checksums": ("on",),
    "fsync": ("on",),
    "full_page_writes": ("on",),
    # All but off wait until the commit is on this server's disk; they differ in what a standby must have.
    "synchronous_commit": ("on", "remote_apply", "remote_write", "local"),
    "session_replication_role": ("origin",),
    "zero_damaged_pages": ("off",),
    "ignore_checksum_failure": ("off",),
    "ignore_invalid_pages": ("off",),
    "allow_system_table_mods": ("off",),
}
"""Setting -> the values that are in order."""

FURTHEST_APART: Final = 1000
"""Milliseconds between the clocks of server and program."""


def examine_settings(patient: Patient) -> Found:
    """As they hold for us now, and as they are kept for a role or the database."""
    values = {name: str(value) for name, value in patient.rows(_VALUES, (list(WANTED),))}
    unchecked = [f"{name}: this server does not tell" for name in WANTED if name not in values]
    findings = [*wrong_settings(values), *_kept_settings(patient), *_failures(patient)]
    # The desk's server has one user, and a log beside its data.
    notes = [] if patient.settings.database_url is None else [*_log_notes(patient)]
    return Found(findings, notes, unchecked)


def wrong_settings(values: Mapping[str, str], where: str = "") -> Iterator[str]:
    """A line for each value that is not in order; `where` says for whom it is kept."""
    for name, value in values.items():
        if value not in WANTED[name]:
            yield f"{name} is {value}{where}, should be {WANTED[name][0]}"


def _kept_settings(patient: Patient) -> Iterator[str]:
    for role, database, entries in patient.rows(_KEPT):
        place = " ".join(filter(None, (role and f"for role {role}", database and f"in database {database}")))
        for entry in entries:
            name, _, value = entry.partition("=")
            if name in WANTED:
                yield from wrong_settings({name: value}, f" {place}")


def _failures(patient: Patient) -> Iterator[str]:
    for database, failures in patient.rows(_CHECKSUM_FAILURES):
        yield f"{failures} pages of {database} failed their checksum"


def _log_notes(patient: Patient) -> Iterator[str]:
    [(statements,)] = patient.rows("select current_setting('log_statement')")
    if statements == "none":
        yield "log_statement is none: the server's log does not say who changed the schema (ddl would)"


_VALUES: Final = "select name, setting from pg_settings where name = any (%s)"

_KEPT: Final = """
select rolname, datname, setconfig from pg_db_role_setting
left join pg_roles on pg_roles.oid = setrole left join pg_database on pg_database.oid = setdatabase
where setdatabase = 0 or datname = current_database() order by 1, 2
"""

_CHECKSUM_FAILURES: Final = """
select coalesce('database ' || datname, 'the shared catalogs'), checksum_failures
from pg_stat_database where checksum_failures > 0 order by 1
"""


# -- clock


def examine_clock(patient: Patient) -> Found:
    """The server's clock against ours, and the newest event against both."""
    earliest = clock.milliseconds(patient.now())
    [(servers, zone, log_zone)] = patient.rows(_CLOCK)
    latest = clock.milliseconds(patient.now())
    findings = [*_apart(servers, earliest, latest), *_newest_event(patient, latest)]
    notes = [
        f"{name} is {value}, not UTC" for name, value in (("timezone", zone), ("log_timezone", log_zone))
        if value not in ("UTC", "Etc/UTC")
    ]  # fmt: skip
    return Found(findings, notes)


def _apart(servers: int, earliest: int, latest: int) -> Iterator[str]:
    """The server looked at its clock between our two looks at ours."""
    apart = max(earliest - servers, servers - latest)
    if apart >= FURTHEST_APART:
        direction = "behind" if servers < earliest else "ahead of"
        yield f"the database server's clock is {apart:,} ms {direction} this machine's"


def _newest_event(patient: Patient, now: int) -> Iterator[str]:
    for position, body in patient.rows(_NEWEST):
        try:
            at = _AT.decode(body).at
        except (msgspec.DecodeError, UnicodeDecodeError):
            at = ""
        if not TIME_PATTERN.fullmatch(at):
            yield f"the newest event, position {position}, has no time"
        elif at > clock.as_text(now + FURTHEST_APART):
            yield f"the newest event, position {position}, is of {at}, which is still to come"


class _Frame(msgspec.Struct):
    at: str


_AT: Final = msgspec.json.Decoder(_Frame)

_CLOCK: Final = """
select floor(extract(epoch from clock_timestamp()) * 1000)::bigint, current_setting('timezone'),
    current_setting('log_timezone')
"""

_NEWEST: Final = "select notification_id, state from dealproof.events order by notification_id desc limit 1"
