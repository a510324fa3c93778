"""The state of a round: folded from its events, never judged.

`apply` takes every well-formed event in any order; whether it should have happened is asked before (`decisions`) or
after (`replay`).  The state is mutable for speed; whoever must keep one as it was takes a `copy`.

Not here: hidden cards.  The state knows what the events show; the deck is an argument of `decisions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from enum import IntEnum
from typing import Any, Final

from domain.cards import CARD_IDS, parse_card
from domain.hands import Hand, evaluate
from domain.round import events as e
from domain.round.phases import TRANSITIONS, Phase


class Stage(IntEnum):
    """How far a box has come in its decisions."""

    WAITING = 0
    DRAWING = 1  # paid for cards that are not dealt yet
    DREW = 2  # has its new cards, must bet or fold
    DONE = 3


class BoxState:
    """One box.  Amounts in minor units; `cards` are ids, in the order of the hand."""

    __slots__ = (
        "answer",
        "ante",
        "bet",
        "bonus",
        "bonus_returned",
        "bonus_settled",
        "bought",
        "box",
        "cards",
        "client_seed",
        "contribution",
        "dark",
        "discard",
        "draw_fee",
        "drew",
        "first_five",
        "folded",
        "hand",
        "hidden_draw",
        "insurance",
        "insurance_outcome",
        "insurance_returned",
        "jackpot",
        "player",
        "settled",
        "sixth",
        "stage",
    )  # fmt: skip

    def __init__(self, event: e.BoxPlaced) -> None:
        self.box = event.box
        self.player = event.player
        self.dark = event.mode is e.Mode.DARK
        self.ante = event.ante
        self.bet = event.bet
        self.bonus = event.bonus
        self.client_seed = event.client_seed
        self.cards: list[int] = []
        self.first_five: list[int] = []
        self.hand: Hand | None = None
        self.stage = Stage.WAITING
        self.drew = False
        self.sixth = False
        self.discard: list[int] = []
        self.draw_fee = 0
        self.hidden_draw: int | None = None
        self.insurance = 0
        self.insurance_outcome: e.InsuranceOutcome | None = None
        self.insurance_returned = 0
        self.contribution = 0
        self.bonus_settled = False
        self.bonus_returned = 0
        self.jackpot = 0
        self.folded = False
        self.answer: bool | None = None
        self.bought = 0
        self.settled: e.BoxSettled | None = None

    @property
    def staked(self) -> int:
        """Stakes and fees so far."""
        return self.ante + self.bet + self.bonus + self.insurance + self.draw_fee + self.bought

    @property
    def returned_before_showdown(self) -> int:
        """What came back before ante and BET were settled: bonus, jackpot, insurance."""
        return self.bonus_returned + self.jackpot + self.insurance_returned

    def final_hand(self) -> Hand:
        """The judgement of the shown cards."""
        if self.hand is None:
            self.hand = evaluate(self.cards)
        return self.hand


class RoundState:
    """A whole round as its events tell it."""

    __slots__ = (
        "boxes", "closed", "dealer", "dealer_judged", "jackpot", "next_card", "opened", "phase", "replaced", "revealed", "server_seed",
        "upcard", "voided",
    )  # fmt: skip

    def __init__(self) -> None:
        self.phase = Phase.UNOPENED
        self.opened: e.RoundOpened | None = None
        self.boxes: list[BoxState] = []  # ascending
        self.next_card = 0
        self.jackpot = 0
        self.upcard: str | None = None
        self.dealer: list[int] = []
        self.dealer_judged: Hand | None = None
        self.revealed = False
        self.replaced: list[e.DealerCardReplaced] = []
        self.closed: e.RoundClosed | None = None
        self.voided: e.RoundVoided | None = None
        self.server_seed: str | None = None

    def copy(self) -> RoundState:
        """A state that can go on without touching this one."""
        twin = copy(self)
        twin.boxes = [copy(box) for box in self.boxes]
        twin.dealer = list(self.dealer)
        twin.replaced = list(self.replaced)
        return twin

    def dealer_hand(self) -> Hand:
        """The judgement of the dealer's opened cards."""
        if self.dealer_judged is None:
            self.dealer_judged = evaluate(self.dealer)
        return self.dealer_judged

    def box(self, number: int) -> BoxState | None:
        """The box with this number, None if nobody plays it."""
        for box in self.boxes:
            if box.box == number:
                return box
        return None


def fold(events: Iterable[e.RoundEvent]) -> RoundState:
    """The state after these events."""
    state = RoundState()
    for event in events:
        apply(state, event)
    return state


def apply(state: RoundState, event: e.RoundEvent) -> None:
    """Move the state on by one event.  An event without a handler is a bug and raises KeyError.

    An event of a box that nobody placed changes nothing but the phase (replay will name it).
    """
    kind = type(event)
    handler = _BOX_HANDLERS.get(kind)
    if handler is None:
        _ROUND_HANDLERS[kind](state, event)
    else:
        number = event.box  # type: ignore[union-attr]  # the table holds events of one box only
        for box in state.boxes:
            if box.box == number:
                handler(state, event, box)
                break
    phase = TRANSITIONS[state.phase].get(kind)
    if phase is not None:
        state.phase = phase


def _ids(texts: list[str]) -> list[int]:
    """Card ids of texts; the verifier may bring a text that is no card, which raises CardError."""
    try:
        return [CARD_IDS[text] for text in texts]
    except KeyError:
        return [parse_card(text) for text in texts]


def _opened(state: RoundState, event: e.RoundOpened) -> None:
    state.opened = event


def _placed(state: RoundState, event: e.BoxPlaced) -> None:
    state.boxes.append(BoxState(event))
    if len(state.boxes) > 1:
        state.boxes.sort(key=_number)


def _number(box: BoxState) -> int:
    return box.box


def _dealt(state: RoundState, event: e.CardsDealt) -> None:
    state.jackpot = event.jackpot
    state.upcard = event.upcard
    state.next_card = 5 * (len(state.boxes) + 1)


def _drawn(state: RoundState, event: e.CardsDrawn, box: BoxState) -> None:
    drawn = _ids(event.cards)
    state.next_card += len(drawn)
    box.stage = Stage.DREW
    box.hand = None
    if box.sixth:
        box.cards = box.cards + drawn
        return
    cards = list(box.cards)
    for position, card in zip(box.discard, drawn, strict=False):
        if position < len(cards):
            cards[position] = card
    box.cards = cards


def _hidden_drawn(state: RoundState, event: e.HiddenCardDrawn, box: BoxState) -> None:
    box.hidden_draw = state.next_card
    state.next_card += 1
    box.stage = Stage.DONE


def _shown(state: RoundState, event: e.HandShown, box: BoxState) -> None:
    box.cards = _ids(event.cards)
    box.first_five = box.cards[:5]
    box.hand = None


def _contributed(state: RoundState, event: e.JackpotContributed, box: BoxState) -> None:
    box.contribution = event.amount


def _bonus_settled(state: RoundState, event: e.BonusSettled, box: BoxState) -> None:
    box.bonus_settled = True
    box.bonus_returned = event.returned


def _jackpot_won(state: RoundState, event: e.JackpotWon, box: BoxState) -> None:
    box.jackpot = event.amount


def _exchange_bought(state: RoundState, event: e.ExchangeBought, box: BoxState) -> None:
    box.discard = event.discard
    box.draw_fee = event.fee
    box.drew = True
    box.stage = Stage.DRAWING


def _sixth_bought(state: RoundState, event: e.SixthCardBought, box: BoxState) -> None:
    box.draw_fee = event.fee
    box.drew = box.sixth = True
    box.stage = Stage.DRAWING


def _sixth_declined(state: RoundState, event: e.SixthCardDeclined, box: BoxState) -> None:
    box.stage = Stage.DONE


def _insured(state: RoundState, event: e.InsuranceBought, box: BoxState) -> None:
    box.insurance = event.stake


def _bet(state: RoundState, event: e.BetMade, box: BoxState) -> None:
    box.bet = event.bet
    box.stage = Stage.DONE


def _folded(state: RoundState, event: e.BoxFolded, box: BoxState) -> None:
    box.folded = True
    box.stage = Stage.DONE


def _revealed(state: RoundState, event: e.DealerRevealed) -> None:
    state.dealer = _ids(event.cards)
    state.dealer_judged = None
    state.revealed = True


def _insurance_settled(state: RoundState, event: e.InsuranceSettled, box: BoxState) -> None:
    box.insurance_outcome = event.outcome
    box.insurance_returned = event.returned


def _dealer_game_bought(state: RoundState, event: e.DealerGameBought, box: BoxState) -> None:
    box.answer = True
    box.bought = event.fee


def _ante_taken(state: RoundState, event: e.AnteTaken, box: BoxState) -> None:
    box.answer = False


def _replaced(state: RoundState, event: e.DealerCardReplaced) -> None:
    old, new = parse_card(event.old), parse_card(event.new)
    state.dealer = [new if card == old else card for card in state.dealer]
    state.dealer_judged = None
    state.next_card += 1
    state.replaced = [*state.replaced, event]


def _settled(state: RoundState, event: e.BoxSettled, box: BoxState) -> None:
    box.settled = event


def _closed(state: RoundState, event: e.RoundClosed) -> None:
    state.closed = event


def _voided(state: RoundState, event: e.RoundVoided) -> None:
    state.voided = event


def _seed_revealed(state: RoundState, event: e.SeedRevealed) -> None:
    state.server_seed = event.server_seed


_ROUND_HANDLERS: Final[dict[type[e.RoundEvent], Callable[[RoundState, Any], None]]] = {
    e.RoundOpened: _opened,
    e.BoxPlaced: _placed,
    e.CardsDealt: _dealt,
    e.DealerRevealed: _revealed,
    e.DealerCardReplaced: _replaced,
    e.RoundClosed: _closed,
    e.RoundVoided: _voided,
    e.SeedRevealed: _seed_revealed,
}
_BOX_HANDLERS: Final[dict[type[e.RoundEvent], Callable[[RoundState, Any, BoxState], None]]] = {
    e.JackpotContributed: _contributed,
    e.HandShown: _shown,
    e.BonusSettled: _bonus_settled,
    e.JackpotWon: _jackpot_won,
    e.ExchangeBought: _exchange_bought,
    e.SixthCardBought: _sixth_bought,
    e.SixthCardDeclined: _sixth_declined,
    e.CardsDrawn: _drawn,
    e.HiddenCardDrawn: _hidden_drawn,
    e.InsuranceBought: _insured,
    e.BetMade: _bet,
    e.BoxFolded: _folded,
    e.InsuranceSettled: _insurance_settled,
    e.DealerGameBought: _dealer_game_bought,
    e.AnteTaken: _ante_taken,
    e.BoxSettled: _settled,
}
