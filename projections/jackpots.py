"""How did each pot come to what it is?  Contributions, payments, restarts and reversals.

Tables: `jackpot` (now), `jackpot_entry` (one row an event).  Rebuild: dealproof project rebuild jackpots.

Not here: the winner's account (`balances`), the round that won (`rounds`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from domain import jackpot as j
from domain.codec import Event
from projections.feed import Fact
from projections.projection import Handler, Projection, flush
from projections.store import Table, columns

JACKPOT: Final = Table(
    "jackpot",
    columns("jackpot text, currency text, seed_amount int, pot int, opened_position int, position int"),
    ("jackpot",),
)
JACKPOT_ENTRY: Final = Table(
    "jackpot_entry",
    columns(
        "position int, at time, jackpot text, currency text, type text, fed int, paid int, from_bank int,"
        "restarted int, contributions_reversed int, winnings_reversed int, pot_after int, round text?, box int?"
    ),
    ("position",),
    ("(jackpot, position)",),
)


class Jackpots(Projection):
    NAME: ClassVar[str] = "jackpots"
    VERSION: ClassVar[int] = 1
    QUESTION: ClassVar[str] = "How did each pot come to what it is?"
    TABLES: ClassVar[tuple[Table, ...]] = (JACKPOT, JACKPOT_ENTRY)

    def __init__(self) -> None:
        self._pots: dict[str, tuple[object, ...]] = {}
        self._entries: list[tuple[object, ...]] = []

    def handlers(self) -> Mapping[type[Event], Handler]:
        return dict.fromkeys(j.JACKPOT_EVENTS, self._moved)

    def forget(self) -> None:
        self._pots.clear()
        self._entries.clear()

    def write(self) -> None:
        self.store.add("jackpot_entry", flush(self._entries))
        self.store.replace("jackpot", list(self._pots.values()))
        self._pots.clear()

    def _moved(self, fact: Fact) -> None:
        event: Any = fact.event
        name, after = fact.stream.removeprefix("jackpot:"), event.after
        self._entries.append((
            fact.position, fact.at, name, after.currency, event.NAME, *_amounts(event), after.pot,
            getattr(event, "round", None), getattr(event, "box", None),
        ))  # fmt: skip
        opened = fact.position if fact.seq == 0 else self._opened(fact, name)
        self._pots[name] = (name, after.currency, after.seed_amount, after.pot, opened, fact.position)

    def _opened(self, fact: Fact, name: str) -> object:
        known = self._pots.get(name)
        if known is not None:
            return known[4]
        first = self.store.earlier.first(fact.stream)
        return fact.position if first is None else first.position


def _amounts(event: j.JackpotEvent) -> tuple[int, int, int, int, int, int]:
    """Fed, paid from the pot, paid from the bank, put in at a start, contributions reversed, winnings reversed."""
    match event:
        case j.JackpotOpened():
            return 0, 0, 0, event.after.seed_amount, 0, 0
        case j.JackpotFed():
            return event.amount, 0, 0, 0, 0, 0
        case j.JackpotPaid():
            return 0, event.from_pot, event.from_bank, 0, 0, 0
        case j.JackpotRestarted():
            return 0, 0, 0, event.amount, 0, 0
        case j.JackpotReversed():
            return 0, 0, 0, 0, event.contributions, event.winnings
    raise TypeError(f"an event of a jackpot that this projection doesn't know: {event.NAME}")
