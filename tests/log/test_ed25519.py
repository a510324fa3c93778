"""Ed25519 as every signature of the log is checked: by `cryptography`, strictly as RFC 8032 has it.

Not here: the same in plain Python, and that both agree (tests/portable/test_ed25519.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ops.log.ed25519 import check_signature

GROUPS = json.loads((Path(__file__).parents[1] / "vectors/wycheproof/ed25519_test.json").read_bytes())["testGroups"]
CASES = [(group["publicKey"]["pk"], case) for group in GROUPS for case in group["tests"]]


def test_the_known_answers_are_of_both_kinds() -> None:
    assert {case["result"] for _, case in CASES} == {"valid", "invalid"}


@pytest.mark.parametrize(("key", "case"), CASES, ids=[f"{case['tcId']} {case['comment']}" for _, case in CASES])
def test_wycheproof(key: str, case: dict[str, Any]) -> None:
    """Good signatures, and each way that a bad one was ever taken for good."""
    good = check_signature(bytes.fromhex(key), bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))

    assert good == (case["result"] == "valid")


# RFC 8032 section 7.1: secret key, public key, message, signature.
RFC = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("key", "message", "signature"), RFC)
def test_the_answers_of_the_rfc(key: str, message: str, signature: str) -> None:
    public, signed = bytes.fromhex(key), bytes.fromhex(signature)

    assert check_signature(public, bytes.fromhex(message), signed)
    assert not check_signature(public, bytes.fromhex(message) + b"\0", signed)


@pytest.mark.parametrize(("key", "signature"), [(0, 64), (31, 64), (33, 64), (32, 0), (32, 63), (32, 65), (32, 128)])
def test_another_length_is_not_good_and_raises_nothing(key: int, signature: int) -> None:
    assert check_signature(bytes(key), b"message", bytes(signature)) is False
