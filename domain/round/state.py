"""The state of a round: folded from its events, never judged.

`apply` takes every well-formed event in any order; whether it should have happened is asked before (`decisions`) or
after (`replay`).  The state is mutable for speed; whoever must keep one as it was takes a `copy`.

Not here: hidden cards.  The state knows what the events show; the deck is an argument of `decisions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


_DARK: Final = e.Mode.DARK
_WAITING: Final = Stage.WAITING
_UNOPENED: Final = Phase.UNOPENED


class BoxState:
    """One box.  Amounts in minor units; `cards` are ids, in the order of the hand."""

    __slots__ = (
        "answer", "ante", "bet", "bonus", "bonus_returned", "bonus_settled", "bought", "box", "cards", "client_seed",
        "contribution", "dark", "discard", "draw_fee", "drew", "first_five", "folded", "hand", "hidden_draw",
        "insurance", "insurance_outcome", "insurance_returned", "jackpot", "player", "settled", "sixth", "stage",
    )  # fmt: skip

    def __init__(self, event: e.BoxPlaced) -> None:
        self.box = event.box
        self.player = event.player
        self.dark = event.mode is _DARK
        self.ante = event.ante
        self.bet = event.bet
        self.bonus = event.bonus
        self.client_seed = event.client_seed
        self.cards: Sequence[int] = ()
        self.first_five: Sequence[int] = ()
        self.hand: Hand | None = None
        self.stage = _WAITING
        self.drew = False
        self.sixth = False
        self.discard: Sequence[int] = ()
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
        "boxes", "closed", "dealer", "dealer_judged", "jackpot", "moves", "next_card", "opened", "phase", "replaced",
        "revealed", "server_seed", "upcard", "voided",
    )  # fmt: skip

    def __init__(self) -> None:
        self.boxes: list[BoxState] = []  # ascending
        self.phase = _UNOPENED
        self.moves = TRANSITIONS[_UNOPENED]
        self.opened: e.RoundOpened | None = None
        self.next_card = 0
        self.jackpot = 0
        self.upcard: str | None = None
        self.dealer: Sequence[int] = ()
        self.dealer_judged: Hand | None = None
        self.revealed = False
        self.replaced: Sequence[e.DealerCardReplaced] = ()
        self.closed: e.RoundClosed | None = None
        self.voided: e.RoundVoided | None = None
        self.server_seed: str | None = None

    def copy(self) -> RoundState:
        """A state that can go on without touching this one."""
        twin = copy(self)
        twin.boxes = [copy(box) for box in self.boxes]
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
    """The state after these events; rule 10.1: a round that was left off goes on from just this."""
    state = RoundState()
    for event in events:
        apply(state, event)
    return state


def apply(state: RoundState, event: e.RoundEvent) -> None:
    """Move the state on by one event.  An event without a handler is a bug and raises KeyError.

    An event of a box that nobody placed changes nothing but the phase (replay will name it).
    """
    kind = type(event)
    handler, of_box = _HANDLERS[kind]
    if not of_box:
        handler(state, event, None)
    else:
        number = event.box  # type: ignore[union-attr]  # the table says which events have one
        for box in state.boxes:
            if box.box == number:
                handler(state, event, box)
                break
    phase = state.moves.get(kind)
    if phase is not None and phase is not state.phase:
        state.phase = phase
        state.moves = TRANSITIONS[phase]


def _ids(texts: list[str]) -> list[int]:
    """Card ids of texts; the verifier may bring a text that is no card, which raises CardError."""
    try:
        return list(map(CARD_IDS.__getitem__, texts))
    except KeyError:
        return [parse_card(text) for text in texts]


def _opened(state: RoundState, event: e.RoundOpened, _: None) -> None:
    state.opened = event


def _placed(state: RoundState, event: e.BoxPlaced, _: None) -> None:
    state.boxes.append(BoxState(event))
    if len(state.boxes) > 1:
        state.boxes.sort(key=_number)


def _number(box: BoxState) -> int:
    return box.box


def _dealt(state: RoundState, event: e.CardsDealt, _: None) -> None:
    state.jackpot = event.jackpot
    state.upcard = event.upcard
    state.next_card = 5 * (len(state.boxes) + 1)


def _drawn(state: RoundState, event: e.CardsDrawn, box: BoxState) -> None:
    drawn = _ids(event.cards)
    state.next_card += len(drawn)
    box.stage = Stage.DREW
    box.hand = None
    if box.sixth:
        box.cards = [*box.cards, *drawn]
        return
    cards = list(box.cards)
    for position, card in zip(box.discard, drawn, strict=False):
        if 0 <= position < len(cards):
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


def _revealed(state: RoundState, event: e.DealerRevealed, _: None) -> None:
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


def _replaced(state: RoundState, event: e.DealerCardReplaced, _: None) -> None:
    old, new = parse_card(event.old), parse_card(event.new)
    state.dealer = [new if card == old else card for card in state.dealer]
    state.dealer_judged = None
    state.next_card += 1
    state.replaced = [*state.replaced, event]


def _settled(state: RoundState, event: e.BoxSettled, box: BoxState) -> None:
    box.settled = event


def _closed(state: RoundState, event: e.RoundClosed, _: None) -> None:
    state.closed = event


def _voided(state: RoundState, event: e.RoundVoided, _: None) -> None:
    state.voided = event


def _seed_revealed(state: RoundState, event: e.SeedRevealed, _: None) -> None:
    state.server_seed = event.server_seed


Handler = Callable[[RoundState, Any, Any], None]

_HANDLERS: Final[dict[type[e.RoundEvent], tuple[Handler, bool]]] = {
    e.RoundOpened: (_opened, False),
    e.BoxPlaced: (_placed, False),
    e.CardsDealt: (_dealt, False),
    e.DealerRevealed: (_revealed, False),
    e.DealerCardReplaced: (_replaced, False),
    e.RoundClosed: (_closed, False),
    e.RoundVoided: (_voided, False),
    e.SeedRevealed: (_seed_revealed, False),
    e.JackpotContributed: (_contributed, True),
    e.HandShown: (_shown, True),
    e.BonusSettled: (_bonus_settled, True),
    e.JackpotWon: (_jackpot_won, True),
    e.ExchangeBought: (_exchange_bought, True),
    e.SixthCardBought: (_sixth_bought, True),
    e.SixthCardDeclined: (_sixth_declined, True),
    e.CardsDrawn: (_drawn, True),
    e.HiddenCardDrawn: (_hidden_drawn, True),
    e.InsuranceBought: (_insured, True),
    e.BetMade: (_bet, True),
    e.BoxFolded: (_folded, True),
    e.InsuranceSettled: (_insurance_settled, True),
    e.DealerGameBought: (_dealer_game_bought, True),
    e.AnteTaken: (_ante_taken, True),
    e.BoxSettled: (_settled, True),
}
"""Every event's handler, and whether it is one of a box, which then is the third argument."""
