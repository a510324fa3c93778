"""A round with a given deck: "what if" for dispute staff, and the door through which an outside oracle feeds us.

Format: docs/formats/scenario.md.  The scenario goes through the same decisions and settlement as a real round; only the
deck is laid down instead of shuffled, the pot is as given, and a box that is asked and says nothing takes the house's
default (the ante instead of the dealer's game, no sixth card for a dark box).

Not here: files, exit codes (`ops.cli`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from domain.cards import DECK_SIZE, CardError, card_texts, parse_cards
from domain.deal.shuffle import Deck, FixedDeck
from domain.derivation import derivation
from domain.hands import COMBINATION_NAMES, evaluate
from domain.money import LARGEST_POT, LARGEST_STAKE
from domain.round import choices as c
from domain.round.dealer import whose_turn
from domain.round.decisions import advance, open_round
from domain.round.events import By, Mode, RoundEvent
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from domain.round.state import BoxState, RoundState, apply
from domain.ruleset import Limits, Ruleset
from domain.strict_json import StrictJsonError, require_strict_json

Amount = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_STAKE)]
Pot = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_POT)]
PositiveAmount = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_STAKE)]


class ScenarioError(ValueError):
    """A scenario that can't be read; the message names the field and the reason."""


class ScenarioTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table; a key left out takes the ruleset's own default, null is no limit."""

    ante_min: PositiveAmount | msgspec.UnsetType | None = msgspec.UNSET
    ante_max: PositiveAmount | msgspec.UnsetType | None = msgspec.UNSET
    ante_step: PositiveAmount | msgspec.UnsetType | None = msgspec.UNSET
    bonus_min: PositiveAmount | msgspec.UnsetType | None = msgspec.UNSET
    bonus_max: PositiveAmount | msgspec.UnsetType | None = msgspec.UNSET
    payout_max: Annotated[int, msgspec.Meta(ge=1, le=LARGEST_POT)] | msgspec.UnsetType | None = msgspec.UNSET
    jackpot: Pot | msgspec.UnsetType = msgspec.UNSET


class ScenarioBox(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A box with its stakes."""

    box: int
    player: str
    mode: Mode
    ante: Amount
    bonus: Amount = 0


class ScenarioDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One decision; `discard` belongs to exchange, `stake` to insure."""

    box: int
    action: str
    discard: list[int] | msgspec.UnsetType = msgspec.UNSET
    stake: Pot | msgspec.UnsetType = msgspec.UNSET


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole scenario as it is read."""

    ruleset: str
    deck: list[str]
    boxes: list[ScenarioBox]
    decisions: list[ScenarioDecision] = []
    table: ScenarioTable = ScenarioTable()


@dataclass(frozen=True, slots=True)
class Played:
    """A scenario played out: the final state and every event; or a refusal and the index of its decision."""

    ruleset: Ruleset
    state: RoundState
    deck: Deck
    events: list[RoundEvent]
    refusal: Refusal | None = None
    refused_at: int | None = None


def read_scenario(text: bytes | str) -> Scenario:
    """Parse and check one scenario.  Raises ScenarioError."""
    try:
        require_strict_json(text)
        return _SCENARIO.decode(text)
    except (StrictJsonError, msgspec.DecodeError) as error:
        raise ScenarioError(str(error)) from None


def run_scenario(text: bytes | str, rulesets: Mapping[str, Ruleset]) -> dict[str, Any]:
    """Read, play and report one scenario.  Raises ScenarioError."""
    return outcome(play_scenario(read_scenario(text), rulesets))


def play_scenario(scenario: Scenario, rulesets: Mapping[str, Ruleset]) -> Played:
    """Play a scenario through the engine.  Raises ScenarioError for what no round could have."""
    ruleset = rulesets.get(scenario.ruleset)
    if ruleset is None:
        known = ", ".join(sorted(rulesets))
        raise ScenarioError(f"ruleset: {scenario.ruleset!r} is not known; there are {known}")
    deck = _deck(scenario.deck)
    # The shape of everything comes before the rules: a malformed file is no refusal.
    choices = [_choice(decision, index) for index, decision in enumerate(scenario.decisions)]
    opened = open_round(
        ruleset,
        table="scenario",
        number=1,
        currency="XXX",  # ISO 4217: no currency
        limits=_limits(scenario.table, ruleset),
        commitment=bytes(32),
        sealed_seed="",
    )
    if isinstance(opened, Refusal):
        raise ScenarioError(f"table: {opened.text}")
    state = RoundState()
    apply(state, opened)
    run = _Run(ruleset, state, deck, [opened])
    jackpot = scenario.table.jackpot
    pot = ruleset.jackpot_seed_amount if isinstance(jackpot, msgspec.UnsetType) else jackpot
    refusal, at = _play(run, scenario, choices, pot)
    return Played(ruleset, state, deck, run.events, refusal, at)


class _Run:
    """The engine with a state and a deck; silence is filled in as the house's default."""

    def __init__(self, ruleset: Ruleset, state: RoundState, deck: Deck, events: list[RoundEvent]) -> None:
        self.ruleset, self.state, self.deck, self.events = ruleset, state, deck, events

    def choose(self, choice: c.Choice) -> Refusal | None:
        """Make a choice and note what follows."""
        result = advance(self.state, self.ruleset, self.deck, choice)
        if isinstance(result, Refusal):
            return result
        self.events.extend(result)
        return None

    def answer_for_silent_boxes(self, next_box: int | None) -> None:
        """A box that is asked and does not say anything takes the default, up to the box that speaks next."""
        while (turn := whose_turn(self.state, self.ruleset)) is not None and turn.box != next_box:
            if self.state.phase is Phase.REVEALED:
                self.choose(c.TakeAnte(box=turn.box, by=By.HOUSE))
            elif turn.dark:
                self.choose(c.DeclineSixthCard(box=turn.box, by=By.HOUSE))
            else:
                return


def _play(run: _Run, scenario: Scenario, choices: list[c.Choice], pot: int) -> tuple[Refusal | None, int | None]:
    for box in sorted(scenario.boxes, key=lambda box: box.box):
        refusal = run.choose(c.PlaceBox(box.box, box.player, box.mode, box.ante, box.bonus))
        if refusal is not None:
            return refusal, None
    refusal = run.choose(c.Deal(jackpot=pot))
    if refusal is not None:
        return refusal, None
    for index, (decision, choice) in enumerate(zip(scenario.decisions, choices, strict=True)):
        run.answer_for_silent_boxes(decision.box)
        refusal = run.choose(choice)
        if refusal is not None:
            return refusal, index
    run.answer_for_silent_boxes(None)
    turn = whose_turn(run.state, run.ruleset)
    if turn is not None:
        text = f"Box {turn.box} has not decided."
        return Refusal(RefusalCode.DECISION_MISSING, text, run.ruleset.clause("6.1")), len(scenario.decisions)
    return None, None


def outcome(played: Played) -> dict[str, Any]:
    """What a scenario reports; with a refusal there are no results."""
    if played.refusal is not None:
        refusal = {"at": played.refused_at, "code": played.refusal.code, "text": played.refusal.text}
        return {"boxes": [], "dealer": None, "refusal": refusal}
    state = played.state
    dealer = evaluate(state.dealer)
    return {
        "boxes": [_box_outcome(played.ruleset, state, box) for box in state.boxes],
        "dealer": {
            "cards": card_texts(state.dealer),
            "combination": COMBINATION_NAMES[dealer.main],
            "qualifies": dealer.main >= played.ruleset.qualifier,
            "replaced": [[event.old, event.new] for event in state.replaced],
        },
        "refusal": None,
    }


def _box_outcome(ruleset: Ruleset, state: RoundState, box: BoxState) -> dict[str, Any]:
    settled = box.settled
    assert settled is not None  # a round without a refusal is played to its end
    return {
        "box": box.box,
        "hand": card_texts(box.cards),
        "main": settled.main,
        "second": settled.second,
        "staked": settled.staked,
        "returned": settled.returned,
        "net": settled.net,
        "lines": [
            {"clause": clause, "text": text, "amount": amount}
            for clause, text, amount in derivation(ruleset, state, box)
        ],
    }


def _deck(texts: Sequence[str]) -> FixedDeck:
    try:
        cards = parse_cards(texts)
    except CardError as error:
        raise ScenarioError(f"deck: {error}") from None
    if len(cards) != DECK_SIZE:
        raise ScenarioError(f"deck: has {len(cards)} cards, not {DECK_SIZE}")
    return FixedDeck(cards)


def _limits(table: ScenarioTable, ruleset: Ruleset) -> Limits:
    """The table's limits: null is no limit, a key left out is the ruleset's default."""
    no_limit = {"ante_min": 1, "ante_max": LARGEST_STAKE, "ante_step": 1, "bonus_min": 1, "bonus_max": LARGEST_STAKE}
    values: dict[str, Any] = {}
    for name in Limits.__struct_fields__:
        value = getattr(table, name)
        if value is msgspec.UNSET:
            value = getattr(ruleset.table_defaults, name)
        values[name] = no_limit.get(name) if value is None else value
    return Limits(**values)


def _choice(decision: ScenarioDecision, index: int) -> c.Choice:
    make = _ACTIONS.get(decision.action)
    if make is None:
        raise ScenarioError(f"decisions[{index}].action: {decision.action!r} is not one of {', '.join(_ACTIONS)}")
    wanted = _EXTRA_FIELD.get(decision.action)
    for field in ("discard", "stake"):
        given = getattr(decision, field) is not msgspec.UNSET
        if given != (field == wanted):
            raise ScenarioError(f"decisions[{index}].{field}: {'has no place in' if given else 'is missing for'} "
                                f"the action {decision.action!r}")
    if not isinstance(decision.discard, msgspec.UnsetType):
        return c.Exchange(box=decision.box, discard=tuple(decision.discard))
    if not isinstance(decision.stake, msgspec.UnsetType):
        return c.Insure(box=decision.box, stake=decision.stake)
    choice: c.Choice = make(box=decision.box)
    return choice


_ACTIONS: Final[dict[str, Any]] = {
    "exchange": c.Exchange,
    "sixth_card": c.SixthCard,
    "insure": c.Insure,
    "bet": c.Bet,
    "fold": c.Fold,
    "buy_dealer_game": c.BuyDealerGame,
    "take_ante": c.TakeAnte,
}
_EXTRA_FIELD: Final = {"exchange": "discard", "insure": "stake"}
_SCENARIO: Final = msgspec.json.Decoder(Scenario)

