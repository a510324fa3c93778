"""A witness: it holds the last checkpoint that it has signed, and signs the next one only if the log has merely grown.

    with open_witness(folder, trust, clock) as witness:
        look = witness.look(RemoteLog(url))

Its folder, on a machine that the house has no part in:

    witness.key             its secret, mode 0600
    witness.pub             its verifier key: what others pin
    held                    the last note that it has signed, its own line in it
    fork-<size>-<size>.txt  both sides of a fork, the older first; while there is one, nothing is signed
    lock                    held by the one witness that works here

A signature leaves the machine only when its note is on the disk: whatever happens then, two histories are never signed.
Source: C2SP tlog-witness and tlog-cosignature.  For its operator: docs/runbooks/witness.md.

Not here: asking the log (`ops.log.remote`), notes and proofs (`domain.log`), what is printed (`ops.cli.witness`).
"""

from __future__ import annotations

import fcntl
import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from domain.log.checkpoint import (
    COSIGNATURE,
    LARGEST_NOTE,
    Checkpoint,
    Note,
    NoteError,
    Opened,
    VerifierKey,
    cosignature,
    open_checkpoint,
)
from domain.log.merkle import ProofError, consistency_proof, root, verify_consistency
from domain.log.tiles import TileError, TileNodes
from domain.log.trust import PinnedKey, Trust
from ops.files import read_if_there, sync_folder, write_whole
from ops.keys import KeyFileError, make_key_folder, make_once
from ops.log.ed25519 import check_signature
from ops.log.remote import LogUnavailable, RemoteLog
from ops.log.signing import FileSigningKey, SigningKey

LONGEST_KEY: Final = 400
"""Bytes of a verifier key with its name of at most 200."""


class WitnessError(Exception):
    """The witness's own folder can't be used; one line that names the file and the reason."""


class Seen(NamedTuple):
    """A note that the trust believes, and where it was seen."""

    where: str
    opened: Opened
    data: bytes

    @property
    def checkpoint(self) -> Checkpoint:
        """What the note says."""
        return self.opened.checkpoint

    @property
    def size(self) -> int:
        """Events that it covers."""
        return self.checkpoint.size


class Refused(Exception):
    """The witness does not sign, and a person should know why; one sentence."""


class Behind(Refused):
    """The log offers less than was seen of it before."""


class Unproved(Refused):
    """The log's own tiles don't give what it has signed: no growth is proved, and no fork."""


class ForkKept(Refused):
    """A fork was found before, and nobody has removed its file."""


class Fork(Refused):
    """The log's key has signed two histories."""

    def __init__(self, reason: str, sides: tuple[Seen, Seen], path: Path) -> None:
        super().__init__(reason)
        self.sides: Final = sides
        self.path: Final = path


class Did(StrEnum):
    """What a look at the log came to."""

    COSIGNED = "cosigned"
    BROUGHT_AGAIN = "brought again"
    NOTHING_NEW = "nothing new"
    EMPTY = "empty"


class Look(NamedTuple):
    """What was done, with which checkpoint (None: the log is empty), whether nothing was held before."""

    did: Did
    checkpoint: Checkpoint | None = None
    first_contact: bool = False


# -- its folder


def make_witness(folder: Path, name: str) -> VerifierKey:
    """Make the key of a witness, once.  Raises WitnessError, KeyFileError, and NoteError for a name that is none."""
    VerifierKey(name, COSIGNATURE, bytes(32))
    if _public_file(folder).exists():
        raise WitnessError(f"{folder}: is the folder of the witness {read_public_key(folder).name} already")
    make_key_folder(_key_file(folder))
    key = FileSigningKey(_key_file(folder), name, COSIGNATURE)
    # A crash before this leaves a key that nobody knows; the next `init` names it.
    make_once(_public_file(folder), f"{key.verifier.to_text()}\n".encode(), 0o644)
    return key.verifier


def read_public_key(folder: Path) -> VerifierKey:
    """The verifier key of the witness in a folder.  Raises WitnessError."""
    path = _public_file(folder)
    data = read_if_there(path, LONGEST_KEY)
    if data is None:
        raise WitnessError(f"{path}: is missing; `dealproof witness init` makes a witness's folder")
    try:
        return VerifierKey.from_text(data.decode("ascii", "replace").removesuffix("\n"))
    except NoteError as error:
        raise WitnessError(f"{path}: {error}") from None


def read_held(folder: Path, own: VerifierKey, trust: Trust) -> Seen | None:
    """The note that the witness has signed last.  Raises WitnessError where it isn't what was written."""
    path = _held_file(folder)
    data = read_if_there(path, LARGEST_NOTE + 1)
    if data is None:
        return None
    try:
        opened = open_checkpoint(data, _for_own_line(trust, own, needed=1), check_signature)
    except NoteError as error:
        raise WitnessError(f"{path}: {error}; restore it, or see docs/runbooks/witness.md") from None
    return _unless_empty(Seen("held here", opened, data))


def forks(folder: Path) -> list[Path]:
    """Files with both sides of a fork."""
    return sorted(folder.glob("fork-*.txt"))


def _key_file(folder: Path) -> Path:
    return folder / "witness.key"


def _public_file(folder: Path) -> Path:
    return folder / "witness.pub"


def _held_file(folder: Path) -> Path:
    return folder / "held"


def _signing_key(folder: Path) -> SigningKey:
    public, path = read_public_key(folder), _key_file(folder)
    if not path.exists():
        raise KeyFileError(f"key file {path}: is missing; restore it from its backup")
    key = FileSigningKey(path, public.name, COSIGNATURE)
    if key.verifier != public:
        raise WitnessError(f"key file {path}: is not the secret of {public.to_text()} in {_public_file(folder)}")
    return key


# -- at work


@contextmanager
def open_witness(folder: Path, trust: Trust, clock: Callable[[], int]) -> Iterator[Witness]:
    """The witness in a folder, alone there until it is closed.  `clock` gives Unix seconds.

    Raises WitnessError, KeyFileError.
    """
    key, path = _signing_key(folder), folder / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _lock(descriptor, path)
        yield Witness(folder, key, trust, clock)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    """Two witnesses at once could sign two histories, each looking at the same note held."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WitnessError(f"{path}: another witness works in this folder") from None


@dataclass(frozen=True)
class Witness:
    """One witness of one log."""

    folder: Path
    key: SigningKey
    trust: Trust
    clock: Callable[[], int]

    def look(self, log: RemoteLog) -> Look:
        """Sign the next checkpoint of the log if it goes on from the one held.

        Every note that the log shows is held against the others, signed or not.  Raises Refused (Behind, Unproved,
        Fork, ForkKept), LogUnavailable, WitnessError, OSError, and NoteError for a clock that can't be right.
        """
        self._require_no_fork()
        held = read_held(self.folder, self.key.verifier, self.trust)
        # In this order the newest one is never the smaller of the two.
        cosigned = self._opened(log, "cosigned", log.cosigned())
        newest = self._opened(log, "checkpoint", log.checkpoint())
        seen = sorted((each for each in (held, cosigned, newest) if each is not None), key=lambda each: each.size)
        self._require_one_root(seen)
        _require_not_behind(seen, newest)
        if newest is None:
            return Look(Did.EMPTY)
        for older in {each.checkpoint: each for each in seen}.values():
            # Each with the newest, not with the next: a log that was forked has the tiles of its newest tree alone.
            if older.size < newest.size:
                self._require_grown(log, older, newest)
        return self._sign(log, held, cosigned, newest)

    def _opened(self, log: RemoteLog, name: str, data: bytes | None) -> Seen | None:
        if data is None:
            return None
        where = f"{log.address}{name}"
        try:
            opened = open_checkpoint(data, _for_own_line(self.trust, self.key.verifier), check_signature)
        except NoteError as error:
            raise LogUnavailable(f"{where}: {error}") from None
        return _unless_empty(Seen(where, opened, data))

    # -- what is signed

    def _sign(self, log: RemoteLog, held: Seen | None, cosigned: Seen | None, newest: Seen) -> Look:
        target = _next(held, cosigned, newest)
        if held is None or target.size > held.size:
            note = self._cosigned(target.opened.note)
            # A crash right after this leaves a signature that nobody has; the next look brings it.
            _write(_held_file(self.folder), note)
            log.bring(note)
            return Look(Did.COSIGNED, target.checkpoint, held is None)
        if cosigned is not None and cosigned.size == held.size and cosigned.opened.cosigned:
            return Look(Did.NOTHING_NEW, held.checkpoint)
        log.bring(held.data)
        return Look(Did.BROUGHT_AGAIN, held.checkpoint)

    def _cosigned(self, note: Note) -> bytes:
        """The note with the lines of the log and ours; the log puts those of other witnesses together."""
        pinned = {(pin.key.name, pin.key.key_id) for pin in self.trust.log_keys}
        lines = [line for line in note.signatures if (line.name, line.key_id) in pinned]
        ours = cosignature(note.body, self.clock(), self.key.verifier, self.key.sign)
        return Note(note.body, (*lines, ours)).to_bytes()

    # -- what is refused

    def _require_no_fork(self) -> None:
        found = forks(self.folder)
        if found:
            text = "a fork of this log was found; nothing is signed until a person has removed this file"
            raise ForkKept(f"{found[0]}: {text}")

    def _require_one_root(self, seen: list[Seen]) -> None:
        for first, second in pairwise(seen):
            if first.size == second.size and first.checkpoint.root != second.checkpoint.root:
                raise self._fork(first, second, f"two roots for the same {first.size} events", [])

    def _require_grown(self, log: RemoteLog, first: Seen, second: Seen) -> None:
        """The second tree begins with the first.  The proof is made of the log's tiles, and they are not believed."""
        nodes = TileNodes(second.size, log.tile)
        try:
            proof = consistency_proof(first.size, second.size, nodes)
            theirs = root(first.size, nodes)
        except TileError as error:
            raise LogUnavailable(f"{log.address}{error}") from None
        ours = first.checkpoint.root
        if _leads(first.size, second, ours, proof):
            return
        sizes = f"{first.size} events to {second.size}"
        if not _leads(first.size, second, theirs, proof):
            raise Unproved(f"the log's tiles don't lead from {sizes}: they don't give the root that it has signed")
        # The tiles give the signed second root, so this is what its first events are: damage can't do that.
        roots = f"the root was {ours.hex()} and now is {theirs.hex()}"
        raise self._fork(first, second, f"no growth from {sizes}: of the first {first.size} {roots}", proof)

    def _fork(self, first: Seen, second: Seen, reason: str, proof: list[bytes]) -> Fork:
        path = self.folder / f"fork-{first.size}-{second.size}.txt"
        lines = [reason, *(b64encode(known).decode() for known in proof)]
        # A crash before this leaves nothing signed; the next look finds the fork again.
        _write(path, b"\n".join([first.data, second.data, "\n".join(lines).encode() + b"\n"]))
        return Fork(reason, (first, second), path)


def _next(held: Seen | None, cosigned: Seen | None, newest: Seen) -> Seen:
    """The one to sign: rather one that others have signed than the newest, so that signatures come together."""
    if cosigned is None:
        return newest
    if held is None or cosigned.size > held.size:
        return cosigned
    if cosigned.size == held.size and not cosigned.opened.cosigned:
        return held
    return newest


def _require_not_behind(seen: list[Seen], newest: Seen | None) -> None:
    if not seen or (newest is not None and newest.size == seen[-1].size):
        return
    offered = 0 if newest is None else newest.size
    most = seen[-1]
    raise Behind(f"the log is behind: it offers {offered} events, and had {most.size} ({most.where})")


def _leads(first: int, second: Seen, first_root: bytes, proof: list[bytes]) -> bool:
    try:
        verify_consistency(first, second.size, first_root, second.checkpoint.root, proof)
    except ProofError:
        return False
    return True


def _for_own_line(trust: Trust, own: VerifierKey, needed: int = 0) -> Trust:
    """The log's keys out of the trust; of witnesses only ourselves, for others' lines are no concern of ours."""
    return replace(trust, witness_keys=(PinnedKey(own),), witnesses_needed=needed)


def _unless_empty(seen: Seen) -> Seen | None:
    """Every tree begins with the empty one: a checkpoint of it binds the log to nothing."""
    return seen if seen.size else None


def _write(path: Path, data: bytes) -> None:
    """Put a whole file in its place, on the disk when this returns.  A crash leaves what was there before."""
    write_whole(path, data)
    sync_folder(path.parent)
