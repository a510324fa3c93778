"""A golden round in a log of its own, as evidence file, trust and receipt: without a database.

Not here: files of a real journal (tests/ops/floor/test_evidence_files.py).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain import wager as w
from domain.log.checkpoint import COSIGNATURE, LOG, Checkpoint, VerifierKey, cosignature, signed_by_log
from domain.log.merkle import Nodes, consistency_proof, inclusion_proof, leaf_hash, root_of
from domain.log.receipt import Receipt, receipt_token
from domain.log.trust import PinnedKey, Trust
from domain.round import events as e
from domain.round.codec import decode
from replay.evidence_file import Earlier, EvidenceFile, Level, StoredEvent
from tests.golden.files import golden_rounds

ORIGIN: Final = "casino.example/dealproof"
AT: Final = "2026-12-01T09:00:00.000Z"
PRIVATE: Final = {
    name: Ed25519PrivateKey.from_private_bytes(name.encode().ljust(32)) for name in ("log", "receipt", "witness")
}


def key(name: str, called: str, kind: int = LOG) -> VerifierKey:
    """The public half of a test's key."""
    return VerifierKey(called, kind, PRIVATE[name].public_key().public_bytes_raw())


KEYS: Final = {
    "log": key("log", ORIGIN),
    "receipt": key("receipt", f"{ORIGIN}/receipts"),
    "witness": key("witness", "regulator.example/w1", COSIGNATURE),
}
TRUST: Final = Trust(ORIGIN, (PinnedKey(KEYS["log"]),), (PinnedKey(KEYS["witness"]),), (PinnedKey(KEYS["receipt"]),), 1)


class Sample(NamedTuple):
    """What a regulator is handed, as values."""

    file: EvidenceFile
    receipts: tuple[str, ...]


@cache
def sample(ruleset: str = "multibox-russian-poker@1", which: int = 7) -> Sample:
    """The round between two others, in a log with a witness; each of its wagers has a receipt."""
    before, (stream, bodies), behind = golden_rounds(ruleset)[which - 1 : which + 2]
    opened = len(before.bodies) + 1  # the position of the commitment, and the checkpoint that the wagers name
    journal = [*before.bodies, *_with_wagers(stream, bodies, before.bodies), *behind.bodies]
    leaves = [leaf_hash(body) for body in journal]
    checkpoint = Checkpoint(ORIGIN, len(leaves), root_of(leaves))
    note = signed_by_log(checkpoint, KEYS["log"], PRIVATE["log"].sign)
    line = cosignature(note.body, 1_790_000_000, KEYS["witness"], PRIVATE["witness"].sign)
    own = range(opened, len(journal) - len(behind.bodies) + 1)
    file = EvidenceFile(
        checkpoint=note._replace(signatures=(*note.signatures, line)).to_bytes().decode(),
        earlier=[Earlier(_texts(consistency_proof(opened, len(leaves), _nodes(leaves))), opened)],
        events=[StoredEvent(journal[at - 1].decode(), at, _inclusion(at, leaves)) for at in own],
        format="dp1/evidence", level=Level.REGULATOR, made_at=AT, player=None, round=stream.removeprefix("round:"),
        ruleset=msgspec.Raw(b"null"), software="test",
    )  # fmt: skip
    return Sample(file, tuple(_receipts(journal, opened, root_of(leaves[:opened]), stream)))


def _with_wagers(stream: str, bodies: Sequence[bytes], before: Sequence[bytes]) -> list[bytes]:
    """The round's bodies, behind the last wager the event that names the checkpoint of them all."""
    events = [decode(body).data for body in bodies]
    last = max(place for place, event in enumerate(events) if isinstance(event, e.BoxPlaced)) + 1
    accepted = w.WagersAccepted(
        checkpoint_root=root_of([leaf_hash(body) for body in [*before, bodies[0]]]).hex(),
        checkpoint_size=len(before) + 1,
        round=stream.removeprefix("round:"),
        wagers=w.wagers_in(events, 0),
    )
    [record] = w.CODEC.append_to(w.receipt_stream(accepted.round), None, [accepted], AT)
    return [*bodies[:last], record.body, *bodies[last:]]


def _receipts(journal: Sequence[bytes], size: int, root: bytes, stream: str) -> list[str]:
    opening = decode(journal[size - 1]).data
    assert isinstance(opening, e.RoundOpened)
    tokens = []
    for position, body in enumerate(journal, 1):
        if b'"box-placed.v1"' in body and stream.encode() in body:
            placed = decode(body).data
            assert isinstance(placed, e.BoxPlaced)
            receipt = Receipt(
                box=placed.box, checkpoint_root=root.hex(), checkpoint_size=size, commitment=opening.commitment,
                origin=ORIGIN, player=placed.player, position=position, round=stream.removeprefix("round:"),
                ruleset_digest=opening.ruleset_digest, stake=placed.ante + placed.bet + placed.bonus,
            )  # fmt: skip
            tokens.append(receipt_token(receipt, KEYS["receipt"], PRIVATE["receipt"].sign))
    return tokens


def _inclusion(position: int, leaves: Sequence[bytes]) -> list[str]:
    return _texts(inclusion_proof(position - 1, len(leaves), _nodes(leaves)))


def _nodes(leaves: Sequence[bytes]) -> Nodes:
    return lambda level, index: root_of(leaves[index << level : (index + 1) << level])


def _texts(hashes: Sequence[bytes]) -> list[str]:
    return [b64encode(value).decode() for value in hashes]
