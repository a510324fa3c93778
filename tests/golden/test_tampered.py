"""Every tampered copy is refused, at the right rung, with the event named.

Not here: random forgeries (tests/replay/test_verify_rewrites.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from domain.rulesets import released_rulesets
from replay.evidence import by_digest
from replay.verify_round import climb, is_exactly_as_recomputed, verify_round
from tests.golden.files import TAMPERED, from_json, golden_rounds
from tests.golden.tampering import FORGERIES

FILES = sorted(TAMPERED.glob("*.json"))
RULESETS = by_digest(released_rulesets().values())


def read(path: Path) -> dict[str, Any]:
    """A file's object."""
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def test_there_is_one_file_of_each_kind() -> None:
    """No forgery is without its copy, and no copy without its forgery."""
    assert sorted(path.stem for path in FILES) == sorted(forgery.name for forgery in FORGERIES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_tampered_copy_is_refused_at_the_right_rung(path: Path) -> None:
    """The lowest failing rung, the event and the field are those of the file."""
    value = read(path)
    stream, bodies = from_json(value)

    verdict = verify_round(stream, bodies, RULESETS)

    assert verdict.status == value["expected"]["verdict"]
    assert not is_exactly_as_recomputed(stream, bodies, RULESETS)
    if verdict.status == "discrepancy":
        first = verdict.first_discrepancy
        assert first is not None
        check, found = first
        named = {"check": check.name, "seq": found.seq, "event": found.event, "field": found.field}
        assert named == {key: value["expected"][key] for key in named}
    else:
        assert next(check.name for check in verdict.checks if check.status != "verified") == value["expected"]["check"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_round_it_is_based_on_is_golden_and_verifies(path: Path) -> None:
    """So that it's the tampering that is refused, and nothing else."""
    value = read(path)
    original = {golden.stream: golden for golden in golden_rounds(value["based_on"]["ruleset"])}[
        value["based_on"]["stream"]
    ]

    assert climb(*original, RULESETS).status == "verified"
    assert from_json(value) != original
