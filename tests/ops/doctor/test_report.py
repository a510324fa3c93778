"""The report of an examination: kept as an event, told by the command, explained by the runbook.

Not here: what an examination finds.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from domain.doctor import CODEC, DOCTOR, ControlStatus, DoctorReported
from domain.record import is_record_text, read_envelope
from ops.cli.doctor import doctor
from ops.database import DatabaseUnavailable
from ops.doctor.controls import CONTROLS, explained
from ops.doctor.examine import MOST_LINES, record
from ops.doctor.software import INSTALLED
from ops.journal import Journal
from ops.record_line import LONGEST_LINE
from ops.settings import Settings
from tests.ops.doctor.conftest import Examination, Superuser

GRANT = "grant insert on dealproof.events to dealproof_app"
FINDING = "grant table events: INSERT to dealproof_app: is not of this version"


# -- the record


def test_a_report_is_kept_as_an_event(examined: Examination, journal: Journal, superuser: Superuser) -> None:
    superuser.execute(GRANT)
    report = examined.report()

    stored = record(journal, report, by="Ann")

    [kept] = journal.read_stream(DOCTOR)
    assert kept.record == stored.record
    read_envelope(kept.record.body)  # canonical
    assert CODEC.decode(kept.record.body).data == DoctorReported(
        by="Ann", checks=list(report.checks), configuration=report.configuration, software=report.software)
    assert FINDING in kept.record.body.decode()


def test_two_examinations_that_find_the_same_are_two_events(examined: Examination, journal: Journal) -> None:
    report = examined.report()
    record(journal, report)
    record(journal, report)

    assert [stored.record.seq for stored in journal.read_stream(DOCTOR)] == [0, 1]


def test_a_report_holds_lines_that_a_record_can_hold_and_not_too_many(
    examined: Examination, journal: Journal, superuser: Superuser
) -> None:
    """Whoever may create a table chooses its name."""
    names = ["e\u0301a\u0300", "a\nb\x1b[31m", "x" * 63, "tab\u00adle", "\u202edne"]
    columns = ", ".join(f'"{name * (40 // len(name))}{n}" int' for name in names for n in range(40))
    superuser.execute(f"create table dealproof.\"{'w' * 63}\" ({columns})".encode())
    report = examined.report()
    [schema] = [check for check in report.checks if check.name == "schema"]

    assert len(schema.findings) == MOST_LINES + 1
    assert schema.findings[-1] == f"and {1 + 200 - MOST_LINES} more"
    for line in schema.findings:
        assert is_record_text(line)
        assert line.isprintable()
        assert len(line) <= LONGEST_LINE
    record(journal, report)
    [stored] = journal.read_stream(DOCTOR)
    assert len(stored.record.body) < 100_000


def test_a_report_holds_no_password_and_no_key(url: str, settings: Settings, journal: Journal) -> None:
    secret = url.replace("://dealproof@", "://dealproof:s3cr3t-word@")
    report = Examination(secret, settings, journal).report(database_url=secret)
    record(journal, report)

    for text in (json.dumps(report.as_json()).encode(), journal.read_stream(DOCTOR)[0].record.body):
        assert b"s3cr3t-word" not in text
        for path in (settings.key_file, settings.log_key_file, settings.receipt_key_file):
            assert path.read_bytes() not in text
            assert path.read_bytes().hex().encode() not in text


def test_the_status_of_a_report_is_that_of_its_worst_control(examined: Examination) -> None:
    report = examined.report()
    [first, *_] = report.checks

    def status(*statuses: ControlStatus) -> ControlStatus:
        checks = [type(first)(findings=[], name="roles", notes=[], status=each) for each in statuses]
        return replace(report, checks=tuple(checks)).status

    ok, note, unknown, finding = ControlStatus
    assert status(ok, ok) is ok
    assert status(ok, note) is note
    assert status(unknown, note) is unknown
    assert status(ok, unknown, finding, note) is finding


# -- the command


def run(settings: Settings, *arguments: str) -> Result:
    # A command keeps the names of its help option from its first use, for whoever comes after.
    names = ["-h", "--help"]
    return CliRunner().invoke(
        doctor, list(arguments), obj=settings, standalone_mode=False, help_option_names=names
    )


@pytest.fixture
def site(url: str, superuser: Superuser, settings: Settings) -> Any:
    """An installation on a given database, under a login of its own."""
    superuser.execute("drop role if exists grace; create role grace login in role dealproof_app")
    yield replace(settings, database_url=url.replace("://dealproof@", "://grace@"))
    superuser.execute("drop role grace")


def test_an_installation_in_order_exits_with_0(site: Settings, journal: Journal) -> None:
    ran = run(site)

    assert ran.return_value == 0
    assert ran.stderr == "Recorded as event 0 of doctor:site.\n"
    [heading, *lines] = ran.stdout.splitlines()
    assert heading.split() == ["control", "status", "findings"]
    assert [line.split()[0] for line in lines[: len(CONTROLS)]] == [control.name for control in CONTROLS]
    [stored] = journal.read_stream(DOCTOR)
    assert CODEC.decode(stored.record.body).data.software.digest in ran.stdout


def test_a_finding_exits_with_1_and_says_how_it_is_mended(site: Settings, superuser: Superuser) -> None:
    superuser.execute(GRANT)
    ran = run(site, "--no-record")

    assert ran.return_value == 1
    assert f"\ngrants: finding\n  {FINDING}\n  To mend it: Revoke what is too much" in ran.stdout
    assert "\n  Does not protect from: What was done with a right while it was there." in ran.stdout


def test_what_can_not_be_looked_at_exits_with_2(site: Settings, superuser: Superuser, settings: Settings) -> None:
    ran = run(replace(site, key_file=settings.home / ("k" * 300)), "--no-record")

    assert ran.return_value == 2


def test_no_record_leaves_the_journal_as_it_was(site: Settings, journal: Journal) -> None:
    ran = run(site, "--no-record")

    assert (ran.return_value, ran.stderr, journal.head_position()) == (0, "", 0)


def test_json_is_one_object(site: Settings, superuser: Superuser) -> None:
    superuser.execute(GRANT)
    ran = run(site, "--json", "--no-record")
    [line] = ran.stdout.splitlines()
    said = json.loads(line)

    assert ran.return_value == 1
    assert list(said) == ["at", "status", "checks", "software", "configuration"]
    assert said["status"] == "finding"
    [grants] = [check for check in said["checks"] if check["name"] == "grants"]
    assert (grants["status"], grants["findings"], grants["notes"]) == ("finding", [FINDING], [])
    assert grants["remedy"].startswith("Revoke")
    assert grants["does_not_protect_from"].startswith("What was done")


def test_a_reader_is_told_the_report_though_it_can_not_keep_it(site: Settings, superuser: Superuser) -> None:
    superuser.execute("revoke dealproof_app from grace; grant dealproof_reader to grace")
    ran = run(site, "--json")

    assert json.loads(ran.stdout)["status"] == "note"
    assert str(ran.exception) == "journal: permission denied for function append_events"


@pytest.mark.parametrize("database", ["postgresql://u:secret@127.0.0.1:1/x", "postgresql://u@/x?host=/nonexistent"])
def test_a_database_that_can_not_be_reached_is_one_line(settings: Settings, database: str) -> None:
    ran = run(replace(settings, database_url=database))

    assert isinstance(ran.exception, DatabaseUnavailable)
    assert "secret" not in str(ran.exception)
    assert ran.stdout == ""


def test_a_database_that_is_not_migrated_is_one_line(site: Settings, superuser: Superuser) -> None:
    superuser.execute("update dealproof.alembic_version set version_num = '0001'")

    assert "not at revision" in str(run(site).exception)


# -- the words


def test_explain_prints_every_control(settings: Settings) -> None:
    assert run(settings, "--explain").stdout == explained() + "\n"


def test_the_runbook_has_the_words_of_the_controls() -> None:
    page = (INSTALLED / "docs/runbooks/doctor.md").read_text()

    assert explained() in page, "put the output of `dealproof doctor --explain` in place of the page's controls"


def test_every_control_says_what_it_does_not_protect_from() -> None:
    for control in CONTROLS:
        for text in control[1:]:
            assert text.endswith((".", ")."))
            assert "\n" not in text


def test_the_command_is_a_click_command_of_its_name() -> None:
    assert isinstance(doctor, click.Command)
    assert doctor.name == "doctor"
