"""What the facts of a round move: every fact of money once, and in a void back to where the round began.

Not here: a player's balance (`test_account`), what is owed (tests/rules).
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain import account as a
from domain.ledger import Entry, Line, Move, Wager, jackpot_account, lines, moves, owed_bets
from domain.round import events as e
from domain.round.choices import Void
from domain.round.decisions import decide
from domain.round.refusals import Refusal
from domain.round.state import RoundState, apply, fold
from tests.round.simulated import Round, all_rulesets, simulated

NAMES = sorted(all_rulesets())


def totals(moved: list[Move]) -> Counter[tuple[int, Entry]]:
    found: Counter[tuple[int, Entry]] = Counter()
    for move in moved:
        found[move.box, move.entry] += move.amount
    return found


def test_lines_are_sorted_and_have_no_nothing() -> None:
    assert lines({"player": -5, "bank": 5, "bonus": 0}) == [Line("bank", 5), Line("player", -5)]
    assert jackpot_account("grand") == "jackpot:grand"


def test_lines_that_do_not_balance_are_a_bug() -> None:
    with pytest.raises(ValueError, match="does not balance"):
        lines({"player": 5, "bank": -4})


ROUNDS = st.builds(simulated, st.sampled_from(NAMES), st.integers(0, 400))


@given(played=ROUNDS)
@settings(max_examples=150)
def test_a_closed_round_moves_what_its_boxes_staked_and_got(played: Round) -> None:
    """The totals of each box are those of its settlement, whichever way they were counted."""
    state = fold(played.events)
    moved = totals(moves(played.events, 0, state))
    for box in state.boxes:
        if box.settled is not None:
            assert moved[box.box, Entry.STAKED] == box.settled.staked
            assert moved[box.box, Entry.RETURNED] + moved[box.box, Entry.WON] == box.settled.returned
            assert moved[box.box, Entry.TAKEN_BACK] == 0


@given(played=ROUNDS)
@settings(max_examples=100)
def test_the_appends_together_move_what_the_round_moves(played: Round) -> None:
    """Append by append, with the state of that moment, or all at once: the same moves in the same order."""
    state, seq, found = RoundState(), 0, list[Move]()
    for events in played.appends:
        for event in events:
            apply(state, event)
        found += moves(events, seq, state)
        seq += len(events)

    assert found == moves(played.events, 0, state)
    assert all(move.amount > 0 for move in found)


@given(played=ROUNDS, part=st.floats(0, 1))
@settings(max_examples=150)
def test_a_void_brings_every_player_back_to_before(played: Round, part: float) -> None:
    """Rule 10.2, at any moment: each box's moves sum to nothing, and each account has what it had."""
    count = 1 + int(part * (len(played.appends) - 1))
    events = [event for append in played.appends[:count] for event in append]
    state = fold(events)
    if state.server_seed is not None:
        return
    voided = decide(state, played.ruleset, None, Void("fire"))
    assert not isinstance(voided, Refusal)
    after = fold([*events, *voided])
    before = moves(events, 0, state)
    undone = moves(voided, len(events), after)

    sums = totals([*before, *undone])
    for box in after.boxes:
        back = sums[box.box, Entry.RETURNED] + sums[box.box, Entry.WON]
        assert sums[box.box, Entry.STAKED] == back - sums[box.box, Entry.TAKEN_BACK]
    for player in {box.player for box in after.boxes}:
        assert balance_after(player, before, undone, 10**9) == 10**9


def balance_after(player: str, before: list[Move], undone: list[Move], balance: int) -> int:
    """An account through a round that was voided."""
    round_, state = a.Round("1" * 32, "t", 1, "grand"), a.AccountState(balance, [])
    posted: list[a.AccountEvent] = []
    for moved, ending in ((before, None), (undone, a.Ending.VOIDED)):
        own = [move for move in moved if move.player == player]
        posted += a.post(state, len(posted), round_, own, reserved=0, ending=ending)
        state = posted[-1].after if posted else state
    finished = posted[-1]
    assert isinstance(finished, a.RoundFinished)
    assert (finished.net, finished.before) == (0, balance)
    return finished.after.balance


def test_an_event_of_a_box_that_nobody_placed_moves_nothing() -> None:
    bet = e.BetMade(bet=100, box=3, by=e.By.PLAYER)

    assert moves([bet], 0, fold([bet])) == []


def test_a_stake_that_came_back_in_part_is_returned_and_one_above_is_won() -> None:
    placed = e.BoxPlaced(ante=100, bet=0, bonus=20, box=1, client_seed="", mode=e.Mode.OPEN, player="p")
    settled = [
        (0, []),
        (20, [(Entry.RETURNED, 20)]),
        (140, [(Entry.RETURNED, 20), (Entry.WON, 120)]),
    ]
    for returned, expected in settled:
        event = e.BonusSettled(box=1, combination="pair", returned=returned, stake=20)
        moved = moves([event], 8, fold([placed, event]))
        assert [(move.entry, move.amount) for move in moved] == expected
        assert {(move.seq, move.box, move.player, move.wager) for move in moved} <= {(8, 1, "p", Wager.BONUS)}


def test_owed_bets_are_those_of_insured_boxes_that_have_not_bet() -> None:
    """Rule 7.3: from the insurance until the BET, of this player, but for the box that is about to."""
    seen = 0
    for name in (name for name in NAMES if all_rulesets()[name].insurance_from is not None):
        for seed in range(60):
            played = simulated(name, seed)
            state, insured = RoundState(), dict[int, int]()
            for event in played.events:
                apply(state, event)
                if isinstance(event, e.InsuranceBought):
                    box = state.box(event.box)
                    assert box is not None
                    insured[box.box] = played.ruleset.bet_antes * box.ante
                elif isinstance(event, e.BetMade):
                    insured.pop(event.box, None)
                if state.voided is not None:
                    break
                for player in {box.player for box in state.boxes}:
                    own = {box.box for box in state.boxes if box.player == player}
                    expected = sum(bet for number, bet in insured.items() if number in own)
                    assert owed_bets(state, played.ruleset, player) == expected
                    for number in own & insured.keys():
                        left = owed_bets(state, played.ruleset, player, but_for=number)
                        assert left == expected - insured[number]
                        seen += 1
    assert seen > 20


def test_the_order_of_players_does_not_matter() -> None:
    """Moves are in the order of facts; whoever posts them picks a player's own."""
    played = simulated("multibox-russian-poker@1", Random(4).randrange(400))
    seqs = [move.seq for move in moves(played.events, 0, fold(played.events))]

    assert seqs == sorted(seqs)
