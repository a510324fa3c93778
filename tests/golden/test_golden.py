"""The golden rounds: recorded once, verified at each commit, and what they cover is a closed list.

A golden round that no longer verifies is a change of the rules under a released version: never remake the file, make a
new ruleset version.

Not here: tampered copies (`test_tampered`).
"""

from __future__ import annotations

from collections import Counter

import pytest

from domain.derivation import derivation
from domain.round.codec import decode
from domain.round.events import EVENT_TYPES
from domain.round.state import fold
from domain.rulesets import released_rulesets
from replay.evidence import by_digest
from replay.verdict import Status
from replay.verify_round import climb, is_exactly_as_recomputed
from tests.golden.branches import branches
from tests.golden.files import GOLDEN, chained, golden_rounds, opened_up
from tests.golden.required import NOT_COVERED, required

RULESETS = by_digest(released_rulesets().values())
EACH_GAME = sorted(released_rulesets())


def test_every_released_version_has_its_golden_rounds() -> None:
    """A few hundred each, in a file of moderate size."""
    assert sorted(path.stem for path in GOLDEN.glob("*.jsonl")) == EACH_GAME
    for name in EACH_GAME:
        assert 150 <= len(golden_rounds(name)) <= 300
        assert (GOLDEN / f"{name}.jsonl").stat().st_size < 1_500_000


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_no_golden_round_stands_there_twice(ruleset: str) -> None:
    """Streams, and so round ids, are distinct."""
    assert max(Counter(golden.stream for golden in golden_rounds(ruleset)).values()) == 1


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_golden_rounds_verify_the_quick_way(ruleset: str) -> None:
    """Each body comes out again, byte for byte."""
    for golden in golden_rounds(ruleset):
        assert is_exactly_as_recomputed(*golden, RULESETS), golden.stream


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_golden_rounds_verify_on_every_rung(ruleset: str) -> None:
    """Ledger and log are not there yet and are not counted."""
    for golden in golden_rounds(ruleset):
        assert climb(*golden, RULESETS).status is Status.VERIFIED, golden.stream


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_another_encoder_writes_the_same_bytes(ruleset: str) -> None:
    """The bodies are canonical and chained to an encoder that isn't the product's."""
    for golden in golden_rounds(ruleset):
        assert chained(opened_up(golden.bodies)) == golden.bodies


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_the_lines_of_every_settled_box_add_up_to_its_net(ruleset: str) -> None:
    """The derivation explains the recorded amounts to the last unit."""
    for golden in golden_rounds(ruleset):
        state = fold(decode(body).data for body in golden.bodies)
        for box in state.boxes:
            if box.settled is not None:
                lines = derivation(released_rulesets()[ruleset], state, box)
                assert sum(line.amount for line in lines) == box.settled.net, golden.stream


@pytest.mark.parametrize("ruleset", EACH_GAME)
def test_golden_rounds_cover_the_required_branches(ruleset: str) -> None:
    """No more and no less than the closed list: a lost branch and a new one are both worth a look."""
    walked = set[str]()
    for golden in golden_rounds(ruleset):
        walked |= branches(released_rulesets()[ruleset], (decode(body).data for body in golden.bodies))

    assert sorted(walked) == sorted(required(ruleset))


def test_every_kind_of_event_is_in_some_golden_round() -> None:
    """All stored names of today."""
    everywhere = {branch for name in EACH_GAME for branch in required(name)}

    assert {branch.removeprefix("event ") for branch in everywhere if branch.startswith("event ")} == set(EVENT_TYPES)
    assert not everywhere & set(NOT_COVERED)
