"""The Merkle tree once more, slow and obvious.  Source: RFC 6962 section 2.1, RFC 9162 sections 2.1.3.2 and 2.1.4.2.

MTH, PATH, PROOF and SUBPROOF are the recursive definitions of RFC 6962, with its letters, over the entries themselves.
The two verifiers are the step lists of RFC 9162, which climb by the bits of two numbers: another road than the
product's, and one that says yes or no to anything that is thrown at it.
"""

from collections.abc import Sequence
from hashlib import sha256

Entries = Sequence[bytes]


def mth(d: Entries) -> bytes:
    """2.1: the Merkle Tree Hash of the entries."""
    n = len(d)
    if n == 0:
        return sha256(b"").digest()
    if n == 1:
        return sha256(b"\x00" + d[0]).digest()
    k = largest_power_of_two_below(n)
    return parent(mth(d[0:k]), mth(d[k:n]))


def path(m: int, d: Entries) -> list[bytes]:
    """2.1.1: the audit path for entry m."""
    n = len(d)
    if n == 1:
        return []
    k = largest_power_of_two_below(n)
    if m < k:
        return [*path(m, d[0:k]), mth(d[k:n])]
    return [*path(m - k, d[k:n]), mth(d[0:k])]


def proof(m: int, d: Entries) -> list[bytes]:
    """2.1.2: the consistency proof from the first m entries."""
    return subproof(m, d, True)


def subproof(m: int, d: Entries, b: bool) -> list[bytes]:
    """2.1.2: b says whether the subtree was made from the first m entries from the beginning."""
    n = len(d)
    if m == n:
        return [] if b else [mth(d)]
    k = largest_power_of_two_below(n)
    if m <= k:
        return [*subproof(m, d[0:k], b), mth(d[k:n])]
    return [*subproof(m - k, d[k:n], False), mth(d[0:k])]


def largest_power_of_two_below(n: int) -> int:
    """k < n <= 2k, for n > 1."""
    k = 1
    while 2 * k < n:
        k = 2 * k
    return k


def parent(left: bytes, right: bytes) -> bytes:
    """2.1: H(0x01 || left || right)."""
    return sha256(b"\x01" + left + right).digest()


def accepts_inclusion(index: int, size: int, leaf: bytes, path: Sequence[bytes], root: bytes) -> bool:
    """RFC 9162, 2.1.3.2."""
    if index >= size:
        return False
    fn, sn, r = index, size - 1, leaf
    for p in path:
        if sn == 0:
            return False
        if fn % 2 == 1 or fn == sn:
            r = parent(p, r)
            while fn % 2 == 0 and fn != 0:
                fn, sn = fn // 2, sn // 2
        else:
            r = parent(r, p)
        fn, sn = fn // 2, sn // 2
    return sn == 0 and r == root


def accepts_consistency(first: int, second: int, first_root: bytes, second_root: bytes, path: Sequence[bytes]) -> bool:
    """RFC 9162, 2.1.4.2, where the sizes differ; of equal sizes the roots are equal and nothing is sent."""
    if first == second:
        return not path and first_root == second_root
    if not path or not 0 < first < second:
        return False
    steps = [first_root, *path] if first.bit_count() == 1 else list(path)
    fn, sn = first - 1, second - 1
    while fn % 2 == 1:
        fn, sn = fn // 2, sn // 2
    fr = sr = steps[0]
    for c in steps[1:]:
        if sn == 0:
            return False
        if fn % 2 == 1 or fn == sn:
            fr, sr = parent(c, fr), parent(c, sr)
            while fn % 2 == 0 and fn != 0:
                fn, sn = fn // 2, sn // 2
        else:
            sr = parent(sr, c)
        fn, sn = fn // 2, sn // 2
    return sn == 0 and fr == first_root and sr == second_root
