"""Keys that tests sign with, always the same ones, and the log that they sign.

Not here: what is expected of notes (`test_checkpoint`), trust files (`test_trust`) and receipts (`test_receipt`).
"""

from __future__ import annotations

from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain.log.checkpoint import COSIGNATURE, LOG, Checkpoint, Note, VerifierKey, cosignature, signed_by_log
from domain.log.trust import PinnedKey, Trust

ORIGIN: Final = "casino.example/log"
TIME: Final = 1_796_300_000
"""2026-12-03T12:13:20Z"""


class Signer:
    """A key made of one number."""

    def __init__(self, number: int, name: str, kind: int) -> None:
        self.private = Ed25519PrivateKey.from_private_bytes(bytes([number] * 32))
        self.key = VerifierKey(name, kind, self.private.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        return self.private.sign(message)


HOUSE: Final = Signer(1, ORIGIN, LOG)
HOUSE_NEXT: Final = Signer(2, ORIGIN, LOG)
RECEIPTS: Final = Signer(3, f"{ORIGIN}/receipts", LOG)
ALPHA: Final = Signer(11, "alpha.example/w", COSIGNATURE)
BETA: Final = Signer(12, "beta.example/w", COSIGNATURE)
STRANGER: Final = Signer(21, "stranger.example/w", COSIGNATURE)

TRUST: Final = Trust(
    origin=ORIGIN,
    log_keys=(PinnedKey(HOUSE.key),),
    witness_keys=(PinnedKey(ALPHA.key), PinnedKey(BETA.key)),
    receipt_keys=(PinnedKey(RECEIPTS.key),),
)
CHECKPOINT: Final = Checkpoint(ORIGIN, 1274, bytes(range(32)))


def note(checkpoint: Checkpoint = CHECKPOINT, *witnesses: Signer, by: Signer = HOUSE, time: int = TIME) -> Note:
    """A note of the log with the cosignatures of these witnesses."""
    own = signed_by_log(checkpoint, by.key, by.sign)
    lines = [cosignature(own.body, time, witness.key, witness.sign) for witness in witnesses]
    return Note(own.body, (*own.signatures, *lines))
