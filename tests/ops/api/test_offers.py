"""What the box in turn is offered is just what the rules let it do, at the price that it then pays."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from domain.deal.commitment import client_entropy
from domain.deal.shuffle import SeededDeck
from domain.round import choices as c
from domain.round.decisions import decide
from domain.round.guards import GUARDS
from domain.round.phases import Phase
from domain.round.state import RoundState, fold
from domain.ruleset import Limits, Ruleset
from domain.rulesets import released_rulesets
from ops.api.offers import next_step
from ops.simulation import Seat, steps

LIMITS = Limits(ante_max=1000, ante_min=100, ante_step=100, bonus_max=100, bonus_min=1, payout_max=5000)


def choices_of(number: int, step: dict[str, Any]) -> dict[str, list[c.Choice]]:
    """Every action, with what it might say."""
    least, most = (step["insurance"] or {"min": 100, "max": 100}).values()
    return {
        "bet": [c.Bet(box=number)],
        "fold": [c.Fold(box=number)],
        "exchange": [c.Exchange(box=number, discard=(4,))],
        "sixth_card": [c.SixthCard(box=number)],
        "decline_sixth_card": [c.DeclineSixthCard(box=number)],
        "insure": [c.Insure(box=number, stake=least), c.Insure(box=number, stake=most)],
        "buy_dealer_game": [c.BuyDealerGame(box=number)],
        "take_ante": [c.TakeAnte(box=number)],
    }


def paid(state: RoundState, ruleset: Ruleset, deck: SeededDeck, choice: c.Choice) -> int:
    """What a choice costs, from the event that it makes."""
    made = decide(state, ruleset, deck, choice)
    assert isinstance(made, list)
    return int(getattr(made[0], "fee", getattr(made[0], "bet", 0)))


def test_what_is_offered_is_what_the_rules_allow() -> None:
    """Clauses 6 to 8, for every game, after every step of many rounds."""
    seen: Counter[str] = Counter()
    for ruleset in released_rulesets().values():
        for number in range(150):
            random = Random(f"offers {ruleset.name} {number}")
            seat = Seat("table", 1, random.randbytes(16), random.randbytes(32), LIMITS)
            seen += looked_at(random, ruleset, seat)

    assert set(seen) == {"bet", "fold", "exchange", "sixth_card", "decline_sixth_card", "insure", "buy_dealer_game",
                         "take_ante", "place_boxes", "nothing"}  # fmt: skip


def looked_at(random: Random, ruleset: Ruleset, seat: Seat) -> Counter[str]:
    """The offers of one round, each held against its guard."""
    seen: Counter[str] = Counter()
    events: list[Any] = []
    for made in steps(random, ruleset, seat):
        events += made
        state = fold(events)
        step = next_step(state, ruleset)
        if step is None:
            assert state.phase is Phase.ENDED
            seen["nothing"] += 1
        elif step["box"] is None:
            seen.update(step["actions"])
        else:
            seen.update(step["actions"])
            hold(state, ruleset, step, seat)
    return seen


def hold(state: RoundState, ruleset: Ruleset, step: dict[str, Any], seat: Seat) -> None:
    """Each offer passes its guard and costs its price; what is not offered doesn't pass."""
    seeds = [(box.box, bytes.fromhex(box.client_seed)) for box in state.boxes]
    deck = SeededDeck(seat.server_seed, seat.round_id, ruleset.digest, client_entropy(seeds))
    for action, choices in choices_of(step["box"], step).items():
        for choice in choices:
            allowed = GUARDS[type(choice)](state, ruleset, choice) is None
            assert allowed == (action in step["actions"]), (action, step)
            price = step["prices"].get(action)
            if allowed and price is not None:
                assert paid(state, ruleset, deck, choice) == (price[0] if isinstance(price, list) else price)
    for other in (box.box for box in state.boxes if box.box != step["box"]):
        assert all(
            GUARDS[type(choice)](state, ruleset, choice) is not None
            for choices in choices_of(other, step).values()
            for choice in choices
        )
