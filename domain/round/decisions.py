"""May this be done now, and what does it lead to?  Pure: state + ruleset + deck + choice -> events, or a Refusal.

`decide` first asks the guard of the choice for a refusal (`guards`), then notes the choice as an event and makes the
house's moves up to the next choice of a player (`dealer`).  It never touches the state it is given; `advance` is the
same on a state that the caller hands over.

Not here: the clock, the seed's secrecy and the store (`ops`), what a settlement is worth (`settlement`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from domain.cards import CARD_TEXTS
from domain.deal.shuffle import Deck
from domain.money import floor_share, half_antes
from domain.round import choices as c
from domain.round import events as e
from domain.round.dealer import Dealer
from domain.round.guards import GUARDS, opening_refusal
from domain.round.refusals import Refusal
from domain.round.state import RoundState
from domain.ruleset import Limits, Ruleset


def open_round(
    ruleset: Ruleset, *, table: str, number: int, currency: str, limits: Limits, commitment: bytes, sealed_seed: str
) -> e.RoundOpened | Refusal:
    """The first event of a round (rule 4.4).  `number` counts the table's rounds from 1."""
    refusal = opening_refusal(limits, number, table, currency)
    if refusal is not None:
        return refusal
    return e.RoundOpened(
        commitment=commitment.hex(),
        currency=currency,
        limits=limits,
        number=number,
        ruleset=ruleset.name,
        ruleset_digest=ruleset.digest.hex(),
        sealed_seed=sealed_seed,
        table=table,
    )


def decide(state: RoundState, ruleset: Ruleset, deck: Deck | None, choice: c.Choice) -> list[e.RoundEvent] | Refusal:
    """The events that a choice leads to, or why it is refused.  Before the deal no deck is needed."""
    return advance(state.copy(), ruleset, deck, choice)


def advance(state: RoundState, ruleset: Ruleset, deck: Deck | None, choice: c.Choice) -> list[e.RoundEvent] | Refusal:
    """As `decide`, but moves the given state on; after a refusal the state is as it was."""
    dealer = Dealer(state, ruleset, deck)
    return take(dealer, choice) or dealer.events


def take(dealer: Dealer, choice: c.Choice) -> Refusal | None:
    """Have a dealer take one choice after the other, noting all events; a refused one changes nothing."""
    kind = type(choice)
    refusal = GUARDS[kind](dealer.state, dealer.ruleset, choice)
    if refusal is None:
        _EFFECTS[kind](dealer, choice)
        dealer.move_on()
    return refusal


def reveal_seed(server_seed: bytes) -> e.SeedRevealed:
    """The last event of a closed or voided round (rule 10.3)."""
    return e.SeedRevealed(server_seed=server_seed.hex())


def _place_box(dealer: Dealer, choice: c.PlaceBox) -> None:
    # Rule 3.6: a dark box brings its BET along.
    bet = dealer.ruleset.bet_antes * choice.ante if choice.mode is e.Mode.DARK else 0
    dealer.note(
        e.BoxPlaced(
            ante=choice.ante,
            bet=bet,
            bonus=choice.bonus,
            box=choice.box,
            client_seed=choice.client_seed.hex(),
            mode=choice.mode,
            player=choice.player,
        )
    )


def _deal(dealer: Dealer, choice: c.Deal) -> None:
    beacon = None if choice.beacon is None else choice.beacon.hex()
    # Rule 4.2: the dealer's first or last card is dealt open.
    upcard = dealer.dealt_to(len(dealer.state.boxes))[dealer.ruleset.upcard_index]
    dealer.note(e.CardsDealt(beacon=beacon, jackpot=choice.jackpot, upcard=CARD_TEXTS[upcard]))
    if dealer.ruleset.jackpot_contribution[0]:
        for box in dealer.state.boxes:
            # Rule 5.3: a share of each bonus stake, rounded down, goes to the pot.
            amount = floor_share(box.bonus, dealer.ruleset.jackpot_contribution)
            if amount:
                dealer.note(e.JackpotContributed(amount=amount, box=box.box))
    if not dealer.ruleset.hands_in_turn:
        # Rule 4.3
        for slot, box in enumerate(dealer.state.boxes):
            if not box.dark:
                dealer.show_first_five(slot, box)


def _exchange(dealer: Dealer, choice: c.Exchange) -> None:
    box = dealer.box(choice.box)
    # Rule 6.4
    fee = half_antes(box.ante, dealer.ruleset.exchange_half_antes[len(choice.discard) - 1])
    dealer.note(e.ExchangeBought(box=box.box, by=choice.by, discard=list(choice.discard), fee=fee))
    dealer.announce(box)


def _sixth_card(dealer: Dealer, choice: c.SixthCard) -> None:
    box = dealer.box(choice.box)
    # Rule 6.5
    fee = half_antes(box.ante, dealer.ruleset.sixth_card_half_antes or 0)
    dealer.note(e.SixthCardBought(box=box.box, by=choice.by, fee=fee))
    dealer.announce(box)


def _decline_sixth_card(dealer: Dealer, choice: c.DeclineSixthCard) -> None:
    # Rule 6.8
    dealer.note(e.SixthCardDeclined(box=choice.box, by=choice.by))


def _insure(dealer: Dealer, choice: c.Insure) -> None:
    # Rule 7.3
    dealer.note(e.InsuranceBought(box=choice.box, by=choice.by, stake=choice.stake))
    dealer.announce(dealer.box(choice.box))


def _bet(dealer: Dealer, choice: c.Bet) -> None:
    box = dealer.box(choice.box)
    # Rule 6.3
    dealer.note(e.BetMade(bet=dealer.ruleset.bet_antes * box.ante, box=box.box, by=choice.by))
    dealer.announce(box)


def _fold(dealer: Dealer, choice: c.Fold) -> None:
    # Rule 6.2
    dealer.note(e.BoxFolded(box=choice.box, by=choice.by))
    dealer.lose_unannounced_bonus(dealer.box(choice.box))


def _buy_dealer_game(dealer: Dealer, choice: c.BuyDealerGame) -> None:
    # Rule 8.2
    fee = half_antes(dealer.box(choice.box).ante, dealer.ruleset.dealer_game_half_antes or 0)
    dealer.note(e.DealerGameBought(box=choice.box, by=choice.by, fee=fee))


def _take_ante(dealer: Dealer, choice: c.TakeAnte) -> None:
    # Rule 8.1
    dealer.note(e.AnteTaken(box=choice.box, by=choice.by))


def _void(dealer: Dealer, choice: c.Void) -> None:
    # Rule 10.2: every box ends at net zero, whatever it has been paid already.
    refunds = [e.Refund(amount=box.staked - box.returned_before_showdown, box=box.box) for box in dealer.state.boxes]
    contributed = sum(box.contribution for box in dealer.state.boxes)
    dealer.note(e.RoundVoided(jackpot_reversed=contributed, reason=choice.reason, refunds=refunds))


_EFFECTS: Final[dict[type[c.Choice], Callable[[Dealer, Any], None]]] = {
    c.PlaceBox: _place_box,
    c.Deal: _deal,
    c.Exchange: _exchange,
    c.SixthCard: _sixth_card,
    c.DeclineSixthCard: _decline_sixth_card,
    c.Insure: _insure,
    c.Bet: _bet,
    c.Fold: _fold,
    c.BuyDealerGame: _buy_dealer_game,
    c.TakeAnte: _take_ante,
    c.Void: _void,
}

