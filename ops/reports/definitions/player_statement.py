"""Player win/loss statement: one player's funds, rounds and cash of a period, for himself or for a dispute.

Not here: other players of his rounds.
"""

from __future__ import annotations

from typing import Final

from ops.reports.building import Body, ReportError, Request
from ops.reports.definitions import cash_history, game_history
from ops.reports.definitions import player_account_summary as summary
from ops.reports.definitions.common import keys_of, parameters
from ops.reports.definitions.listing import sections
from ops.reports.model import Identity
from projections.reading import Reading

NAME: Final = "player-statement"
VERSION: Final = 1
TITLE: Final = "Player win/loss statement"
FILTERS: Final = frozenset({"player", "currency"})
NEEDS: Final = ("balances", "players", "rounds", "cash")


def build(reading: Reading, request: Request) -> Body:
    """The sums, the rounds that ended, the movements at the desk.  Raises ReportError without a player."""
    if request.filters.player is None:
        raise ReportError(f"--player: the report {NAME} is of one player; name him")
    words = request.words

    def identities() -> list[Identity]:
        keys = keys_of((currency, test) for currency, test in reading.rows(summary.KEYS, parameters(request)))
        return [identity for key in keys for identity in summary.account_identities(reading, request, key)]

    cash = cash_history.listing(words, cash_history.KEYS, cash_history.ROWS)
    return Body(
        (
            *sections(reading, request, summary.listing(words)._replace(name="summary", title="Win and loss")),
            *sections(reading, request, game_history.players(words)._replace(title="Rounds")),
            *sections(reading, request, cash),
        ),
        identities,
    )
