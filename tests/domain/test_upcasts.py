"""Old stored names are read as today's events; the bytes, their hashes and the chain stay as they were written.

No name has been superseded yet, so an older one is made up: `box-folded.v0`, whose `seat` is today's `box`, and which
did not say who folded.  Format: docs/formats/event-record.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from domain.record import BodyError, canonical_json, leaf_hash
from domain.round import events as e
from domain.round.codec import UPCASTS, decode
from domain.round.state import fold
from domain.rulesets import released_rulesets
from replay.evidence import by_digest
from replay.verdict import CheckName, Status
from replay.verify_round import climb, verify_round
from tests.ops.cli.recorded import recorded_round

OLD = "box-folded.v0"
RULESETS = by_digest(released_rulesets().values())


def from_v0(data: dict[str, Any]) -> dict[str, Any]:
    return {"box": data["seat"], "by": "player"}


@pytest.fixture
def known_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UPCASTS, OLD, (e.BoxFolded.NAME, from_v0))


def body(data: object, name: str = OLD, seq: int = 3, prev: str = "0" * 64) -> bytes:
    return canonical_json(
        {
            "at": "2026-11-30T12:00:00.000Z", "data": data, "prev": prev, "seq": seq, "stream": "round:00",
            "type": name, "v": 1,
        }
    )  # fmt: skip


def rewritten(bodies: Sequence[bytes], folded: dict[str, Any] | None = None) -> list[bytes]:
    """The same round as it would have been written when a fold had its older name: other bytes, so another chain."""
    written: list[bytes] = []
    for old in bodies:
        plain = msgspec.json.decode(old)
        if plain["type"] == e.BoxFolded.NAME:
            plain["type"], plain["data"] = OLD, {"seat": plain["data"]["box"], **(folded or {})}
        plain["prev"] = leaf_hash(written[-1]) if written else plain["prev"]
        written.append(canonical_json(plain))
    return written


def round_with_a_fold() -> tuple[str, list[bytes]]:
    for seed in range(200):
        found = recorded_round("open-russian-poker@1", seed)
        if any(isinstance(record.data, e.BoxFolded) for record in found.records):
            return found.stream, found.bodies
    raise AssertionError("nobody folds")


@pytest.mark.usefixtures("known_before")
def test_an_older_name_is_read_as_todays_event_in_its_own_frame() -> None:
    record = decode(body({"seat": 2}))

    assert record.data == e.BoxFolded(box=2, by=e.By.PLAYER)
    assert (record.at, record.prev, record.seq) == ("2026-11-30T12:00:00.000Z", "0" * 64, 3)
    assert (record.stream, record.v) == ("round:00", 1)


@pytest.mark.usefixtures("known_before")
def test_reading_leaves_the_bytes_and_their_hash_alone() -> None:
    stored = body({"seat": 2})
    kept, hashed = bytes(stored), leaf_hash(stored)

    decode(stored)

    assert (stored, leaf_hash(stored)) == (kept, hashed)


@pytest.mark.usefixtures("known_before")
def test_a_round_with_an_older_name_folds_into_the_same_state() -> None:
    _, bodies = round_with_a_fold()

    now, then = (
        fold(decode(stored).data for stored in version) for version in (bodies, rewritten(bodies))
    )

    assert [decode(stored).data for stored in rewritten(bodies)] == [decode(stored).data for stored in bodies]
    assert (now.phase, now.closed) == (then.phase, then.closed)
    assert [box.folded for box in now.boxes] == [box.folded for box in then.boxes]


@pytest.mark.usefixtures("known_before")
def test_a_true_round_with_an_older_name_is_verified_on_every_rung() -> None:
    stream, bodies = round_with_a_fold()
    older = rewritten(bodies)
    kept = list(older)

    verdict = verify_round(stream, older, RULESETS)

    assert {check.name: check.status for check in verdict.checks[:7]} == dict.fromkeys(
        list(CheckName)[:7], Status.VERIFIED
    )
    assert verdict.status is Status.VERIFIED
    assert climb(stream, older, RULESETS) == verdict
    assert older == kept


@pytest.mark.usefixtures("known_before")
def test_a_change_of_an_older_event_is_found() -> None:
    """Of its bytes by the chain, of what it says by the rules."""
    stream, bodies = round_with_a_fold()
    older = rewritten(bodies)
    seq = next(seq for seq, stored in enumerate(older) if OLD.encode() in stored)

    changed = [*older]
    changed[seq] = older[seq].replace(b'"seat":', b'"seat":1')
    verdict = verify_round(stream, changed, RULESETS)

    by_name = {check.name: check for check in verdict.checks}
    assert by_name[CheckName.BYTES].status is Status.VERIFIED
    [broken] = by_name[CheckName.CHAIN].discrepancies
    assert (broken.seq, broken.field) == (seq + 1, "prev")
    assert by_name[CheckName.LEGALITY].status is Status.DISCREPANCY


def test_a_name_that_is_not_known_is_named() -> None:
    with pytest.raises(BodyError, match=r"'box-folded\.v0' event"):
        decode(body({"seat": 2}))


def test_a_round_with_an_unknown_name_is_a_discrepancy_of_its_bytes_and_raises_nothing() -> None:
    stream, bodies = round_with_a_fold()
    older = rewritten(bodies)
    seqs = [seq for seq, stored in enumerate(older) if OLD.encode() in stored]

    verdict = verify_round(stream, older, RULESETS)

    assert verdict.status is Status.DISCREPANCY
    assert [found.seq for found in verdict.checks[0].discrepancies] == seqs
    assert "box-folded.v0" in str(verdict.checks[0].discrepancies[0].recorded)


@pytest.mark.usefixtures("known_before")
@pytest.mark.parametrize(
    "data",
    [{}, {"box": 2}, {"seat": "two"}, {"seat": None}, {"seat": [1]}, [], [2], "2", 2, None, True],
    ids=repr,
)
def test_data_that_the_upcast_cannot_read_is_an_error_of_the_body(data: object) -> None:
    """Whatever somebody has made of the bytes: a check must find it, not fall over it."""
    with pytest.raises(BodyError, match=r"'box-folded\.v0' event"):
        decode(body(data))


@pytest.mark.usefixtures("known_before")
@pytest.mark.parametrize(
    "stored",
    [
        body({"seat": 2}) + b" ",
        body({"seat": 2}).replace(b'{"seat":2}', b'{"seat":2,"seat":2}'),
        body({"seat": 2}).replace(b'"seat":2', b'"seat":2.0'),
        body({"seat": 2}).replace(b',"v":1', b',"v":1,"w":1'),
        body({"seat": 2}).replace(b',"v":1', b""),
    ],
    ids=["space", "doubled key", "float", "another field", "missing field"],
)
def test_an_older_body_must_be_canonical_too(stored: bytes) -> None:
    with pytest.raises(BodyError):
        decode(stored)


def test_todays_names_need_no_upcast() -> None:
    """A stored name is never used again for another shape."""
    assert not set(UPCASTS) & set(e.EVENT_TYPES)
    assert {name for name, _ in UPCASTS.values()} <= set(e.EVENT_TYPES)
