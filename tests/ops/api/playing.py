"""Careless players who play over HTTP: a round step by step, with a hook between all steps.

Not here: what they choose (`ops.simulation`), what a test looks at between the steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from domain.access import Role
from domain.round import choices as c
from domain.round.phases import Phase
from domain.round.state import RoundState
from ops.floor import RoundDone
from ops.simulation import next_choice, stakes
from tests.ops.api.houses import House, done
from tests.ops.floor.casino import PLAYERS

ACTIONS: dict[type[Any], str] = {
    c.Exchange: "exchange", c.SixthCard: "sixth_card", c.DeclineSixthCard: "decline_sixth_card", c.Insure: "insure",
    c.Bet: "bet", c.Fold: "fold", c.BuyDealerGame: "buy_dealer_game", c.TakeAnte: "take_ante",
}  # fmt: skip


def decision(choice: Any, state: RoundState) -> dict[str, Any]:
    """A choice as the API takes it."""
    box = state.box(choice.box)
    assert box is not None
    body = {"box": choice.box, "player": box.player, "action": ACTIONS[type(choice)]}
    if isinstance(choice, c.Exchange):
        body["discard"] = list(choice.discard)
    if isinstance(choice, c.Insure):
        body["stake"] = choice.stake
    return body


def placed(random: Random, house: House, table: str) -> list[dict[str, Any]]:
    """Boxes of players who have accounts here."""
    known = house.casino.floor.pit.table(table)
    assert known is not None
    ruleset = house.casino.floor.pit.known(known.settings.ruleset)
    assert ruleset is not None
    return [
        {"box": box.box, "player": box.player, "mode": box.mode.value, "ante": box.ante, "bonus": box.bonus,
         "client_seed": box.client_seed.hex()}
        for box in stakes(random, ruleset, known.settings.limits, PLAYERS)
    ]  # fmt: skip


def played(house: House, table: str, random: Random) -> Iterator[tuple[str, Any]]:
    """One round: its id and the reply of each step.  One in ten is voided on the way."""
    opened = done(house.post(Role.GAME_SERVER, f"/v1/tables/{table}/rounds", {}))
    round_id = opened["round"]
    yield round_id, opened
    yield round_id, house.place(round_id, *placed(random, house, table))
    yield round_id, house.deal(round_id)
    while (now := standing(house, round_id)).state.phase is not Phase.ENDED:
        if random.random() < 0.02:
            void = house.post(Role.GAME_SERVER, f"/v1/rounds/{round_id}/void", {"reason": "simulated fault"})
            yield round_id, done(void)
            continue
        body = decision(next_choice(random, now.ruleset, now.state), now.state)
        yield round_id, done(house.post(Role.GAME_SERVER, f"/v1/rounds/{round_id}/decisions", body))


def standing(house: House, round_id: str) -> RoundDone:
    """A round as its record says now."""
    found = house.casino.floor.round(f"round:{round_id}")
    assert found is not None
    return found
