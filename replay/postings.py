"""What other streams have of a round, and what the round's own record says that they should have.

Not here: holding the two against each other (`checks.ledger`), reading them (`ops.postings`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from domain import account as a
from domain import jackpot as j
from domain.account import Ending, account_stream
from domain.ledger import Move, moves, owed_bets
from domain.record import BodyError
from domain.round import events as e
from domain.round.state import RoundState
from domain.table import TableSettings
from replay.evidence import Evidence, apply_anyhow
from replay.redecide import CHOICES

Row = tuple[int, bytes]
"""Seq and body of a stored event."""


class Table(NamedTuple):
    """What the round's table had set, and the number it gave the round (None: the event is missing)."""

    settings: TableSettings
    number: int | None


class Postings(NamedTuple):
    """What other streams have of a round.

    `table`: None where the round's table keeps no accounts.  `streams`: of each account the event before the first one
    that mentions the round and all from there to the last one; of each jackpot those about the round and the one before
    each.  `players`: whose accounts are held against the round; None: everybody's.
    """

    table: Table | None
    streams: Mapping[str, Sequence[Row]]
    players: frozenset[str] | None = None


class Facts:
    """What the round's own record says about money."""

    def __init__(self, evidence: Evidence, postings: Postings) -> None:
        self.evidence = evidence
        self.postings = postings
        self.round_id = evidence.stream.removeprefix("round:")
        self.state = evidence.state
        settings = None if postings.table is None else postings.table.settings
        self.jackpot = None if settings is None else settings.jackpot
        self.moved = [] if settings is None else _moved(evidence)
        self.at: dict[int, str] = {}
        """Time of each fact by its place."""
        self.ended: tuple[Ending, int] | None = None
        """How the round has ended, and the place of the fact that says so."""
        self._insured = False
        for place, record in evidence.placed:
            self.at[place] = record.at
            kind = type(record.data)
            if kind in _ENDINGS and self.ended is None:
                self.ended = _ENDINGS[kind], place
            elif kind is e.InsuranceBought:
                self._insured = True

    @cached_property
    def accounts(self) -> dict[str, str]:
        """Stream -> player, of everybody who has a box and whose account is looked at."""
        opened, only = self.evidence.opened, self.postings.players
        if opened is None or self.postings.table is None:
            return {}
        players = [box.player for box in self.state.boxes if only is None or box.player in only]
        return {account_stream(opened.currency, player): player for player in players}

    @cached_property
    def jackpots(self) -> tuple[str, ...]:
        """The stream that the round feeds: where it has bonuses and its table a jackpot."""
        if self.jackpot is None or not any(box.bonus for box in self.state.boxes):
            return ()
        return (j.jackpot_stream(self.jackpot),)

    @cached_property
    def round(self) -> a.Round:
        """The round as accounts note it."""
        opened = self.evidence.opened
        table, number = ("", 0) if opened is None else (opened.table, opened.number)
        return a.Round(self.round_id, table, number, self.jackpot)

    @cached_property
    def from_bank(self) -> dict[int, int]:
        """By box, what the bank paid of its jackpot: the jackpot's own events say it, and are checked for it."""
        found: dict[int, int] = {}
        for stream, rows in self.postings.streams.items():
            for _, body in rows if stream.startswith("jackpot:") else ():
                if b'"jackpot-paid.v1"' not in body:
                    continue
                record = j.CODEC.read(body)
                paid = None if isinstance(record, BodyError) else record.data
                if isinstance(paid, j.JackpotPaid) and paid.round == self.round_id:
                    found[paid.box] = paid.from_bank
        return found

    @cached_property
    def choices(self) -> frozenset[int]:
        """Places where an append may begin."""
        return frozenset(place for place, record in self.evidence.placed if type(record.data) in CHOICES)

    @cached_property
    def owed(self) -> dict[int, dict[str, int]] | None:
        """Rule 7.3: by place and player the BETs owed from then on; None where nobody is insured.

        Only the last fact of an append counts, and where two appends of one moment meet nobody can see, so there is
        one entry for every place at which an append may end.
        """
        if not self._insured:
            return None
        found, state, players = {}, RoundState(), {box.player for box in self.state.boxes}
        ruleset = self.evidence.ruleset
        for place, record in self.evidence.placed:
            apply_anyhow(state, record.data)
            if ruleset is not None and (place + 1 in self.choices or self.at.get(place + 1) != record.at):
                found[place] = {player: owed_bets(state, ruleset, player) for player in players}
        return found

    def reserved(self, player: str, last: int, recorded: int) -> int:
        """What is to be reserved after the append with the fact at `last`: the recorded sum if it may be so."""
        if self.owed is None:
            return 0
        at = self.at.get(last)
        may = [owed[player] for place, owed in self.owed.items() if place >= last and self.at[place] == at]
        # Without the ruleset nobody knows the BETs.
        return recorded if not may or recorded in may else may[-1]


_ENDINGS: Final[dict[type[e.RoundEvent], Ending]] = {
    e.RoundVoided: Ending.VOIDED,
    e.RoundClosed: Ending.CLOSED,
}


def _moved(evidence: Evidence) -> list[Move]:
    """All money that the round moves, in the order of its facts."""
    if len(evidence.placed) == len(evidence.read):
        return moves(evidence.events, 0, evidence.state)
    return [move for place, record in evidence.placed for move in moves([record.data], place, evidence.state)]

