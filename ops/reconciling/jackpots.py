"""The pots against the journal.

Not here: the winners' accounts (`books`), whether a win was due (`replay.verify_round`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from domain import jackpot as j
from ops.reconciling.held import Check, Held, Line, Values, moment, same_rows, sums
from projections.feed import Fact
from projections.reading import Reading
from replay.verdict import Discrepancy


class Jackpots(Check):
    PROJECTION: ClassVar[str] = "jackpots"

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._held = Held("jackpot_entry", _COLUMNS, reading.stream(_ENTRIES))
        self._pots: dict[str, tuple[str, int, int]] = {}
        self._sums: dict[str, list[int]] = {}

    def take(self, fact: Fact) -> Iterator[Discrepancy]:
        """An event of a jackpot is one entry."""
        event: Any = fact.event
        if not isinstance(event, j.JackpotEvent):
            return
        name, after = fact.stream.removeprefix("jackpot:"), event.after
        self._pots[name] = (after.currency, after.seed_amount, after.pot)
        amounts = [_amount(event, part) for part in _PARTS]
        so_far = self._sums.setdefault(after.currency, [0] * len(_PARTS))
        for nth, amount in enumerate(amounts):
            so_far[nth] += amount
        yield from self._held.expect(fact.position, (
            moment(fact.at), name, after.currency, event.NAME, *amounts, after.pot, getattr(event, "round", None),
            getattr(event, "box", None),
        ))  # fmt: skip

    def finish(self) -> Iterator[Discrepancy]:
        """Pots of now."""
        yield from self._held.rest()
        wanted: dict[str, Values] = dict(self._pots)
        columns = "currency", "seed_amount", "pot"
        yield from same_rows("jackpot", "jackpot", columns, self._reading.rows(_POTS), wanted)

    def lines(self) -> list[Line]:
        """What went in and out, and what is there; the pots must be what is left."""
        entries, pots = sums(self._reading, _ENTRY_SUMS), sums(self._reading, _POT_SUMS)
        found = []
        for currency in sorted({*self._sums, *entries, *pots}):
            ours, kept = self._sums.get(currency, [0] * len(_PARTS)), entries.get(currency, (0,) * len(_PARTS))
            found += [
                Line(currency, words, there, here, True)
                for words, there, here in zip(_PARTS.values(), ours, kept, strict=True)
            ]
            pot = sum(amount for of, _, amount in self._pots.values() if of == currency)
            found.append(Line(currency, "pots", pot, pots.get(currency, (0,))[0], True))
            fed, paid, _, restarted, back, again = ours
            found.append(Line(currency, "pots, from all that went in and out", fed - paid + restarted - back + again,
                              pots.get(currency, (0,))[0], True))  # fmt: skip
        return found


def _amount(event: j.JackpotEvent, part: str) -> int:
    """What an event means for a part of the sums; most mean nothing for most."""
    match event, part:
        case j.JackpotOpened(), "restarted":
            return event.after.seed_amount
        case j.JackpotRestarted(), "restarted":
            return event.amount
        case j.JackpotFed(), "fed":
            return event.amount
        case j.JackpotPaid(), "paid":
            return event.from_pot
        case j.JackpotPaid(), "from_bank":
            return event.from_bank
        case j.JackpotReversed(), "contributions_reversed":
            return event.contributions
        case j.JackpotReversed(), "winnings_reversed":
            return event.winnings
        case _:
            return 0


_PARTS: Final = {
    "fed": "fed into pots", "paid": "paid from pots", "from_bank": "paid by the bank, where a pot had too little",
    "restarted": "put in at starts and restarts", "contributions_reversed": "contributions given back by voids",
    "winnings_reversed": "winnings taken back by voids",
}  # fmt: skip

_COLUMNS: Final = ("at", "jackpot", "currency", "type", *_PARTS, "pot_after", "round", "box")

_ENTRIES: Final = """
select position, at, jackpot, currency, type, fed, paid, from_bank, restarted, contributions_reversed,
    winnings_reversed, pot_after, round, box
from {jackpot_entry} order by position
"""

_POTS: Final = "select jackpot, currency, seed_amount, pot from {jackpot}"
_POT_SUMS: Final = "select currency, sum(pot) from {jackpot} group by currency"
_ENTRY_SUMS: Final = """
select currency, sum(fed), sum(paid), sum(from_bank), sum(restarted), sum(contributions_reversed),
    sum(winnings_reversed)
from {jackpot_entry} group by currency
"""
