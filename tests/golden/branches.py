"""Which kinds of event, outcomes and branches of the rules a recorded round walks, as short names.

The names are held against a closed list (`required`), so that a golden file can't lose a branch unnoticed.

Not here: lines and arcs of code; `coverage` measures them over the same rounds (tests/vectors/golden/README.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from domain.hands import COMBINATION_BY_NAME, COMBINATION_NAMES
from domain.round import events as e
from domain.round.state import BoxState, RoundState, apply
from domain.ruleset import Ruleset
from domain.settlement import bet_odds, insurance_limits


def branches(ruleset: Ruleset, events: Iterable[e.RoundEvent]) -> set[str]:
    """The names of all that happened in a round."""
    found: set[str] = set()
    state = RoundState()
    for event in events:
        found.add(f"event {event.NAME}")
        if getattr(event, "by", None) is e.By.HOUSE:
            found.add(f"{event.NAME} by the house")
        found.update(_branch(ruleset, state, event))
        apply(state, event)
    return found


def _branch(ruleset: Ruleset, state: RoundState, event: e.RoundEvent) -> Iterator[str]:
    """What this event says, in the state before it."""
    match event:
        case e.BoxPlaced():
            yield from _placed(state, event)
        case e.CardsDealt():
            yield "beacon" if event.beacon else "no beacon"
            yield f"{len(state.boxes)} boxes"
            yield from _no_contribution(ruleset, state)
        case e.HandShown():
            yield f"{len(event.cards)} cards shown, phase {state.phase}"
        case e.ExchangeBought():
            yield f"exchange of {len(event.discard)}"
            yield (
                "exchange in ascending order" if event.discard == sorted(event.discard) else "exchange in another order"
            )
        case e.SixthCardBought():
            yield f"sixth card of {_mode(_box(state, event.box))} box"
        case e.BoxFolded() | e.BetMade():
            yield f"{event.NAME} {'after' if _box(state, event.box).drew else 'without'} a draw"
        case e.RoundVoided():
            yield f"void in phase {state.phase}"
            yield from (f"refund {_sign(refund.amount)}" for refund in event.refunds)
            yield f"jackpot reversed {_sign(event.jackpot_reversed)}"
        case e.RoundClosed():
            yield f"round net {_sign(event.net)}"
        case _:
            yield from _side_bet(ruleset, state, event)
            yield from _dealer(ruleset, state, event)


def _placed(state: RoundState, event: e.BoxPlaced) -> Iterator[str]:
    yield f"{event.mode} box"
    yield "bonus" if event.bonus else "no bonus"
    yield {0: "no client seed", 510: "longest client seed"}.get(len(event.client_seed), "client seed")
    if state.boxes and event.box < state.boxes[-1].box:
        yield "box placed after a higher one"


def _no_contribution(ruleset: Ruleset, state: RoundState) -> Iterator[str]:
    share, whole = ruleset.jackpot_contribution
    if share and any(0 < box.bonus * share < whole for box in state.boxes):
        yield "bonus too small for a contribution"


def _side_bet(ruleset: Ruleset, state: RoundState, event: e.RoundEvent) -> Iterator[str]:
    match event:
        case e.BonusSettled():
            main = COMBINATION_BY_NAME[event.combination]
            pays = "jackpot" if main in ruleset.jackpot_shares else "wins" if event.returned else "lost"
            yield f"bonus {pays}: {event.combination}"
            yield f"bonus of {_mode(_box(state, event.box))} box"
        case e.JackpotWon():
            yield f"jackpot {_sign(event.amount)}: {event.combination}"
        case e.InsuranceBought():
            box = _box(state, event.box)
            bet, payout_max = ruleset.bet_antes * box.ante, state.opened.limits.payout_max if state.opened else None
            lowest, highest = insurance_limits(ruleset, box.ante, bet, box.final_hand(), payout_max)
            yield "insurance " + {lowest: "smallest", highest: "largest"}.get(event.stake, "between")
            yield f"insurance {'after' if box.drew else 'without'} a draw"
        case e.InsuranceSettled():
            hand, dealer = _box(state, event.box).final_hand().strength, state.dealer_hand().strength
            higher = "lower" if dealer < hand else "equal" if dealer == hand else "higher"
            yield f"insurance {event.outcome}" + ("" if event.outcome == "won" else f", dealer {higher}")


def _dealer(ruleset: Ruleset, state: RoundState, event: e.RoundEvent) -> Iterator[str]:
    match event:
        case e.DealerRevealed():
            yield "dealer has a game" if _qualifies(ruleset, event.combination) else "dealer has no game"
        case e.DealerCardReplaced():
            game = "a game" if _qualifies(ruleset, event.combination) else "no game"
            rank = "same" if event.new[0] == event.old[0] else "other"
            yield f"{'free' if event.free else 'paid'} replacement by the {rank} rank: {game}"
        case e.BoxSettled():
            yield from _settled(ruleset, state, _box(state, event.box), event)


def _settled(ruleset: Ruleset, state: RoundState, box: BoxState, event: e.BoxSettled) -> Iterator[str]:
    when = "after its purchase" if box.answer else "while another buys" if _bought(state) else "at the first reveal"
    yield f"{event.outcome} {when}"
    yield f"{event.outcome}, {_mode(box)} box"
    if event.outcome is e.Outcome.TIED:
        yield "tied, insured" if box.insurance else "tied, not insured"
    if event.outcome is e.Outcome.WON:
        yield f"won with {event.main}"
        if event.second:
            yield f"second {event.second}"
        yield from _cut(ruleset, state, box, event)


def _cut(ruleset: Ruleset, state: RoundState, box: BoxState, event: e.BoxSettled) -> Iterator[str]:
    """Rule 9.7, with the insurance in it or without."""
    payout_max = None if state.opened is None else state.opened.limits.payout_max
    if payout_max is None or not ruleset.caps_bet:
        return
    win, full = event.bet - box.bet, box.bet * bet_odds(ruleset, box.final_hand())
    insured = ", insurance won" if box.insurance_returned > box.insurance else ""
    yield f"{'win within the maximum' if win == full else 'win cut' if win else 'nothing left of the maximum'}{insured}"


def _bought(state: RoundState) -> bool:
    return any(box.answer for box in state.boxes)


def _qualifies(ruleset: Ruleset, combination: str) -> bool:
    return COMBINATION_NAMES.index(combination) >= ruleset.qualifier


def _box(state: RoundState, number: int) -> BoxState:
    box = state.box(number)
    assert box is not None, number
    return box


def _mode(box: BoxState) -> str:
    return "a dark" if box.dark else "an open"


def _sign(amount: int) -> str:
    return "zero" if amount == 0 else "above zero" if amount > 0 else "below zero"
