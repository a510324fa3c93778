"""The sample evidence files: always the same, judged as they say, by the product and by the reference decoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from domain.log.receipt import ReceiptError, open_receipt
from domain.log.trust import Trust
from ops.handover.reference import dealproof_reference as reference
from ops.log.ed25519 import check_signature
from replay.evidence_file import EvidenceError, read_evidence, verify_evidence
from tests.handover.make_samples import SAMPLES, all_files
from tests.handover.tampering import FORGERIES

INDEX = json.loads((SAMPLES / "index.json").read_text(encoding="utf-8"))
FILES = {entry["file"]: entry for entry in INDEX["files"]}
LARGEST = 1_500_000


def read(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def test_the_same_samples_come_out_again() -> None:
    """A verdict that changes changes a file: look at it, then run `python -m tests.handover.make_samples`."""
    made = all_files()
    there = {
        path.relative_to(SAMPLES).as_posix(): path.read_bytes()
        for path in SAMPLES.rglob("*")
        if path.is_file() and path.name != "README.md"
    }

    assert sorted(made) == sorted(there)
    assert [name for name in made if made[name] != there[name]] == []
    assert sum(map(len, made.values())) < LARGEST


@pytest.mark.parametrize("name", FILES)
def test_the_product_says_of_a_sample_what_the_index_says(name: str) -> None:
    entry = FILES[name]
    trust = Trust.from_json(read(entry["trust"]))

    if entry["verdict"] is None:
        with pytest.raises(EvidenceError) as caught:
            verify_evidence(read_evidence(read(name)), trust, check_signature)
        assert str(caught.value) == entry["error"]
        assert "\n" not in entry["error"]
        return
    verdict = verify_evidence(read_evidence(read(name)), trust, check_signature)
    assert verdict.as_json() == json.loads(read(entry["expected"]))
    assert verdict.status == entry["verdict"]


def test_true_samples_are_verified_and_tampered_ones_never() -> None:
    """Whatever the index says."""
    for name, entry in FILES.items():
        assert (entry["verdict"] == "verified") == (not name.startswith("tampered/")), name
    assert len([name for name in FILES if name.startswith("tampered/")]) == len(FORGERIES)


@pytest.mark.parametrize("name", FILES)
def test_the_reference_decoder_agrees(name: str) -> None:
    """But for what only the rules of the game tell, it finds what the product finds."""
    entry = FILES[name]
    trust = reference.read_trust(read(entry["trust"]))

    if entry["verdict"] is None:
        with pytest.raises(reference.Unreadable):
            reference.check_evidence(read(name), trust)
        return
    found = reference.status_of(reference.check_evidence(read(name), trust))
    if set(entry["failing"]) and set(entry["failing"]) <= {"legality", "payout", "ledger"}:
        assert found in (0, 1)
    else:
        assert found == entry["exit_status"]


def test_a_payment_that_is_not_the_rules_own_is_all_that_the_reference_decoder_misses() -> None:
    trust = reference.read_trust(read("trust.json"))
    missed = [
        name
        for name, entry in FILES.items()
        if entry["verdict"] == "discrepancy" and not reference.status_of(reference.check_evidence(read(name), trust))
    ]

    assert missed == MISSED


MISSED = ["tampered/other-player.json", "tampered/event-missing.json", "tampered/payout-raised.json"]


@pytest.mark.parametrize("entry", INDEX["receipts"], ids=lambda entry: entry["file"])
def test_a_receipt_is_good_or_not_as_the_index_says(entry: dict[str, Any]) -> None:
    token, trust = read(entry["file"]).decode().strip(), read(entry["trust"])

    if entry["good"]:
        receipt = open_receipt(token, Trust.from_json(trust), check_signature)
        assert reference.open_receipt(token, reference.read_trust(trust))["position"] == receipt.position
        return
    with pytest.raises(ReceiptError):
        open_receipt(token, Trust.from_json(trust), check_signature)
    with pytest.raises((reference.Wrong, reference.Unreadable)):
        reference.open_receipt(token, reference.read_trust(trust))


def test_no_sample_tells_a_seed_before_its_round_has_ended() -> None:
    """The samples are whole rounds, but for the one whose end is left out: it must not have the seed."""
    for path in sorted(Path(SAMPLES).glob("*.json")):
        text = path.read_text(encoding="utf-8")
        if '"format":"dp1/evidence"' in text:
            assert "seed-revealed.v1" in text
    assert "server_seed" not in read("tampered/end-missing.json").decode()
