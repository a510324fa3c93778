"""`dealproof verify FILE`: an evidence file, checked offline from pinned keys.  Needs no database and no server.

Not here: the verification (`replay.evidence_file`), rounds of a journal (`ops.cli.verify`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from domain.log.checkpoint import Opened
from ops.cli.ladder import print_ladder
from ops.cli.output import data_console, printable, write_json_line
from ops.clock import as_text
from ops.log.ed25519 import check_signature
from ops.log.trusting import read_trust
from replay.evidence_file import LARGEST_FILE, EvidenceError, EvidenceFile, Level, open_file_checkpoint, read_evidence
from replay.evidence_file import verify_evidence as verified


def verify_file(path: Path, trust_path: Path, *, as_json: bool) -> int:
    """Print the verdict on a file and give the exit status.  Raises EvidenceError, TrustError."""
    trust = read_trust(trust_path)
    file = read_file(path)
    try:
        verdict = verified(file, trust, check_signature)
    except EvidenceError as error:
        raise EvidenceError(f"{path}: {error}") from None
    if as_json:
        write_json_line(verdict.as_json())
    else:
        opened = open_file_checkpoint(file, trust, check_signature)
        _print_origin(file, opened if isinstance(opened, Opened) else None)
        print_ladder(verdict.as_json())
    return {"verified": 0, "discrepancy": 1, "not-checkable": 2}[verdict.status]


def read_file(path: Path) -> EvidenceFile:
    """An evidence file.  Raises EvidenceError that names it."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
        return read_evidence(data)
    except OSError as error:
        raise EvidenceError(f"{path}: {error.strerror or type(error).__name__}") from None
    except EvidenceError as error:
        raise EvidenceError(f"{path}: {error}") from None


def _print_origin(file: EvidenceFile, opened: Opened | None) -> None:
    """Where the file comes from, as far as it is proved."""
    console = data_console()
    whose = f"player {file.player}" if file.player is not None else _FOR_WHOM[file.level]
    # Nothing vouches for these two: a line of the verdict must not be made of them.
    made_at, software = printable(file.made_at[:40]), printable(file.software[:40])
    console.print(f"Evidence for {whose}, made {made_at} by version {software}", soft_wrap=True)
    if opened is not None:
        origin, size, _ = opened.checkpoint
        console.print(f"Log {origin}, {size:,} events, {signers(opened)}", soft_wrap=True)


_FOR_WHOM: Final = {Level.ADR: "dispute resolution", Level.REGULATOR: "a regulator"}


def signers(opened: Opened) -> str:
    """Who has cosigned a checkpoint, and when, for people."""
    if not opened.cosigned:
        return "cosigned by nobody"
    return "cosigned by " + ", ".join(f"{each.witness} at {as_text(1000 * each.time)}" for each in opened.cosigned)
