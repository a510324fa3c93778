"""How far the log is: behind the journal by how much, at a gap or not, signed by whom.

Not here: building it (`ops.log.sequencer`), whether all of it is true (`ops.log.audit`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from domain.log.checkpoint import Opened, open_checkpoint
from domain.log.trust import Trust
from ops.journal import Journal
from ops.log.ed25519 import check_signature
from ops.log.sequencer import Gap, find_gap
from ops.log.store import LogStore
from ops.log.trusting import read_trust
from ops.settings import Settings


@dataclass(frozen=True)
class Status:
    """`checkpoint`: the newest one; `cosigned`: the newest that a pinned witness has signed; `head`: the journal's."""

    origin: str
    running: bool
    head: int
    gap: Gap | None
    checkpoint: Opened | None
    cosigned: Opened | None

    @property
    def size(self) -> int:
        """Events that the newest checkpoint covers."""
        return 0 if self.checkpoint is None else self.checkpoint.checkpoint.size

    @property
    def lost(self) -> int:
        """Events that the log has and the journal has not."""
        return max(self.size - self.head, 0)

    @property
    def _distance(self) -> str:
        if self.lost:
            return f"and the journal has lost the last {self.lost:,} of them (docs/runbooks/backup.md)"
        return f"{self.head - self.size:,} behind"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        gap = None if self.gap is None else {**self.gap._asdict(), "seconds": self.gap.seconds}
        return {
            "origin": self.origin,
            "sequencer": "running" if self.running else "stopped",
            "journal": self.head,
            "size": self.size,
            "behind": self.head - self.size,
            "gap": gap,
            "checkpoint": _as_json(self.checkpoint),
            "cosigned": _as_json(self.cosigned),
        }

    def lines(self) -> list[str]:
        """For people."""
        lines = [
            f"Log {self.origin}: its sequencer " + ("runs." if self.running else "does not run."),
            f"Journal: {self.head:,} events; log: {self.size:,}, {self._distance}.",
        ]
        if self.gap is not None:
            age = "" if self.gap.seconds is None else f", {self.gap.seconds:,} seconds old"
            position, behind = self.gap.position, self.gap.behind
            lines.append(f"Gap: there is no event at position {position:,}, but one at {behind:,}{age}; the log waits.")
        if self.checkpoint is not None:
            lines.append(f"Checkpoint: {self.size:,} events, root {self.checkpoint.checkpoint.root.hex()}")
        if self.cosigned is None:
            lines.append("Cosigned by nobody yet.")
        else:
            witnesses = ", ".join(cosigned.witness for cosigned in self.cosigned.cosigned)
            lines.append(f"Cosigned up to {self.cosigned.checkpoint.size:,} events, by {witnesses}")
        return lines


def _as_json(opened: Opened | None) -> dict[str, Any] | None:
    if opened is None:
        return None
    witnesses = [{"name": cosigned.witness, "time": cosigned.time} for cosigned in opened.cosigned]
    checkpoint = opened.checkpoint
    return {"size": checkpoint.size, "root": checkpoint.root.hex(), "witnesses": witnesses}


def read_status(settings: Settings, journal: Journal) -> Status:
    """How the log stands.  Raises TrustError, StoreError, NoteError for a checkpoint that is not the log's."""
    trust, store = read_trust(settings.trust_file), LogStore(settings.log_folder)
    # The log first: what is appended meanwhile makes it look further behind than it is, never ahead.
    checkpoint = _opened(store.checkpoint(), trust)
    size = 0 if checkpoint is None else checkpoint.checkpoint.size
    return Status(
        origin=trust.origin,
        running=store.is_locked(),
        head=journal.head_position(),
        gap=find_gap(journal, size),
        checkpoint=checkpoint,
        cosigned=_opened(store.best(1), trust),
    )


def _opened(note: bytes | None, trust: Trust) -> Opened | None:
    return None if note is None else open_checkpoint(note, replace(trust, witnesses_needed=0), check_signature)
