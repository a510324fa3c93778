"""Ed25519 signatures, checked by `cryptography` (RFC 8032).

Not here: what is signed (`domain.log`), private keys (`ops.log.keys`).
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def check_signature(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature (64 bytes) of the message is good under the public key (32 bytes); never raises."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
