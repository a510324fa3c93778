"""Files that must be nobody else's: the key file, the keys of log and receipts, the trust file, the home folder.

Only modes, owners and sizes are looked at; no key is read.

Not here: what is in them (`ops.keys`, `ops.log`, `domain.log`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ops.doctor.patient import Found, Patient
from ops.keys import SECRET_SIZE

OTHERS_ANYTHING: Final = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def examine_key_files(patient: Patient) -> Found:
    """Files that don't exist are in order, but for a key file that something is sealed under."""
    settings = patient.settings
    found = Found()
    try:
        owners = _owners(settings.home)
        found.findings.extend(_missing(patient))
        keys = [
            ("key file", settings.key_file),
            ("log key", settings.log_key_file),
            ("receipt key", settings.receipt_key_file),
        ]
        for name, path in keys:
            found.findings.extend(_file(name, path, owners, OTHERS_ANYTHING, SECRET_SIZE))
        for folder in sorted({path.parent for _, path in keys if path.exists()}):
            found.findings.extend(_folder("key folder", folder, owners, OTHERS_ANYTHING))
        found.findings.extend(_file("trust file", settings.trust_file, owners, OTHERS_WRITE))
        found.findings.extend(_folder("home folder", settings.home, None, stat.S_IWOTH))
    except OSError as error:
        found.unchecked.append(f"{error.filename}: {error.strerror}")
    return found


def _missing(patient: Patient) -> Iterator[str]:
    path = patient.settings.key_file
    if not path.exists() and patient.rows("select from dealproof.data_key limit 1"):
        yield f"key file {path}: is missing, but seeds are sealed under it"


def _owners(home: Path) -> set[int]:
    """Who may own a file: root, who runs us, and where root does, the owner of the home."""
    ours = {0, os.geteuid()}
    return ours | {home.stat().st_uid} if os.geteuid() == 0 and home.exists() else ours


def _file(name: str, path: Path, owners: set[int], forbidden: int, size: int | None = None) -> Iterator[str]:
    if not path.exists():
        return
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        yield f"{name} {path}: is not a regular file"
    elif size is not None and status.st_size != size:
        yield f"{name} {path}: has {status.st_size} bytes, should have {size}"
    yield from _access(name, path, status, owners, forbidden)


def _folder(name: str, path: Path, owners: set[int] | None, forbidden: int) -> Iterator[str]:
    if path.exists():
        yield from _access(name, path, path.stat(), owners, forbidden)


def _access(name: str, path: Path, status: os.stat_result, owners: set[int] | None, forbidden: int) -> Iterator[str]:
    if status.st_mode & forbidden:
        may = "write to" if forbidden in (OTHERS_WRITE, stat.S_IWOTH) else "use"
        yield f"{name} {path}: mode {stat.S_IMODE(status.st_mode):04o} lets others {may} it"
    if owners is not None and status.st_uid not in owners:
        yield f"{name} {path}: belongs to uid {status.st_uid}, should belong to who runs the program"
