"""The laws of a round's money, over simulated rounds of every ruleset.

Not here: what a single step is worth (`tests/rules`).
"""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.derivation import derivation
from domain.round import events as e
from domain.round.state import fold
from tests.round.simulated import Round, all_rulesets, simulated

ROUNDS = st.builds(simulated, st.sampled_from(sorted(all_rulesets())), st.integers(0, 10**6))


def movements(whole: Round) -> tuple[Counter[int], Counter[int]]:
    """What each box paid and what it was paid, read from the single facts and not from their totals."""
    paid, received = Counter[int](), Counter[int]()
    for event in whole.events:
        match event:
            case e.BoxPlaced():
                paid[event.box] += event.ante + event.bet + event.bonus
            case e.ExchangeBought() | e.SixthCardBought() | e.DealerGameBought():
                paid[event.box] += event.fee
            case e.InsuranceBought():
                paid[event.box] += event.stake
            case e.BetMade():
                paid[event.box] += event.bet
            case e.BonusSettled() | e.InsuranceSettled():
                received[event.box] += event.returned
            case e.JackpotWon():
                received[event.box] += event.amount
            case e.BoxSettled():
                received[event.box] += event.ante + event.bet
    return paid, received


@given(whole=ROUNDS)
@settings(max_examples=200, deadline=None)
def test_a_box_is_settled_with_what_it_paid_and_was_paid(whole: Round) -> None:
    """`staked`, `returned` and `net` of each box are the sums of its single facts."""
    paid, received = movements(whole)
    for event in whole.events:
        if isinstance(event, e.BoxSettled):
            assert (event.staked, event.returned) == (paid[event.box], received[event.box])
            assert event.net == event.returned - event.staked


@given(whole=ROUNDS)
@settings(max_examples=200, deadline=None)
def test_a_closed_round_is_the_sum_of_its_boxes(whole: Round) -> None:
    """Every box is settled once, and the round's sums are theirs; a void round settles none."""
    settled = [event for event in whole.events if isinstance(event, e.BoxSettled)]
    closed = [event for event in whole.events if isinstance(event, e.RoundClosed)]
    voided = [event for event in whole.events if isinstance(event, e.RoundVoided)]
    boxes = [event.box for event in whole.events if isinstance(event, e.BoxPlaced)]

    assert len(closed) + len(voided) == 1
    if closed:
        assert sorted(event.box for event in settled) == sorted(boxes)
        assert closed[0].staked == sum(event.staked for event in settled)
        assert closed[0].returned == sum(event.returned for event in settled)
        assert closed[0].net == sum(event.net for event in settled) == closed[0].returned - closed[0].staked
    else:
        paid, received = movements(whole)
        assert settled == []
        assert {r.box: paid[r.box] - received[r.box] for r in voided[0].refunds} == {
            r.box: r.amount for r in voided[0].refunds
        }
        assert sorted(r.box for r in voided[0].refunds) == sorted(boxes)


@given(whole=ROUNDS)
@settings(max_examples=200, deadline=None)
def test_the_lines_of_a_box_add_up_to_its_net(whole: Round) -> None:
    """Each derivation cites clauses of the game's own page, and nothing is paid that no line names."""
    state = fold(whole.events)
    for box in state.boxes:
        lines = derivation(whole.ruleset, state, box)
        prefix = whole.ruleset.document.clauses
        assert all(line.clause.startswith(f"{prefix}-") for line in lines)
        if box.settled is not None:
            assert sum(line.amount for line in lines) == box.settled.net
            assert -sum(line.amount for line in lines if line.amount < 0 and not line.clause.endswith("-9.7")) == (
                box.settled.staked
            )


@given(whole=ROUNDS)
@settings(max_examples=100, deadline=None)
def test_no_amount_is_negative_and_no_stake_is_returned_twice(whole: Round) -> None:
    """What comes back of a stake is there or not; only `net` and a refund may be below zero."""
    for event in whole.events:
        for name in set(event.__struct_fields__) - {"net", "refunds", "limits"}:
            value = getattr(event, name)
            assert not isinstance(value, int) or value >= 0, event
    for kind in (e.BonusSettled, e.InsuranceSettled, e.BoxSettled, e.JackpotWon):
        boxes = [event.box for event in whole.events if isinstance(event, kind)]
        assert len(boxes) == len(set(boxes))


@given(whole=ROUNDS)
@settings(max_examples=100, deadline=None)
def test_the_jackpot_never_pays_more_than_the_pot(whole: Round) -> None:
    """Rule 5.3: over all boxes of the round."""
    pots = [event.jackpot for event in whole.events if isinstance(event, e.CardsDealt)]
    won = sum(event.amount for event in whole.events if isinstance(event, e.JackpotWon))

    assert won <= sum(pots)
