"""A wager names a checkpoint that has its round's commitment, and its player gets a receipt that the house has signed.

Not here: the token's bytes (tests/log), the sequencer (tests/ops/log), the rung `log` by itself (tests/replay).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain import wager as w
from domain.log.checkpoint import Checkpoint, VerifierKey
from domain.log.merkle import leaf_hash, root_of
from domain.log.receipt import ReceiptError, open_receipt
from domain.log.trust import PinnedKey, Trust
from domain.round.events import BoxPlaced
from domain.round.refusals import RefusalCode
from ops.evidence_file import gather
from ops.floor import Floor
from ops.log.ed25519 import check_signature
from ops.receipts import LogBehind, Receipts
from replay.receipts import contradictions
from tests.ops.floor.casino import KEY, OPEN, RUSSIAN, Casino, box, done, refused, rendered

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
RECEIPT_KEY = VerifierKey("casino.example/receipts", 1, PRIVATE.public_key().public_bytes_raw())
TRUST = Trust("casino.example", (), (), (PinnedKey(RECEIPT_KEY),))


@dataclass
class Log:
    """A log that is as far as the journal, or as far as it is told."""

    casino: Casino
    size: int | None = None
    """None: it follows the journal."""

    def newest(self) -> Checkpoint | None:
        size = self.casino.written() if self.size is None else self.size
        if size == 0:
            return None
        leaves = [leaf_hash(stored.record.body) for stored in self.casino.journal.read_positions(range(1, size + 1))]
        return Checkpoint("casino.example", size, root_of(leaves))


@pytest.fixture
def log(casino: Casino, monkeypatch: pytest.MonkeyPatch) -> Log:
    monkeypatch.setattr("ops.receipts.MOST_SECONDS", 0.1)
    log = Log(casino)
    casino.floor = floor_with(casino, log)
    return log


def floor_with(casino: Casino, log: Log) -> Floor:
    return Floor(casino.journal, KEY, receipts=Receipts(log.newest, RECEIPT_KEY, PRIVATE.sign))


def test_a_receipt_says_what_was_staked_and_where_it_stands(casino: Casino, log: Log) -> None:
    opened = casino.open(OPEN)
    covered = casino.written()
    placed = casino.place(opened.stream, box(1, "anna", 300, 100), box(2, "boris", 300))

    receipts = [open_receipt(issued.token, TRUST, check_signature) for issued in placed.receipts]

    assert opened.state.opened is not None
    assert [(each.box, each.player, each.stake) for each in receipts] == [(1, "anna", 400), (2, "boris", 300)]
    for each in receipts:
        [stored] = casino.journal.read_positions([each.position])
        assert (stored.record.stream, stored.record.type) == (opened.stream, BoxPlaced.NAME)
        assert each.commitment == opened.state.opened.commitment
        assert each.ruleset_digest == opened.state.opened.ruleset_digest
        assert each.checkpoint_size == covered
        assert contradictions(each, gather(casino.journal, opened.stream).placed) == []


def test_a_dark_box_has_its_bet_in_the_receipt(casino: Casino, log: Log) -> None:
    opened = casino.open(OPEN)

    placed = casino.place(opened.stream, box(1, "anna", 100), box(2, "anna", 100, dark=True))

    stakes = [open_receipt(issued.token, TRUST, check_signature).stake for issued in placed.receipts]
    assert stakes == [100, 300]


def test_without_a_log_there_are_no_receipts(casino: Casino) -> None:
    opened = casino.open(OPEN)

    placed = casino.place(opened.stream, box(1))

    assert placed.receipts == []
    assert casino.journal.read_stream(w.receipt_stream(opened.round_id)) == []


def test_wagers_that_come_one_by_one_have_a_receipt_each(casino: Casino, log: Log) -> None:
    opened = casino.open(OPEN)
    first, second = casino.place(opened.stream, box(1)), casino.place(opened.stream, box(2, "boris"))

    assert [issued.box for issued in first.receipts] == [1]
    assert [issued.box for issued in second.receipts] == [2]
    assert len(casino.journal.read_stream(w.receipt_stream(opened.round_id))) == 2
    casino.played_out(casino.deal(opened.stream), Random(3))
    casino.assert_balanced()


def test_no_wager_is_taken_before_the_commitment_is_in_the_log(casino: Casino, log: Log) -> None:
    opened = casino.open(OPEN)
    before, log.size = casino.written(), casino.written() - 2
    command = casino.command()

    with pytest.raises(LogBehind, match=r"^log: its newest checkpoint has \d+ events, the round's commitment is \d+$"):
        casino.floor.choose(command, opened.stream, box(1))
    assert casino.written() == before

    log.size = None
    assert done(casino.floor.choose(command, opened.stream, box(1))).receipts


def test_a_log_that_has_nothing_yet_takes_no_wager(casino: Casino, log: Log) -> None:
    opened = casino.open(OPEN)
    log.size = 0

    with pytest.raises(LogBehind):
        casino.place(opened.stream, box(1))


def test_a_wager_waits_for_a_checkpoint_that_is_coming(
    casino: Casino, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = casino.open(OPEN)
    log.size = casino.written() - 3

    def pause(_: float) -> None:
        log.size = None

    monkeypatch.setattr("ops.receipts.time.sleep", pause)

    assert casino.place(opened.stream, box(1)).receipts


@pytest.mark.parametrize("behind", [False, True])
def test_the_same_command_has_the_same_receipt(casino: Casino, log: Log, behind: bool) -> None:
    """Also when the log has gone on meanwhile, or has stopped; and from a worker that remembers nothing."""
    opened, command = casino.open(OPEN), casino.command()
    first = done(casino.floor.choose(command, opened.stream, box(1), box(2, "boris")))
    casino.deal(opened.stream)
    log.size = 1 if behind else None

    again = done(casino.floor.choose(command, opened.stream, box(1), box(2, "boris")))
    elsewhere = done(floor_with(casino, log).choose(command, opened.stream, box(1), box(2, "boris")))

    assert rendered(first) == rendered(again) == rendered(elsewhere)


def test_a_refused_wager_stays_refused_when_the_log_has_stopped(casino: Casino, log: Log) -> None:
    opened, command = casino.open(OPEN), casino.command()
    refused(casino.floor.choose(command, opened.stream, box(1, ante=1)), RefusalCode.ANTE_OFF_LIMITS)
    log.size = 1

    refused(casino.floor.choose(command, opened.stream, box(1, ante=1)), RefusalCode.ANTE_OFF_LIMITS)


def test_a_round_that_is_not_there_needs_no_log(casino: Casino, log: Log) -> None:
    log.size = 0

    for stream in (f"round:{'0' * 32}", "round:nonsense"):
        refused(casino.floor.choose(casino.command(), stream, box(1)), RefusalCode.ROUND_UNKNOWN)


def test_a_journal_with_receipts_adds_up(casino: Casino, log: Log) -> None:
    for seed in range(3):
        casino.played(OPEN if seed else RUSSIAN, Random(seed))

    casino.assert_balanced()


def test_a_receipt_of_another_key_is_none(casino: Casino, log: Log) -> None:
    issued = casino.place(casino.open(OPEN).stream, box(1)).receipts[0]
    other = replace(RECEIPT_KEY, public_key=bytes(32))

    with pytest.raises(ReceiptError):
        open_receipt(issued.token, replace(TRUST, receipt_keys=(PinnedKey(other),)), check_signature)


def test_a_receipt_shows_what_was_changed(casino: Casino, log: Log) -> None:
    """A round that is gone, a wager that is gone, another commitment, stake, player, checkpoint."""
    opened = casino.open(OPEN)
    issued = casino.place(opened.stream, box(1, "anna", 300, 100), box(2, "boris", 300)).receipts[0]
    receipt = open_receipt(issued.token, TRUST, check_signature)
    placed = gather(casino.journal, opened.stream).placed
    gone = [(at, body) for at, body in placed if at != receipt.position]
    beside = [(at, body) for at, body in placed if b"wagers-accepted" not in body]

    def fields(receipt_: object, among: list[tuple[int, bytes]]) -> list[str]:
        return [found.field for found in contradictions(receipt_, among)]  # type: ignore[arg-type]

    changed = msgspec.structs.replace
    assert fields(receipt, []) == ["round"]
    assert fields(receipt, gone) == ["position"]
    assert fields(receipt, beside) == ["event"]
    assert fields(changed(receipt, commitment="0" * 64), placed) == ["commitment"]
    assert fields(changed(receipt, ruleset_digest="0" * 64), placed) == ["ruleset_digest"]
    assert fields(changed(receipt, stake=1), placed) == ["stake"]
    assert fields(changed(receipt, player="clara"), placed) == ["player"]
    assert fields(changed(receipt, position=receipt.position + 1), placed) == ["box", "player", "stake"]
    assert fields(changed(receipt, checkpoint_size=1), placed) == ["checkpoint_size"]
    assert fields(changed(receipt, checkpoint_root="0" * 64), placed) == ["checkpoint_root"]
