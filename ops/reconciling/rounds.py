"""Rounds, open rounds and the players' rounds against the journal.

Not here: sums of games (`games`), whether a round was played and paid by its rules (`replay.verify_round`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from domain import account as a
from domain.round import events as e
from ops.reconciling.held import Check, Held, Line, Values, moment, same_rows, sums
from ops.reconciling.play import KINDS, Play, TestAccounts
from projections.feed import Fact
from projections.reading import Reading
from replay.verdict import Discrepancy


@dataclass(slots=True)
class _Sums:
    """Of a currency; money is that of closed rounds, or of all that a player's account says."""

    closed: int = 0
    voided: int = 0
    staked: int = 0
    returned: int = 0
    contributed: int = 0
    won: int = 0
    finished_staked: int = 0
    finished_returned: int = 0


class Rounds(Check):
    PROJECTION: ClassVar[str] = "rounds"

    def __init__(self, reading: Reading) -> None:
        self._reading, self._tests = reading, TestAccounts()
        self._ended = Held("round", _COLUMNS, reading.stream(_ROUNDS))
        self._players = Held("round_player", _PLAYER_COLUMNS, reading.stream(_PLAYERS))
        self._open: dict[str, Play] = {}
        self._sums: dict[str, _Sums] = defaultdict(_Sums)

    def take(self, fact: Fact) -> Iterator[Discrepancy]:
        """A round has moved on, or a player's part in it has ended."""
        event = fact.event
        self._tests.take(fact)
        if isinstance(event, a.RoundFinished):
            yield from self._finished(fact)
        elif isinstance(event, e.RoundOpened):
            self._open[fact.stream] = Play(event, fact.position, fact.at)
        elif fact.stream in self._open:
            self._open[fact.stream].take(event)
            if isinstance(event, e.RoundClosed | e.RoundVoided):
                yield from self._ends(fact, self._open.pop(fact.stream))

    def _ends(self, fact: Fact, play: Play) -> Iterator[Discrepancy]:
        event, opened, players = fact.event, play.opened, play.players
        closed = isinstance(event, e.RoundClosed)
        # Rule 10.2: in a void what was staked went back, and so did what was fed and won.
        money = (
            (event.staked, event.returned, event.returned - event.staked, play.contributed, play.won)
            if closed
            else (play.staked, play.staked, 0, 0, 0)
        )
        self._count(self._sums[opened.currency], money if closed else None)
        test = bool(players) and all(self._tests.has(opened.currency, player) for player in players)
        return self._ended.expect(fact.position, (
            fact.stream.removeprefix("round:"), opened.table, opened.number, opened.currency, opened.ruleset,
            opened.ruleset_digest, opened.commitment, play.position, moment(play.at), moment(fact.at),
            "closed" if closed else "voided", None if closed else event.reason, len(play.boxes), len(players), test,
            fact.seq + 1, *(play.stakes(kind) for kind in KINDS), *money,
        ))  # fmt: skip

    def _count(self, of: _Sums, money: tuple[int, ...] | None) -> None:
        """A closed round's money; None is a void."""
        if money is None:
            of.voided += 1
            return
        staked, returned, _, contributed, won = money
        of.closed += 1
        of.staked += staked
        of.returned += returned
        of.contributed += contributed
        of.won += won

    def _finished(self, fact: Fact) -> Iterator[Discrepancy]:
        event: a.RoundFinished = fact.event
        _, currency, player = fact.stream.split(":", 2)
        self._sums[currency].finished_staked += event.staked
        self._sums[currency].finished_returned += event.returned
        return self._players.expect(fact.position, (
            moment(fact.at), currency, player, event.round, event.table, event.number, event.ending.value,
            event.before, event.after.balance, event.staked, event.returned, event.returned - event.staked,
            self._tests.has(currency, player),
        ))  # fmt: skip

    # -- now

    def finish(self) -> Iterator[Discrepancy]:
        """Rounds that are open now."""
        yield from self._ended.rest()
        yield from self._players.rest()
        wanted: dict[str, Values] = {
            stream.removeprefix("round:"): (
                each.opened.table, each.opened.number, each.opened.currency, each.opened.ruleset,
                each.opened.commitment, each.position, moment(each.at), len(each.boxes), each.staked,
            )
            for stream, each in self._open.items()
        }  # fmt: skip
        yield from same_rows("open_round", "round", _OPEN_COLUMNS, self._reading.rows(_OPEN), wanted)

    def lines(self) -> list[Line]:
        """Sums of the rows, by currency."""
        rounds, players = sums(self._reading, _ROUND_SUMS), sums(self._reading, _PLAYER_SUMS)
        open_now: dict[str, list[Play]] = defaultdict(list)
        for each in self._open.values():
            open_now[each.opened.currency].append(each)
        open_kept = sums(self._reading, _OPEN_SUMS)
        found: list[Line] = []
        for currency in sorted({*self._sums, *rounds, *players, *open_now, *open_kept}):
            of, ours, own = self._sums[currency], rounds.get(currency, (0,) * 6), players.get(currency, (0, 0))
            journal = of.closed, of.voided, of.staked, of.returned, of.contributed, of.won
            pairs = zip(_ROUND_WORDS, journal, ours, strict=True)
            found += [Line(currency, words, there, here, nth > 1) for nth, (words, there, here) in enumerate(pairs)]
            open_, kept = open_now[currency], open_kept.get(currency, (0, 0))
            found += [
                Line(currency, "staked, by the players' accounts", of.finished_staked, own[0], True),
                Line(currency, "returned, by the players' accounts", of.finished_returned, own[1], True),
                Line(currency, "open rounds", len(open_), kept[0], False),
                Line(currency, "staked in open rounds", sum(each.staked for each in open_), kept[1], True),
            ]
        return found


_ROUND_WORDS: Final = (
    "closed rounds", "voided rounds", "staked in closed rounds", "returned by closed rounds",
    "fed into jackpots by closed rounds", "won from jackpots in closed rounds",
)  # fmt: skip

_COLUMNS: Final = (
    "round", "table_name", "number", "currency", "ruleset", "ruleset_digest", "commitment", "opened_position",
    "opened_at", "ended_at", "ending", "reason", "boxes", "players", "test", "events", *KINDS, "staked", "returned",
    "net", "jackpot_contributed", "jackpot_won",
)  # fmt: skip

_ROUNDS: Final = """
select ended_position, round, table_name, number, currency, ruleset, ruleset_digest, commitment, opened_position,
    opened_at, ended_at, ending, reason, boxes, players, test, events, ante, bet, bonus, insurance, exchange,
    sixth_card, dealer_game, staked, returned, net, jackpot_contributed, jackpot_won
from {round} order by ended_position
"""

_PLAYER_COLUMNS: Final = (
    "at", "currency", "player", "round", "table_name", "number", "ending", "before", "after", "staked", "returned",
    "net", "test",
)  # fmt: skip

_PLAYERS: Final = """
select position, at, currency, player, round, table_name, number, ending, before, after, staked, returned, net, test
from {round_player} order by position
"""

_OPEN_COLUMNS: Final = (
    "table_name", "number", "currency", "ruleset", "commitment", "opened_position", "opened_at", "boxes", "staked",
)  # fmt: skip

_OPEN: Final = """
select round, table_name, number, currency, ruleset, commitment, opened_position, opened_at, boxes, staked
from {open_round}
"""

_ROUND_SUMS: Final = """
select currency, count(*) filter (where closed), count(*) filter (where not closed),
    sum(staked) filter (where closed), sum(returned) filter (where closed),
    sum(jackpot_contributed) filter (where closed), sum(jackpot_won) filter (where closed)
from (select *, ending = 'closed' as closed from {round}) as round group by currency
"""

_PLAYER_SUMS: Final = "select currency, sum(staked), sum(returned) from {round_player} group by currency"
_OPEN_SUMS: Final = "select currency, count(*), sum(staked) from {open_round} group by currency"
