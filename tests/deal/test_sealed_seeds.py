"""Sealed seeds: the published example, every way in which one must not open, and silence about the secret."""

import json
import traceback
from collections.abc import Callable
from dataclasses import replace
from hmac import digest
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from domain.deal.commitment import commitment
from ops.keys import (
    DataKey,
    SealedSeed,
    SealedSeedError,
    WrappedDataKey,
    WrappedKeyError,
    _expand,
    new_data_key,
    open_seed,
    seal_seed,
)
from tests.deal import example

WYCHEPROOF = Path(__file__).parents[1] / "vectors" / "wycheproof"

DATA_KEY = DataKey(example.SEALING["key-id"], bytes.fromhex(example.SEALING["data-key"]))
OTHER_ROUND = bytes(16)


def sealed() -> SealedSeed:
    return seal_seed(DATA_KEY, example.ROUND_ID, example.COMMITMENT, example.SERVER_SEED)


def opened(
    seal: SealedSeed,
    *,
    key: DataKey = DATA_KEY,
    round_id: bytes = example.ROUND_ID,
    promise: bytes = example.COMMITMENT,
    ruleset_digest: bytes = example.RULESET_DIGEST,
) -> bytes:
    return open_seed(key, seal, round_id, promise, ruleset_digest)


def refusal(opening: Callable[[], bytes]) -> str:
    with pytest.raises(SealedSeedError) as caught:
        opening()
    return str(caught.value)


def test_the_published_example_opens() -> None:
    seal = SealedSeed.from_text(example.SEALING["text"])

    assert seal.nonce.hex() == example.SEALING["nonce"]
    assert opened(seal) == example.SERVER_SEED


def test_a_seal_has_the_published_format() -> None:
    """The same bytes by another way: HKDF-Expand spelled out in HMAC (RFC 5869, 2.3)."""
    seal = sealed()

    key = digest(DATA_KEY.secret, b"dp1/seal\0" + example.ROUND_ID + b"\x01", "sha256")
    aad = b"dp1/seal\0" + DATA_KEY.id.encode() + example.ROUND_ID + example.COMMITMENT
    assert AESGCM(key).decrypt(seal.nonce, seal.ciphertext, aad) == example.SERVER_SEED


@given(seed=st.binary(min_size=32, max_size=32), round_id=st.binary(min_size=16, max_size=16))
def test_a_seed_comes_back_as_it_was_sealed(seed: bytes, round_id: bytes) -> None:
    key, promise = new_data_key(), commitment(round_id, example.RULESET_DIGEST, seed)
    text = seal_seed(key, round_id, promise, seed).to_text()

    assert open_seed(key, SealedSeed.from_text(text), round_id, promise, example.RULESET_DIGEST) == seed


def test_no_nonce_is_ever_used_twice() -> None:
    assert len({sealed().nonce for _ in range(1_000)}) == 1_000


def test_a_seal_opens_to_nothing_else() -> None:
    seal = sealed()

    another_key = DataKey(DATA_KEY.id, bytes(32))
    assert "changed bytes" in refusal(lambda: opened(seal, key=another_key))
    assert "sealed under data key" in refusal(lambda: opened(seal, key=new_data_key()))
    assert "changed bytes" in refusal(lambda: opened(seal, round_id=OTHER_ROUND))
    assert "changed bytes" in refusal(lambda: opened(seal, promise=bytes(32)))
    assert "not the seed of this commitment" in refusal(lambda: opened(seal, ruleset_digest=bytes(32)))


def test_a_renamed_seal_does_not_open_under_the_new_name() -> None:
    """The key id is bound too, even where both names stand for the same 32 bytes."""
    renamed = replace(DATA_KEY, id="f" * 16)

    assert "changed bytes" in refusal(lambda: opened(replace(sealed(), key_id=renamed.id), key=renamed))


def test_a_seed_that_was_never_promised_is_refused_although_it_opens() -> None:
    seal = seal_seed(DATA_KEY, example.ROUND_ID, example.COMMITMENT, bytes(32))

    assert "not the seed of this commitment" in refusal(lambda: opened(seal))


def test_a_flipped_bit_anywhere_is_noticed() -> None:
    seal = sealed()

    for name, size in (("nonce", 12), ("ciphertext", 48)):
        for bit in range(8 * size):
            flipped = int.from_bytes(getattr(seal, name), "big") ^ (1 << bit)
            changed = SealedSeed(
                seal.key_id, **{"nonce": seal.nonce, "ciphertext": seal.ciphertext, name: flipped.to_bytes(size, "big")}
            )
            assert "changed bytes" in refusal(lambda changed=changed: opened(changed))  # type: ignore[misc]


@given(st.integers(0, 400), st.sampled_from("0123456789abcdefABCDEFpd. \n-٣"))
def test_a_changed_character_of_the_text_is_never_opened(position: int, character: str) -> None:
    text = example.SEALING["text"]
    position %= len(text)
    changed = text[:position] + character + text[position + 1 :]

    if changed == text:
        return
    with pytest.raises(SealedSeedError):
        opened(SealedSeed.from_text(changed))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: "", "the text is not dp1"),
        (lambda text: text + ".00", "the text is not dp1"),
        (lambda text: text.replace("dp1.", "dp2."), "the text is not dp1"),
        (lambda text: text.replace("dp1.", "dp1-key."), "the text is not dp1"),
        (lambda text: text.replace(".0011", ".001"), "key id"),
        (lambda text: text.replace(".0011", ".00AA"), "key id"),
        (lambda text: text[:22] + text[24:], "nonce: 11 bytes instead of 12"),
        (lambda text: text[:22] + text[23:], "nonce is not lower-case hex"),
        (lambda text: text[:-2], "ciphertext: 47 bytes instead of 48"),
        (lambda text: text + "00", "ciphertext: 49 bytes instead of 48"),
        (lambda text: text[:-1] + "G", "ciphertext is not lower-case hex"),
        (lambda text: text[:-2] + "AB", "ciphertext is not lower-case hex"),
        (lambda text: text[:-2] + "٣٣", "ciphertext is not lower-case hex"),
        (lambda text: text + "\n", "ciphertext is not lower-case hex"),
        (lambda text: text[:-2] + " 0", "ciphertext is not lower-case hex"),
    ],
)
def test_a_malformed_text_is_refused_by_field(spoil: Callable[[str], str], message: str) -> None:
    with pytest.raises(SealedSeedError, match=message):
        SealedSeed.from_text(spoil(example.SEALING["text"]))


def test_the_text_of_a_wrapped_key_and_of_a_seed_cannot_be_confused() -> None:
    text = example.SEALING["text"]

    with pytest.raises(WrappedKeyError, match="the text is not dp1-key"):
        WrappedDataKey.from_text(text)
    wrapped = WrappedDataKey.from_text(text.replace("dp1.", "dp1-key."))
    assert WrappedDataKey.from_text(wrapped.to_text()) == wrapped


@pytest.mark.parametrize(
    ("field", "sizes"), [("round id", (15, 32, 32)), ("commitment", (16, 31, 32)), ("server seed", (16, 32, 33))]
)
def test_sealing_refuses_a_wrong_size_by_name(field: str, sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        seal_seed(DATA_KEY, *map(bytes, sizes))


@pytest.mark.parametrize(
    ("key_id", "size"), [("0" * 15, 32), ("0" * 15 + "A", 32), ("0" * 16 + "\n", 32), ("0" * 16, 31)]
)
def test_a_malformed_data_key_is_refused(key_id: str, size: int) -> None:
    with pytest.raises(ValueError, match=r"key id|data key"):
        DataKey(key_id, bytes(size))


# --- silence about secrets -----------------------------------------------------------------------


def spellings(secret: bytes) -> list[str]:
    """The forms in which a secret might slip out; a part of it is already too much."""
    return [secret.hex()[:16], repr(secret)[2:18], str(list(secret))[1:20], str(int.from_bytes(secret, "big"))[:16]]


def test_neither_repr_nor_str_shows_a_key_or_a_seed() -> None:
    secret = b"\xc7\x9d" * 16
    key = DataKey("0" * 16, secret)
    seal = seal_seed(key, example.ROUND_ID, example.COMMITMENT, secret)

    shown = f"{key!r} {key} {seal!r} {seal} {seal.to_text()}"
    assert not [form for form in spellings(secret) if form in shown]


def test_no_refusal_and_no_traceback_shows_a_seed() -> None:
    secret = b"\xc7\x9d" * 16
    key = DataKey("0" * 16, secret)
    seal = seal_seed(key, example.ROUND_ID, example.COMMITMENT, secret)
    calls: list[Callable[[], object]] = [
        lambda: opened(seal, key=key),                          # opens, but to another seed than promised
        lambda: opened(seal, key=key, round_id=OTHER_ROUND),
        lambda: seal_seed(key, example.ROUND_ID, example.COMMITMENT, secret + b"\xc7"),
        lambda: commitment(example.ROUND_ID, example.RULESET_DIGEST, secret + b"\xc7"),
        lambda: DataKey("0" * 16, secret + b"\xc7"),
    ]
    for call in calls:
        with pytest.raises(ValueError) as caught:
            call()
        shown = "".join(traceback.format_exception(caught.value))
        assert not [form for form in spellings(secret) if form in shown]


# --- the primitives, against Wycheproof ----------------------------------------------------------


def wycheproof(name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    groups = json.loads((WYCHEPROOF / name).read_bytes())["testGroups"]
    return [(group, case) for group in groups for case in group["tests"]]


def test_aes_gcm_as_we_call_it() -> None:
    """256-bit key, 96-bit nonce, 128-bit tag: 66 cases, those with a forged tag are refused."""
    vectors = wycheproof("aes_gcm_test.json")
    cases = [case for group, case in vectors if (group["keySize"], group["ivSize"]) == (256, 96)]
    assert len(cases) == 66
    for case in cases:
        key, nonce, aad, text, ciphertext, tag = (
            bytes.fromhex(case[name]) for name in ("key", "iv", "aad", "msg", "ct", "tag")
        )
        if case["result"] == "valid":
            assert AESGCM(key).encrypt(nonce, text, aad) == ciphertext + tag
            assert AESGCM(key).decrypt(nonce, ciphertext + tag, aad) == text
        else:
            with pytest.raises(InvalidTag):
                AESGCM(key).decrypt(nonce, ciphertext + tag, aad)


def test_hkdf_expand_as_we_call_it() -> None:
    """We take 32 bytes and never extract: the vectors' extract step is done here (RFC 5869, 2.2)."""
    cases = [case for _, case in wycheproof("hkdf_sha256_test.json") if case["result"] == "valid"]
    assert len(cases) == 83
    for case in cases:
        uniform = digest(bytes.fromhex(case["salt"]), bytes.fromhex(case["ikm"]), "sha256")
        size = min(32, case["size"])
        assert _expand(uniform, bytes.fromhex(case["info"]))[:size].hex() == case["okm"][: 2 * size], case["tcId"]
