"""What an examination of the installation found, as a fact: the daily self-check of GLI-19 section 2.3.2.

Stream `doctor:site`, one event an examination.  It has digests and findings in words, never a secret: who reads the
journal reads this too.  An examination compares itself with the one before it, so a program or a configuration that was
changed in between is said the next time.

Not here: the examination (`ops.doctor`), what each control protects from (`ops.doctor.controls`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

import msgspec

from domain.codec import Codec, Event

DOCTOR: Final = "doctor:site"
"""The stream of examinations."""


class ControlStatus(StrEnum):
    """What an examination says of one control, the best first."""

    OK = "ok"
    NOTE = "note"
    """In order, and something to know."""

    NOT_CHECKABLE = "not-checkable"
    FINDING = "finding"
    """Something to mend."""


class ControlExamined(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One control: what is to be mended, and what is only to be known; lines of text for people."""

    findings: list[str]
    name: str
    notes: list[str]
    status: ControlStatus


class Software(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The program that is installed.  `files`: hex digest of its own files; `dependencies`: "name version" each."""

    dependencies: list[str]
    digest: str
    files: str
    python: str
    version: str


class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Under what the program works: hex digests of the whole and of its three parts."""

    digest: str
    rulesets: str
    settings: str
    tables: str


class DoctorReported(Event, frozen=True, gc=False):
    """The installation was examined; by whom, and what came out."""

    NAME: ClassVar[str] = "doctor-reported.v1"

    by: str
    checks: list[ControlExamined]
    configuration: Configuration
    software: Software


CODEC: Final[Codec[DoctorReported]] = Codec((DoctorReported,))
