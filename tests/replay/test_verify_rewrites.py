"""The verifier against forgers who recompute every hash: it says `verified` only of what the house would record.

A second opinion (`tests.golden.honest`) plays the recorded choices as the house does.  A forgery that comes out honest
is one that no single round can give away: docs/formats/verdict.md lists what these are.

Not here: changes of bytes without new hashes (`test_verify_bytes`), bodies that are no events (`test_verify_garbage`).
"""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.rulesets import released_rulesets
from replay.evidence import by_digest
from replay.verdict import Status
from replay.verify_round import climb, is_exactly_as_recomputed
from tests.golden.attack import Attack, attack
from tests.golden.files import canonical, chained, golden_rounds, opened_up
from tests.golden.honest import honest

RULESETS = by_digest(released_rulesets().values())
ATTACKS = st.integers(0, 10**9).map(lambda seed: attack(Random(seed)))


@given(forged=ATTACKS)
@settings(max_examples=2500, deadline=None)
def test_only_what_the_house_would_record_is_verified(forged: Attack) -> None:
    """Quick way, ladder and second opinion agree on every forged and every clean round, and none of them raises."""
    stream, bodies, steps = forged

    verdict = climb(stream, bodies, RULESETS)
    quick = is_exactly_as_recomputed(stream, bodies, RULESETS)

    assert quick == (verdict.status is Status.VERIFIED) == honest(stream, bodies, RULESETS), steps
    assert msgspec.json.encode(verdict.as_json())


@given(forged=ATTACKS)
@settings(max_examples=500, deadline=None)
def test_a_discrepancy_has_its_place_and_its_two_values(forged: Attack) -> None:
    """Every discrepancy names an event that is there, or says that one is missing; recorded and recomputed differ."""
    checks = climb(forged.stream, forged.bodies, RULESETS).checks
    dense = all(found.field != "seq" for check in checks for found in check.discrepancies)

    for check in checks:
        assert bool(check.discrepancies) == (check.status is Status.DISCREPANCY)
        assert check.status is not Status.NOT_CHECKABLE or check.reason
        for found in check.discrepancies:
            assert found.seq is None or not dense or 0 <= found.seq < len(forged.bodies)
            assert found.recorded != found.recomputed, forged.steps


def test_a_discrepancy_names_the_place_and_not_what_the_body_says_of_it() -> None:
    """An event that claims to be number 99 stands where it stands."""
    stream, bodies = golden_rounds("russian-poker@1")[0]
    plain = opened_up(bodies)
    plain[-2] |= {"seq": 99, "data": plain[-2]["data"] | {"staked": 1}}

    verdict = climb(stream, list(map(canonical, plain)), RULESETS)

    found = [found.seq for check in verdict.checks if check.name == "payout" for found in check.discrepancies]
    assert found == [len(plain) - 2]


@pytest.mark.parametrize("ruleset", sorted(released_rulesets()))
def test_an_honest_record_is_verified_by_all_three(ruleset: str) -> None:
    """The second opinion is no stricter than the house: each tenth golden round is honest to it."""
    for golden in golden_rounds(ruleset)[::10]:
        assert honest(*golden, RULESETS)
        assert is_exactly_as_recomputed(*golden, RULESETS)
        assert climb(*golden, RULESETS).status is Status.VERIFIED


@pytest.mark.parametrize("ruleset", sorted(released_rulesets()))
def test_what_a_single_round_cannot_give_away(ruleset: str) -> None:
    """Texts, limits that no stake touches, whose decision it was and later times are taken as they are recorded."""
    golden = golden_rounds(ruleset)[-1]
    plain = opened_up(golden.bodies)
    opened = plain[0]["data"]
    opened |= {"table": "another", "number": 77, "currency": "XXX", "sealed_seed": "another"}
    opened["limits"]["bonus_max"] += 1
    for body in plain:
        body["at"] = "2030" + body["at"][4:]
        if "by" in body["data"]:
            body["data"]["by"] = "house"
        if "player" in body["data"]:
            body["data"]["player"] += "-b"

    assert climb(golden.stream, chained(plain), RULESETS).status is Status.VERIFIED
    assert honest(golden.stream, chained(plain), RULESETS)
