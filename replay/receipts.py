"""Does the record have the wager that a player's receipt is for?  Format: docs/formats/receipt.md.

A receipt was signed by the house when it took the wager.  Where the record says something else, or nothing, it was
changed afterwards: the receipt shows it.

Not here: the receipt's signature (`domain.log.receipt`), reading the record (`ops`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from domain import wager as w
from domain.log.receipt import Receipt
from domain.record import BodyError
from domain.round import events as e
from domain.round.codec import read
from replay.verdict import Discrepancy


def contradictions(receipt: Receipt, placed: Sequence[tuple[int, bytes]]) -> list[Discrepancy]:
    """All that the record has otherwise.  `placed`: position and body of the events of the round and beside it."""
    return list(_contradictions(receipt, placed))


def _contradictions(receipt: Receipt, placed: Sequence[tuple[int, bytes]]) -> Iterator[Discrepancy]:
    stream = f"round:{receipt.round}"
    records = [(position, read(body)) for position, body in placed]
    own = [(at, record) for at, record in records if not isinstance(record, BodyError) and record.stream == stream]
    opened = next((record.data for _, record in own if isinstance(record.data, e.RoundOpened)), None)
    if opened is None:
        yield Discrepancy(None, e.RoundOpened.NAME, "round", "missing", receipt.round)
        return
    for field in ("commitment", "ruleset_digest"):
        if getattr(opened, field) != getattr(receipt, field):
            yield Discrepancy(0, opened.NAME, field, getattr(opened, field), getattr(receipt, field))
    yield from _wager(receipt, dict(own).get(receipt.position))
    yield from _checkpoint(receipt, placed)


def _wager(receipt: Receipt, record: object) -> Iterator[Discrepancy]:
    event = getattr(record, "data", None)
    if not isinstance(event, e.BoxPlaced):
        words = f"the wager on box {receipt.box} at position {receipt.position}"
        yield Discrepancy(None, e.BoxPlaced.NAME, "position", "missing", words)
        return
    stake = event.ante + event.bet + event.bonus
    for field, recorded in (("box", event.box), ("player", event.player), ("stake", stake)):
        if recorded != getattr(receipt, field):
            yield Discrepancy(getattr(record, "seq", None), event.NAME, field, recorded, getattr(receipt, field))


def _checkpoint(receipt: Receipt, placed: Sequence[tuple[int, bytes]]) -> Iterator[Discrepancy]:
    """The wager names in the record the checkpoint that it names in the receipt."""
    beside = w.receipt_stream(receipt.round)
    records = [w.CODEC.read(body) for _, body in placed if b'"wagers-accepted.v1"' in body]
    events = [each.data for each in records if not isinstance(each, BodyError) and each.stream == beside]
    accepted = [event for event in events if any(wager.box == receipt.box for wager in event.wagers)]
    if not accepted:
        yield Discrepancy(None, w.WagersAccepted.NAME, "event", "missing", f"the wager on box {receipt.box}", beside)
    for event in accepted:
        for field in ("checkpoint_root", "checkpoint_size"):
            if getattr(event, field) != getattr(receipt, field):
                yield Discrepancy(None, event.NAME, field, getattr(event, field), getattr(receipt, field), beside)
