"""Let simulated players play real rounds: through the house, into the journal.

Not here: what the players do (`ops.simulation`), the commands (`ops.cli`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from domain.hands import COMBINATION_NAMES, Combination
from domain.round import choices as c
from domain.round import events as e
from domain.round.phases import Phase
from domain.round.refusals import Refusal
from domain.ruleset import Limits, Ruleset
from ops.house import House, LiveRound
from ops.journal import RoundTaken
from ops.simulation import SimulationError, next_choice, stakes

VOIDED_PER_MILLE = 3
"""How many rounds meet a simulated fault."""


@dataclass
class Table:
    """A table that the simulation plays at.  `jackpot` is its pot in minor units, carried from round to round."""

    name: str
    ruleset: Ruleset
    limits: Limits
    currency: str = "EUR"
    jackpot: int = 0
    next_number: int | None = None


@dataclass
class Takings:
    """What one ruleset's rounds came to; amounts in minor units."""

    rounds: int = 0
    voided: int = 0
    boxes: int = 0
    events: int = 0
    staked: int = 0
    returned: int = 0


@dataclass
class Played:
    """What a session of `play` did."""

    by_ruleset: dict[str, Takings] = field(default_factory=dict)
    richest: tuple[int, str] = (-1, "")
    """Events and stream of the round with the most kinds of events: the one worth showing."""

    @property
    def rounds(self) -> int:
        """All rounds."""
        return sum(takings.rounds for takings in self.by_ruleset.values())

    @property
    def events(self) -> int:
        """All events."""
        return sum(takings.events for takings in self.by_ruleset.values())


def house_tables(rulesets: Sequence[Ruleset], tables_each: int = 2) -> list[Table]:
    """Some tables of each ruleset; every second one has a maximum payout."""
    tables = []
    for ruleset in rulesets:
        for number in range(1, tables_each + 1):
            defaults = ruleset.table_defaults
            payout_max = 50 * defaults.ante_min if number % 2 == 0 else defaults.payout_max
            limits = Limits(
                ante_min=defaults.ante_min,
                ante_max=defaults.ante_max,
                ante_step=defaults.ante_step,
                bonus_min=defaults.bonus_min,
                bonus_max=defaults.bonus_max,
                payout_max=payout_max,
            )
            name = f"{ruleset.document.id}-{number}"
            tables.append(Table(name, ruleset, limits, jackpot=ruleset.jackpot_seed_amount))
    return tables


def play(house: House, tables: Sequence[Table], rounds: int, random: Random, done: Callable[[], None]) -> Played:
    """Play so many rounds, one after the other at each table, the tables side by side."""
    played = Played()
    left = rounds
    running: list[Iterator[None]] = []
    for table in tables[:left]:
        running.append(_play_round(house, table, random, played))
        left -= 1
    index = 0
    while running:
        index = (index + 1) % len(running)
        if next(running[index], _FINISHED) is _FINISHED:
            done()
            if left:
                running[index] = _play_round(house, tables[index], random, played)
                left -= 1
            else:
                del running[index]
                tables = [*tables[:index], *tables[index + 1 :]]
    return played


_FINISHED = object()


def _play_round(house: House, table: Table, random: Random, played: Played) -> Iterator[None]:
    """One round; gives way to the other tables after each command."""
    live = _open(house, table)
    events: list[e.RoundEvent] = [] if live.state.opened is None else [live.state.opened]
    yield
    placing: list[c.Choice] = list(stakes(random, table.ruleset, table.limits))
    events += _choose(house, live, *placing, c.Deal(jackpot=table.jackpot))
    void = random.randrange(1000) < VOIDED_PER_MILLE
    while live.state.phase is not Phase.ENDED:
        yield
        choice = c.Void("simulated fault of the table") if void else next_choice(random, table.ruleset, live.state)
        events += _choose(house, live, choice)
    _count(played, table, live, events)


def _open(house: House, table: Table) -> LiveRound:
    """Open the table's next round; another process at the same table may have taken the number."""
    while True:
        number = table.next_number or house.journal.next_round_number(table.name)
        try:
            live = house.open_round(
                table.ruleset, table=table.name, number=number, limits=table.limits, currency=table.currency
            )
        except RoundTaken:
            table.next_number = None
            continue
        if isinstance(live, Refusal):
            raise SimulationError(live.text)
        table.next_number = number + 1
        return live


def _choose(house: House, live: LiveRound, *choices: c.Choice) -> list[e.RoundEvent]:
    made = house.choose(live, *choices)
    if isinstance(made, Refusal):
        raise SimulationError(f"{choices}: {made.text}")
    return made


def _count(played: Played, table: Table, live: LiveRound, events: list[e.RoundEvent]) -> None:
    takings = played.by_ruleset.setdefault(table.ruleset.name, Takings())
    takings.rounds += 1
    takings.events += len(events)
    takings.boxes += len(live.state.boxes)
    if live.state.closed is None:
        takings.voided += 1
    else:
        takings.staked += live.state.closed.staked
        takings.returned += live.state.closed.returned
        _carry_jackpot(table, events)
    kinds = len({type(event) for event in events})
    played.richest = max(played.richest, (kinds, live.stream))


def _carry_jackpot(table: Table, events: list[e.RoundEvent]) -> None:
    """Rule 5.3: contributions in, winnings out; an emptied pot restarts from its seed amount."""
    table.jackpot += sum(event.amount for event in events if isinstance(event, e.JackpotContributed))
    won = [event for event in events if isinstance(event, e.JackpotWon)]
    table.jackpot -= sum(event.amount for event in won)
    if any(event.combination == COMBINATION_NAMES[Combination.ROYAL_FLUSH] for event in won):
        table.jackpot = max(table.jackpot, table.ruleset.jackpot_seed_amount)
