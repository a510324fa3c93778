"""What is promised before a stake is taken, and what the players add.  Format: docs/formats/deal.md.

The commitment C binds the house to its seed before it knows the players'
seeds; the client entropy X binds the deck to seeds the house didn't choose.

Not here: publishing and revealing (`domain.round`), keeping the seed (`ops.keys`).
"""

from collections.abc import Iterable
from hashlib import sha256

SEED_SIZE = 32              # bytes of a server seed and of every SHA-256 digest
ROUND_ID_SIZE = 16          # bytes of a UUIDv7
MAX_BYTE = 255              # a box number and a client seed's length take one byte each


def commitment(round_id: bytes, ruleset_digest: bytes, server_seed: bytes) -> bytes:
    """C, 32 bytes, from R (16 bytes), G (32) and S (32); ValueError names the field of a wrong size."""
    check_size("round id", round_id, ROUND_ID_SIZE)
    check_size("ruleset digest", ruleset_digest, SEED_SIZE)
    check_size("server seed", server_seed, SEED_SIZE)
    return sha256(b"dp1/commit\0" + round_id + ruleset_digest + server_seed).digest()


def client_entropy(client_seeds: Iterable[tuple[int, bytes]]) -> bytes:
    """X, 32 bytes, from (box, client seed) pairs in ascending order of box.

    A box whose player gave no seed stands with b"".  Boxes are 0 to 255, each
    at most once, a seed has 0 to 255 bytes; anything else is a ValueError.
    """
    fields, last = [], -1
    for box, seed in client_seeds:
        if box <= last:
            raise ValueError(f"box: {box} follows {last}, boxes must ascend")
        fields.append(_client_field(box, seed))
        last = box
    return sha256(b"dp1/clients\0" + len(fields).to_bytes(2, "big") + b"".join(fields)).digest()


def check_size(field: str, value: bytes, size: int) -> None:
    """Raise ValueError unless `value` has exactly `size` bytes; the message never holds the value."""
    if len(value) != size:
        raise ValueError(f"{field}: {len(value)} bytes instead of {size}")


def _client_field(box: int, seed: bytes) -> bytes:
    if not 0 <= box <= MAX_BYTE:
        raise ValueError(f"box: {box} is not 0 to {MAX_BYTE}")
    if len(seed) > MAX_BYTE:
        raise ValueError(f"client seed of box {box}: {len(seed)} bytes, at most {MAX_BYTE} are allowed")
    return bytes((box, len(seed))) + seed
