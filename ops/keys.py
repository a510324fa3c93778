"""Keep server seeds sealed until they're revealed.  Format: docs/formats/deal.md, "sealing".

Three keys, each sealed under the one before: the key of the key store (outside
the database), data keys, one key for each round's seed.  A seed opens only to
the round and the commitment that it was sealed for.

Not here: the commitment itself (`domain.deal`), storing sealed text (`ops.journal`).
"""

import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from domain.deal.commitment import ROUND_ID_SIZE, check_size
from domain.deal.commitment import commitment as commitment_of
from ops.files import sync_folder

SECRET_SIZE = 32            # bytes of every key, server seed and commitment
NONCE_SIZE = 12             # bytes, random for each sealing
SEALED_SIZE = 48            # bytes: a secret and the 16-byte tag of GCM

_SEAL_LABEL = b"dp1/seal\0"
_WRAP_LABEL = b"dp1/wrap\0"
_KEY_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)
_HEX = re.compile(r"[0-9a-f]+", re.ASCII)


class KeyFileError(Exception):
    """The key file can't be used; the message names the path, the reason and the remedy."""


class SealError(ValueError):
    """A sealed secret is malformed or doesn't open."""


class SealedSeedError(SealError):
    """A sealed server seed is malformed, doesn't open, or isn't the seed that was committed to."""


class WrappedKeyError(SealError):
    """A wrapped data key is malformed or doesn't open."""


@dataclass(frozen=True)
class DataKey:
    """A key that seals the seeds of many rounds.  Its 32 bytes never show in a repr."""

    id: str                 # 16 lower-case hex characters
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        _check_key_id(self.id)
        check_size("data key", self.secret, SECRET_SIZE)


@dataclass(frozen=True)
class _Sealed:
    """32 secret bytes under AES-256-GCM, and which data key they belong to."""

    TAG: ClassVar[str]
    ERROR: ClassVar[type[SealError]]

    key_id: str             # 16 lower-case hex characters
    nonce: bytes            # 12 bytes
    ciphertext: bytes       # 48 bytes, the tag last

    def __post_init__(self) -> None:
        try:
            _check_key_id(self.key_id)
            check_size("nonce", self.nonce, NONCE_SIZE)
            check_size("ciphertext", self.ciphertext, SEALED_SIZE)
        except ValueError as error:
            raise self.ERROR(f"{self.TAG}: {error}") from None

    def to_text(self) -> str:
        """`tag.key id.nonce.ciphertext`, the last two in lower-case hex."""
        return f"{self.TAG}.{self.key_id}.{self.nonce.hex()}.{self.ciphertext.hex()}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The reverse of `to_text`; any other text raises an error that names the field."""
        parts = text.split(".")
        if len(parts) != 4 or parts[0] != cls.TAG:
            raise cls.ERROR(f"{cls.TAG}: the text is not {cls.TAG}.<key id>.<nonce>.<ciphertext>")
        return cls(parts[1], cls._bytes("nonce", parts[2]), cls._bytes("ciphertext", parts[3]))

    @classmethod
    def _bytes(cls, name: str, text: str) -> bytes:
        if len(text) % 2 or not _HEX.fullmatch(text):
            raise cls.ERROR(f"{cls.TAG}: {name} is not lower-case hex")
        return bytes.fromhex(text)


class SealedSeed(_Sealed):
    """A server seed, sealed for one round and one commitment."""

    TAG = "dp1"
    ERROR = SealedSeedError


class WrappedDataKey(_Sealed):
    """A data key as the database may hold it: wrapped by a key store."""

    TAG = "dp1-key"
    ERROR = WrappedKeyError


class KeyStore(Protocol):
    """What holds the outermost key: a file, or a key management service."""

    def wrap_data_key(self, data_key: DataKey) -> WrappedDataKey:
        """Wrap `data_key` under its own id."""
        ...

    def unwrap_data_key(self, wrapped: WrappedDataKey) -> DataKey:
        """The data key again, or WrappedKeyError when it was wrapped elsewhere, renamed or changed."""
        ...


def new_data_key() -> DataKey:
    """A fresh data key from the operating system's random source."""
    return DataKey(secrets.token_hex(8), secrets.token_bytes(SECRET_SIZE))


def seal_seed(data_key: DataKey, round_id: bytes, commitment: bytes, server_seed: bytes) -> SealedSeed:
    """Seal S (32 bytes) for round R (16) and commitment C (32); ValueError names a field of a wrong size."""
    check_size("server seed", server_seed, SECRET_SIZE)
    nonce = secrets.token_bytes(NONCE_SIZE)
    cipher = AESGCM(_seed_key(data_key, round_id))
    aad = _seed_aad(data_key.id, round_id, commitment)
    return SealedSeed(data_key.id, nonce, cipher.encrypt(nonce, server_seed, aad))


def open_seed(
    data_key: DataKey, sealed: SealedSeed, round_id: bytes, commitment: bytes, ruleset_digest: bytes
) -> bytes:
    """S again, but only if it's the seed that C promised for this round and ruleset; else SealedSeedError."""
    if sealed.key_id != data_key.id:
        raise SealedSeedError(f"sealed seed: sealed under data key {sealed.key_id}, not {data_key.id}")
    cipher = AESGCM(_seed_key(data_key, round_id))
    aad = _seed_aad(data_key.id, round_id, commitment)
    try:
        server_seed = cipher.decrypt(sealed.nonce, sealed.ciphertext, aad)
    except InvalidTag:
        raise SealedSeedError("sealed seed: another data key, round or commitment, or changed bytes") from None
    if commitment_of(round_id, ruleset_digest, server_seed) != commitment:
        # It opened, so it's what was sealed: the wrong seed was sealed, or the ruleset is another.
        raise SealedSeedError("sealed seed: opened, but it's not the seed of this commitment and ruleset")
    return server_seed


class FileKeyStore:
    """A key store in one file of 32 raw bytes that only its owner may read.

    A missing file is created, once, whoever else tries at the same moment.  So
    a lost file shows at the first unwrap: unwrap the current data key at start.
    """

    def __init__(self, path: Path | str) -> None:
        """Read or create the key file; KeyFileError when it can't be trusted."""
        self._path = Path(path)
        self._cipher = AESGCM(secret_in_file(self._path))

    def wrap_data_key(self, data_key: DataKey) -> WrappedDataKey:
        """See `KeyStore.wrap_data_key`."""
        nonce = secrets.token_bytes(NONCE_SIZE)
        return WrappedDataKey(data_key.id, nonce, self._cipher.encrypt(nonce, data_key.secret, _wrap_aad(data_key.id)))

    def unwrap_data_key(self, wrapped: WrappedDataKey) -> DataKey:
        """See `KeyStore.unwrap_data_key`."""
        try:
            secret = self._cipher.decrypt(wrapped.nonce, wrapped.ciphertext, _wrap_aad(wrapped.key_id))
        except InvalidTag:
            reason = f"doesn't open with key file {self._path}: wrapped under another key, or changed"
            raise WrappedKeyError(f"data key {wrapped.key_id}: {reason}") from None
        return DataKey(wrapped.key_id, secret)


def secret_in_file(path: Path) -> bytes:
    """The 32 bytes of a key file, made where it is missing; KeyFileError when it can't be trusted."""
    try:
        if not path.exists():
            make_once(path, secrets.token_bytes(SECRET_SIZE), 0o600)
        return _read_key_file(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise _key_file_error(path, reason, "check the path, its folder and their owner") from None


def make_key_folder(path: Path) -> None:
    """The folder of a key file, for its owner alone where it is new.  Raises KeyFileError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise KeyFileError(f"key file {path}: its folder can't be made: {reason}") from None


def make_once(path: Path, data: bytes, mode: int) -> None:
    """Make a file appear complete or not at all, and never replace one.

    A crash before the link leaves a `.new` file that nothing reads; after it,
    the file is whole and on disk.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _link_unless_present(draft, path)
    finally:
        draft.unlink()


def _link_unless_present(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        return              # another process was first: its file is the file
    if os.name == "posix":
        sync_folder(path.parent)


def _read_key_file(path: Path) -> bytes:
    # O_NONBLOCK: a named pipe in the key's place must not hang the start.
    descriptor = os.open(path, os.O_RDONLY | _NONBLOCK | _BINARY)
    with os.fdopen(descriptor, "rb") as file:
        _check_key_file_mode(path, os.fstat(descriptor).st_mode)
        secret = file.read(SECRET_SIZE + 1)
    _check_key_bytes(path, secret)
    return secret


def _check_key_bytes(path: Path, secret: bytes) -> None:
    if len(secret) > SECRET_SIZE:
        raise _key_file_error(path, f"longer than {SECRET_SIZE} bytes, so not a key file", "check the path")
    if len(secret) < SECRET_SIZE:
        raise _key_file_error(path, f"half-written, {len(secret)} of {SECRET_SIZE} bytes", _RESTORE)
    if not any(secret):
        # What some file systems leave of a file whose writer lost power.
        raise _key_file_error(path, "half-written, all bytes are zero", _RESTORE)


def _check_key_file_mode(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise _key_file_error(path, "not a regular file", "check the path")
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        reason = f"mode {stat.S_IMODE(mode):04o} lets others than the owner use it"
        raise _key_file_error(path, reason, "chmod 600, and change the key if someone may have read it")


def _key_file_error(path: Path, reason: str, remedy: str) -> KeyFileError:
    return KeyFileError(f"key file {path}: {reason}; {remedy}")


_RESTORE = "restore it from its backup, or remove it if it was never used"
_BINARY = getattr(os, "O_BINARY", 0)        # Windows only
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)    # everywhere else


def _seed_key(data_key: DataKey, round_id: bytes) -> bytes:
    """One key for each round: no two seeds ever share key and nonce."""
    return _expand(data_key.secret, _SEAL_LABEL + round_id)


def _expand(secret: bytes, info: bytes) -> bytes:
    """HKDF-Expand with SHA-256 to 32 bytes (RFC 5869, 2.3); the secret is uniform, so nothing is extracted."""
    return HKDFExpand(SHA256(), SECRET_SIZE, info).derive(secret)


def _seed_aad(key_id: str, round_id: bytes, commitment: bytes) -> bytes:
    check_size("round id", round_id, ROUND_ID_SIZE)
    check_size("commitment", commitment, SECRET_SIZE)
    return _SEAL_LABEL + key_id.encode("ascii") + round_id + commitment


def _wrap_aad(key_id: str) -> bytes:
    return _WRAP_LABEL + key_id.encode("ascii")


def _check_key_id(key_id: str) -> None:
    if not _KEY_ID.fullmatch(key_id):
        raise ValueError("key id: not 16 lower-case hex characters")
