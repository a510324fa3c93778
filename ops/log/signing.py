"""Keys that sign, behind one small interface: a file here, a key elsewhere needs the two members of `SigningKey`.

A key file is a seed of 32 bytes, mode 0600.  What is here needs neither database nor server: a witness signs with it.

Not here: which keys a site has (`ops.log.keys`), what is signed (`domain.log`), checking it (`ops.log.ed25519`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from domain.log.checkpoint import LOG, VerifierKey
from ops.keys import secret_in_file


class SigningKey(Protocol):
    """A key that signs; where its secret is, nobody else knows."""

    @property
    def verifier(self) -> VerifierKey:
        """What others check its signatures with."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The Ed25519 signature, 64 bytes; the same message has the same one (RFC 8032)."""
        ...


class FileSigningKey:
    """A signing key in a file that only its owner may read, made where it is missing."""

    def __init__(self, path: Path, name: str, kind: int = LOG) -> None:
        """`name`, `kind`: as its verifiers know it.  Raises KeyFileError, and NoteError for a name that is none."""
        self._key = Ed25519PrivateKey.from_private_bytes(secret_in_file(path))
        public = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self._verifier = VerifierKey(name, kind, public)

    @property
    def verifier(self) -> VerifierKey:
        """See `SigningKey.verifier`."""
        return self._verifier

    def sign(self, message: bytes) -> bytes:
        """See `SigningKey.sign`."""
        return self._key.sign(message)
