"""The Merkle tree of the log: its root, and proofs that a leaf is in it and that it only ever grew.

Source: RFC 6962 section 2.1, docs/formats/log.md.  A tree of n leaves is split at k, the largest power of two below n:
the first k leaves to the left, the others to the right, and each side again.  A proof holds the hashes of the subtrees
beside the path from the root down, lowest first.  Which subtrees those are follows from the numbers alone, so prover
and verifier take them from the same two functions, and a proof of any other length is refused before a hash is made.

Not here: which leaf is which event (`domain.record`), where the hashes lie (`tiles`), whose root it is (`checkpoint`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

HASH_SIZE: Final = 32
EMPTY_ROOT: Final = sha256(b"").digest()
LARGEST_SIZE: Final = 2**63

Nodes = Callable[[int, int], bytes]
"""(level, index) gives the hash of the complete subtree over the leaves from index << level to (index + 1) << level."""


class ProofError(ValueError):
    """A proof that proves nothing, or numbers outside of the tree; one line with the reason."""


def leaf_hash(body: bytes) -> bytes:
    """H(0x00 || body), 32 bytes (RFC 6962, 2.1)."""
    return sha256(b"\0" + body).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """H(0x01 || left || right), 32 bytes (RFC 6962, 2.1)."""
    return sha256(b"\1" + left + right).digest()


# -- verifying


def verify_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """Leaf `index` (from 0) of the tree with this size and root has the leaf hash `leaf`; ProofError unless so."""
    _require_index(index, size)
    _require_hash("leaf", leaf)
    _require_hash("root", root)
    beside = _beside_leaf(index, size)
    _require_proof(proof, len(beside))
    found, hashes = leaf, iter(proof)
    for subtree in beside:
        known = next(hashes)
        found = node_hash(known, found) if subtree.end <= index else node_hash(found, known)
    _require_root("root", found, root)


def verify_consistency(first: int, second: int, first_root: bytes, second_root: bytes, proof: Sequence[bytes]) -> None:
    """The tree of `second` leaves begins with the tree of `first` leaves, 1 to `second`; ProofError unless so.

    A first size of 0 is refused: every tree begins with the empty one, so nothing would be proved.
    """
    _require_sizes(first, second)
    _require_hash("first root", first_root)
    _require_hash("second root", second_root)
    edge, beside = _beside_edge(first, second)
    # RFC 6962, 2.1.2: where all of the old tree is one subtree of the new one, its root is known and not in the proof.
    whole = edge.start == 0
    _require_proof(proof, len(beside) if whole else len(beside) + 1)
    hashes = iter(proof)
    old = new = first_root if whole else next(hashes)
    for subtree in beside:
        known = next(hashes)
        if subtree.end <= edge.start:
            old, new = node_hash(known, old), node_hash(known, new)
        else:
            new = node_hash(new, known)
    _require_root("first root", old, first_root)
    _require_root("second root", new, second_root)


# -- proving


def root(size: int, nodes: Nodes) -> bytes:
    """The root of the first `size` leaves; ProofError for a size that no tree has."""
    _require_number("size", size, 0, LARGEST_SIZE)
    return _hash_of(_Subtree(0, size), nodes) if size else EMPTY_ROOT


def root_of(leaves: Sequence[bytes]) -> bytes:
    """The root of a tree with these leaf hashes."""
    row = list(leaves)
    while len(row) > 1:
        # A last one without a partner goes up as it is, until it has one.
        alone = row[-1:] if len(row) % 2 else []
        row = [node_hash(row[at], row[at + 1]) for at in range(0, len(row) - 1, 2)] + alone
    return row[0] if row else EMPTY_ROOT


def inclusion_proof(index: int, size: int, nodes: Nodes) -> list[bytes]:
    """PATH(index, the first `size` leaves) of RFC 6962, 2.1.1; ProofError outside of the tree."""
    _require_index(index, size)
    return [_hash_of(subtree, nodes) for subtree in _beside_leaf(index, size)]


def consistency_proof(first: int, second: int, nodes: Nodes) -> list[bytes]:
    """PROOF(first, the first `second` leaves) of RFC 6962, 2.1.2; ProofError unless 1 <= first <= second."""
    _require_sizes(first, second)
    edge, beside = _beside_edge(first, second)
    subtrees = beside if edge.start == 0 else [edge, *beside]
    return [_hash_of(subtree, nodes) for subtree in subtrees]


# -- the shape of the tree


class _Subtree(NamedTuple):
    """Leaves `start` to `end`, the latter not included."""

    start: int
    end: int

    def halves(self) -> tuple[_Subtree, _Subtree]:
        """Left and right, split at the largest power of two below the number of leaves, of which there are several."""
        middle = self.start + (1 << (self.end - self.start - 1).bit_length() - 1)
        return _Subtree(self.start, middle), _Subtree(middle, self.end)


def _beside_leaf(index: int, size: int) -> list[_Subtree]:
    """The subtrees beside the path to a leaf, lowest first."""
    subtree, beside = _Subtree(0, size), []
    while subtree.end - subtree.start > 1:
        left, right = subtree.halves()
        subtree, other = (left, right) if index < left.end else (right, left)
        beside.append(other)
    return beside[::-1]


def _beside_edge(first: int, second: int) -> tuple[_Subtree, list[_Subtree]]:
    """The greatest subtree of `second` leaves that ends where `first` do; those beside the path to it, lowest first.

    Those to its left hold the rest of the first tree, those to its right all that was added.
    """
    subtree, beside = _Subtree(0, second), []
    while first < subtree.end:
        left, right = subtree.halves()
        subtree, other = (left, right) if first <= left.end else (right, left)
        beside.append(other)
    return subtree, beside[::-1]


def _hash_of(subtree: _Subtree, nodes: Nodes) -> bytes:
    """MTH of RFC 6962, 2.1, made of complete subtrees."""
    leaves = subtree.end - subtree.start
    if leaves.bit_count() == 1:
        level = leaves.bit_length() - 1
        return nodes(level, subtree.start >> level)
    left, right = subtree.halves()
    return node_hash(_hash_of(left, nodes), _hash_of(right, nodes))


# -- what is refused


def _require_index(index: int, size: int) -> None:
    _require_number("size", size, 1, LARGEST_SIZE)
    _require_number("index", index, 0, size - 1)


def _require_sizes(first: int, second: int) -> None:
    _require_number("second size", second, 1, LARGEST_SIZE)
    _require_number("first size", first, 1, second)


def _require_number(field: str, value: object, least: int, most: int) -> None:
    # The value stays out of the message: it may have a million digits.
    if type(value) is not int or not least <= value <= most:
        raise ProofError(f"{field}: not a whole number from {least} to {most}")


def _require_hash(field: str, value: object) -> None:
    if not isinstance(value, bytes) or len(value) != HASH_SIZE:
        raise ProofError(f"{field}: not {HASH_SIZE} bytes")


def _require_proof(proof: object, count: int) -> None:
    if not isinstance(proof, list | tuple):
        raise ProofError("proof: not a list of hashes")
    if len(proof) != count:
        raise ProofError(f"proof: {len(proof)} hashes instead of {count}")
    for at, known in enumerate(proof):
        _require_hash(f"proof, hash {at}", known)


def _require_root(field: str, found: bytes, given: bytes) -> None:
    if found != given:
        raise ProofError(f"{field}: the proof leads to {found.hex()}, not to {given.hex()}")
