"""Whatever evidence file, key or tile path comes in: nothing but their own error, and nothing that was not signed.

Two true files of two logs under the same keys are changed, cut, and spliced with each other.  What the rung `log` still
verifies then stands in the tree whose root the log has signed, body by body and position by position.

Not here: notes, receipts, trust files (`test_fuzz_notes`, `test_fuzz_receipts`, `test_fuzz_trust`).
"""

from __future__ import annotations

import copy
import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.log.checkpoint import NoteError, VerifierKey
from domain.log.receipt import ReceiptError, open_receipt
from domain.log.tiles import Tile, TileError, tiles_of
from domain.log.trust import Trust, TrustError
from ops.log.ed25519 import check_signature
from replay.evidence_file import EvidenceError, EvidenceFile, read_evidence, verify_evidence
from replay.verdict import CheckName, Status, Verdict
from tests.log.mutations import mutated
from tests.log.signers import ALPHA, HOUSE
from tests.log.signers import TRUST as OTHER_TRUST
from tests.log.test_receipt import RECEIPT, signed
from tests.portable.sample import TRUST, sample

FILES: Final = [sample("russian-poker@1", 3).file, sample("open-russian-poker@1", 5).file]
GOOD: Final = [file.to_bytes() for file in FILES]
VALUES: Final = [json.loads(data) for data in GOOD]
TRUE: Final = {file.checkpoint: {(event.position, event.body) for event in file.events} for file in FILES}
"""By checkpoint: position and body of the events in that log which a file could have."""

HASHES: Final = [b64encode(bytes([number]) * 32).decode() for number in (0, 7)]
LEAVES: Final[list[Any]] = [
    None, True, 0, 1, -1, 7, 2**53, 2**63, 2**64, 10**30, 1.5, "", "x", "0" * 32, "\n", "é", "\u2028", [], {}, [None],
    {"body": "{}", "position": 1, "proof": []}, {"proof": [], "size": 5}, *HASHES, "player", "adr", "dp2/evidence",
]  # fmt: skip
PIECES: Final = [
    b"{", b"}", b"[", b"]", b",", b'"', b"\\", b"null", b"1e9", b"-0", b"\xff", b'"proof":[],', b'\\"seq\\":9',
]  # fmt: skip


def test_the_good_ones_are_verified() -> None:
    """Or nothing below would show that something is refused."""
    for file in FILES:
        assert verdict_on(file).status is Status.VERIFIED


def verdict_on(file: EvidenceFile) -> Verdict:
    return verify_evidence(file, TRUST, check_signature)


def require_true(data: bytes) -> None:
    """Read and verify: an error in one line, a discrepancy, or what the log has signed."""
    try:
        file = read_evidence(data)
        found = verdict_on(file)
    except EvidenceError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 500
        return
    msgspec.json.encode(found.as_json())  # whatever was found can be told
    [log] = [check for check in found.checks if check.name is CheckName.LOG]
    if log.status is Status.VERIFIED:
        assert {(event.position, event.body) for event in file.events} <= TRUE[file.checkpoint]
        assert len({event.position for event in file.events}) == len(file.events)
    if found.status is Status.VERIFIED:
        # The round is whole, with its wagers' checkpoints or as of a time when there were none.
        own = {event.body for event in file.events if f'"stream":"round:{file.round}"' in event.body}
        assert own == {body for _, body in TRUE[file.checkpoint] if f'"stream":"round:{file.round}"' in body}


# -- changes to a file's values


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a value, the first six of each list."""
    places: list[tuple[Any, ...]] = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value[:6]) if isinstance(value, list) else ()
    for name, inner in items:
        places += _paths(inner, (*path, name))
    return places


def _holder(value: Any, path: tuple[Any, ...]) -> Any:
    for name in path[:-1]:
        value = value[name]
    return value


PATHS: Final = [_paths(value) for value in VALUES]


@st.composite
def changed_values(draw: st.DrawFn) -> bytes:
    """One of the files after one or two changes to its values, written as plain JSON."""
    which = draw(st.integers(0, 1))
    value, other = copy.deepcopy(VALUES[which]), VALUES[1 - which]
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(PATHS[which]))
        try:
            _change(draw, _holder(value, path), path, other)
        except (KeyError, IndexError, TypeError):
            continue  # the first change has taken away the place of the second one
    return json.dumps(value).encode()


def _change(draw: st.DrawFn, holder: Any, path: tuple[Any, ...], other: Any) -> None:
    name = path[-1]
    kind = draw(st.sampled_from(["leaf", "delete", "double", "swap", "other", "text"]))
    if kind == "leaf":
        holder[name] = copy.deepcopy(draw(st.sampled_from(LEAVES)))
    elif kind == "delete":
        del holder[name]
    elif kind == "double" and isinstance(holder, list):
        holder.insert(draw(st.integers(0, len(holder))), copy.deepcopy(holder[name]))
    elif kind == "swap" and isinstance(holder, list):
        at = draw(st.integers(0, len(holder) - 1))
        holder[name], holder[at] = holder[at], holder[name]
    elif kind == "other":
        holder[name] = copy.deepcopy(_holder(other, path)[name])
    elif isinstance(holder[name], str):
        holder[name] = draw(mutated([holder[name].encode()], PIECES)).decode(errors="replace")




QUICK: Final = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
LONG: Final = settings(QUICK, max_examples=4000)


@QUICK
@given(changed_values())
def test_a_changed_file_is_found_out_or_says_what_was_signed(data: bytes) -> None:
    require_true(data)


@QUICK
@given(mutated(GOOD, PIECES))
def test_a_file_of_changed_bytes_is_found_out_or_says_what_was_signed(data: bytes) -> None:
    require_true(data)


@pytest.mark.long
@pytest.mark.timeout(1800)
@LONG
@given(changed_values() | mutated(GOOD, PIECES))
def test_a_changed_file_is_found_out_every_time(data: bytes) -> None:
    """The two above, for longer."""
    require_true(data)


@settings(QUICK, max_examples=60)
@given(st.binary(max_size=300) | st.recursive(st.sampled_from(LEAVES), st.lists).map(lambda v: json.dumps(v).encode()))
def test_bytes_at_random_are_no_file(data: bytes) -> None:
    with pytest.raises(EvidenceError):
        read_evidence(data)


def test_the_note_of_another_log_under_the_same_key_proves_nothing() -> None:
    """A fork: both are signed, and each holds for its own events only."""
    one, other = FILES
    for file, note in ((one, other.checkpoint), (other, one.checkpoint)):
        found = verdict_on(msgspec.structs.replace(file, checkpoint=note))
        assert found.status is Status.DISCREPANCY


@pytest.mark.parametrize("place", range(8))
def test_an_event_of_another_log_has_no_place_in_this_one(place: int) -> None:
    one, other = FILES
    events = [*one.events[:place], other.events[place], *one.events[place + 1 :]]

    [log] = [check for check in verdict_on(msgspec.structs.replace(one, events=events)).checks if check.name == "log"]

    assert log.status is Status.DISCREPANCY


@pytest.mark.parametrize("name", ["a\nb", "n" * 1000, "\x1b[2J\u2028"])
def test_a_field_that_is_not_known_is_told_in_one_short_line(name: str) -> None:
    """In each of the formats, whatever its name."""
    readers: list[tuple[bytes, Callable[[bytes], object]]] = [
        (GOOD[0], read_evidence),
        (TRUST.to_json(), Trust.from_json),
        (msgspec.json.encode(RECEIPT), lambda data: open_receipt(signed(data), OTHER_TRUST, check_signature)),
    ]
    for data, read in readers:
        changed = json.dumps({name: 1, **json.loads(data)}).encode()
        with pytest.raises((EvidenceError, TrustError, ReceiptError), match="unknown field") as caught:
            read(changed)
        assert len(str(caught.value).splitlines()) == 1
        assert len(str(caught.value)) < 400


# -- keys and paths


KEY_TEXTS: Final = [HOUSE.key.to_text().encode(), ALPHA.key.to_text().encode()]


@settings(QUICK, max_examples=150)
@given(mutated(KEY_TEXTS, [b"+", b"=", b"AQ", b"BA", b"\n", b" ", b"\xc3\xa9", b"00000000"]) | st.binary(max_size=90))
def test_a_text_is_the_key_that_it_spells_or_none(data: bytes) -> None:
    text = data.decode(errors="surrogateescape")
    try:
        key = VerifierKey.from_text(text)
    except NoteError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 500
        return
    assert key.to_text() == text
    assert key.key_id == replace(key).key_id == bytes.fromhex(text.split("+")[1])


SIZES: Final = (1, 255, 70_000, 2**40, 2**63)
TILE_PATHS: Final = [tile.path().encode() for size in SIZES for tile in tiles_of(size, size - 1)]


@settings(QUICK, max_examples=150)
@given(mutated(TILE_PATHS, [b"/", b"x", b"000", b"x000/", b".p/", b"..", b"0", b"8", b"256", b"\n", b"\0", b"%2e"]))
def test_a_path_is_the_tile_that_it_spells_or_none(data: bytes) -> None:
    path = data.decode(errors="surrogateescape")
    try:
        tile = Tile.parse(path)
    except TileError as error:
        assert "\n" not in str(error)
        return
    assert tile.path() == path
    assert ".." not in path
