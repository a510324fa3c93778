"""Let simulated players play real rounds: with accounts, at tables that were opened for them, into the journal.

`furnish` opens what is needed once: rulesets that two simulated managers activate, a jackpot, tables, players with
money.  `play` sends its commands straight to the floor; `ops.play_http` sends them through the API.

Not here: what the players do (`ops.simulation`), the commands (`ops.cli`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeVar

import msgspec

from domain.account import AccountState
from domain.round import choices as c
from domain.round import events as e
from domain.round.phases import Phase
from domain.round.refusals import Refusal
from domain.ruleset import Limits, Ruleset
from domain.table import Abandoned, TableSettings
from ops.commands import Command
from ops.floor import Floor, RoundDone
from ops.simulation import SimulationError, next_choice, stakes

Done = TypeVar("Done")

VOIDED_PER_MILLE = 3
"""How many rounds meet a simulated fault."""

CURRENCY: Final = "EUR"
JACKPOT: Final = "simulated"
MANAGERS: Final = ("simulated manager 1", "simulated manager 2")
DEPOSIT: Final = 10**11
"""Minor units: what a simulated player comes with, and brings again when less than a tenth is left."""


@dataclass(frozen=True)
class Table:
    """A table that the simulation plays at, with its regular players."""

    name: str
    ruleset: Ruleset
    limits: Limits
    players: tuple[str, ...]


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
        """All events of rounds."""
        return sum(takings.events for takings in self.by_ruleset.values())


# -- furnishing


def furnish(floor: Floor, rulesets: Sequence[Ruleset], tables_each: int = 2) -> list[Table]:
    """Open what is not open yet; every second table of a ruleset has a maximum payout."""
    tables = []
    for ruleset in rulesets:
        _activate(floor, ruleset.name)
        if ruleset.jackpot_shares and floor.pit.jackpot(JACKPOT) is None:
            seed_amount = ruleset.jackpot_seed_amount
            allowed(floor.pit.open_jackpot(_once(f"jackpot {JACKPOT}", MANAGERS[0]), JACKPOT, CURRENCY, seed_amount))
        for number in range(1, tables_each + 1):
            tables.append(_open_table(floor, ruleset, number))
    return tables


def _activate(floor: Floor, name: str) -> None:
    done = floor.pit.ruleset(name)
    if done is not None and not done.active:
        reason = "simulation"
        allowed(floor.pit.propose_ruleset(_once(f"propose {name}", MANAGERS[0]), name, reason))
        allowed(floor.pit.approve_ruleset(_once(f"approve {name}", MANAGERS[1]), name, reason))


def _open_table(floor: Floor, ruleset: Ruleset, number: int) -> Table:
    name, limits = f"{ruleset.document.id}-{number}", ruleset.table_defaults
    if number % 2 == 0:
        limits = msgspec.structs.replace(limits, payout_max=50 * limits.ante_min)
    players = tuple(f"{name}.player-{seat}" for seat in (1, 2, 3))
    jackpot = JACKPOT if ruleset.jackpot_shares else None
    settings = TableSettings(Abandoned.FOLD, 60, CURRENCY, jackpot, limits, ruleset.name)
    if floor.pit.table(name) is None:
        allowed(floor.pit.open_table(_once(f"table {name}", MANAGERS[0]), name, settings, "simulation"))
    for player in players:
        account = floor.cashier.account(CURRENCY, player)
        if account is None:
            allowed(floor.cashier.open_account(_once(f"account {player}", "simulation"), CURRENCY, player, test=True))
        top_up(floor, player, None if account is None else account.state)
    return Table(name, ruleset, limits, players)


def top_up(floor: Floor, player: str, state: AccountState | None) -> None:
    """A simulated player never runs dry."""
    if state is None or state.balance < DEPOSIT // 10:
        allowed(floor.cashier.deposit(new_command("simulation"), CURRENCY, player, DEPOSIT, "simulation"))


def _once(what: str, by: str) -> Command:
    """The command that furnishes one thing: whoever sends it at the same moment gets the same answer."""
    return Command(f"simulation: {what}", what.encode(), by)


def new_command(by: str) -> Command:
    """A command that nobody has sent before."""
    name = secrets.token_hex(16)
    return Command(name, name.encode(), by)


def allowed(done: Done | Refusal) -> Done:
    """What was done.  Raises SimulationError where it was refused."""
    if isinstance(done, Refusal):
        raise SimulationError(f"{done.code}: {done.text}")
    return done


# -- playing


def play(floor: Floor, tables: Sequence[Table], rounds: int, random: Random, done: Callable[[], None]) -> Played:
    """Play so many rounds, one after the other at each table, the tables side by side."""
    played = Played()
    left = rounds
    running: list[Iterator[None]] = []
    for table in tables[:left]:
        running.append(_play_round(floor, table, random, played))
        left -= 1
    index = 0
    while running:
        index = (index + 1) % len(running)
        if next(running[index], _FINISHED) is _FINISHED:
            done()
            if left:
                running[index] = _play_round(floor, tables[index], random, played)
                left -= 1
            else:
                del running[index]
                tables = [*tables[:index], *tables[index + 1 :]]
    return played


_FINISHED = object()


def _play_round(floor: Floor, table: Table, random: Random, played: Played) -> Iterator[None]:
    """One round; gives way to the other tables after each command."""
    by = "simulation"
    made = allowed(floor.open_round(new_command(by), table.name))
    events = list(made.events)
    yield
    placed: list[c.Choice] = list(stakes(random, table.ruleset, table.limits, table.players))
    made = allowed(floor.choose(new_command(by), made.stream, *placed))
    for player, state in made.accounts.items():
        top_up(floor, player, state)
    events += made.events
    made = allowed(floor.deal(new_command(by), made.stream))
    void = random.randrange(1000) < VOIDED_PER_MILLE
    events += made.events
    while made.state.phase is not Phase.ENDED:
        yield
        choice = c.Void("simulated fault of the table") if void else next_choice(random, table.ruleset, made.state)
        made = allowed(floor.choose(new_command(by), made.stream, choice))
        events += made.events
    _count(played, table, made, events)


def _count(played: Played, table: Table, made: RoundDone, events: list[e.RoundEvent]) -> None:
    takings = played.by_ruleset.setdefault(table.ruleset.name, Takings())
    takings.rounds += 1
    takings.events += len(events)
    takings.boxes += len(made.state.boxes)
    if made.state.closed is None:
        takings.voided += 1
    else:
        takings.staked += made.state.closed.staked
        takings.returned += made.state.closed.returned
    kinds = len({type(event) for event in events})
    played.richest = max(played.richest, (kinds, made.stream))
