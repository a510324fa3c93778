"""Ed25519 signatures, checked in plain Python: for the verifier that runs where `cryptography` is not installed.

Source: RFC 8032 sections 5.1.2 to 5.1.4 and 5.1.7 (the stricter equation, without the cofactor).  It says yes and no
just where OpenSSL does: S must be below the group's order, and R is compared as bytes, so that a signature has one
spelling.  A public key's y is taken modulo the field's prime, as OpenSSL takes it; keys come from the verifier's own
trust.

Everything here is public (key, message, signature), so nothing runs in constant time.  Never give it a secret.

Not here: signing, and which keys are believed (`domain.log.trust`).
"""

from __future__ import annotations

from hashlib import sha512
from typing import Final, NamedTuple

P: Final = 2**255 - 19
"""The field's prime."""
ORDER: Final = 2**252 + 27742317777372353535851937790883648493
"""Of the base point."""
D: Final = -121665 * pow(121666, -1, P) % P
"""The curve is -x^2 + y^2 = 1 + D x^2 y^2."""
ROOT_OF_MINUS_1: Final = pow(2, (P - 1) // 4, P)


def check_signature(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature (64 bytes) of the message is good under the public key (32 bytes); never raises."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key, s = decoded(public_key), int.from_bytes(signature[32:], "little")
    if key is None or s >= ORDER:
        return False
    challenge = int.from_bytes(sha512(signature[:32] + public_key + message).digest(), "little") % ORDER
    return encoded(_sum_of_multiples(s, BASE, challenge, negative(key))) == signature[:32]


class Point(NamedTuple):
    """A point in extended coordinates: x = X/Z, y = Y/Z, xy = T/Z."""

    x: int
    y: int
    z: int
    t: int


def decoded(data: bytes) -> Point | None:
    """The point of 32 bytes (5.1.3): y, and in the highest bit whether x is odd; None if the curve has none."""
    number = int.from_bytes(data, "little")
    odd, y = number >> 255, (number & (1 << 255) - 1) % P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_1 % P
    if (x * x - square) % P:
        return None
    if x & 1 != odd:
        x = -x % P
    return Point(x, y, 1, x * y % P)


def encoded(point: Point) -> bytes:
    """The 32 bytes of a point (5.1.2)."""
    inverse = pow(point.z, -1, P)
    x, y = point.x * inverse % P, point.y * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def added(one: Point, other: Point) -> Point:
    """The sum of any two points (5.1.4); the formula has no exceptions on this curve."""
    a = (one.y - one.x) * (other.y - other.x) % P
    b = (one.y + one.x) * (other.y + other.x) % P
    c = 2 * D * one.t * other.t % P
    d = 2 * one.z * other.z % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return Point(e * f % P, g * h % P, f * g % P, e * h % P)


def doubled(point: Point) -> Point:
    """Twice a point (5.1.4)."""
    a, b = point.x * point.x % P, point.y * point.y % P
    c = 2 * point.z * point.z % P
    h = a + b
    e = h - (point.x + point.y) ** 2
    g = a - b
    f = c + g
    return Point(e * f % P, g * h % P, f * g % P, e * h % P)


def negative(point: Point) -> Point:
    """The point that adds up to zero with this one."""
    return Point(-point.x % P, point.y, point.z, -point.t % P)


def _sum_of_multiples(first: int, one: Point, second: int, other: Point) -> Point:
    """first * one + second * other, bit by bit for both together."""
    both, total = added(one, other), ZERO
    for place in range(max(first.bit_length(), second.bit_length()) - 1, -1, -1):
        total = doubled(total)
        bits = (first >> place & 1, second >> place & 1)
        if bits != (0, 0):
            total = added(total, {(1, 1): both, (1, 0): one, (0, 1): other}[bits])
    return total


ZERO: Final = Point(0, 1, 1, 0)
BASE: Final = Point(
    15112221349535400772501151409588531511454012693041857206046113283949847762202,
    46316835694926478169428394003475163141307993866256225615783033603165251855960,
    1,
    15112221349535400772501151409588531511454012693041857206046113283949847762202
    * 46316835694926478169428394003475163141307993866256225615783033603165251855960
    % P,
)
