"""What the log has of a round: a signed size and root, and for each stored event where it lies and how that is proved.

Not here: holding it against the round (`checks.log`), signatures (`domain.log.checkpoint`), reading tiles (`ops.log`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from domain.log.checkpoint import Opened


class Entry(NamedTuple):
    """A stored event of any stream: its position in the journal (from 1), its bytes, its inclusion proof.

    `proof` is None where the event lies behind the checkpoint.
    """

    position: int
    body: bytes
    proof: Sequence[bytes] | None


class Logged(NamedTuple):
    """A checkpoint whose signatures were found good, and what it is to hold.

    `earlier`: consistency proofs from the sizes that wagers name to the checkpoint's.
    """

    opened: Opened
    entries: Sequence[Entry]
    earlier: Mapping[int, Sequence[bytes]]


class Unlogged(NamedTuple):
    """Why there is no checkpoint to hold a round against."""

    reason: str


class Untrusted(NamedTuple):
    """Why the checkpoint that was given is none that the pinned keys have signed."""

    reason: str


LogEvidence = Logged | Unlogged | Untrusted
