"""Whole evenings with faults between any two writes; each seed is one.

Every fault meets a command somewhere among its journal calls; then the caller sends it again.  What is checked stands
in `checks` and in `world`; a failure prints its seed and the command line that repeats it.

Not here: faults of the network between client and server (`tests/ops/api`), attempts to cheat (`tests/golden`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from domain import account as a
from domain import activation as v
from domain import jackpot as j
from domain import table as t
from domain.access import RoundIntervened
from domain.round.events import EVENT_TYPES
from domain.round.refusals import Refusal
from domain.wager import WagersAccepted
from ops import commands, floor
from ops.commands import Carried, Command
from ops.journal import StreamConflict
from tests.conftest import open_folder
from tests.simulation.faults import Kind
from tests.simulation.runs import Failed, OwnServer, SharedServer, run_seed

STEPS = 80


@pytest.fixture
def shared(server_url: str, migrated_template: str) -> SharedServer:
    return SharedServer(server_url, migrated_template)


@pytest.fixture
def own() -> Iterator[OwnServer]:
    """A PostgreSQL that may be killed."""
    folder = open_folder("dealproof-simulation-")
    with OwnServer(folder / "server") as server:
        yield server
    shutil.rmtree(folder)


@pytest.mark.parametrize("seed", range(1, 5))
def test_an_evening_with_faults_loses_and_doubles_nothing(shared: SharedServer, seed: int) -> None:
    """Servers killed, connections cut, answers lost, requests doubled and reordered, a clock that jumps."""
    world = run_seed(seed, shared, STEPS)

    assert len(world.rounds) > 3 and world.repeated > STEPS
    assert {Kind.LOST, Kind.SERVER, Kind.BACKENDS} <= set(world.faults.happened)


def test_a_seed_is_one_evening(shared: SharedServer) -> None:
    """The same commands, faults, refusals and money: so a failure can be repeated."""
    first, again = (run_seed(11, shared, 40) for _ in range(2))

    assert first.story == again.story
    assert first.balances() == again.balances() != run_seed(12, shared, 40).balances()


def test_a_postgresql_that_is_killed_loses_nothing(own: OwnServer) -> None:
    """With SIGKILL, several times in a short evening."""
    own.postgres.weights = {Kind.POSTGRES: 1, Kind.SERVER: 1}

    world = run_seed(1, own, 20)

    assert world.faults.happened[Kind.POSTGRES] >= 2


@pytest.mark.long
@pytest.mark.parametrize("first", [1_000, 2_000])
def test_many_evenings_meet_every_kind_of_event(own: OwnServer, first: int) -> None:
    kinds = set[str]()
    for seed in range(first, first + 8):
        kinds |= run_seed(seed, own, 150).kinds

    codecs = (a.CODEC, j.CODEC, t.CODEC, v.CODEC)
    known = {*EVENT_TYPES, *(kind for codec in codecs for kind in codec.types), RoundIntervened.NAME}
    known.add(WagersAccepted.NAME)
    assert known == kinds


# -- a floor that is broken is noticed

Mutation = Callable[[pytest.MonkeyPatch], None]


def retried_under_another_id(patch: pytest.MonkeyPatch) -> None:
    """A retry debits twice."""
    carry_out, tries = commands.carry_out, [0]

    def careless(journal: Any, command: Command, decide: Any) -> Any:
        tries[0] += 1
        return carry_out(journal, command._replace(id=f"{command.id}/{tries[0]}"), decide)

    for module in (commands, floor):
        patch.setattr(module, "carry_out", careless)


def a_line_is_lost(patch: pytest.MonkeyPatch) -> None:
    """The bank's side of what a round returns is not written down."""
    lines = a._lines

    def forgetful(*given: Any) -> Any:
        return [line for line in lines(*given) if line.account != "bank" or line.amount > 0]

    patch.setattr(a, "_lines", forgetful)


def a_reply_is_made_of_the_present(patch: pytest.MonkeyPatch) -> None:
    """A repeated command is answered with the round as it stands now."""

    def recall(self: floor.Floor, carried: Carried) -> Any:
        rounds = [record for record in carried.records if record.stream.startswith("round:")]
        return self.round(rounds[-1].stream)

    patch.setattr(floor.Floor, "recall", recall)


def a_win_is_not_posted(patch: pytest.MonkeyPatch) -> None:
    """The money of a round that ends does not stand in the append that ends it."""
    post = floor._Desk.post

    def lazy(self: Any, live: Any, planned: Any, at: str) -> Any:
        records = post(self, live, planned, at)
        return records if planned.state.closed is None else []

    patch.setattr(floor._Desk, "post", lazy)


def memory_is_trusted(patch: pytest.MonkeyPatch) -> None:
    """A worker goes on from what it remembers, though another one has moved the round."""
    load = floor.Floor._load

    def remembered(self: floor.Floor, stream: str) -> Any:
        return self._kept.get(stream) or load(self, stream)

    patch.setattr(floor.Floor, "_load", remembered)


def a_conflict_is_written_over(patch: pytest.MonkeyPatch) -> None:
    """A refused append is kept as if it had been the answer."""

    def careless(journal: Any, command: Command, decide: Any) -> Any:
        planned = decide(False)
        if isinstance(planned, Refusal):
            return planned
        with suppress(StreamConflict):
            journal.append(command.id, command.request, planned.records, planned.rounds)
        return Carried(planned.records, False)

    patch.setattr(floor, "carry_out", careless)


MUTATIONS: list[Mutation] = [
    retried_under_another_id, a_line_is_lost, a_reply_is_made_of_the_present, a_win_is_not_posted, memory_is_trusted,
    a_conflict_is_written_over,
]  # fmt: skip


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_the_simulation_notices(shared: SharedServer, monkeypatch: pytest.MonkeyPatch, mutation: Mutation) -> None:
    """A test that can't fail is worse than none."""
    mutation(monkeypatch)

    with pytest.raises(Failed, match=r"(?s)^seed 1: .*\nagain: python -m tests\.simulation 1 --steps 60\n"):
        run_seed(1, shared, 60)
