"""A small report with a cell of every kind, and a long one; what tests print.

Not here: reports of a real journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ops.reports.model import Chart, Checkpoint, Column, Frame, Identity, Kind, Report, Row, Section, Weight

COLUMNS = (
    Column("player", "Player", Kind.TEXT),
    Column("rounds", "Rounds", Kind.COUNT),
    Column("turnover", "Turnover", Kind.MONEY),
    Column("hold", "Hold", Kind.RATIO),
    Column("at", "Time", Kind.TIME),
    Column("position", "Position", Kind.POSITION),
)

FRAME = Frame(
    name="gaming-revenue",
    title="Gaming revenue",
    operator="Casino «Метелица» & <b>Co",
    software="Dealproof 0.3.0",
    definition="gaming-revenue 1",
    begin="2026-10-31T21:00:00.000Z",
    end="2026-11-30T21:00:00.000Z",
    zone="Europe/Moscow",
    generated_at="2026-12-01T05:10:36.123Z",
    position=1234567,
    checkpoint=Checkpoint(1234567, "ab" * 32),
    filters=("Table Стол-1 only.",),
    again="dealproof report gaming-revenue --from 2026-11 --to 2026-11 --zone Europe/Moscow --as-of 1234567",
    language="en",
)

CHART = Chart(
    "ggr", "GGR by day",
    {
        "data": {"values": [{"day": f"2026-11-{day:02d}", "ggr": day * 37 % 11 - 3} for day in range(1, 15)]},
        "mark": "bar", "width": 600, "height": 160,
        "encoding": {
            "x": {"field": "day", "type": "ordinal", "title": "День"},
            "y": {"field": "ggr", "type": "quantitative", "title": "GGR"},
        },
    },
)  # fmt: skip

ROWS = (
    Row(("Иван Ж. A♠ K♥ Q♦ J♣", 12345, 123450, Fraction(1, 3), "2026-11-01T05:10:36.123Z", 1234567)),
    Row(("=1+1", -1, -5, Fraction(-1, 8), "2026-11-29T23:59:59.999Z", 7)),
    Row(("Subtotal", 12344, 123445, None, None, None), Weight.SUBTOTAL),
    Row(("Total", 12344, 123445, Fraction(2), None, None), Weight.TOTAL),
)


def small_report(*rows: Row, residual: int = 0, currency: str = "EUR") -> Report:
    """A table of `ROWS`, or of other rows, one without any, an identity of money and one of counts."""
    table = Section("revenue", "Revenue", currency, COLUMNS, lambda: rows or ROWS, "Closed rounds only.")
    nothing = Section("revenue-test", "Revenue (test accounts)", None, COLUMNS[:2], tuple)
    identities = [
        Identity("Turnover = sum of wagers", 123445 + residual, 123445, currency), Identity("Rounds = rounds", 5, 5),
    ]  # fmt: skip
    return Report(FRAME, (table, nothing), lambda: identities, (CHART,))


def long_report(rows: int) -> Report:
    """Rows that are made while they are read."""

    def made() -> Iterator[Row]:
        for number in range(rows):
            yield Row((f"player-{number}", number, number * 7, Fraction(number, 7), ROWS[0].cells[4], number))

    section = Section("revenue", "Revenue", "EUR", COLUMNS, made)
    return Report(replace(FRAME, checkpoint=None), (section,), lambda: [Identity("rows = rows", rows, rows)])
