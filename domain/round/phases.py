"""Which fact may follow which, as a table; the diagram in docs/round.md is drawn from it.

Rules: docs/rules, clauses 4.1 (deal), 6.1 (decisions), 7.4 (insurance at the first reveal), 8.2 (replacement after all
have answered), 10.3 (close and reveal).

Not here: whether a fact is true or allowed in detail (`decisions` before it happens, `replay` after).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from domain.round import events as e


class Phase(StrEnum):
    """Where a round stands."""

    UNOPENED = "unopened"
    BETTING = "betting"
    DECIDING = "deciding"
    REVEALED = "revealed"
    SHOWDOWN = "showdown"
    CLOSED = "closed"
    VOIDED = "voided"
    ENDED = "ended"


TRANSITIONS: Final[dict[Phase, dict[type[e.RoundEvent], Phase]]] = {
    Phase.UNOPENED: {e.RoundOpened: Phase.BETTING},
    Phase.BETTING: {
        e.BoxPlaced: Phase.BETTING,
        e.CardsDealt: Phase.DECIDING,
        e.RoundVoided: Phase.VOIDED,
    },
    Phase.DECIDING: {
        e.JackpotContributed: Phase.DECIDING,
        e.HandShown: Phase.DECIDING,
        e.BonusSettled: Phase.DECIDING,
        e.JackpotWon: Phase.DECIDING,
        e.ExchangeBought: Phase.DECIDING,
        e.SixthCardBought: Phase.DECIDING,
        e.SixthCardDeclined: Phase.DECIDING,
        e.CardsDrawn: Phase.DECIDING,
        e.HiddenCardDrawn: Phase.DECIDING,
        e.InsuranceBought: Phase.DECIDING,
        e.BetMade: Phase.DECIDING,
        e.BoxFolded: Phase.DECIDING,
        e.DealerRevealed: Phase.REVEALED,
        e.RoundVoided: Phase.VOIDED,
    },
    Phase.REVEALED: {
        e.HandShown: Phase.REVEALED,
        e.BonusSettled: Phase.REVEALED,
        e.JackpotWon: Phase.REVEALED,
        e.InsuranceSettled: Phase.REVEALED,
        e.DealerGameBought: Phase.REVEALED,
        e.AnteTaken: Phase.REVEALED,
        e.DealerCardReplaced: Phase.SHOWDOWN,
        e.BoxSettled: Phase.SHOWDOWN,
        e.RoundVoided: Phase.VOIDED,
    },
    Phase.SHOWDOWN: {
        e.DealerCardReplaced: Phase.SHOWDOWN,
        e.BoxSettled: Phase.SHOWDOWN,
        e.RoundClosed: Phase.CLOSED,
    },
    Phase.CLOSED: {e.SeedRevealed: Phase.ENDED},
    Phase.VOIDED: {e.SeedRevealed: Phase.ENDED},
    Phase.ENDED: {},
}


def next_phase(phase: Phase, event: e.RoundEvent) -> Phase | None:
    """The phase after this fact, None where the table doesn't have it."""
    return TRANSITIONS[phase].get(type(event))


def diagram() -> str:
    """The table as a Mermaid state diagram: one arrow for each pair of phases, labelled with the facts."""
    lines = ["stateDiagram-v2", "    [*] --> unopened"]
    for phase, moves in TRANSITIONS.items():
        for target in dict.fromkeys(moves.values()):
            names = [event.NAME.split(".")[0] for event, to in moves.items() if to is target]
            lines.append(f"    {phase} --> {target}: {', '.join(names)}")
    return "\n".join([*lines, "    ended --> [*]"]) + "\n"
