"""Simulated players at real tables: every round is true, every number used once, pots carried from round to round.

Not here: what the players choose (`ops.simulation`), the command (`cli.test_play_command`).
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from domain.round import events as e
from domain.round.codec import decode
from domain.rulesets import released_rulesets
from ops import play
from ops.floor import Floor
from ops.journal import Journal
from ops.rulesets import publish
from replay.verdict import Status
from replay.verify_round import verify_round
from tests.ops.cli.running import REPOSITORY, command
from tests.ops.played import play_rounds
from tests.ops.test_house import BY_DIGEST, KEY

RULESETS = list(released_rulesets().values())


@pytest.fixture
def journal(migrated_database_url: str) -> Iterator[Journal]:
    with Journal.open(migrated_database_url) as journal:
        yield journal


def rounds_by_table(journal: Journal) -> dict[str, list[list[e.RoundEvent]]]:
    """The events of every round, in the order of the rounds' numbers."""
    found: dict[str, list[tuple[int, list[e.RoundEvent]]]] = defaultdict(list)
    for _, bodies in journal.read_rounds():
        events = [decode(body).data for body in bodies]
        assert isinstance(events[0], e.RoundOpened)
        found[events[0].table].append((events[0].number, events))
    for numbered in found.values():
        numbered.sort(key=lambda pair: pair[0])
        assert [number for number, _ in numbered] == list(range(1, len(numbered) + 1))
    return {table: [events for _, events in numbered] for table, numbered in found.items()}


def assert_all_verified(journal: Journal, count: int) -> None:
    verdicts = [verify_round(stream, bodies, BY_DIGEST) for stream, bodies in journal.read_rounds()]
    assert len(verdicts) == count
    assert [verdict.as_json() for verdict in verdicts if verdict.status is not Status.VERIFIED] == []


@pytest.mark.parametrize("seed", [1, 2])
def test_every_round_of_every_table_is_verified(journal: Journal, seed: int) -> None:
    """The numbers of each table are dense from 1 (asserted as the rounds are read)."""
    told = [0]

    def done() -> None:
        told[0] += 1

    played = play_rounds(journal, 100, seed, done=done)

    assert played.rounds == told[0] == journal.count_rounds() == 100
    assert played.events == sum(len(bodies) for _, bodies in journal.read_rounds())
    assert set(rounds_by_table(journal)) == {f"{ruleset.document.id}-{n}" for ruleset in RULESETS for n in (1, 2)}
    assert_all_verified(journal, 100)


def test_what_a_session_came_to_is_what_the_record_says(journal: Journal) -> None:
    played = play_rounds(journal, 60, 3)

    for ruleset in RULESETS:
        rounds = [
            events for table in rounds_by_table(journal).values() for events in table
            if isinstance(events[0], e.RoundOpened) and events[0].ruleset == ruleset.name
        ]  # fmt: skip
        events = [event for round_ in rounds for event in round_]
        closed = [event for event in events if isinstance(event, e.RoundClosed)]
        assert played.by_ruleset[ruleset.name] == play.Takings(
            rounds=len(rounds),
            voided=sum(isinstance(event, e.RoundVoided) for event in events),
            boxes=sum(isinstance(event, e.BoxPlaced) for event in events),
            events=len(events),
            staked=sum(event.staked for event in closed),
            returned=sum(event.returned for event in closed),
        )


def test_a_pot_is_carried_from_round_to_round(journal: Journal) -> None:
    """Rule 5.3: contributions go in, winnings come out, an emptied pot restarts; a voided round leaves it alone."""
    play_rounds(journal, 80, 4, tables_each=1)

    grown = 0
    for rounds in rounds_by_table(journal).values():
        for before, after in pairwise(rounds):
            pot = _pot_after(before)
            if pot is not None:
                assert _pot_at_the_deal(after) == pot
                grown += pot > _pot_at_the_deal(before)
    assert grown


def _pot_at_the_deal(events: list[e.RoundEvent]) -> int:
    return next(event.jackpot for event in events if isinstance(event, e.CardsDealt))


def _pot_after(events: list[e.RoundEvent]) -> int | None:
    """What is left for the next round, None where an emptied pot restarts."""
    pot = _pot_at_the_deal(events)
    if any(isinstance(event, e.RoundVoided) for event in events):
        return pot
    won = [event for event in events if isinstance(event, e.JackpotWon)]
    if any(event.combination == "royal-flush" for event in won):
        return None
    added = sum(event.amount for event in events if isinstance(event, e.JackpotContributed))
    return pot + added - sum(event.amount for event in won)


def test_fewer_rounds_than_tables_are_played_at_the_first_tables(journal: Journal) -> None:
    played = play_rounds(journal, 3, 5)

    names = [f"{ruleset.document.id}-{number}" for ruleset in RULESETS for number in (1, 2)]
    assert played.rounds == 3
    assert set(rounds_by_table(journal)) == set(names[:3])


def test_a_simulated_fault_voids_a_round(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 10.2"""
    monkeypatch.setattr(play, "VOIDED_PER_MILLE", 1000)

    played = play_rounds(journal, 20, 6, tables_each=1)

    voided = sum(takings.voided for takings in played.by_ruleset.values())
    ends = [round_[-2] for table in rounds_by_table(journal).values() for round_ in table]
    # A round of dark boxes only is over with the deal: there is nothing left to void.
    assert voided == sum(isinstance(event, e.RoundVoided) for event in ends) >= 15
    assert_all_verified(journal, 20)


def test_a_later_session_goes_on_with_the_tables_numbers(journal: Journal) -> None:
    for seed in (1, 2):
        play_rounds(journal, 7, seed, rulesets=RULESETS[:1])

    assert sum(len(rounds) for rounds in rounds_by_table(journal).values()) == 14


def test_sessions_side_by_side_at_the_same_tables_take_turns(journal: Journal) -> None:
    """Whoever finds a number taken takes the next; both at their tables in this thread, command by command."""
    publish(journal, RULESETS[0])
    floors = [Floor(journal, KEY) for _ in range(2)]
    sessions = [(floor, play.furnish(floor, RULESETS[:1], 1)[0]) for floor in floors]
    played = play.Played()
    for _ in range(5):
        steps = [play._play_round(floor, table, Random(7), played) for floor, table in sessions]
        while steps:
            steps = [step for step in steps if next(step, "over") is None]

    assert [len(rounds) for rounds in rounds_by_table(journal).values()] == [10]
    assert_all_verified(journal, 10)


def test_two_processes_at_the_same_tables_do_not_collide(
    journal: Journal, migrated_database_url: str, tmp_path: Path
) -> None:
    line = command(
        "--home", str(tmp_path), "--database-url", migrated_database_url, "play", "--direct", "--rounds", "60",
        "--ruleset", "russian-poker@1",
    )  # fmt: skip
    processes = [
        subprocess.Popen([*line, "--seed", str(seed)], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for seed in (1, 2)
    ]
    for process in processes:
        _, complaint = process.communicate(timeout=120)
        assert (process.returncode, complaint) == (0, b"")

    # Which table a session's next round is played at depends on which one is free first.
    assert set(rounds_by_table(journal)) == {"russian-poker-1", "russian-poker-2"}
    assert_all_verified(journal, 120)
