"""Two programs, one answer: the reference decoder and the product on the same inputs, good and broken in any way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.cards import card_texts
from domain.deal.commitment import client_entropy
from domain.deal.shuffle import SeededDeck
from domain.log.checkpoint import NoteError, open_checkpoint
from domain.log.merkle import (
    ProofError,
    consistency_proof,
    inclusion_proof,
    node_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from domain.log.receipt import ReceiptError, open_receipt
from domain.log.trust import Trust, TrustError
from domain.record import BodyError, canonical_json, read_envelope
from domain.round.codec import EventRecord, read
from ops.handover.reference import dealproof_reference as reference
from ops.log.ed25519 import check_signature
from replay.evidence_file import EvidenceError, read_evidence, verify_evidence
from replay.verdict import CheckName
from tests.golden.files import golden_rounds
from tests.handover.make_samples import SAMPLES
from tests.log.mutations import mutated

TRUST = (SAMPLES / "trust.json").read_bytes()
PRODUCTS_TRUST, REFERENCES_TRUST = Trust.from_json(TRUST), reference.read_trust(TRUST)
LEAVES = [sha256(bytes([number])).digest() for number in range(70)]
ROOTS = [root_of(LEAVES[:size]) for size in range(len(LEAVES) + 1)]


# -- proofs


def nodes(level: int, index: int) -> bytes:
    if level == 0:
        return LEAVES[index]
    return node_hash(nodes(level - 1, 2 * index), nodes(level - 1, 2 * index + 1))


HASHES = st.sampled_from([*LEAVES[:8], *ROOTS[:8], b"", b"twelve bytes", bytes(33)])


@st.composite
def proofs(draw: st.DrawFn, good: Sequence[bytes]) -> list[bytes]:
    """A good proof, mostly changed in one place."""
    proof, kind = list(good), draw(st.sampled_from(["whole", "drop", "add", "change", "swap", "reverse"]))
    at = draw(st.integers(0, max(len(proof) - 1, 0)))
    if kind == "drop" and proof:
        del proof[at]
    elif kind == "add":
        proof.insert(at, draw(HASHES))
    elif kind == "change" and proof:
        proof[at] = draw(HASHES)
    elif kind == "swap" and len(proof) > 1:
        proof[at - 1], proof[at] = proof[at], proof[at - 1]
    elif kind == "reverse":
        proof.reverse()
    return proof


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_inclusion_is_decided_alike(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 70))
    index = data.draw(st.integers(0, size - 1))
    proof = data.draw(proofs(inclusion_proof(index, size, nodes)))
    told = index + data.draw(st.sampled_from([0, 0, 0, 1, -1])), size + data.draw(st.sampled_from([0, 0, 0, 1, -1, 64]))
    arguments = (*told, data.draw(st.sampled_from([LEAVES[index], LEAVES[index], LEAVES[0]])), proof, ROOTS[size])

    assert holds(verify_inclusion, arguments) == holds(reference.check_inclusion, arguments)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_consistency_is_decided_alike(data: st.DataObject) -> None:
    second = data.draw(st.integers(1, 70))
    first = data.draw(st.integers(1, second))
    proof = data.draw(proofs(consistency_proof(first, second, nodes)))
    sizes = [size + data.draw(st.sampled_from([0, 0, 0, 1, -1])) for size in (first, second)]
    roots = [ROOTS[size] if data.draw(st.integers(0, 5)) else data.draw(HASHES) for size in (first, second)]
    arguments = (*sizes, *roots, proof)

    assert holds(verify_consistency, arguments) == holds(reference.check_consistency, arguments)


@pytest.mark.parametrize("size", [2**63, 2**63 + 1, 2**64, 0, -1])
def test_sizes_at_the_edge_are_decided_alike(size: int) -> None:
    for index in (0, size - 1, size):
        for length in (0, 63, 64):
            inclusion = (index, size, LEAVES[0], [LEAVES[1]] * length, ROOTS[1])
            assert holds(verify_inclusion, inclusion) == holds(reference.check_inclusion, inclusion)
        roots: tuple[object, ...] = (index, size, ROOTS[1], ROOTS[1], [])
        assert holds(verify_consistency, roots) == holds(reference.check_consistency, roots)


def holds(check: object, arguments: Sequence[object]) -> bool:
    """Whether a proof is accepted; anything but the one refusal falls through and fails."""
    assert callable(check)
    try:
        check(*arguments)
    except (ProofError, reference.Wrong):
        return False
    return True


# -- signatures, notes, receipts, trust


@settings(max_examples=60, deadline=None)
@given(key=st.binary(min_size=32, max_size=32), signature=st.binary(min_size=64, max_size=64), message=st.binary())
def test_signatures_are_decided_alike(key: bytes, signature: bytes, message: bytes) -> None:
    """Random ones; the good and the nearly good ones are Wycheproof's."""
    assert reference.is_signature(key, message, signature) == check_signature(key, message, signature)


@cache
def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


@cache
def notes() -> tuple[bytes, ...]:
    names = ["voided.regulator", "voided.not-cosigned", "tampered/other-key", "tampered/root-of-twelve-bytes"]
    return tuple(json.loads(sample(f"{name}.json"))["checkpoint"].encode() for name in names)


DASH = "— ".encode()
PIECES = [b"\n", b"\n\n", b"\r\n", b"0", b"1", b"=", b"+", b" ", DASH, DASH + b"x AAAAAAA=\n", b"\xff"]


@settings(max_examples=200, deadline=None)
@given(data=mutated(notes(), PIECES))
@example(data=notes()[0])
def test_notes_are_decided_alike(data: bytes) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return  # an evidence file holds text only

    def product() -> object:
        found = open_checkpoint(data, PRODUCTS_TRUST, check_signature)
        return found.checkpoint.size, found.checkpoint.root, [tuple(each) for each in found.cosigned]

    def other() -> object:
        found = reference.open_checkpoint(text, REFERENCES_TRUST)
        return found.size, found.root, found.witnesses

    assert either(product) == either(other)


@settings(max_examples=150, deadline=None)
@given(data=mutated([sample("receipts/settled.box-1.txt").strip()], [b".", b"A", b"=", b"-", b"dpr1."]))
def test_receipts_are_decided_alike(data: bytes) -> None:
    token = data.decode("ascii", "replace")

    def product() -> object:
        found = open_receipt(token, PRODUCTS_TRUST, check_signature)
        return found.box, found.position, found.stake, found.player

    def other() -> object:
        found = reference.open_receipt(token, REFERENCES_TRUST)
        return found["box"], found["position"], found["stake"], found["player"]

    assert either(product) == either(other)


@settings(max_examples=300, deadline=None)
@given(data=mutated([TRUST], [b"null", b"0", b'"', b",", b"[]", b"1e2", b"-1", b'"note":1,', b"\xff"]))
def test_trust_files_are_decided_alike(data: bytes) -> None:
    def product() -> object:
        found = Trust.from_json(data)
        return found.origin, found.witnesses_needed, [pin.key.name for pin in found.witness_keys]

    def other() -> object:
        found = reference.read_trust(data)
        return found.origin, found.witnesses_needed, [key.name for key in found.witness_keys]

    assert either(product) == either(other)


REFUSALS = (NoteError, ReceiptError, TrustError, BodyError, EvidenceError)


def either(read_it: object) -> object:
    """What comes out, or None where it is refused; any other exception falls through and fails."""
    assert callable(read_it)
    try:
        return read_it()
    except (*REFUSALS, reference.Wrong, reference.Unreadable):
        return None


# -- canonical JSON, bodies, decks

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**54), 2**54) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=4), children, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(value=PLAIN)
@example(value="\u2028\x7f\x80\u20ac\U0001f600\"\\/\b\f")
def test_values_are_written_alike(value: object) -> None:
    assert either(lambda: canonical_json(value)) == either(lambda: reference.canonical(value))


@cache
def bodies() -> tuple[bytes, ...]:
    rounds = golden_rounds("open-russian-poker@1")[:12] + golden_rounds("multibox-russian-poker@1")[:12]
    return tuple({body for golden in rounds for body in golden.bodies})


def product_reads(data: bytes) -> EventRecord | BodyError:
    """A body of a round, in its one spelling."""
    try:
        read_envelope(data)
    except BodyError as error:
        return error
    return read(data)


JSON_PIECES = [b'"', b",", b":", b"0", b"1", b"null", b"true", b"[]", b"{}", b"-", b"1.0", b" "]


@settings(max_examples=300, deadline=None)
@given(data=mutated(sorted(bodies()), JSON_PIECES))
def test_bodies_are_read_alike(data: bytes) -> None:
    """Both take them or neither does, but for single values.

    The product looks at hex and cards on later rungs; the reference lets any word pass for a mode.
    """
    record, event, reason = product_reads(data), None, ""
    try:
        event = reference.read_body(data)
    except reference.Unreadable as error:
        reason = str(error)
    if isinstance(record, BodyError):
        assert event is None or "Invalid enum value" in str(record) or "Expected `int`" in str(record), record
    elif event is None:
        assert re.search("is no hex|is no cards", reason), (reason, data)
    else:
        told = event.stream, event.seq, event.type, event.at
        assert told == (record.stream, record.seq, record.data.NAME, record.at)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.binary(min_size=32, max_size=32),
    round_id=st.binary(min_size=16, max_size=16),
    digest=st.binary(min_size=32, max_size=32),
    seeds=st.dictionaries(st.integers(1, 7), st.binary(max_size=40), max_size=4),
    beacon=st.none() | st.binary(min_size=32, max_size=32),
)
def test_decks_are_shuffled_alike(
    seed: bytes, round_id: bytes, digest: bytes, seeds: dict[int, bytes], beacon: bytes | None
) -> None:
    by_box = sorted(seeds.items())
    used = bytes(32) if beacon is None else beacon
    deck = SeededDeck(seed, round_id, digest, client_entropy(by_box), used)

    again = reference.shuffled_deck(seed, round_id, digest, reference.client_entropy(by_box), used)

    assert again == card_texts(deck.cards(0, 52))


# -- whole files

SEEN = {CheckName.BYTES, CheckName.CHAIN, CheckName.ORDER, CheckName.COMMITMENT, CheckName.DECK, CheckName.LOG}
NAMES = ("settled.player", "voided.regulator", "jackpot.regulator", "insured.regulator")


@settings(max_examples=60, deadline=None)
@given(data=mutated([sample(f"{name}.json") for name in NAMES], [b'"', b",", b"null", b"0", b"A", b"[]", b"{}"]))
@example(data=sample("settled.player.json"))
def test_files_with_changed_bytes_are_decided_alike(data: bytes) -> None:
    require_one_answer(data)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(NAMES), random=st.randoms(use_true_random=False), times=st.integers(1, 2))
def test_files_with_changed_values_are_decided_alike(name: str, random: Random, times: int) -> None:
    """Any value anywhere, in the file or in a body of it, dropped, doubled, moved or made another."""
    file = json.loads(sample(f"{name}.json"))
    for _ in range(times):
        change(random, file)

    require_one_answer(json.dumps(file, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def require_one_answer(data: bytes) -> None:
    """What one refuses is not good for the other, unless only the rules of the game tell."""
    try:
        verdict = verify_evidence(read_evidence(data), PRODUCTS_TRUST, check_signature)
    except EvidenceError as error:
        if str(error).startswith("evidence: ruleset:"):
            return  # the reference looks at no more of a document than it needs
        with pytest.raises(reference.Unreadable):
            reference.check_evidence(data, REFERENCES_TRUST)
        return
    found = reference.status_of(reference.check_evidence(data, REFERENCES_TRUST, RELEASED))
    failing = {check.name for check in verdict.checks if check.discrepancies}
    if failing & SEEN:
        assert found == 1
    elif failing:
        assert found in (0, 1)
    else:
        assert found == {"verified": 0, "not-checkable": 2}[verdict.status]


RELEASED = [reference.read_json(path.read_bytes()) for path in sorted(Path("domain/rulesets").glob("*.json"))]
"""The product has these, whatever document a file brings along."""

NUMBERS = [0, 1, -1, 2**53, 2**63, 2**70]
ODD: list[Any] = [None, True, *NUMBERS, "", "x", "\ud800", "é", [], {}, [[]], "0" * 64, "A" * 43 + "="]


def change(random: Random, value: Any) -> None:
    """Change something in a plain value; mostly in a body, where it comes to one."""
    where, key = random.choice([*_places(value)])
    here = where[key]
    if key == "body" and isinstance(here, str) and random.random() < 0.8:
        body = json.loads(here)
        change(random, body)
        where[key] = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return
    kind = random.choice(["odd", "drop", "double", "swap", "near"])
    if kind == "drop":
        del where[key]
    elif kind == "double" and isinstance(where, list):
        where.insert(random.randrange(len(where) + 1), here)
    elif kind == "swap" and isinstance(where, list):
        other = random.randrange(len(where))
        where[key], where[other] = where[other], here
    elif kind == "near" and type(here) is int:
        where[key] = here + random.choice([1, -1, 100])
    elif kind == "near" and isinstance(here, str) and here:
        at = random.randrange(len(here))
        where[key] = here[:at] + random.choice("0aA=\n—") + here[at + 1 :]
    else:
        where[key] = random.choice(ODD)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every member of every object and list."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in list(members):
        yield value, key
        yield from _places(member)
