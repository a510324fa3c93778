"""Rounds that have not ended: how long nothing has happened in them, and what may happen next.

Not here: ending them (`ops.floor`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from domain.record import BodyError
from domain.round.codec import decode
from domain.round.dealer import whose_turn
from domain.round.phases import Phase
from domain.round.state import BoxState, RoundState, fold
from domain.ruleset import Ruleset
from ops import clock
from ops.journal import Journal
from ops.pit import Pit


@dataclass(frozen=True)
class StuckRound:
    """An open round; `abandoned` by its table's policy, None where no table is kept."""

    round_id: str
    table: str
    number: int
    opened_at: str
    idle_seconds: int
    abandoned: bool | None
    next_step: str


def open_rounds(journal: Journal) -> Iterator[StuckRound]:
    """Every open round, oldest first."""
    pit, after = Pit(journal), ""
    while streams := journal.open_rounds(after):
        for after in streams:
            yield _stuck(journal, pit, after)


def _stuck(journal: Journal, pit: Pit, stream: str) -> StuckRound:
    round_id = stream.removeprefix("round:")
    stored = journal.read_stream(stream)
    try:
        records = [decode(event.record.body) for event in stored]
    except BodyError as error:
        return StuckRound(round_id, "", 0, "", 0, None, f"can't be read: {error}")
    state = fold(record.data for record in records)
    if state.opened is None:
        return StuckRound(round_id, "", 0, "", 0, None, "no opening event is left: see dealproof verify")
    idle = max(clock.milliseconds(clock.now()) - clock.milliseconds(records[-1].at), 0) // 1000
    settings = pit.settings_of_round(stream, stored[0].position)
    return StuckRound(
        round_id,
        state.opened.table,
        state.opened.number,
        records[0].at,
        idle,
        None if settings is None else idle >= settings.abandoned_after,
        next_step(state, pit.known_as(state.opened.ruleset_digest)),
    )


def next_step(state: RoundState, ruleset: Ruleset | None) -> str:
    """What may happen next in a round, in words."""
    if state.phase is Phase.ENDED:
        return "none: the round is over"
    if ruleset is None:
        return "its ruleset is not known here"
    if state.phase is Phase.BETTING:
        return "deal, or place more boxes" if state.boxes else "place boxes, or void"
    box = whose_turn(state, ruleset)
    return "void" if box is None else f"box {box.box} ({box.player}): {_question(state, box)}"


def _question(state: RoundState, box: BoxState) -> str:
    if state.phase is Phase.REVEALED:
        return "buy the dealer's game or take the ante"
    if box.dark:
        return "buy a sixth card or decline it"
    if box.insurance:
        return "bet (it is insured)"
    return "bet or fold" if box.drew else "draw, insure, bet or fold"
