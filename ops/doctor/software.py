"""Which program runs, and under which configuration: digests that an examination compares with the one before.

The digest of the files can be made without us, in the folder that holds the four packages:

    find -L domain ops projections replay -type f -not -path '*/__pycache__/*' -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum

Source: GLI-19 section 2.3.2 (self-verification once a day and on demand).

Not here: whether a change was allowed; who deployed it says so elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from importlib import metadata
from pathlib import Path
from typing import Final

from psycopg.conninfo import conninfo_to_dict

from domain.activation import CODEC as RULESETS
from domain.activation import RulesetActivated, RulesetPublished
from domain.doctor import Configuration, Software
from domain.record import BodyError, leaf_hash
from domain.table import CODEC as TABLES
from ops.doctor.patient import Found, Patient
from ops.journal import Journal, Stored
from ops.settings import Settings

INSTALLED: Final = Path(__file__).parents[2]
PACKAGES: Final = ("domain", "ops", "projections", "replay")


# -- the program


def installed_software() -> Software:
    """The program as it is installed here."""
    digest_of_files, dependencies = files_digest(INSTALLED), list(_dependencies())
    version, python = _version("dealproof") or "unknown", platform.python_version()
    digest = _digest([digest_of_files, f"dealproof {version}", f"python {python}", *dependencies])
    return Software(dependencies, digest, digest_of_files, python, version)


def files_digest(folder: Path) -> str:
    """Hex digest of the lines that `sha256sum` prints of the packages' files, in the order of their paths' bytes."""
    paths = (
        Path(place, name) for package in PACKAGES for place, _, names in os.walk(folder / package) for name in names
    )
    ours = {path.relative_to(folder).as_posix(): path for path in paths if "__pycache__" not in path.parts}
    return _digest(
        f"{hashlib.sha256(ours[name].read_bytes()).hexdigest()}  {name}" for name in sorted(ours, key=os.fsencode)
    )


def _dependencies() -> Iterator[str]:
    """Name and version of what our distribution asks for, if it is installed; not the tools of those who change it."""
    try:
        required = metadata.requires("dealproof") or []
    except metadata.PackageNotFoundError:
        return
    names = {re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in required if not _DEVELOPERS.search(line)}
    for name in sorted(names):
        if version := _version(name):
            yield f"{name} {version}"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


_DEVELOPERS: Final = re.compile(r"""extra\s*==\s*['"]dev['"]""")


def examine_software(patient: Patient) -> Found:
    """What is another program than at the last examination."""
    if isinstance(patient.before, str):
        return Found([patient.before])
    if patient.before is None:
        return Found()
    at, before, now = patient.before.at, patient.before.report.software, patient.software
    findings = []
    if before.files != now.files and before.version == now.version:
        old, new = before.files[:16], now.files[:16]
        findings.append(f"files of version {now.version} changed since {at}: {old}… to {new}…")
    notes = []
    for name, old, new in (("dealproof", before.version, now.version), ("Python", before.python, now.python)):
        if old != new:
            notes.append(f"{name} changed since {at}: {old} to {new}")
    notes += [f"no longer there since {at}: {line}" for line in before.dependencies if line not in now.dependencies]
    notes += [f"there since {at}: {line}" for line in now.dependencies if line not in before.dependencies]
    return Found(findings, notes)


# -- the configuration


def configuration(settings: Settings, journal: Journal) -> Configuration:
    """Under what the program works here."""
    parts = _digest(_settings(settings)), _digest(_rulesets(journal)), _digest(_tables(journal))
    return Configuration(_digest(parts), rulesets=parts[1], settings=parts[0], tables=parts[2])


def examine_configuration(patient: Patient) -> Found:
    """What is another configuration than at the last examination."""
    if patient.before is None or isinstance(patient.before, str):
        return Found()
    at, before, now = patient.before.at, patient.before.report.configuration, patient.configuration
    parts = (
        ("settings of the program", before.settings, now.settings),
        ("active rulesets", before.rulesets, now.rulesets),
        ("settings of the tables", before.tables, now.tables),
    )
    return Found(notes=[f"{name} changed since {at}" for name, old, new in parts if old != new])


def _settings(settings: Settings) -> Iterator[str]:
    """All but how much is logged, and never a password."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name == "database_url" and value is not None:
            parts = conninfo_to_dict(value)
            value = {name: parts[name] for name in sorted(parts) if "pass" not in name}
        if field.name != "log_level":
            yield f"{field.name} {value}"


def _rulesets(journal: Journal) -> Iterator[str]:
    """Each version that tables may be set to, with the digest of its document."""
    documents = dict(journal.published_rulesets())
    for head in _heads(journal, "ruleset"):
        if head.record.type == RulesetActivated.NAME:
            published = RULESETS.read(bytes(documents.get(head.record.stream, b"")))
            fact = None if isinstance(published, BodyError) else published.data
            digest = fact.digest if isinstance(fact, RulesetPublished) else "unreadable"
            yield f"{head.record.stream} {digest}"


def _tables(journal: Journal) -> Iterator[str]:
    """Each table with the leaf hash of the event that set it."""
    for head in _heads(journal, "table"):
        stream, record = head.record.stream, TABLES.read(head.record.body)
        if isinstance(record, BodyError):
            yield f"{stream} unreadable"
            continue
        state = record.data.after
        set_by = journal.read_event(stream, state.settings)
        leaf = "missing" if set_by is None else leaf_hash(set_by.record.body)
        yield f"{stream} {leaf} {'closed' if state.closed else 'open'}"


def _heads(journal: Journal, kind: str) -> Iterator[Stored]:
    """The newest event of each stream of a kind."""
    after, last = f"{kind}:", f"{kind};"
    while page := journal.heads_between(after, last, 1000):
        yield from page
        after = page[-1].record.stream


def _digest(lines: Iterable[str]) -> str:
    """Hex of SHA-256 over lines that end in a line feed."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return digest.hexdigest()
