"""Players at tables: varied, legal decisions from a seeded source, for `dealproof play`, tests and benchmarks.

The players are careless on purpose: every choice that the rules offer is made now and then, so that every branch of the
engine and of the verifier is walked.  The server seed is an argument: `play` takes it from the operating system, tests
from their own seed.

Not here: storing what happens (`ops.play`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from domain.deal.commitment import client_entropy, commitment
from domain.deal.shuffle import SeededDeck
from domain.hands import Combination, Hand
from domain.round import choices as c
from domain.round import events as e
from domain.round.dealer import whose_turn
from domain.round.decisions import decide, open_round, reveal_seed
from domain.round.phases import Phase
from domain.round.refusals import Refusal
from domain.round.state import BoxState, RoundState, apply, fold
from domain.ruleset import BonusStake, Limits, Ruleset
from domain.settlement import insurance_limits


class SimulationError(Exception):
    """The simulated house was refused: a bug in the simulation or in the rules."""


@dataclass(frozen=True)
class Seat:
    """Where a simulated round is played and with which secret."""

    table: str
    number: int
    round_id: bytes
    server_seed: bytes
    limits: Limits
    currency: str = "EUR"
    sealed_seed: str = ""
    jackpot: int = 0


def steps(random: Random, ruleset: Ruleset, seat: Seat) -> Iterator[list[e.RoundEvent]]:
    """One round, command by command: the events of each append.  A few rounds are voided on the way."""
    secret = commitment(seat.round_id, ruleset.digest, seat.server_seed)
    opened = open_round(
        ruleset,
        table=seat.table,
        number=seat.number,
        currency=seat.currency,
        limits=seat.limits,
        commitment=secret,
        sealed_seed=seat.sealed_seed,
    )
    if isinstance(opened, Refusal):
        raise SimulationError(opened.text)
    yield [opened]
    state = fold([opened])
    placed = [event for choice in stakes(random, ruleset, seat.limits) for event in _made(state, ruleset, None, choice)]
    seeds = [(box.box, bytes.fromhex(box.client_seed)) for box in state.boxes]
    deck = SeededDeck(seat.server_seed, seat.round_id, ruleset.digest, client_entropy(seeds))
    void_now = random.random() < 0.004
    events = placed + _made(state, ruleset, deck, c.Deal(jackpot=seat.jackpot))
    while state.phase is not Phase.CLOSED and state.phase is not Phase.VOIDED:
        yield events
        choice: c.Choice = c.Void("simulated fault") if void_now else next_choice(random, ruleset, state)
        events = _made(state, ruleset, deck, choice)
    # The seed is revealed in the append that ends the round.
    yield [*events, reveal_seed(seat.server_seed)]


def _made(state: RoundState, ruleset: Ruleset, deck: SeededDeck | None, choice: c.Choice) -> list[e.RoundEvent]:
    """The events of a choice, applied to the state."""
    made = decide(state, ruleset, deck, choice)
    if isinstance(made, Refusal):
        raise SimulationError(f"{choice}: {made.text}")
    for event in made:
        apply(state, event)
    return made


# -- stakes


def stakes(
    random: Random, ruleset: Ruleset, limits: Limits, players: Sequence[str] = ("player-1", "player-2", "player-3")
) -> list[c.PlaceBox]:
    """Boxes of one or several of three players, within the rules of clause 3."""
    free = list(range(1, ruleset.boxes_on_table + 1))
    placed: list[c.PlaceBox] = []
    for player in players[: random.choice((1, 1, 1, 2, 3))]:
        count = random.randint(1, ruleset.boxes_per_player)
        boxes = [box for box in free if box >= min(free)][:count] if free else []
        ante = _ante(random, ruleset, limits)
        open_boxes = dark_boxes = 0
        for box in boxes:
            dark = open_boxes >= ruleset.open_boxes_per_player or (
                dark_boxes < ruleset.dark_boxes_per_player and random.random() < 0.3
            )
            if dark and dark_boxes >= ruleset.dark_boxes_per_player:
                break
            free.remove(box)
            stake = ante if ruleset.equal_open_antes and not dark else _ante(random, ruleset, limits)
            placed.append(
                c.PlaceBox(
                    box=box,
                    player=player,
                    mode=e.Mode.DARK if dark else e.Mode.OPEN,
                    ante=stake,
                    bonus=_bonus(random, ruleset, limits, stake),
                    client_seed=random.randbytes(random.choice((0, 8, 16, 32))),
                )
            )
            dark_boxes, open_boxes = dark_boxes + dark, open_boxes + (not dark)
    return placed


def _ante(random: Random, ruleset: Ruleset, limits: Limits) -> int:
    step = limits.ante_step * (2 if ruleset.antes_must_be_even and limits.ante_step % 2 else 1)
    lowest = -(-limits.ante_min // step)
    return step * random.randint(lowest, min(limits.ante_max // step, lowest + 50))


def _bonus(random: Random, ruleset: Ruleset, limits: Limits, ante: int) -> int:
    if ruleset.bonus_stake is None or random.random() < 0.5:
        return 0
    if ruleset.bonus_stake is BonusStake.UP_TO_ANTE:
        return random.randint(1, ante)
    return random.randint(limits.bonus_min, min(limits.bonus_max, limits.bonus_min + 1000))


# -- decisions


def next_choice(random: Random, ruleset: Ruleset, state: RoundState) -> c.Choice:
    """What the box in turn does."""
    box = whose_turn(state, ruleset)
    if box is None:
        raise SimulationError(f"no box is to choose in phase {state.phase}")
    if state.phase is Phase.REVEALED:
        rich = box.final_hand().main >= Combination.TWO_PAIR
        buys = random.random() < (0.8 if rich else 0.3)
        return c.BuyDealerGame(box=box.box) if buys else c.TakeAnte(box=box.box)
    if box.dark:
        return c.SixthCard(box=box.box) if random.random() < 0.5 else c.DeclineSixthCard(box=box.box)
    hand = box.final_hand()
    if box.insurance:
        return c.Bet(box=box.box)
    if not box.drew:
        draw = _draw(random, ruleset, box, hand)
        if draw is not None:
            return draw
    insurance = _insurance(random, ruleset, state, box, hand)
    if insurance is not None:
        return insurance
    stays = random.random() < (0.25 if hand.main is Combination.NO_GAME else 0.95)
    return c.Bet(box=box.box) if stays else c.Fold(box=box.box)


def _draw(random: Random, ruleset: Ruleset, box: BoxState, hand: Hand) -> c.Choice | None:
    """An exchange of loose cards or a sixth card, more often with a weak hand."""
    if random.random() > (0.2 if hand.main >= Combination.STRAIGHT else 0.6):
        return None
    if ruleset.sixth_card_half_antes is not None and random.random() < 0.45:
        return c.SixthCard(box=box.box)
    if not ruleset.exchange_half_antes:
        return None
    ranks = [card >> 2 for card in box.cards]
    loose = [position for position, rank in enumerate(ranks) if ranks.count(rank) == 1] or list(range(5))
    if random.random() < 0.2:
        loose = list(range(5))
    count = random.randint(1, min(len(loose), len(ruleset.exchange_half_antes)))
    return c.Exchange(box=box.box, discard=tuple(random.sample(loose, count)))


def _insurance(random: Random, ruleset: Ruleset, state: RoundState, box: BoxState, hand: Hand) -> c.Choice | None:
    if ruleset.insurance_from is None or hand.main < ruleset.insurance_from or random.random() < 0.5:
        return None
    payout_max = None if state.opened is None else state.opened.limits.payout_max
    lowest, highest = insurance_limits(ruleset, box.ante, ruleset.bet_antes * box.ante, hand, payout_max)
    if highest < lowest:
        return None
    return c.Insure(box=box.box, stake=random.choice((lowest, highest, random.randint(lowest, highest))))
