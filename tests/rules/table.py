"""A table laid down for a rule test: hands in two-letter text, decisions in the words of the trade.

    laid = Laid(game("ORP"), Box(1, "Ac Ad Ah Ks 7c"), dealer="Qc Jd 9h 8s 2c", draws="3d")
    laid.say("1 insure 10; 1 bet; 1 buy")
    assert laid.net(1) == -10

Every round goes through the real guards and decisions; whatever is not named in hands, dealer and draws is dealt from
the rest of the deck.  A finished round is held to two laws each time: its lines add up, its boxes add up.

Not here: rounds with a seed (`ops.simulation`), scenarios as JSON (`tests/replay`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

import domain.rulesets
from domain.cards import CARD_TEXTS, parse_cards
from domain.codec import Event
from domain.deal.shuffle import FixedDeck
from domain.derivation import Line, derivation
from domain.round import choices as c
from domain.round import events as e
from domain.round.decisions import advance, open_round
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from domain.round.state import BoxState, RoundState, apply
from domain.ruleset import Limits, Ruleset, load_ruleset
from domain.rulesets import released_rulesets

GAMES = {
    "RP": "russian-poker@1",
    "ORP": "open-russian-poker@1",
    "FCP": "five-card-poker@1",
    "MRP": "multibox-russian-poker@1",
}
ALL = tuple(GAMES)
WITH_SECOND = ("RP", "ORP", "MRP")

LIMITS = Limits(ante_min=1, ante_max=100_000, ante_step=1, bonus_min=1, bonus_max=100_000, payout_max=None)

# Dealers that the tests meet again and again.
NO_GAME = "Qc Jd 9h 8s 2c"
ACE_KING = "Ac Kd 9h 8s 2c"
LOW_DEALERS = (
    "2c 2d Jd 8s 4c",
    "Ad Kh 7s 6d 3s",
    "Ah Kc 6s 4s 3s",
    "2c 2d 8c Ts 6s",
    "2c 2h Js 8c 5s",
    "2c 2d 9c 7h 4h",
)

Kind = TypeVar("Kind", bound=Event)


def game(page: str) -> Ruleset:
    """The released ruleset of a rule page's prefix."""
    return released_rulesets()[GAMES[page]]


def house_version(page: str, **values: Any) -> Ruleset:
    """A casino's own version of a game: the released document with other values for some parameters."""
    document = json.loads(_document(page))
    for name, value in values.items():
        document["parameters"][name]["value"] = value
    return load_ruleset(json.dumps(document).encode())


@cache
def _document(page: str) -> bytes:
    return files(domain.rulesets).joinpath(f"{GAMES[page]}.json").read_bytes()


def limits(**values: int | None) -> Limits:
    """The limits of the tests' table with some of them changed."""
    changed: dict[str, Any] = dict(values)
    return Limits(**{name: changed.get(name, getattr(LIMITS, name)) for name in Limits.__struct_fields__})


@dataclass(frozen=True)
class Box:
    """A box with its first five cards and its stakes in minor units."""

    number: int
    hand: str = ""
    ante: int = 10
    bonus: int = 0
    mode: str = "open"
    player: str = "p1"

    def place(self) -> c.PlaceBox:
        """The stake that puts this box in play."""
        return c.PlaceBox(self.number, self.player, e.Mode(self.mode), self.ante, self.bonus)


def dark(number: int, hand: str = "", ante: int = 10, bonus: int = 0, player: str = "p1") -> Box:
    """A dark box (rule 3.6)."""
    return Box(number, hand, ante, bonus, "dark", player)


def opened_state(ruleset: Ruleset, limits: Limits = LIMITS) -> RoundState:
    """A round that takes stakes."""
    opened = open_round(
        ruleset, table="t", number=1, currency="EUR", limits=limits, commitment=bytes(32), sealed_seed=""
    )
    assert isinstance(opened, e.RoundOpened), opened
    state = RoundState()
    apply(state, opened)
    return state


def low_dealer(taken: str) -> str:
    """A dealer who qualifies with as little as the cards that are left allow."""
    for dealer in LOW_DEALERS:
        if not set(dealer.split()) & set(taken.split()):
            return dealer
    raise AssertionError(f"no dealer left beside {taken}")


def laid_deck(ruleset: Ruleset, hands: list[str], draws: str = "") -> list[int]:
    """A whole deck that deals these hands (boxes ascending, the dealer last), then these cards.

    A hand left empty is dealt from what nothing else needs; a card laid down twice raises CardError.
    """
    taken = parse_cards(" ".join([*hands, draws]).split())
    spare = [card for card in range(52) if card not in taken][::-1]
    parsed = [parse_cards(hand.split()) or [spare.pop(0) for _ in range(5)] for hand in hands]
    first = [hand[k] for k in range(5) for hand in parsed] if ruleset.one_by_one else [x for h in parsed for x in h]
    top = first + parse_cards(draws.split())
    return top + [card for card in range(52) if card not in top]


class Laid:
    """A round on a laid-down deck, dealt and ready for decisions."""

    def __init__(
        self,
        ruleset: Ruleset,
        *boxes: Box,
        dealer: str | None = None,
        draws: str = "",
        limits: Limits = LIMITS,
        jackpot: int = 0,
        deck: Sequence[int] | None = None,
    ) -> None:
        """Boxes are placed in the order given and dealt ascending; `deck` lays all 52 cards down instead of hands.

        A dealer who is not given has a pair of twos, or ace-king where the twos are needed.
        """
        self.ruleset = ruleset
        self.events: list[e.RoundEvent] = []
        self.state = opened_state(ruleset, limits)
        if self.state.opened is not None:
            self.events.append(self.state.opened)
        ascending = sorted(boxes, key=lambda box: box.number)
        hands = [box.hand for box in ascending]
        hands.append(dealer or low_dealer(" ".join([*hands, draws])))
        self.deck = FixedDeck(laid_deck(ruleset, hands, draws) if deck is None else deck)
        for box in boxes:
            self.choose(box.place())
        self.choose(c.Deal(jackpot))

    def choose(self, choice: c.Choice) -> list[e.RoundEvent]:
        """Make a choice that the rules allow."""
        made = advance(self.state, self.ruleset, self.deck, choice)
        assert not isinstance(made, Refusal), f"{choice}: {made}"
        self.events += made
        return made

    def say(self, words: str) -> Laid:
        """Decisions one after the other, as in `1 exchange 0 3; 1 insure 20; 1 bet; 1 buy`."""
        for decision in filter(None, (part.strip() for part in words.split(";"))):
            self.choose(spoken(decision))
        if self.state.phase is Phase.CLOSED:
            self._adds_up()
        return self

    def refused(self, words: str, funds: int | None = None) -> RefusalCode:
        """The code of a refused decision."""
        return self.refusal(words, funds).code

    def refusal(self, words: str, funds: int | None = None) -> Refusal:
        """A decision that the rules forbid; nothing may have moved."""
        choice = spoken(words)
        if funds is not None:
            assert isinstance(choice, c.BoxChoice)
            choice = msgspec.structs.replace(choice, funds=funds)
        before = picture(self.state)
        answer = advance(self.state, self.ruleset, self.deck, choice)
        assert isinstance(answer, Refusal), f"{words} was not refused: {answer}"
        assert picture(self.state) == before
        return answer

    # -- what came of it

    def box(self, number: int) -> BoxState:
        """The state of one box."""
        box = self.state.box(number)
        assert box is not None
        return box

    def settled(self, number: int) -> e.BoxSettled:
        """How one box was settled."""
        settled = self.box(number).settled
        assert settled is not None, f"box {number} is not settled"
        return settled

    def net(self, number: int) -> int:
        """Returned less staked of one box over the whole round."""
        return self.settled(number).net

    def lines(self, number: int) -> list[Line]:
        """The derivation of one box."""
        return derivation(self.ruleset, self.state, self.box(number))

    def all(self, kind: type[Kind]) -> list[Kind]:
        """The facts of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def story(self, *kinds: type[Event]) -> list[str]:
        """Names of the facts of these kinds with their boxes, in order: `bet-made 1`."""
        told = [event for event in self.events if isinstance(event, kinds)]
        return [f"{event.NAME.split('.')[0]} {getattr(event, 'box', '')}".strip() for event in told]

    def _adds_up(self) -> None:
        for box in self.state.boxes:
            assert sum(line.amount for line in self.lines(box.box)) == self.net(box.box)
        closed = self.state.closed
        assert closed is not None
        settled = self.all(e.BoxSettled)
        assert closed.staked == sum(box.staked for box in settled)
        assert closed.returned == sum(box.returned for box in settled)
        assert closed.net == sum(box.net for box in settled)


def spoken(words: str) -> c.Choice:
    """One decision: the box, what it does, and the positions or the stake that belong to it."""
    if words.startswith("void"):
        return c.Void(words.removeprefix("void").strip())
    number, action, *rest = words.split()
    box = int(number)
    match action:
        case "exchange":
            return c.Exchange(box=box, discard=tuple(map(int, rest)))
        case "insure":
            return c.Insure(box=box, stake=int(rest[0]))
    plain: dict[str, type[c.SixthCard | c.DeclineSixthCard | c.Bet | c.Fold | c.BuyDealerGame | c.TakeAnte]] = {
        "sixth": c.SixthCard,
        "decline": c.DeclineSixthCard,
        "bet": c.Bet,
        "fold": c.Fold,
        "buy": c.BuyDealerGame,
        "ante": c.TakeAnte,
    }
    return plain[action](box=box)


def picture(state: RoundState) -> dict[str, Any]:
    """Everything a state knows, as plain values that don't move on with it."""
    whole = _attributes(state)
    whole["boxes"] = [_attributes(box) for box in state.boxes]
    return whole


# What only remembers a judgement of cards that are known anyway.
REMEMBERED = {"hand", "dealer_judged"}


def _attributes(thing: RoundState | BoxState) -> dict[str, Any]:
    values = {name: getattr(thing, name) for name in sorted(set(type(thing).__slots__) - REMEMBERED)}
    return {name: list(value) if isinstance(value, list | tuple) else value for name, value in values.items()}


def cards(*texts: str) -> list[int]:
    """Ids of cards in two-letter text, several to a text."""
    return parse_cards([text for group in texts for text in group.split()])


def texts(ids: list[int]) -> str:
    """Two-letter text of cards."""
    return " ".join(CARD_TEXTS[card] for card in ids)
