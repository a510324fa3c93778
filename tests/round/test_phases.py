"""The table of phases: each transition happens, every other pair is reported, and the page shows the same diagram.

Rules 4.1, 6.1, 7.4, 8.2, 10.2 and 10.3 are its clauses.

Not here: whether a fact was allowed in detail (`tests/replay`).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from domain.round import choices as c
from domain.round import events as e
from domain.round.codec import append_to
from domain.round.decisions import advance
from domain.round.phases import TRANSITIONS, Phase, diagram, next_phase
from domain.round.refusals import Refusal
from domain.round.state import RoundState, apply
from replay.checks import order
from replay.evidence import Evidence
from replay.verdict import Status
from tests.round.simulated import AT, sample
from tests.rules.table import Box, Laid, dark, game, opened_state
from tests.rules.test_clauses_10_round import ROUNDS, STEPS, played

PAGE = Path("docs/round.md").read_text()
STREAM = f"round:{'0' * 32}"


@cache
def seen() -> dict[tuple[Phase, type[e.RoundEvent]], e.RoundEvent]:
    """Every pair of phase and fact in the simulated rounds and the rounds of the rule tests, with one such fact."""
    rounds = [whole.events for whole in sample(40)]
    rounds += [played(page, count).say("void a fault").events for page, count in STEPS if count < _length(page)]
    rounds += [played(page, _length(page)).events for page in ROUNDS]
    rounds.append(_void_before_the_deal())
    royals = (dark(1, "As Ks Qs Js Ts", bonus=10), Box(2))
    rounds.append(Laid(game("ORP"), *royals, jackpot=100).say("2 fold").events)
    found: dict[tuple[Phase, type[e.RoundEvent]], e.RoundEvent] = {}
    for events in rounds:
        state = RoundState()
        for event in events:
            found.setdefault((state.phase, type(event)), event)
            apply(state, event)
    return found


def _length(page: str) -> int:
    return len(ROUNDS[page][3].split(";"))


def _void_before_the_deal() -> list[e.RoundEvent]:
    """No simulated player sees a fault so early."""
    ruleset, state = game("RP"), opened_state(game("RP"))
    placed = advance(state, ruleset, None, Box(1).place())
    voided = advance(state, ruleset, None, c.Void("a fault"))
    assert state.opened is not None
    assert not isinstance(placed, Refusal)
    assert not isinstance(voided, Refusal)
    return [state.opened, *placed, *voided]


PAIRS = [(phase, kind) for phase in Phase for kind in e.ROUND_EVENTS]
IN_TABLE = [(phase, kind) for phase, kind in PAIRS if kind in TRANSITIONS[phase]]
OUTSIDE = [(phase, kind) for phase, kind in PAIRS if kind not in TRANSITIONS[phase]]


def _name(value: object) -> str:
    return value.__name__ if isinstance(value, type) else str(value)


@pytest.mark.parametrize(("phase", "kind"), IN_TABLE, ids=_name)
def test_every_transition_of_the_table_happens(phase: Phase, kind: type[e.RoundEvent]) -> None:
    """A row that no round ever takes does not belong in the table."""
    assert (phase, kind) in seen()


def test_no_round_leaves_the_table() -> None:
    """Every fact of every round stands where the table has it."""
    assert sorted(map(str, set(seen()) - set(IN_TABLE))) == []


@pytest.mark.parametrize(("phase", "kind"), OUTSIDE, ids=_name)
def test_every_other_fact_is_reported_by_the_check_of_order(phase: Phase, kind: type[e.RoundEvent]) -> None:
    """The record is led to the phase, then the fact is added: named with its place and what would be allowed."""
    example = next(event for (_, known), event in seen().items() if known is kind)
    events = [*_way_to(phase), example]
    bodies = [record.body for record in append_to(STREAM, None, events, AT)]
    check = order.check(Evidence(STREAM, bodies, {}))

    assert next_phase(phase, example) is None
    assert check.status is Status.DISCREPANCY
    # A record that stops in the middle of an append lacks its end besides.
    (found,) = [discrepancy for discrepancy in check.discrepancies if discrepancy.recorded != "missing"]
    assert (found.seq, found.field, found.recorded) == (len(events) - 1, "type", kind.NAME)
    assert f"in phase {phase}" in str(found.recomputed)


@pytest.mark.parametrize("phase", list(Phase))
def test_a_fact_outside_the_table_leaves_the_state_in_its_phase(phase: Phase) -> None:
    """The fold never judges and never jumps."""
    for kind in (kind for other, kind in OUTSIDE if other is phase):
        state = RoundState()
        for event in _way_to(phase):
            apply(state, event)
        apply(state, next(event for (_, known), event in seen().items() if known is kind))
        assert state.phase is phase


def _walk(events: list[e.RoundEvent]) -> Phase:
    phase = Phase.UNOPENED
    for event in events:
        following = next_phase(phase, event)
        assert following is not None
        phase = following
    return phase


def _way_to(phase: Phase) -> list[e.RoundEvent]:
    """Facts that lead from the start to this phase, each of them a real one."""
    ways: dict[Phase, list[e.RoundEvent]] = {Phase.UNOPENED: []}
    for here in Phase:  # the phases are listed in the order in which they are reached
        for kind, target in TRANSITIONS[here].items():
            if target not in ways and (here, kind) in seen():
                ways[target] = [*ways[here], seen()[here, kind]]
    assert _walk(ways[phase]) is phase
    return ways[phase]


def test_a_round_ends_and_nothing_follows() -> None:
    """Rule 10.3: closed or voided, revealed, ended."""
    assert TRANSITIONS[Phase.ENDED] == {}
    assert TRANSITIONS[Phase.CLOSED] == TRANSITIONS[Phase.VOIDED] == {e.SeedRevealed: Phase.ENDED}


# -- the page


def test_the_page_shows_the_diagram_of_the_table() -> None:
    """docs/round.md: replace its mermaid block with the output of `phases.diagram()` when this fails."""
    blocks = re.findall(r"```mermaid\n(.*?)```", PAGE, re.S)

    assert blocks == [diagram()]


def test_the_page_names_every_fact_with_its_fields() -> None:
    """docs/round.md: one row an event; a new event or field is explained there."""
    rows = dict(re.findall(r"^\| `([a-z-]+\.v\d+)` \| ([^|]*) \|", PAGE, re.M))

    expected = {kind.NAME: ", ".join(f"`{field}`" for field in kind.__struct_fields__) for kind in e.ROUND_EVENTS}
    assert rows == expected
