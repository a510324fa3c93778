"""Ed25519 in plain Python: published answers, and the same yes and no as `cryptography`.  RFC 8032."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.log import ed25519 as openssl
from ops.portable.ed25519 import BASE, ORDER, ZERO, P, added, check_signature, decoded, doubled, encoded, negative

VECTORS = Path(__file__).parents[1] / "vectors" / "wycheproof" / "ed25519_test.json"
GROUPS = json.loads(VECTORS.read_text())["testGroups"]
CASES = [(group["publicKey"]["pk"], case) for group in GROUPS for case in group["tests"]]


@pytest.mark.parametrize(("key", "case"), CASES, ids=[f"{case['tcId']}" for _, case in CASES])
def test_wycheproof(key: str, case: dict[str, Any]) -> None:
    """Signatures that are good, and each way that one has been made to look so."""
    good = check_signature(bytes.fromhex(key), bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))

    assert good == (case["result"] == "valid"), case["comment"]


def test_the_first_answer_of_the_rfc() -> None:
    """RFC 8032 section 7.1, TEST 1."""
    key = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    signature = bytes.fromhex(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    )

    assert check_signature(key, b"", signature)
    assert not check_signature(key, b"\0", signature)


@settings(max_examples=60, deadline=None)
@given(seed=st.binary(min_size=32, max_size=32), message=st.binary(max_size=200), data=st.data())
def test_a_signature_is_good_until_a_bit_of_anything_changes(seed: bytes, message: bytes, data: st.DataObject) -> None:
    """Of key, message or signature; and `cryptography` says the same."""
    private = Ed25519PrivateKey.from_private_bytes(seed)
    whole = [private.public_key().public_bytes_raw(), message, private.sign(message)]
    assert check_signature(*whole)

    part = data.draw(st.sampled_from([place for place in range(3) if whole[place]]))
    bit = data.draw(st.integers(0, 8 * len(whole[part]) - 1))
    changed = bytearray(whole[part])
    changed[bit // 8] ^= 1 << bit % 8
    whole[part] = bytes(changed)

    assert not check_signature(*whole)
    assert not openssl.check_signature(*whole)


@settings(max_examples=100, deadline=None)
@given(
    key=st.binary(min_size=32, max_size=32),
    message=st.binary(max_size=9),
    signature=st.binary(min_size=64, max_size=64),
)
def test_any_bytes_fare_as_with_openssl(key: bytes, message: bytes, signature: bytes) -> None:
    """Half of all keys are points of the curve; zeros all over are a key of small order, which signs much."""
    assert check_signature(key, message, signature) == openssl.check_signature(key, message, signature)


@pytest.mark.parametrize(("key", "signature"), [(31, 64), (33, 64), (0, 64), (32, 63), (32, 65), (32, 0)])
def test_a_wrong_size_is_no_signature(key: int, signature: int) -> None:
    """Nothing raises."""
    assert not check_signature(bytes(key), b"", bytes(signature))
    assert not openssl.check_signature(bytes(key), b"", bytes(signature))


ODD = 1 << 255
SMALL = [1, P - 1, 0]
STRANGE = sorted({y | sign for y in [*range(P, 2**255), *SMALL, P - 2, 2, 3] for sign in (0, ODD)})
SPELLINGS = [ZERO.y, P - 1, P + 1, 1 | ODD, (P - 1) | ODD, (P + 1) | ODD, 0, ODD, P, P | ODD]


@pytest.mark.parametrize("s", [0, 1, ORDER - 1, ORDER, ORDER + 1, 2**256 - 1])
def test_strange_keys_and_spellings_fare_as_with_openssl(s: int) -> None:
    """Every y beyond the prime, points of small order, either sign of an x that is 0; R and S in other spellings."""
    accepted = 0
    for y in STRANGE:
        for r in SPELLINGS:
            whole = y.to_bytes(32, "little"), b"m", r.to_bytes(32, "little") + s.to_bytes(32, "little")
            answer = check_signature(*whole)
            assert answer == openssl.check_signature(*whole), (y, r, s)
            accepted += answer

    assert (accepted > 0) == (s == 0), "a key of small order signs anything with S = 0 and R = 0"


def test_the_group() -> None:
    """Sums agree with doubling, opposites add up to zero, the base point has its order."""
    point, multiple = BASE, ZERO
    for place in range(ORDER.bit_length()):
        if ORDER >> place & 1:
            multiple = added(multiple, point)
        assert encoded(added(point, point)) == encoded(doubled(point))
        assert encoded(added(point, negative(point))) == encoded(ZERO)
        point = doubled(point)

    assert encoded(multiple) == encoded(ZERO)
    assert decoded(encoded(BASE)) == BASE
