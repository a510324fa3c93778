"""The drill finds everything below the last cosignature, says what nobody finds above it, and leaves nothing changed.

Not here: the command line (`test_drill_command`), single kinds of mutation (`test_kinds`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ops.drill import verifier
from ops.drill.copy import Copy, DrillError
from ops.drill.drill import DrillBroken, Outcome, hold_drill
from ops.drill.kinds import KINDS, Kind, mutation
from ops.drill.original import Change, Zone, changed
from ops.drill.verifier import Found


def drilled(copy: Copy, mutations: int, seed: int = 1, *names: str, zone: Zone | None = None) -> Outcome:
    """A drill of these kinds, or of all; in one zone, or wherever they can be."""
    kinds = [kind for kind in KINDS if not names or kind.name in names]
    if zone is not None:
        kinds = [kind._replace(zones=(zone,)) for kind in kinds]
    return hold_drill(copy, seed, range(mutations), lambda: None, kinds)


def beside(name: str) -> bool:
    return name.startswith("row of ")


# -- the claim


def test_everything_below_the_last_cosignature_is_found(copy: Copy) -> None:
    outcome = drilled(copy, 200)

    below = outcome.total(Zone.BELOW)
    assert (outcome.holds, below.caught) == (True, below.tried)
    assert below.tried > 120


def test_below_the_last_cosignature_the_log_alone_finds_every_change_of_an_event(copy: Copy) -> None:
    """Whatever lower rungs say: a change that agrees with everything else is found too."""
    outcome = drilled(copy, 120, 2, *(kind.name for kind in KINDS if not beside(kind.name)))

    below = outcome.total(Zone.BELOW)
    assert below.by_log == below.tried > 80


@pytest.mark.long
def test_two_thousand_mutations(copy: Copy) -> None:
    outcome = drilled(copy, 2000, 3)

    assert outcome.holds
    assert {kind for kind, _ in outcome.scores} == {kind.name for kind in KINDS}


# -- the limits


def test_a_log_that_is_signed_anew_with_the_stolen_key_is_found_by_nobody_between_cosignature_and_signature(
    copy: Copy,
) -> None:
    stolen = "re-signed with the stolen log key"
    between, below = (drilled(copy, 40, 4, stolen, zone=zone) for zone in (Zone.BETWEEN, Zone.BELOW))

    assert between.missed
    assert below.missed == []


def test_a_log_that_is_signed_anew_with_another_key_is_found_everywhere(copy: Copy) -> None:
    assert drilled(copy, 40, 5, "re-signed with another key").missed == []


def test_a_deposit_that_agrees_with_everything_is_found_in_the_log_only(copy: Copy) -> None:
    """Neither the ladder nor the books can see it, above the log nobody does."""
    outcome = drilled(copy, 40, 6, "deposit raised, all made to agree")

    rungs = {rung for score in outcome.scores.values() for rung in score.rungs}
    assert set() < rungs <= {"log", "audit"}
    assert {made.zone for made in outcome.missed} == {Zone.ABOVE}


def test_a_payout_that_agrees_with_everything_is_found_by_the_rules_of_the_game(copy: Copy) -> None:
    outcome = drilled(copy, 30, 7, "payout raised, all made to agree")

    assert outcome.missed == []
    assert {rung for score in outcome.scores.values() for rung in score.rungs} == {"payout"}


def test_an_older_checkpoint_is_found_by_the_witness_that_holds_a_newer_one(copy: Copy) -> None:
    outcome = drilled(copy, 30, 8, "older checkpoint in place")

    assert dict(outcome.total(Zone.BELOW).rungs) == {"witness": outcome.total(Zone.BELOW).tried}
    assert outcome.total(Zone.BETWEEN).caught == 0


def test_what_a_caller_had_asked_for_is_held_against_nothing(copy: Copy) -> None:
    outcome = drilled(copy, 5, 9, "request of a command")

    assert (outcome.total(Zone.BESIDE).caught, outcome.holds) == (0, True)


# -- a drill that could not fail would be worth nothing


def test_a_verification_that_finds_nothing_fails_the_drill(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier.Verifier, "look", lambda *_: Found(()))

    outcome = drilled(copy, 20)

    assert not outcome.holds
    assert len(outcome.missed) == 20


def test_a_verification_that_breaks_down_ends_the_drill_and_names_the_mutation(
    copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(verifier.Verifier, "look", broken)
    try:
        with pytest.raises(DrillBroken, match=r"^seed 1, mutation 0: .*: ZeroDivisionError: oh$"):
            drilled(copy, 3)
    finally:
        copy.undo(mutation(1, 0, copy.original).change)


def test_a_copy_that_does_not_verify_is_not_drilled(copy: Copy) -> None:
    change = _dropped(copy, 100)
    copy.carry_out(change)
    try:
        with pytest.raises(DrillError, match="does not verify as it is"):
            drilled(copy, 1)
    finally:
        copy.undo(change)


# -- nothing is left changed, and all of it can be had again


def test_the_same_seed_makes_the_same_mutations_with_the_same_outcome(copy: Copy) -> None:
    assert drilled(copy, 25, 10).as_json() == drilled(copy, 25, 10).as_json()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_mutation_is_carried_out_and_undone_exactly(copy: Copy, kind: Kind) -> None:
    for made in _some(copy, kind):
        copy.carry_out(made)
        assert not copy.is_as_it_was()
        copy.undo(made)
        assert copy.is_as_it_was()


def _some(copy: Copy, kind: Kind) -> Iterator[Change]:
    yield from (mutation(11, number, copy.original, [kind]).change for number in range(4))


def _dropped(copy: Copy, position: int) -> Change:
    return Change(f"position {position}", changed(copy.original, {position: []}))
