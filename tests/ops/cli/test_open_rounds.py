"""`dealproof rounds --open` and `dealproof finish`: what is stuck, for how long, and how it ends.

Not here: what a policy decides (`tests.ops.floor`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from domain.round import choices as c
from domain.round.events import Mode
from domain.rulesets import released_rulesets
from domain.table import Abandoned
from ops.floor import Floor
from ops.play import CURRENCY, MANAGERS, Table, allowed, furnish, new_command
from ops.settings import Settings
from ops.site import open_floor
from tests.ops.cli.running import Ran, dealproof

RULESET = released_rulesets()["russian-poker@1"]
Command = Callable[..., Ran]


@pytest.fixture
def settings(migrated_database_url: str, tmp_path: Path) -> Settings:
    return Settings(tmp_path, migrated_database_url, tmp_path / "dealproof.key")


@pytest.fixture
def run(settings: Settings) -> Command:
    options = ("--home", str(settings.home), "--database-url", str(settings.database_url))
    return lambda *words: dealproof(*options, "--key-file", str(settings.key_file), *words)


def furnished(floor: Floor, *, policy: Abandoned, seconds: int) -> Table:
    """A table with this policy."""
    table = furnish(floor, [RULESET], 1)[0]
    settings = floor.pit.table(table.name).settings  # type: ignore[union-attr]  # it was opened just now
    changed = msgspec.structs.replace(settings, abandoned=policy, abandoned_after=seconds)
    allowed(floor.pit.change_table(new_command(MANAGERS[0]), table.name, changed, "test"))
    return table


def dealt(floor: Floor, table: Table) -> str:
    """The id of a round at its first decision."""
    stream = allowed(floor.open_round(new_command("server"), table.name)).stream
    box = c.PlaceBox(box=1, player=table.players[0], mode=Mode.OPEN, ante=100)
    allowed(floor.choose(new_command("server"), stream, box))
    return allowed(floor.deal(new_command("server"), stream)).round_id


def balance(floor: Floor, player: str) -> int:
    """What an account has."""
    account = floor.cashier.account(CURRENCY, player)
    assert account is not None and account.state.in_play == []
    return account.state.balance


def test_no_open_rounds_is_said_in_words(run: Command) -> None:
    ran = run("rounds", "--open")

    assert (ran.status, ran.stdout, ran.stderr) == (0, "No open rounds.\n", "")


def test_an_open_round_is_listed_with_its_age_and_its_next_step(run: Command, settings: Settings) -> None:
    with open_floor(settings) as (_, floor):
        table = furnished(floor, policy=Abandoned.FOLD, seconds=3600)
        waiting = dealt(floor, table)
        betting = allowed(floor.open_round(new_command("server"), table.name)).round_id

    listed = [json.loads(line) for line in run("rounds", "--open", "--json").stdout.splitlines()]

    assert [found["round"] for found in listed] == [waiting, betting]
    assert listed[0]["next"] == "box 1 (russian-poker-1.player-1): draw, insure, bet or fold"
    assert listed[1]["next"] == "place boxes, or void"
    assert all(found["idle_seconds"] < 600 and found["abandoned"] is False for found in listed)
    assert waiting in run("rounds", "--open").stdout
    assert run("rounds", "--open", "--table", "another").stdout == "No open rounds.\n"


def test_a_round_is_not_finished_before_its_table_calls_it_abandoned(run: Command, settings: Settings) -> None:
    with open_floor(settings) as (_, floor):
        waiting = dealt(floor, furnished(floor, policy=Abandoned.FOLD, seconds=3600))

    named, all_of_them = run("finish", waiting), run("finish", "--abandoned")

    assert named.status == 2
    assert "the table calls a round abandoned after 3600" in named.stderr
    assert (all_of_them.status, all_of_them.stdout) == (0, "0 abandoned rounds were finished.\n")


@pytest.mark.parametrize(
    ("policy", "ending", "lost"),
    [(Abandoned.FOLD, "finished", 100), (Abandoned.BET, "finished", None), (Abandoned.VOID, "voided", 0)],
)
def test_abandoned_rounds_end_by_their_tables_policy(
    run: Command, settings: Settings, monkeypatch: pytest.MonkeyPatch, policy: Abandoned, ending: str, lost: int | None
) -> None:
    """Clauses 10.1 and 10.2"""
    with open_floor(settings) as (_, floor):
        table = furnished(floor, policy=policy, seconds=1)
        before = balance(floor, table.players[0])
        waiting = dealt(floor, table)
    monkeypatch.setattr("ops.floor.clock.now", lambda: "2030-01-01T00:00:00.000Z")

    ran = run("finish", "--abandoned")

    assert ran.status == 0
    assert ran.stdout.splitlines() == [
        f"Round {waiting} is {ending} by its table's policy.", "1 abandoned rounds were finished.",
    ]  # fmt: skip
    assert run("rounds", "--open").stdout == "No open rounds.\n"
    assert run("verify", waiting).status == 0
    with open_floor(settings) as (_, floor):
        after = balance(floor, table.players[0])
        assert lost is None or before - after == lost
        made = floor.round(f"round:{waiting}")
        assert made is not None and (made.state.voided is not None) == (ending == "voided")


@pytest.mark.parametrize("words", [["finish"], ["finish", "x/1", "--abandoned"]])
def test_finish_wants_one_round_or_all_of_them(run: Command, words: list[str]) -> None:
    ran = run(*words)

    assert (ran.status, ran.stderr) == (2, "dealproof: finish: name one ROUND, or --abandoned\n")
