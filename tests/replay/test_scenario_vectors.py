"""1,200 rounds that somebody else settled: what each box staked, got back and held must come out as he says.

The vectors and their origin: tests/vectors/scenarios/README.md.

Not here: scenarios that can't be read (`test_scenario_bad_input`), single clauses (`tests/rules`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from domain.rulesets import released_rulesets
from replay.scenario import run_scenario

FOLDER = Path("tests/vectors/scenarios")
GAMES = ("five-card-poker", "multibox-russian-poker", "open-russian-poker", "russian-poker")
COMPARED = ("box", "staked", "returned", "net", "main", "second")


def vectors(game: str) -> list[dict[str, Any]]:
    """The game's rounds with what is expected of them."""
    return [json.loads(line) for line in (FOLDER / f"{game}.jsonl").read_text().splitlines()]


def differences(vector: dict[str, Any]) -> list[str]:
    """Everything in which our outcome differs, and every sum that is not one."""
    outcome, expected = run_scenario(json.dumps(vector["scenario"]), released_rulesets()), vector["expected"]
    found = []
    if outcome["refusal"] is not None:
        return [f"refused: {outcome['refusal']}"]
    for ours, theirs in zip(outcome["boxes"], expected["boxes"], strict=True):
        found += [f"box {theirs['box']} {n}: {ours[n]}, not {theirs[n]}" for n in COMPARED if ours[n] != theirs[n]]
        if sum(line["amount"] for line in ours["lines"]) != ours["net"]:
            found.append(f"box {theirs['box']}: the lines do not add up to {ours['net']}")
        if ours["net"] != ours["returned"] - ours["staked"]:
            found.append(f"box {theirs['box']}: net is not returned less staked")
    dealer = {name: outcome["dealer"][name] for name in expected["dealer"]}
    return found if dealer == expected["dealer"] else [*found, f"dealer: {dealer}, not {expected['dealer']}"]


@pytest.mark.parametrize("game", GAMES)
def test_rounds_come_out_as_an_independent_settlement_says(game: str) -> None:
    """All lines are read; a failure names the lines of the file with what differs."""
    rounds = vectors(game)
    found = {f"line {number}": differences(vector) for number, vector in enumerate(rounds, 1)}

    assert len(rounds) == 300
    assert {vector["scenario"]["ruleset"] for vector in rounds} == {f"{game}@1"}
    assert {line: what for line, what in found.items() if what} == {}


def test_the_comparison_notices_one_unit() -> None:
    """The test of this test: a changed figure, name or card is a difference."""
    for change in ("staked", "returned", "net", "main", "dealer"):
        vector = vectors("russian-poker")[0]
        if change == "dealer":
            vector["expected"]["dealer"]["combination"] = "flush"
        else:
            vector["expected"]["boxes"][0][change] = "flush" if change == "main" else 1
        assert len(differences(vector)) == 1
