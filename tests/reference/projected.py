"""What the tables of all projections must hold, in the plainest way: slow, obvious, and by other roads.

The whole journal lies in memory, and each row looks through all of it.  Nothing of `projections` is used.  The
meanings come from the docstrings of the tables and the events, from docs/glossary.md and docs/formats/accounts.md.

Not here: what is compared with it (`tests.projections.test_reference_agrees`).
"""

from __future__ import annotations

from tests.reference import projected_exceptions as exceptions
from tests.reference import projected_money as money
from tests.reference import projected_rounds as rounds
from tests.reference.projected_journal import Journal, Row

BLOCK = 65_536
"""Positions whose sums stand together (docs: `performance`)."""


def projected(journal: Journal, block: int = BLOCK) -> dict[str, list[Row]]:
    """Table -> its rows in the order of its key, which every table begins with; times aware, money in minor units."""
    tables = {
        "balance": money.balance(journal),
        "ledger_entry": money.ledger_entry(journal),
        "round": rounds.round_(journal),
        "open_round": rounds.open_round(journal),
        "round_player": rounds.round_player(journal),
        "revenue": rounds.revenue(journal, block),
        "wager_performance": rounds.wager_performance(journal, block),
        "combination": rounds.combination(journal, block),
        "cash": money.cash(journal),
        "jackpot": money.jackpot(journal),
        "jackpot_entry": money.jackpot_entry(journal),
        "commitment": rounds.commitment(journal),
        "exception": exceptions.exception(journal),
        "verification": exceptions.verification_(journal),
        "finding": exceptions.finding(journal),
        "examination": exceptions.examination(journal),
        "player_activity": money.player_activity(journal, block),
    }
    return {name: sorted(rows) for name, rows in tables.items()}
