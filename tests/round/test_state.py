"""The fold never judges: any well-formed facts in any order give a state, and a round folds to what was played.

Not here: which order is right (`test_phases`).
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.round import events as e
from domain.round.phases import Phase
from domain.round.state import RoundState, apply, fold
from tests.round.events_by_hand import TABLE_EVENT
from tests.round.simulated import Round, all_rulesets, simulated
from tests.rules.table import picture

ROUNDS = st.builds(simulated, st.sampled_from(sorted(all_rulesets())), st.integers(0, 10**6))


@given(st.lists(st.sampled_from(list(TABLE_EVENT)).flatmap(lambda kind: TABLE_EVENT[kind]), max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_well_formed_facts_in_any_order_give_a_state(events: list[e.RoundEvent]) -> None:
    """No exception, whatever comes when; a phase of the table."""
    assert fold(events).phase in set(Phase)


@given(whole=ROUNDS, data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_shuffled_round_gives_a_state(whole: Round, data: st.DataObject) -> None:
    """The facts of a real round in a wrong order, with some of them missing or doubled."""
    events = whole.events
    indexes = data.draw(st.lists(st.integers(0, len(events) - 1), max_size=len(events)))
    fold([events[index] for index in indexes])
    fold(data.draw(st.permutations(events)))


@given(whole=ROUNDS)
@settings(max_examples=100, deadline=None)
def test_a_copy_goes_its_own_way(whole: Round) -> None:
    """What is applied to a copy does not show in the state it was taken from, at any moment of a round."""
    state = RoundState()
    for event in whole.events:
        before = picture(state)
        apply(state.copy(), event)
        assert picture(state) == before
        apply(state, event)
    assert state.phase is Phase.ENDED
