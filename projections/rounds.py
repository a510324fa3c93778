"""What became of a round?  Stakes by kind, times, funds before and after, and of open ones how far they are.

Tables: `round` (ended), `open_round`, `round_player` (one row a player and round).  Rebuild: dealproof project rebuild
rounds.

Not here: sums over rounds (`performance`), whether a round is true (`verdicts` has what was found).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar, Final

from domain import account as a
from domain.access import RoundIntervened
from domain.codec import Event
from domain.ledger import Wager
from domain.round import events as e
from projections.ended import KEPT, Ended, OpenRounds, ended, wagers_of
from projections.feed import Fact
from projections.projection import Handler, Projection, TestAccounts, flush
from projections.store import Table, columns

ROUND: Final = Table(
    "round",
    columns(
        "round text, table_name text, number int, currency text, ruleset text, ruleset_digest text, commitment text,"
        "opened_position int, opened_at time, first_stake_at time?, dealt_at time?, dealer_shown_at time?,"
        "ended_at time, ended_position int, ending text, reason text?, boxes int, players int, test bool, events int,"
        "ante int, bet int, bonus int, insurance int, exchange int, sixth_card int, dealer_game int,"
        "staked int, returned int, net int, jackpot_contributed int, jackpot_won int, automatic int, intervened bool,"
        "parts text"
    ),
    ("round",),
    ("(ended_position)", "(ended_at)", "(opened_position)", "(table_name, number)"),
)
OPEN_ROUND: Final = Table(
    "open_round",
    columns(
        "round text, table_name text, number int, currency text, ruleset text, commitment text, opened_position int,"
        "opened_at time, boxes int, staked int, last_at time"
    ),
    ("round",),
    ("(opened_position)",),
)
ROUND_PLAYER: Final = Table(
    "round_player",
    columns(
        "position int, at time, currency text, player text, round text, table_name text, number int, ending text,"
        "before int, after int, staked int, returned int, net int, test bool"
    ),
    ("position",),
    ("(currency, player, position)", "(round)"),
)

KINDS: Final = (
    Wager.ANTE, Wager.BET, Wager.BONUS, Wager.INSURANCE, Wager.EXCHANGE, Wager.SIXTH_CARD, Wager.DEALER_GAME,
)  # fmt: skip


class Rounds(Projection):
    NAME: ClassVar[str] = "rounds"
    VERSION: ClassVar[int] = 1
    QUESTION: ClassVar[str] = "What became of a round?"
    TABLES: ClassVar[tuple[Table, ...]] = (ROUND, OPEN_ROUND, ROUND_PLAYER)

    def __init__(self) -> None:
        self._open, self._tests = OpenRounds(), TestAccounts()
        self._changed: dict[str, None] = {}
        """Open rounds that have moved on, by stream."""
        self._gone: list[str] = []
        self._rows: list[tuple[object, ...]] = []
        self._players: list[tuple[object, ...]] = []
        self._intervened: list[str] = []

    def handlers(self) -> Mapping[type[Event], Handler]:
        return {
            **dict.fromkeys(KEPT, self._round), RoundIntervened: self._intervention,
            a.AccountOpened: self._account_opened, a.RoundFinished: self._finished,
        }  # fmt: skip

    def forget(self) -> None:
        self._open, self._tests = OpenRounds(), TestAccounts()
        self._changed.clear()
        self._gone, self._rows, self._players, self._intervened = [], [], [], []

    def write(self) -> None:
        self.store.add("round", flush(self._rows))
        self.store.add("round_player", flush(self._players))
        self.store.delete("open_round", self._gone)
        self.store.replace("open_round", [self._open_row(stream) for stream in self._changed])
        if self._intervened:
            self.store.execute("update {round} set intervened = true where round = any(%s)", (self._intervened,))
        self._gone, self._intervened = [], []
        self._changed.clear()

    # -- facts

    def _round(self, fact: Fact) -> None:
        facts = self._open.take(self.store, fact)
        if facts is None:
            self._changed[fact.stream] = None
            return
        self._changed.pop(fact.stream, None)
        whole = ended(facts)
        self._gone.append(whole.round)
        self._rows.append(self._row(whole))

    def _intervention(self, fact: Fact) -> None:
        # In the append that ends the round; its row may be one of this batch, which is written first.
        self._intervened.append(fact.event.round)

    def _account_opened(self, fact: Fact) -> None:
        self._tests.opened(fact.stream, fact.event.test)

    def _finished(self, fact: Fact) -> None:
        event: a.RoundFinished = fact.event
        _, currency, player = fact.stream.split(":", 2)
        self._players.append((
            fact.position, fact.at, currency, player, event.round, event.table, event.number, event.ending.value,
            event.before, event.after.balance, event.staked, event.returned, event.net,
            self._tests.has(self.store, fact.stream),
        ))  # fmt: skip

    # -- rows

    def _row(self, whole: Ended) -> tuple[object, ...]:
        opened, boxes = whole.opened, whole.boxes.values()
        is_test = {
            box.player: self._tests.has(self.store, a.account_stream(opened.currency, box.player)) for box in boxes
        }
        stakes = [sum(box.stakes.get(kind, 0) for box in boxes) for kind in KINDS]
        staked, returned = sum(stakes), sum(box.returned for box in boxes)
        won = 0 if whole.voided else sum(box.back.get(Wager.JACKPOT, 0) for box in boxes)
        return (
            whole.round, opened.table, opened.number, opened.currency, opened.ruleset, opened.ruleset_digest,
            opened.commitment, whole.opened_position, whole.opened_at, whole.first_stake_at, whole.dealt_at,
            whole.dealer_shown_at, whole.ended_at, whole.ended_position, "voided" if whole.voided else "closed",
            whole.reason, len(boxes), len(is_test), bool(is_test) and all(is_test.values()), whole.events,
            *stakes, staked, returned, returned - staked, sum(box.contributed for box in boxes), won,
            whole.automatic, False, parts(whole, is_test),
        )  # fmt: skip

    def _open_row(self, stream: str) -> tuple[object, ...]:
        facts = self._open.facts(stream)
        whole, opened = ended(facts), facts[0].event
        assert isinstance(opened, e.RoundOpened)
        return (
            whole.round, opened.table, opened.number, opened.currency, opened.ruleset, opened.commitment,
            whole.opened_position, whole.opened_at, len(whole.boxes), sum(box.staked for box in whole.boxes.values()),
            whole.ended_at,
        )  # fmt: skip


def parts(whole: Ended, is_test: Mapping[str, bool]) -> str:
    """A round's boxes, wagers and combinations, for who adds up a part of a block (docs/formats/projections.md)."""
    if whole.voided:
        return "[]"
    boxes = [
        [box.box, box.player, box.mode, is_test[box.player], box.staked, box.fees, box.returned, box.contributed,
         box.back.get(Wager.JACKPOT, 0)]
        for _, box in sorted(whole.boxes.items())
    ]  # fmt: skip
    wagers = [[*key, *sums] for key, sums in sorted(wagers_of(whole, is_test).items())]
    combinations = [[*key, count] for key, count in sorted(whole.combinations.items())]
    return json.dumps({"boxes": boxes, "wagers": wagers, "combinations": combinations}, separators=(",", ":"))
