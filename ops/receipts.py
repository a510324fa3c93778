"""Bind wagers to the log: name a checkpoint that holds the round's commitment, and sign a receipt for each wager.

A wager is accepted when a signed checkpoint covers its round's commitment.  The sequencer publishes one a second, so
whoever stakes within that second of the opening waits; where no checkpoint comes, the wager is not accepted: LogBehind,
and nothing is done.

Not here: the checkpoints (`ops.log.sequencer`), the events (`domain.wager`), the token (`domain.log.receipt`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from domain import wager as w
from domain.log.checkpoint import Checkpoint, NoteError, VerifierKey, open_checkpoint
from domain.log.receipt import Receipt, receipt_token
from domain.record import Record
from domain.round.events import RoundOpened
from ops.journal import JournalError
from ops.log.ed25519 import check_signature
from ops.log.keys import site_keys
from ops.log.public import PublicLog
from ops.logs import logger
from ops.settings import Settings

MOST_SECONDS: Final = 3.0
"""To wait for a checkpoint: some three of them should come in that time."""
PAUSE: Final = 0.02


class LogBehind(JournalError):
    """No checkpoint of the log covers the round's commitment; nothing was done, and the command may be repeated."""


class Issued(NamedTuple):
    """A receipt as a player is given it."""

    box: int
    token: str


class Receipts:
    """Names checkpoints and signs receipts.  Safe to share among threads.

    `newest`: the newest checkpoint that was published, None before the first.  `sign`: with the key of receipts.
    """

    def __init__(
        self, newest: Callable[[], Checkpoint | None], key: VerifierKey, sign: Callable[[bytes], bytes]
    ) -> None:
        self._newest = newest
        self._key = key
        self._sign = sign

    def covering(self, position: int) -> Checkpoint:
        """A checkpoint with the event at this position in it.  Raises LogBehind when none has come after a while."""
        until = time.monotonic() + MOST_SECONDS
        while True:
            checkpoint = self._newest()
            if checkpoint is not None and checkpoint.size >= position:
                return checkpoint
            if time.monotonic() >= until:
                size = 0 if checkpoint is None else checkpoint.size
                raise LogBehind(f"log: its newest checkpoint has {size} events, the round's commitment is {position}")
            time.sleep(PAUSE)

    def issue(self, opened: RoundOpened, records: Sequence[Record], positions: Sequence[int]) -> list[Issued]:
        """The receipts for the wagers in an append of the round; the same append has the same receipts."""
        places = {(record.stream, record.seq): at for record, at in zip(records, positions, strict=False)}
        accepted = [record for record in records if record.type == w.WagersAccepted.NAME]
        return [issued for record in accepted for issued in self._of(opened, record, places)]

    def _of(self, opened: RoundOpened, record: Record, places: Mapping[tuple[str, int], int]) -> list[Issued]:
        event = w.CODEC.decode(record.body).data
        return [
            Issued(wager.box, self._token(opened, event, wager, places[f"round:{event.round}", wager.seq]))
            for wager in event.wagers
        ]

    def _token(self, opened: RoundOpened, event: w.WagersAccepted, wager: w.Wager, position: int) -> str:
        receipt = Receipt(
            box=wager.box,
            checkpoint_root=event.checkpoint_root,
            checkpoint_size=event.checkpoint_size,
            commitment=opened.commitment,
            origin=self._key.name.removesuffix("/receipts"),
            player=wager.player,
            position=position,
            round=event.round,
            ruleset_digest=opened.ruleset_digest,
            stake=wager.stake,
        )
        return receipt_token(receipt, self._key, self._sign)


def site_receipts(settings: Settings, log: PublicLog) -> Receipts:
    """Of this site: its own key, its own log.  Raises TrustError, KeyFileError."""
    key = site_keys(settings).receipt
    return Receipts(NewestCheckpoint(log), key.verifier, key.sign)


class NewestCheckpoint:
    """The newest checkpoint in the log's folder, its signature checked once.  Safe to share among threads."""

    def __init__(self, log: PublicLog) -> None:
        self._log = log
        self._last: tuple[bytes, Checkpoint | None] = (b"", None)

    def __call__(self) -> Checkpoint | None:
        """The checkpoint; None before the first, and where the trust does not believe it: then wagers wait in vain."""
        data = self._log.checkpoint()
        if data is None:
            return None
        if data != self._last[0]:
            self._last = data, self._opened(data)
        return self._last[1]

    def _opened(self, data: bytes) -> Checkpoint | None:
        trust = replace(self._log.trust(), witnesses_needed=0)
        try:
            return open_checkpoint(data, trust, check_signature).checkpoint
        except NoteError as error:
            logger().error("checkpoint_not_believed", reason=str(error))
            return None
