"""The house's own moves: what follows from the rules and the deck with no choice left to anyone.

Rules: docs/rules, clauses 4.1 and 4.3 (deal and showing), 5 (bonus), 6.7 (draws), 7.4 (insurance), 8 (the dealer's
game), 9 (showdown), 10.3 (close).

Not here: whether a choice is allowed (`guards`), what it is worth (`settlement`).
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.cards import CARD_TEXTS, card_texts
from domain.deal.shuffle import Deck
from domain.hands import COMBINATION_NAMES, Combination, Hand, evaluate
from domain.round import events as e
from domain.round.phases import Phase
from domain.round.state import BoxState, RoundState, Stage, apply
from domain.ruleset import Ruleset
from domain.settlement import (
    Settlement,
    bonus_returned,
    jackpot_amounts,
    no_game_after_purchase,
    settle,
    settle_insurance,
)

# A member of an enumeration is slow to look up in Python 3.11, and these are looked up for every event of every replay.
_BETTING, _DECIDING, _REVEALED = Phase.BETTING, Phase.DECIDING, Phase.REVEALED
_WAITING, _DRAWING, _DREW = Stage.WAITING, Stage.DRAWING, Stage.DREW


def whose_turn(state: RoundState, ruleset: Ruleset) -> BoxState | None:
    """Rule 6.1: the box that must choose now, None when nobody must."""
    if state.phase is _DECIDING:
        drew = None
        for box in state.boxes:
            if box.stage is _WAITING and (not box.dark or ruleset.dark_sixth_card):
                return box
            if box.stage is _DREW and drew is None:
                if not ruleset.draws_after_all:
                    # Rule 6.7: a box finishes, with its draw, before the next one begins.
                    return box
                drew = box
        return drew
    if state.phase is _REVEALED and dealer_game_for_sale(state, ruleset):
        for box in state.boxes:
            if box.answer is None and may_buy_dealer_game(box):
                return box
    return None


def still_to_choose(box: BoxState, ruleset: Ruleset) -> bool:
    """Whether a box has its first choice before it; rule 6.8: a dark box has none but a sixth card, where offered."""
    return box.stage is _WAITING and (not box.dark or ruleset.dark_sixth_card)


def dealer_game_for_sale(state: RoundState, ruleset: Ruleset) -> bool:
    """Rule 8.1: the game sells it, and the dealer has no game at the first reveal."""
    if ruleset.dealer_game_half_antes is None or not state.revealed:
        return False
    return state.dealer_hand().main < ruleset.qualifier


def may_buy_dealer_game(box: BoxState) -> bool:
    """Rule 8.1: an open box that stayed in."""
    return not box.dark and not box.folded


class Dealer:
    """One command's work: the state it moves on, the deck it deals from, and the events it has noted."""

    __slots__ = ("dealt", "deck", "events", "ruleset", "state")

    def __init__(self, state: RoundState, ruleset: Ruleset, deck: Deck | None) -> None:
        self.state = state
        self.ruleset = ruleset
        self.deck = deck
        self.dealt: Sequence[int] | None = None  # everybody's first five, once they are asked for
        self.events: list[e.RoundEvent] = []

    def note(self, event: e.RoundEvent) -> None:
        """A fact: keep it and move the state on."""
        self.events.append(event)
        apply(self.state, event)

    def box(self, number: int) -> BoxState:
        """A box that the guard has found."""
        box = self.state.box(number)
        assert box is not None  # the guard has looked
        return box

    def move_on(self) -> None:
        """Make every move that is the house's, until a box must choose or the round is closed."""
        phase = self.state.phase
        if phase is _BETTING:
            return
        if phase is _DECIDING:
            self._deal_draws()
            box = whose_turn(self.state, self.ruleset)
            if box is not None:
                if not box.cards and not box.dark:
                    # Rule 4.3: cards shown in turn stay hidden until the box before has finished.
                    self.show_first_five(self.state.boxes.index(box), box)
                return
            self._reveal()
        if self.state.phase is _REVEALED and whose_turn(self.state, self.ruleset) is None:
            self._showdown()

    # -- cards

    def dealt_to(self, slot: int) -> Sequence[int]:
        """Rule 4.1: the five cards dealt to the n-th box from 0; the dealer comes after the last box."""
        dealt = self.dealt
        hands = len(self.state.boxes) + 1
        if dealt is None:
            dealt = self.dealt = self._deck().cards(0, 5 * hands)
        return dealt[slot::hands] if self.ruleset.one_by_one else dealt[5 * slot : 5 * slot + 5]

    def _deck(self) -> Deck:
        if self.deck is None:
            raise ValueError("a deck is needed from the deal on")
        return self.deck

    def next_cards(self, count: int) -> Sequence[int]:
        """Rule 1.1: the next undealt cards; a discarded card never returns."""
        return self._deck().cards(self.state.next_card, self.state.next_card + count)

    def show_first_five(self, slot: int, box: BoxState) -> None:
        """Rule 4.3: a box's cards are shown; rule 5.1: its bonus is judged at once, unless it must be announced."""
        self.note(e.HandShown(box=box.box, cards=card_texts(self.dealt_to(slot))))
        if not self.ruleset.bonus_needs_announcement:
            self._settle_bonus(box)

    # -- bonus

    def announce(self, box: BoxState) -> None:
        """Rule 5.4: a bonus that must be announced is judged with the first decision that stays in."""
        if self.ruleset.bonus_needs_announcement and not box.dark:
            self._settle_bonus(box)

    def lose_unannounced_bonus(self, box: BoxState) -> None:
        """Rule 5.4: a fold before anything else loses it."""
        if box.bonus and not box.bonus_settled and self.ruleset.bonus_needs_announcement:
            main = evaluate(box.first_five).main
            self.note(e.BonusSettled(box=box.box, combination=COMBINATION_NAMES[main], returned=0, stake=box.bonus))

    def _settle_bonus(self, box: BoxState) -> None:
        """Rule 5.1: judged on the first five cards, whatever follows."""
        if not box.bonus or box.bonus_settled:
            return
        # An open hand that has not drawn yet is judged once for its bonus and for all that follows.
        main = box.final_hand().main if len(box.cards) == 5 and not box.drew else evaluate(box.first_five).main
        if main in self.ruleset.jackpot_shares:
            amount = self._jackpot_amounts()[box.box]
            name, pot = COMBINATION_NAMES[main], self.state.jackpot
            self.note(e.JackpotWon(amount=amount, box=box.box, combination=name, pot=pot))
        returned = bonus_returned(self.ruleset, box.bonus, main)
        self.note(e.BonusSettled(box=box.box, combination=COMBINATION_NAMES[main], returned=returned, stake=box.bonus))

    def _jackpot_amounts(self) -> dict[int, int]:
        """Rule 5.3: all shares follow from the deal alone, so a dark box shown late gets what its place gives it."""
        first_fives: list[tuple[int, Combination]] = [
            (box.box, evaluate(self.dealt_to(slot)).main)
            for slot, box in enumerate(self.state.boxes)
            if box.bonus and not (box.folded and self.ruleset.bonus_needs_announcement)
        ]
        return jackpot_amounts(self.ruleset, self.state.jackpot, first_fives)

    # -- draws

    def _deal_draws(self) -> None:
        """Rule 6.7: at once, or in box order when no box is left to choose."""
        boxes = self.state.boxes
        if self.ruleset.draws_after_all:
            for box in boxes:
                if still_to_choose(box, self.ruleset):
                    return
        for box in boxes:
            if box.stage is not _DRAWING:
                continue
            if box.dark:
                self.note(e.HiddenCardDrawn(box=box.box))
            else:
                count = 1 if box.sixth else len(box.discard)
                self.note(e.CardsDrawn(box=box.box, cards=card_texts(self.next_cards(count))))

    # -- reveal and showdown

    def _reveal(self) -> None:
        """The dealer opens, then dark boxes are opened, then insurances are settled (clauses 4.3 and 7.4)."""
        cards = self.dealt_to(len(self.state.boxes))
        dealer = evaluate(cards)
        self.note(e.DealerRevealed(cards=card_texts(cards), combination=COMBINATION_NAMES[dealer.main]))
        self.state.dealer_judged = dealer
        for slot, box in enumerate(self.state.boxes):
            if box.dark:
                hand = list(self.dealt_to(slot))
                if box.hidden_draw is not None:
                    hand += self._deck().cards(box.hidden_draw, box.hidden_draw + 1)
                self.note(e.HandShown(box=box.box, cards=card_texts(hand)))
                self._settle_bonus(box)
        for box in self.state.boxes:
            if box.insurance:
                outcome, returned = settle_insurance(self.ruleset, box.insurance, box.final_hand(), dealer)
                self.note(
                    e.InsuranceSettled(box=box.box, outcome=outcome, returned=returned, stake=box.insurance)
                )

    def _showdown(self) -> None:
        """Rule 8.2: boxes that did not buy are settled first, then the card is replaced, then the buyers."""
        dealer = self.state.dealer_hand()
        buyers = []
        for box in self.state.boxes:
            if box.answer:
                buyers.append(box)
            else:
                self._settle(box, self._settlement(box, dealer))
        if buyers:
            dealer = self._replace_dealer_card()
            for box in buyers:
                if dealer.main < self.ruleset.qualifier:
                    self._settle(box, no_game_after_purchase(box.ante, box.bet))
                else:
                    # Rule 8.5: an ordinary showdown.
                    self._settle(box, self._settlement(box, dealer))
        self._close()

    def _replace_dealer_card(self) -> Hand:
        """Clauses 8.2 and 8.4: the highest card goes; the same rank again and still no game goes once more, free."""
        dealer = self._replace_highest(free=False)
        last = self.state.replaced[-1]
        if self.ruleset.dealer_game_free_repeat and last.new[0] == last.old[0] and dealer.main < self.ruleset.qualifier:
            dealer = self._replace_highest(free=True)
        return dealer

    def _replace_highest(self, *, free: bool) -> Hand:
        old = max(self.state.dealer, key=lambda card: card >> 2)
        new = self.next_cards(1)[0]
        dealer = evaluate([new if card == old else card for card in self.state.dealer])
        name = COMBINATION_NAMES[dealer.main]
        self.note(e.DealerCardReplaced(combination=name, free=free, new=CARD_TEXTS[new], old=CARD_TEXTS[old]))
        return dealer

    def _settlement(self, box: BoxState, dealer: Hand) -> Settlement:
        if box.folded:
            # Rule 6.2
            return Settlement(e.Outcome.FOLDED, 0, 0, 0)
        opened = self.state.opened
        payout_max = None if opened is None else opened.limits.payout_max
        insurance_win = max(box.insurance_returned - box.insurance, 0)
        return settle(self.ruleset, box.ante, box.bet, box.final_hand(), dealer, payout_max, insurance_win)

    def _settle(self, box: BoxState, settlement: Settlement) -> None:
        """Note a box's settlement with its totals; fees are in `staked` and never come back (rule 9.6)."""
        main = second = None
        if not box.folded:
            hand = box.final_hand()
            main = COMBINATION_NAMES[hand.main]
            second_combination = self.ruleset.second(hand)
            second = None if second_combination is None else COMBINATION_NAMES[second_combination]
        staked = box.staked
        returned = settlement.ante + settlement.bet + box.returned_before_showdown
        self.note(
            e.BoxSettled(
                ante=settlement.ante,
                bet=settlement.bet,
                box=box.box,
                main=main,
                net=returned - staked,
                outcome=settlement.outcome,
                returned=returned,
                second=second,
                staked=staked,
            )
        )

    def _close(self) -> None:
        """Rule 10.3"""
        staked = returned = 0
        for box in self.state.boxes:
            if box.settled is not None:
                staked += box.settled.staked
                returned += box.settled.returned
        self.note(e.RoundClosed(net=returned - staked, returned=returned, staked=staked))
