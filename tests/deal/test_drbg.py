"""HMAC_DRBG against all 960 known answers of NIST's CAVP, and its refusals."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from domain.deal.drbg import MAX_REQUEST, RESEED_INTERVAL, HmacDrbg

VECTORS = Path(__file__).parents[1] / "vectors" / "drbg"
SEED = bytes(range(32))
NONCE = bytes(16)

Case = dict[str, Any]


def json_cases(name: str) -> list[Case]:
    cases: list[Case] = json.loads((VECTORS / f"DRBG_CAVP_{name}.sha256.json").read_bytes())
    assert len(cases) == 240
    return cases


def instantiate(case: Case) -> HmacDrbg:
    entropy, nonce, personalization = case["EntropyInput"], case["Nonce"], case["PersonalizationString"]
    return HmacDrbg(bytes.fromhex(entropy), bytes.fromhex(nonce), bytes.fromhex(personalization))


def second_output(drbg: HmacDrbg, additional: list[bytes]) -> str:
    """CAVP's procedure: two requests of the same size, the second is compared."""
    drbg.generate(128, additional[0])
    return drbg.generate(128, additional[1]).hex()


def test_known_answers_without_reseed() -> None:
    for case in json_cases("no_reseed"):
        additional = [bytes.fromhex(text) for text in case["AdditionalInput"]]
        assert second_output(instantiate(case), additional) == case["ReturnedBits"], case["COUNT"]


def test_known_answers_with_one_reseed() -> None:
    for case in json_cases("pr_false"):
        drbg = instantiate(case)
        drbg.reseed(bytes.fromhex(case["EntropyInputReseed"]), bytes.fromhex(case["AdditionalInputReseed"]))
        additional = [bytes.fromhex(text) for text in case["AdditionalInput"]]
        assert second_output(drbg, additional) == case["ReturnedBits"], case["COUNT"]


def test_known_answers_with_prediction_resistance() -> None:
    """SP 800-90A 9.3.1: a reseed before each request takes the additional input over."""
    for case in json_cases("pr_true"):
        drbg = instantiate(case)
        output = ""
        for entropy, additional in zip(case["EntropyInputPR"], case["AdditionalInput"], strict=True):
            drbg.reseed(bytes.fromhex(entropy), bytes.fromhex(additional))
            output = drbg.generate(128).hex()
        assert output == case["ReturnedBits"], case["COUNT"]


def test_internal_states_after_every_call() -> None:
    records = (VECTORS / "HMAC_DRBG_SHA256.txt").read_text("ascii").split("COUNT = ")[1:]
    assert len(records) == 240
    for record in records:
        check_states(record)


def check_states(record: str) -> None:
    case = dict(re.findall(r"^(EntropyInput|Nonce|PersonalizationString|ReturnedBits) = ?(\w*)", record, re.MULTILINE))
    states = re.findall(r"V   = (\w+)\s+Key = (\w+)", record)
    additional = re.findall(r"AdditionalInput = ?(\w*)", record)
    entropy = re.findall(r"EntropyInputPR = (\w+)", record)
    assert [len(states), len(additional), len(entropy)] == [3, 2, 2]

    drbg = instantiate(case)
    assert state(drbg) == states[0]
    output = b""
    for fresh, extra, expected in zip(entropy, additional, states[1:], strict=True):
        drbg.reseed(bytes.fromhex(fresh), bytes.fromhex(extra))
        output = drbg.generate(128)
        assert state(drbg) == expected
    assert output.hex() == case["ReturnedBits"]


def state(drbg: HmacDrbg) -> tuple[str, str]:
    return drbg._value.hex(), drbg._key.hex()


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 128, MAX_REQUEST])
def test_a_request_gives_as_many_bytes_as_asked_from_the_same_stream(count: int) -> None:
    output = HmacDrbg(SEED, NONCE).generate(count)

    assert len(output) == count
    assert HmacDrbg(SEED, NONCE).generate(MAX_REQUEST)[:count] == output


def test_blocks_are_the_request_in_pieces_and_leave_the_same_state() -> None:
    whole, pieces = HmacDrbg(SEED, NONCE), HmacDrbg(SEED, NONCE)

    assert list(map(len, blocks := list(pieces.blocks(128, b"more")))) == [32] * 4
    assert b"".join(blocks) == whole.generate(128, b"more")
    assert pieces.generate(32) == whole.generate(32)


def test_a_request_that_was_not_read_to_its_end_blocks_the_next() -> None:
    drbg = HmacDrbg(SEED, NONCE)
    next(drbg.blocks(128))

    with pytest.raises(RuntimeError, match="not been read to its end"):
        drbg.generate(1)
    with pytest.raises(RuntimeError, match="not been read to its end"):
        drbg.reseed(SEED)


@pytest.mark.parametrize("count", [-1, MAX_REQUEST + 1])
def test_a_request_outside_the_limits_is_refused_and_changes_nothing(count: int) -> None:
    drbg = HmacDrbg(SEED, NONCE)

    with pytest.raises(ValueError, match="count"):
        drbg.generate(count)
    assert drbg.generate(32) == HmacDrbg(SEED, NONCE).generate(32)


def test_a_used_up_seed_must_be_renewed() -> None:
    drbg = HmacDrbg(SEED, NONCE)
    drbg._requests = RESEED_INTERVAL - 1
    drbg.generate(1)

    with pytest.raises(RuntimeError, match="reseed"):
        drbg.generate(1)
    drbg.reseed(SEED)
    assert len(drbg.generate(1)) == 1


def test_too_little_entropy_or_nonce_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="entropy: 31 bytes"):
        HmacDrbg(SEED[:31], NONCE)
    with pytest.raises(ValueError, match="nonce: 15 bytes"):
        HmacDrbg(SEED, NONCE[:15])
    with pytest.raises(ValueError, match="entropy: 31 bytes"):
        HmacDrbg(SEED, NONCE).reseed(SEED[:31])
