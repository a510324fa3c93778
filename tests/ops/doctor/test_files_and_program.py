"""Files of this machine, the program that is installed, and the configuration that it works under.

Not here: what stands in the database (`test_broken_controls`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from domain.doctor import DOCTOR, Configuration, ControlStatus, Software
from domain.record import Record
from domain.rulesets import released_rulesets
from ops.commands import Command
from ops.doctor import software
from ops.doctor.examine import record
from ops.doctor.software import INSTALLED, PACKAGES, configuration, files_digest, installed_software
from ops.floor import Floor
from ops.journal import Journal
from ops.pit import Pit, TableDone
from ops.play import furnish
from ops.rulesets import publish
from ops.settings import Settings
from tests.ops.doctor.conftest import Examination, Superuser
from tests.ops.test_house import KEY

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


# -- files


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def given_away(path: Path) -> None:
    os.chown(path, 65534, 65534)


def mode(bits: int) -> Callable[[Path], None]:
    return lambda path: path.chmod(bits)


FILE_CASES = [
    ("keys/dealproof.key", mode(0o644), "key file {}: mode 0644 lets others use it"),
    ("keys/log.key", mode(0o640), "log key {}: mode 0640 lets others use it"),
    ("keys/receipt.key", mode(0o602), "receipt key {}: mode 0602 lets others use it"),
    ("keys/dealproof.key", emptied, "key file {}: has 0 bytes, should have 32"),
    ("keys/log.key", a_pipe, "log key {}: is not a regular file"),
    pytest.param(
        "keys/log.key", given_away, "log key {}: belongs to uid 65534, should belong to who runs the program",
        marks=as_root),
    ("keys", mode(0o750), "key folder {}: mode 0750 lets others use it"),
    ("trust.json", mode(0o664), "trust file {}: mode 0664 lets others write to it"),
    ("", mode(0o757), "home folder {}: mode 0757 lets others write to it"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "spoil", "finding"), FILE_CASES)
def test_a_file_that_others_can_use_is_named(
    examined: Examination, settings: Settings, name: str, spoil: Callable[[Path], None], finding: str
) -> None:
    spoil(settings.home / name)

    assert examined.findings() == [f"key-files: {finding.format(settings.home / name)}"]


def test_a_key_that_only_its_owner_reads_is_in_order(examined: Examination, settings: Settings) -> None:
    settings.key_file.chmod(0o400)

    assert examined.findings() == []


def test_files_that_were_never_made_are_in_order(examined: Examination, settings: Settings) -> None:
    shutil.rmtree(settings.home)

    assert examined.findings() == []


def test_a_lost_key_file_is_named_once_seeds_are_sealed(
    examined: Examination, settings: Settings, superuser: Superuser
) -> None:
    settings.key_file.unlink()
    assert examined.findings() == []
    superuser.execute("insert into dealproof.data_key (key_id, wrapped) values ('k1', 'wrapped')")

    assert examined.findings() == [
        f"key-files: key file {settings.key_file}: is missing, but seeds are sealed under it"]


def test_a_path_that_can_not_be_looked_at_is_said(examined: Examination, settings: Settings) -> None:
    report = examined.report(key_file=settings.home / ("k" * 300))
    [check] = [check for check in report.checks if check.name == "key-files"]

    assert (check.status, check.findings) == (ControlStatus.NOT_CHECKABLE, [])
    assert check.notes[0].endswith(": File name too long") or len(check.notes[0]) == 300


# -- the program


def test_the_digest_can_be_made_without_us() -> None:
    """With the command that the module and the runbook have."""
    command = ("find -L domain ops projections replay -type f -not -path '*/__pycache__/*' -print0 | "
               "LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum")
    page = (INSTALLED / "docs/runbooks/doctor.md").read_text()
    assert " ".join(command.split()) in " ".join(page.split())
    assert " ".join(command.split()) in " ".join((software.__doc__ or "").split())

    said = subprocess.run(["sh", "-c", command], cwd=INSTALLED, capture_output=True, text=True, check=True).stdout

    assert files_digest(INSTALLED) == said.split()[0]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small program in place of ours."""
    folder = tmp_path / "installed"
    for package in PACKAGES:
        (folder / package / "__pycache__").mkdir(parents=True)
        (folder / package / "__init__.py").write_text(f"# {package}\n")
    monkeypatch.setattr(software, "INSTALLED", folder)
    return folder


def changed(folder: Path) -> None:
    (folder / "domain/__init__.py").write_text("# another\n")


def added(folder: Path) -> None:
    (folder / "ops/more.json").write_text("{}")


def removed(folder: Path) -> None:
    (folder / "replay/__init__.py").unlink()


def renamed(folder: Path) -> None:
    (folder / "replay/__init__.py").rename(folder / "replay/init.py")


@pytest.mark.parametrize("change", [changed, added, removed, renamed])
def test_a_file_that_changed_without_a_release_is_named(
    examined: Examination, journal: Journal, installed: Path, change: Callable[[Path], None]
) -> None:
    before = files_digest(installed)
    at = record(journal, examined.report()).record.body[7:31].decode()
    assert examined.findings() == []
    change(installed)

    version, now = installed_software().version, files_digest(installed)
    assert examined.findings() == [
        f"software: files of version {version} changed since {at}: {before[:16]}… to {now[:16]}…"]

    record(journal, examined.report())
    assert examined.findings() == []  # it is on record; the next comparison is with the program that is there


def test_compiled_files_are_not_the_program(examined: Examination, journal: Journal, installed: Path) -> None:
    record(journal, examined.report())
    (installed / "domain/__pycache__/domain.pyc").write_bytes(b"compiled")

    assert examined.findings() == []


def test_another_version_is_noted(examined: Examination, journal: Journal) -> None:
    report = examined.report()
    ours = report.software
    older = Software(
        dependencies=["click 7.0", *(line for line in ours.dependencies if not line.startswith("click "))],
        digest="0" * 64, files="0" * 64, python="3.10.1", version="0.0.1")
    at = record(journal, replace(report, software=older)).record.body[7:31].decode()
    [click] = [line for line in ours.dependencies if line.startswith("click ")]

    assert examined.findings() == []
    assert [note for note in examined.notes() if note.startswith("software")] == [
        f"software: dealproof changed since {at}: 0.0.1 to {ours.version}",
        f"software: Python changed since {at}: 3.10.1 to {ours.python}",
        f"software: no longer there since {at}: click 7.0",
        f"software: there since {at}: {click}"]


def test_the_software_names_what_it_stands_on_and_no_tool_of_its_makers() -> None:
    names = {line.split()[0] for line in installed_software().dependencies}

    assert {"msgspec", "cryptography", "psycopg"} <= names
    assert not names & {"pytest", "mypy", "ruff"}


def test_a_last_report_that_can_not_be_read_is_named(examined: Examination, journal: Journal) -> None:
    journal.append("c1", b"", [Record(DOCTOR, 0, "doctor-reported.v1", b'{"at":"2026-11-30T10:00:00.000Z"}')])

    [finding] = examined.findings()
    assert finding.startswith("software: the last examination, event 0 of doctor:site, can't be read: not an event")


# -- the configuration


def test_each_part_of_the_configuration_that_changed_is_noted(
    examined: Examination, journal: Journal, settings: Settings
) -> None:
    def notes(**others: Path) -> list[str]:
        return [note.partition(" changed")[0] for note in examined.notes(**others) if "configuration" in note]

    [ruleset, *_] = released_rulesets().values()
    publish(journal, ruleset)
    record(journal, examined.report())
    assert notes() == []
    assert notes(key_file=settings.log_key_file) == ["configuration: settings of the program"]

    pit = Pit(journal)
    pit.propose_ruleset(Command("p", b"", "Ann"), ruleset.name, "new")
    assert notes() == []  # one person is not enough to play it
    pit.approve_ruleset(Command("a", b"", "Bob"), ruleset.name, "new")
    assert notes() == ["configuration: active rulesets"]
    record(journal, examined.report())

    table = opened_table(journal)
    assert notes() == ["configuration: settings of the tables"]
    record(journal, examined.report())

    pit.change_table(Command("t", b"", "Ann"), table.table,
                     msgspec.structs.replace(table.settings, abandoned_after=77), "longer")
    assert notes() == ["configuration: settings of the tables"]
    record(journal, examined.report())

    pit.close_table(Command("u", b"", "Ann"), table.table, "night")
    assert notes() == ["configuration: settings of the tables"]


def opened_table(journal: Journal) -> TableDone:
    """A table of the ruleset that is active already."""
    floor = Floor(journal, KEY)
    furnish(floor, [next(iter(released_rulesets().values()))], 1)
    return Pit(journal).tables("", 10)[0]


def test_neither_a_password_nor_the_loudness_is_configuration(journal: Journal, settings: Settings) -> None:
    def of(**others: str) -> Configuration:
        return configuration(replace(settings, **others), journal)  # type: ignore[arg-type]

    host = "casino.example/x"
    with_password = of(database_url=f"postgresql://eve:s3cret@{host}")
    assert with_password == of(database_url=f"postgresql://eve:other@{host}", log_level="debug")
    assert with_password == of(database_url=f"postgresql://eve@{host}?sslpassword=x")
    assert with_password != of(database_url=f"postgresql://eve@{host}y")
    assert with_password != of(database_url=f"postgresql://ann@{host}")


def test_tables_that_were_tampered_with_still_have_a_digest(
    examined: Examination, journal: Journal, superuser: Superuser
) -> None:
    [ruleset, *_] = released_rulesets().values()
    publish(journal, ruleset)
    opened_table(journal)
    record(journal, examined.report())
    superuser.execute("alter table dealproof.events disable trigger user;"
                      "update dealproof.events set state = 'x' where originator_id like 'table:%' "
                      "or originator_id like 'ruleset:%'")

    assert [note.partition(" changed")[0] for note in examined.notes() if "configuration" in note] == [
        "configuration: active rulesets", "configuration: settings of the tables"]
