"""The rung `log`: every event of a round at its place in the signed tree, and the house bound before each wager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec
import pytest

from domain import wager as w
from domain.log.checkpoint import Checkpoint, Note, Opened
from domain.log.merkle import consistency_proof, inclusion_proof, leaf_hash, node_hash, root_of
from domain.round import events as e
from domain.round.state import RoundState
from domain.ruleset import Ruleset
from domain.rulesets import released_rulesets
from replay.evidence import by_digest
from replay.logged import Entry, LogEvidence, Logged, Unlogged, Untrusted
from replay.verdict import Check, CheckName, Discrepancy, Status
from replay.verify_round import climb, verify_round
from tests.replay.casino import Casino

RULESETS = by_digest(released_rulesets().values())
RULESET = released_rulesets()["open-russian-poker@1"]


class LoggedCasino(Casino):
    """Beside each append that places boxes stands which checkpoint the wagers name: all that was stored before."""

    def post(
        self, stream: str, events: list[e.RoundEvent], state: RoundState, ruleset: Ruleset, table: str
    ) -> None:
        size, first_seq = len(self.records), self.heads[stream][0] + 1 if stream in self.heads else 0
        super().post(stream, events, state, ruleset, table)
        wagers = w.wagers_in(events, first_seq)
        if wagers:
            round_id = stream.removeprefix("round:")
            root = root_of([leaf_hash(record.body) for record in self.records[:size]]).hex()
            accepted = w.WagersAccepted(checkpoint_root=root, checkpoint_size=size, round=round_id, wagers=wagers)
            beside = w.receipt_stream(round_id)
            self._store(w.CODEC.append_to(beside, self.heads.get(beside), [accepted], self.at))


class Nodes:
    """Hashes of complete subtrees over a list of leaves."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._leaves = leaves

    def __call__(self, level: int, index: int) -> bytes:
        if level == 0:
            return self._leaves[index]
        return node_hash(self(level - 1, 2 * index), self(level - 1, 2 * index + 1))


@pytest.fixture(scope="module")
def casino() -> LoggedCasino:
    casino = LoggedCasino()
    casino.welcome("player-1", "player-2", "player-3")
    casino.open_table("t-1", RULESET)
    for seed in range(4):
        for _ in casino.play(Random(seed), RULESET, "t-1"):
            pass
    return casino


def a_round(casino: LoggedCasino) -> str:
    """A round in the middle, with other events before and behind it."""
    streams = [record.stream for record in casino.records if record.type == e.RoundOpened.NAME]
    return streams[1]


def logged(casino: LoggedCasino, stream: str, size: int | None = None) -> Logged:
    """What an honest log of `size` events has of the round and what stands beside it."""
    leaves = [leaf_hash(record.body) for record in casino.records]
    size = len(leaves) if size is None else size
    nodes = Nodes(leaves)
    beside = w.receipt_stream(stream.removeprefix("round:"))
    entries = [
        Entry(place + 1, record.body, inclusion_proof(place, size, nodes) if place < size else None)
        for place, record in enumerate(casino.records)
        if record.stream in (stream, beside)
    ]
    accepted = [w.CODEC.decode(body).data for body in casino.bodies(beside)]
    earlier = {
        event.checkpoint_size: consistency_proof(event.checkpoint_size, size, nodes)
        for event in accepted
        if event.checkpoint_size <= size
    }
    opened = Opened(Checkpoint("casino.example", size, root_of(leaves[:size])), (), Note(b"", ()))
    return Logged(opened, entries, earlier)


def rung(casino: LoggedCasino, stream: str, log: LogEvidence | None, bodies: Sequence[bytes] | None = None) -> Check:
    """The rung of both ways of verifying, which must agree."""
    bodies = casino.bodies(stream) if bodies is None else bodies
    quick, ladder = (verify(stream, bodies, RULESETS, None, log) for verify in (verify_round, climb))
    assert quick == ladder
    [check] = [check for check in quick.checks if check.name is CheckName.LOG]
    return check


def test_a_round_whose_events_are_all_in_the_log_is_verified(casino: LoggedCasino) -> None:
    stream = a_round(casino)

    assert rung(casino, stream, logged(casino, stream)) == Check(CheckName.LOG, Status.VERIFIED)


def test_events_behind_the_checkpoint_are_not_checkable(casino: LoggedCasino) -> None:
    stream = a_round(casino)
    last = max(entry.position for entry in logged(casino, stream).entries)

    check = rung(casino, stream, logged(casino, stream, last - 3))

    assert check.status is Status.NOT_CHECKABLE
    assert check.reason == "3 events lie behind the checkpoint"


def test_without_a_log_nothing_is_said(casino: LoggedCasino) -> None:
    stream = a_round(casino)

    assert rung(casino, stream, None).status is Status.NOT_CHECKABLE
    assert rung(casino, stream, Unlogged("none yet")).reason == "none yet"


def test_a_checkpoint_that_no_pinned_key_signed_is_a_discrepancy(casino: LoggedCasino) -> None:
    [found] = rung(casino, a_round(casino), Untrusted("no signature of a pinned key")).discrepancies

    assert (found.field, found.recorded) == ("checkpoint", "no signature of a pinned key")


def test_wagers_of_a_time_without_a_log_say_nothing_of_their_order(casino: LoggedCasino) -> None:
    stream = a_round(casino)
    log = logged(casino, stream)
    own = [entry for entry in log.entries if b'"wagers-accepted.v1"' not in entry.body]

    check = rung(casino, stream, log._replace(entries=own, earlier={}))

    assert check.status is Status.VERIFIED
    assert check.reason == "no event names a checkpoint for the wagers, as where no log was kept when they were taken"


# -- what is wrong with it

Change = Callable[[LoggedCasino, Logged], Logged]


def _with(log: Logged, place: int, **fields: Any) -> Logged:
    entries = list(log.entries)
    entries[place] = entries[place]._replace(**fields)
    return log._replace(entries=entries)


def _accepted(casino: LoggedCasino, log: Logged, change: Callable[[w.WagersAccepted], w.WagersAccepted]) -> Logged:
    """The log over a journal in which the event beside the first wagers says something else."""
    place = next(i for i, entry in enumerate(log.entries) if b'"wagers-accepted.v1"' in entry.body)
    position = log.entries[place].position
    record = w.CODEC.decode(log.entries[place].body)
    body = w.CODEC.encode(change(record.data), at=record.at, prev=record.prev, seq=record.seq, stream=record.stream)
    forged = LoggedCasino(records=list(casino.records))
    forged.records[position - 1] = forged.records[position - 1]._replace(body=body)
    return logged(forged, a_round(casino))


def _replaced(**fields: Any) -> Change:
    return lambda casino, log: _accepted(casino, log, lambda event: msgspec.structs.replace(event, **fields))


def _size_of(casino: LoggedCasino, log: Logged, size: int) -> Logged:
    root = root_of([leaf_hash(record.body) for record in casino.records[:size]]).hex()
    return _accepted(
        casino, log, lambda event: msgspec.structs.replace(event, checkpoint_root=root, checkpoint_size=size)
    )


FORGERIES: list[tuple[str, Change, str, str]] = [
    ("a body changed", lambda _, log: _with(log, 3, body=log.entries[3].body.replace(b"box", b"bax")), "inclusion",
     "leads to"),
    ("a position moved", lambda _, log: _with(log, 2, position=log.entries[2].position + 1), "inclusion", "root"),
    ("a position twice", lambda _, log: _with(log, 2, position=log.entries[1].position), "position", "of its own"),
    ("an event left out", lambda _, log: log._replace(entries=log.entries[1:]), "inclusion", "place in the log"),
    ("a proof left out", lambda _, log: _with(log, 2, proof=None), "inclusion", "a proof for"),
    ("a proof cut off", lambda _, log: _with(log, 2, proof=list(log.entries[2].proof or ())[:-1]), "inclusion", ""),
    ("a proof of another", lambda _, log: _with(log, 2, proof=log.entries[3].proof), "inclusion", "leaf"),
    ("no proof of the earlier root", lambda _, log: log._replace(earlier={}), "checkpoint_root", "a proof from"),
    ("another earlier root", _replaced(checkpoint_root="ab" * 32), "checkpoint_root", "the log's root at"),
    ("a root of twelve bytes", _replaced(checkpoint_root="ab" * 12), "checkpoint_root", "the log's root at"),
    ("a root that is no hex", _replaced(checkpoint_root="no hex"), "checkpoint_root", "the log's root at"),
    ("another round's wagers", _replaced(round="0" * 32), "round", ""),
    ("no wager named", _replaced(wagers=[]), "wagers", "the wager of event"),
    ("another stake", _replaced(wagers=[w.Wager(1, "player-1", 1, 1)]), "wagers.stake", ""),
    ("a wager nobody made", _replaced(wagers=[w.Wager(1, "player-1", 0, 1)]), "wagers", "a box-placed.v1"),
    ("the checkpoint before the commitment", lambda c, log: _size_of(c, log, log.entries[0].position - 1),
     "checkpoint_size", "the commitment in it"),
    ("the checkpoint behind the wager", lambda c, log: _size_of(c, log, log.entries[1].position),
     "checkpoint_size", "before the wager"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "field", "words"), [row[1:] for row in FORGERIES], ids=[row[0] for row in FORGERIES]
)
def test_what_is_not_as_it_should_be_is_named(casino: LoggedCasino, change: Change, field: str, words: str) -> None:
    stream = a_round(casino)
    log = change(casino, logged(casino, stream))
    bodies = casino.bodies(stream)

    check = rung(casino, stream, log, bodies)

    assert check.status is Status.DISCREPANCY
    found: list[Discrepancy] = [each for each in check.discrepancies if each.field == field]
    assert any(words in f"{each.recorded} {each.recomputed}" for each in found), check.discrepancies


@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_tree_that_is_not_the_signed_one_holds_nothing(casino: LoggedCasino, size: int) -> None:
    stream = a_round(casino)
    log = logged(casino, stream)
    other = log.opened._replace(checkpoint=log.opened.checkpoint._replace(root=bytes([size]) * 32))

    check = rung(casino, stream, log._replace(opened=other))

    assert {each.field for each in check.discrepancies} == {"inclusion", "checkpoint_root"}
    assert sum(each.field == "inclusion" for each in check.discrepancies) == len(log.entries)
