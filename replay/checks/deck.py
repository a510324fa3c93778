"""Is every card in the record the one that the seed deals at that place?  Clauses 1.1, 4.1, 6.7 and 8.2.

Follows the recorded events, whatever they did, and looks each shown card up in the recomputed deck: a wrong decision or
amount elsewhere does not hide a wrong card here.

Not here: whether the choices were allowed (`legality`).
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.cards import CardError, card_texts
from domain.round import events as e
from domain.round.dealer import Dealer
from domain.round.state import RoundState, apply
from replay.checks.common import CARD_FIELDS, rung, why_not_recomputable
from replay.evidence import Evidence
from replay.verdict import Check, CheckName, Discrepancy


def check(evidence: Evidence) -> Check:
    """Compare the card fields of each event with the deck."""
    reason = why_not_recomputable(evidence)
    if reason is not None or evidence.deck is None or evidence.ruleset is None:
        return rung(CheckName.DECK, [], reason)
    found = []
    state = RoundState()
    dealer = Dealer(state, evidence.ruleset, evidence.deck)
    for place, record in evidence.placed:
        event = record.data
        for field in CARD_FIELDS.get(type(event), ()):
            recorded, expected = getattr(event, field), _expected(dealer, event)
            if recorded != expected:
                found.append(Discrepancy(place, event.NAME, field, recorded, expected))
        try:
            apply(state, event)
        except (CardError, ValueError):
            continue  # a text that is no card was named above; the walk goes on without it
    return rung(CheckName.DECK, found)


def _expected(dealer: Dealer, event: e.RoundEvent) -> str | list[str] | None:
    """The cards that this event should show, None where the record left no place for any."""
    state = dealer.state
    try:
        match event:
            case e.CardsDealt():
                return card_texts(dealer.dealt_to(len(state.boxes)))[dealer.ruleset.upcard_index]
            case e.DealerRevealed():
                return card_texts(dealer.dealt_to(len(state.boxes)))
            case e.DealerCardReplaced():
                return card_texts(dealer.next_cards(1))[0]
            case e.CardsDrawn():
                box = state.box(event.box)
                return None if box is None else card_texts(dealer.next_cards(1 if box.sixth else len(box.discard)))
            case e.HandShown():
                return _shown(dealer, event.box)
    except IndexError:
        return None
    return None


def _shown(dealer: Dealer, number: int) -> list[str] | None:
    box = dealer.state.box(number)
    if box is None:
        return None
    hand: list[int] = [*dealer.dealt_to(dealer.state.boxes.index(box))]
    if box.hidden_draw is not None:
        hand += _cards(dealer, box.hidden_draw)
    return card_texts(hand)


def _cards(dealer: Dealer, index: int) -> Sequence[int]:
    assert dealer.deck is not None  # the caller has one
    return dealer.deck.cards(index, index + 1)
