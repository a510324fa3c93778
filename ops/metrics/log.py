"""How the log stands, from its files alone.

Not here: whether what is signed is true (`ops.log.audit`), how far behind the journal it is (`looking`).
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass, replace
from pathlib import Path

from domain.log.checkpoint import open_checkpoint
from ops.log.ed25519 import check_signature
from ops.log.store import LogStore
from ops.log.trusting import read_trust
from ops.settings import Settings


@dataclass(frozen=True)
class Cosigned:
    """The newest checkpoint that a pinned witness has signed: its size, and when (milliseconds since 1970)."""

    size: int
    at: int


@dataclass(frozen=True)
class LogSeen:
    """`size`: events under the newest checkpoint; `published_at`: when its file was written, None before the first."""

    size: int
    published_at: int | None
    sequencer_runs: bool
    cosigned: Cosigned | None


def look_at_log(settings: Settings) -> LogSeen | None:
    """The log of this home, None where there is none.  Raises StoreError, TrustError, NoteError, OSError."""
    folder = settings.log_folder
    if not folder.is_dir():
        return None
    store = LogStore(folder)
    size = store.size()
    return LogSeen(size, _written_at(folder / "checkpoint"), _is_held(folder / "lock"), _cosigned(settings, store))


def _cosigned(settings: Settings, store: LogStore) -> Cosigned | None:
    note = store.best(1)
    if note is None:
        return None
    opened = open_checkpoint(note, replace(read_trust(settings.trust_file), witnesses_needed=0), check_signature)
    times = [cosigned.time for cosigned in opened.cosigned]
    return Cosigned(opened.checkpoint.size, max(times) * 1000) if times else None


def _written_at(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except FileNotFoundError:
        return None


def _is_held(path: Path) -> bool:
    """Whether a sequencer runs.  It takes a shared lock for a moment; a sequencer that starts just then tries again."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
