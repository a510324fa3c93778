"""Whether a choice is allowed now: one guard a choice, each answering with a Refusal or None.

Rules: docs/rules, clauses 3 (boxes and stakes), 6 (decisions), 7 (insurance), 8.1 (the dealer's game), 10.2 (void).
The figures of the case stand in the sentence; the clause is the one on the game's own page.

Not here: what an allowed choice leads to (`decisions`, `dealer`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from domain.money import LARGEST_POT, LARGEST_STAKE, half_antes, is_amount
from domain.record import is_record_text
from domain.round import choices as c
from domain.round.dealer import dealer_game_for_sale, may_buy_dealer_game, whose_turn
from domain.round.events import Mode
from domain.round.phases import Phase
from domain.round.refusals import Refusal, RefusalCode
from domain.round.state import BoxState, RoundState, Stage
from domain.ruleset import BonusStake, Limits, Ruleset, limits_problems
from domain.settlement import insurance_limits

_OVER: Final = frozenset({Phase.CLOSED, Phase.VOIDED, Phase.ENDED})
_DARK: Final = Mode.DARK
_NOT_DEALT: Final = frozenset({Phase.UNOPENED, Phase.BETTING})

Guard = Callable[[RoundState, Ruleset, Any], Refusal | None]


def opening_refusal(limits: Limits, number: int, table: str, currency: str) -> Refusal | None:
    """Whether a round may be opened with these limits, under this number and these names."""
    for what, value in (("table's name", table), ("currency", currency)):
        if not is_record_text(value):
            return _bad_text(what)
    if not is_amount(number, 2**53 - 1) or number < 1:
        return Refusal(RefusalCode.NOT_WHOLE, f"A round number is a whole number from 1, not {number!r}.")
    return _limits_refusal(limits)


@lru_cache(maxsize=256)
def _limits_refusal(limits: Limits) -> Refusal | None:
    """Asked for every round, and a table's limits seldom change."""
    problems = limits_problems(limits, "limits")
    return Refusal(RefusalCode.LIMITS_INVALID, f"{problems[0]}.") if problems else None


def _bad_text(what: str) -> Refusal:
    text = f"A {what} is text in its composed (NFC) form, not blank and of at most 1,000 characters."
    return Refusal(RefusalCode.TEXT_INVALID, text)


# -- before the deal


def _guard_place_box(state: RoundState, ruleset: Ruleset, choice: c.PlaceBox) -> Refusal | None:
    if state.phase is not Phase.BETTING:
        return _too_late(state, "No more bets: the cards of this round are dealt.")
    if type(choice.box) is not int or not 1 <= choice.box <= ruleset.boxes_on_table:
        text = f"There is no box {choice.box!r}; this table has boxes 1 to {ruleset.boxes_on_table}."
        return Refusal(RefusalCode.BOX_UNKNOWN, text, ruleset.clause("3.1"))
    if state.box(choice.box) is not None:
        return Refusal(RefusalCode.BOX_TAKEN, f"Box {choice.box} is taken.", ruleset.clause("3.1"))
    if not choice.player:
        return Refusal(RefusalCode.PLAYER_MISSING, f"Box {choice.box} needs a player.")
    if not is_record_text(choice.player):
        return _bad_text("player's name")
    if len(choice.client_seed) > 255:
        text = f"A client seed has at most 255 bytes; this one has {len(choice.client_seed)}."
        return Refusal(RefusalCode.CLIENT_SEED_TOO_LONG, text, ruleset.clause("4.4"))
    own = [box for box in state.boxes if box.player == choice.player] if state.boxes else []
    limits = _limits(state)
    return (
        _boxes_refusal(ruleset, own, choice)
        or _ante_refusal(limits, ruleset, own, choice)
        or _bonus_refusal(limits, ruleset, choice)
        or (None if choice.funds is None else _funds_refusal(ruleset, own, choice, choice.funds))
    )


def _boxes_refusal(ruleset: Ruleset, own: list[BoxState], choice: c.PlaceBox) -> Refusal | None:
    """Clauses 3.1 and 3.2: how many boxes, which ones, and in which mode."""
    if len(own) >= ruleset.boxes_per_player:
        text = f"A player may have {ruleset.boxes_per_player} box(es) in this game."
        return Refusal(RefusalCode.TOO_MANY_BOXES, text, ruleset.clause("3.1"))
    if ruleset.boxes_adjacent and own and all(abs(box.box - choice.box) != 1 for box in own):
        text = f"Box {choice.box} is not next to your other box(es); boxes of one player must be adjacent."
        return Refusal(RefusalCode.BOXES_NOT_ADJACENT, text, ruleset.clause("3.1"))
    dark = choice.mode is _DARK
    same_mode = sum([box.dark == dark for box in own]) if own else 0
    if same_mode >= (ruleset.dark_boxes_per_player if dark else ruleset.open_boxes_per_player):
        code = RefusalCode.TOO_MANY_DARK_BOXES if dark else RefusalCode.TOO_MANY_OPEN_BOXES
        text = f"A player may have {same_mode or 'no'} {choice.mode} box(es) in this game."
        return Refusal(code, text, ruleset.clause("3.2"))
    return None


def _ante_refusal(limits: Limits, ruleset: Ruleset, own: list[BoxState], choice: c.PlaceBox) -> Refusal | None:
    """Clauses 3.3 and 3.4."""
    ante = choice.ante
    if not is_amount(ante):
        text = f"An ante is a whole number of minor units up to {LARGEST_STAKE}, not {ante!r}."
        return Refusal(RefusalCode.NOT_WHOLE, text, ruleset.clause("3.4"))
    if not limits.ante_min <= ante <= limits.ante_max or ante % limits.ante_step:
        text = (
            f"An ante of {ante} is off this table's limits: "
            f"from {limits.ante_min} to {limits.ante_max} in steps of {limits.ante_step}."
        )
        return Refusal(RefusalCode.ANTE_OFF_LIMITS, text, ruleset.clause("3.4"))
    if ruleset.antes_must_be_even and ante % 2:
        text = f"An ante of {ante} would make a price of one and a half antes a fraction; take an even ante."
        return Refusal(RefusalCode.ANTE_NOT_DIVISIBLE, text, ruleset.clause("3.4"))
    if ruleset.equal_open_antes and choice.mode is not _DARK:
        other = next((box.ante for box in own if not box.dark and box.ante != ante), None)
        if other is not None:
            text = f"Your open boxes must have equal antes: {other} on one, {ante} on box {choice.box}."
            return Refusal(RefusalCode.ANTES_NOT_EQUAL, text, ruleset.clause("3.3"))
    return None


def _bonus_refusal(limits: Limits, ruleset: Ruleset, choice: c.PlaceBox) -> Refusal | None:
    """Rule 3.5; a bonus of 0 is none."""
    bonus = choice.bonus
    if not is_amount(bonus):
        text = f"A bonus is a whole number of minor units up to {LARGEST_STAKE}, not {bonus!r}."
        return Refusal(RefusalCode.NOT_WHOLE, text, ruleset.clause("3.5"))
    if bonus == 0:
        return None
    if ruleset.bonus_stake is None:
        return Refusal(RefusalCode.BONUS_NOT_OFFERED, "This game has no bonus.", ruleset.clause("3.5"))
    lowest, highest = limits.bonus_min, limits.bonus_max
    if ruleset.bonus_stake is BonusStake.UP_TO_ANTE:
        lowest, highest = 1, choice.ante
    if not lowest <= bonus <= highest:
        text = f"A bonus of {bonus} is off limits: from {lowest} to {highest} on this box."
        return Refusal(RefusalCode.BONUS_OFF_LIMITS, text, ruleset.clause("3.5"))
    return None


def _funds_refusal(ruleset: Ruleset, own: list[BoxState], choice: c.PlaceBox, funds: int) -> Refusal | None:
    """Rule 3.7: the stakes now, and what the game wants at hand for later on every box of the player."""
    bet = ruleset.bet_antes * choice.ante if choice.mode is Mode.DARK else 0
    reserve = max(ruleset.funds_at_deal_half_antes - 2, 0)
    later = sum(half_antes(box.ante, reserve) for box in own) + half_antes(choice.ante, reserve)
    needed = choice.ante + bet + choice.bonus + later
    if funds >= needed:
        return None
    text = f"Box {choice.box} needs {needed} at hand, stakes and later decisions counted; there is {funds}."
    return Refusal(RefusalCode.FUNDS_TOO_LOW, text, ruleset.clause("3.7"))


def _guard_deal(state: RoundState, ruleset: Ruleset, choice: c.Deal) -> Refusal | None:
    if state.phase is not Phase.BETTING:
        return _too_late(state, "The cards of this round are dealt already.")
    if not state.boxes:
        return Refusal(RefusalCode.NO_BOXES, "No box has a stake.", ruleset.clause("4.1"))
    if not is_amount(choice.jackpot, LARGEST_POT):
        text = f"A jackpot is a whole number of minor units up to {LARGEST_POT}, not {choice.jackpot!r}."
        return Refusal(RefusalCode.JACKPOT_INVALID, text, ruleset.clause("5.3"))
    if choice.beacon is not None and len(choice.beacon) != 32:
        text = f"A beacon has 32 bytes; this one has {len(choice.beacon)}."
        return Refusal(RefusalCode.BEACON_INVALID, text, ruleset.clause("4.4"))
    return None


# -- decisions


def _asked_refusal(state: RoundState, ruleset: Ruleset, choice: c.BoxChoice) -> Refusal | None:
    """Rule 6.1: the round is being played, the box exists and is the asker's."""
    if state.phase in _OVER:
        return _too_late(state, "")
    if state.phase in _NOT_DEALT:
        return Refusal(RefusalCode.NOT_DEALT, "The cards are not dealt yet.", ruleset.clause("6.1"))
    box = state.box(choice.box) if type(choice.box) is int else None
    if box is None:
        text = f"Nobody plays box {choice.box!r} in this round."
        return Refusal(RefusalCode.BOX_UNKNOWN, text, ruleset.clause("3.1"))
    if choice.player is not None and choice.player != box.player:
        return Refusal(RefusalCode.NOT_YOUR_BOX, f"Box {choice.box} is another player's.", ruleset.clause("6.1"))
    return None


def _turn_refusal(state: RoundState, ruleset: Ruleset, choice: c.BoxChoice, open_only: str | None) -> Refusal | None:
    """Rule 6.1, for the decisions before the reveal; `open_only` is the clause that keeps dark boxes out."""
    turn = whose_turn(state, ruleset)
    if turn is not None and turn.box == choice.box and type(choice.box) is int and state.phase is Phase.DECIDING:
        its_own = choice.player is None or choice.player == turn.player
        if its_own and not (turn.dark and open_only):
            return None
    return _why_not_its_turn(state, ruleset, choice, turn, open_only)


def _why_not_its_turn(
    state: RoundState, ruleset: Ruleset, choice: c.BoxChoice, turn: BoxState | None, open_only: str | None
) -> Refusal:
    refusal = _asked_refusal(state, ruleset, choice)
    if refusal is not None:
        return refusal
    box = _box(state, choice)
    if box.dark and open_only is not None:
        text = f"Box {box.box} is played dark; only an open box can do this."
        return Refusal(RefusalCode.DARK_BOX, text, ruleset.clause(open_only))
    finished = box.stage is Stage.DONE or (box.dark and box.stage is Stage.DRAWING)
    if finished or state.phase is not Phase.DECIDING:
        text = f"Box {box.box} has decided; it can't be revisited."
        return Refusal(RefusalCode.ALREADY_DECIDED, text, ruleset.clause("6.1"))
    whose = "nobody's" if turn is None else f"box {turn.box}'s"
    text = f"It is not the turn of box {box.box}; it is {whose}."
    return Refusal(RefusalCode.OUT_OF_TURN, text, ruleset.clause("6.1"))


def _draw_refusal(ruleset: Ruleset, box: BoxState, choice: c.BoxChoice, half_ante_count: int) -> Refusal | None:
    """Clauses 6.6, 7.3 and 3.7: one draw a box, none after an insurance, and the BET must stay affordable."""
    if box.insurance:
        text = f"Box {box.box} is insured, so its hand is final."
        return Refusal(RefusalCode.INSURED, text, ruleset.clause("7.3"))
    if box.drew:
        text = f"Box {box.box} has drawn already; a box draws once in a round."
        return Refusal(RefusalCode.ALREADY_DREW, text, ruleset.clause("6.6"))
    reserve = 0 if box.dark else ruleset.funds_after_draw_half_antes
    return _price_refusal(ruleset, choice, half_antes(box.ante, half_ante_count) + half_antes(box.ante, reserve))


def _guard_exchange(state: RoundState, ruleset: Ruleset, choice: c.Exchange) -> Refusal | None:
    if not ruleset.exchange_half_antes:
        return Refusal(RefusalCode.NOT_OFFERED, "This game has no exchange.", ruleset.clause("6.4"))
    refusal = _turn_refusal(state, ruleset, choice, "6.8")
    if refusal is not None:
        return refusal
    discard = choice.discard
    if not all(type(p) is int and 0 <= p <= 4 for p in discard) or len(set(discard)) != len(discard) or not discard:
        text = f"An exchange names different positions from 0 to 4, at least one; not {list(discard)}."
        return Refusal(RefusalCode.DISCARD_INVALID, text, ruleset.clause("6.4"))
    largest = len(ruleset.exchange_half_antes)
    if len(discard) > largest:
        text = f"At most {largest} cards can be exchanged in this game, not {len(discard)}."
        return Refusal(RefusalCode.TOO_MANY_CARDS, text, ruleset.clause("6.4"))
    return _draw_refusal(ruleset, _box(state, choice), choice, ruleset.exchange_half_antes[len(discard) - 1])


def _guard_sixth_card(state: RoundState, ruleset: Ruleset, choice: c.SixthCard) -> Refusal | None:
    if ruleset.sixth_card_half_antes is None:
        return Refusal(RefusalCode.NOT_OFFERED, "This game has no sixth card.", ruleset.clause("6.5"))
    # Rule 6.8: a dark box may buy one only where the game says so.
    refusal = _turn_refusal(state, ruleset, choice, None if ruleset.dark_sixth_card else "6.8")
    return refusal or _draw_refusal(ruleset, _box(state, choice), choice, ruleset.sixth_card_half_antes)


def _guard_decline_sixth_card(state: RoundState, ruleset: Ruleset, choice: c.DeclineSixthCard) -> Refusal | None:
    refusal = _asked_refusal(state, ruleset, choice)
    if refusal is None and not (_box(state, choice).dark and ruleset.dark_sixth_card):
        text = f"Box {choice.box} is not asked about a sixth card."
        return Refusal(RefusalCode.NOT_OFFERED, text, ruleset.clause("6.8"))
    return refusal or _turn_refusal(state, ruleset, choice, None)


def _guard_insure(state: RoundState, ruleset: Ruleset, choice: c.Insure) -> Refusal | None:
    if ruleset.insurance_from is None:
        return Refusal(RefusalCode.NOT_OFFERED, "This game has no insurance.", ruleset.clause("7.1"))
    refusal = _turn_refusal(state, ruleset, choice, "3.6")
    if refusal is not None:
        return refusal
    box = _box(state, choice)
    if box.insurance:
        return Refusal(RefusalCode.INSURED, f"Box {box.box} is insured already.", ruleset.clause("7.3"))
    hand = box.final_hand()
    second = ruleset.second(hand)
    # Rule 7.1: the main combination or the second one reaches the lowest that can be insured.
    if hand.main < ruleset.insurance_from and (second is None or second < ruleset.insurance_from):
        text = f"Box {box.box} holds less than can be insured in this game."
        return Refusal(RefusalCode.HAND_TOO_LOW, text, ruleset.clause("7.1"))
    bet = ruleset.bet_antes * box.ante
    lowest, highest = insurance_limits(ruleset, box.ante, bet, hand, _limits(state).payout_max)
    # Rule 7.2
    if not is_amount(choice.stake, LARGEST_POT) or not lowest <= choice.stake <= highest:
        text = f"An insurance of {choice.stake!r} is off limits: from {lowest} to {highest} for this hand."
        return Refusal(RefusalCode.INSURANCE_OFF_LIMITS, text, ruleset.clause("7.2"))
    # Rule 3.7: an insured box must bet, so the BET must stay affordable.
    return _price_refusal(ruleset, choice, choice.stake + bet)


def _guard_bet(state: RoundState, ruleset: Ruleset, choice: c.Bet) -> Refusal | None:
    refusal = _turn_refusal(state, ruleset, choice, "3.6")
    if refusal is not None or choice.funds is None:
        return refusal
    return _price_refusal(ruleset, choice, ruleset.bet_antes * _box(state, choice).ante)


def _price_refusal(ruleset: Ruleset, choice: c.BoxChoice, needed: int) -> Refusal | None:
    """Rule 3.7, for one decision: what it costs now together with what it obliges to."""
    if choice.funds is None or choice.funds >= needed:
        return None
    text = f"Box {choice.box} needs {needed} at hand for this; there is {choice.funds}."
    return Refusal(RefusalCode.FUNDS_TOO_LOW, text, ruleset.clause("3.7"))


def _guard_fold(state: RoundState, ruleset: Ruleset, choice: c.Fold) -> Refusal | None:
    refusal = _turn_refusal(state, ruleset, choice, "3.6")
    if refusal is None and _box(state, choice).insurance:
        text = f"Box {choice.box} is insured, so it must bet."
        return Refusal(RefusalCode.INSURED, text, ruleset.clause("7.3"))
    return refusal


# -- after the reveal


def _guard_dealer_game(state: RoundState, ruleset: Ruleset, choice: c.BuyDealerGame | c.TakeAnte) -> Refusal | None:
    if ruleset.dealer_game_half_antes is None:
        text = "The dealer's game can't be bought in this game."
        return Refusal(RefusalCode.NOT_OFFERED, text, ruleset.clause("8.1"))
    refusal = _asked_refusal(state, ruleset, choice)
    if refusal is not None:
        return refusal
    box = _box(state, choice)
    if box.dark:
        text = f"Box {box.box} is played dark; it can't buy the dealer's game."
        return Refusal(RefusalCode.DARK_BOX, text, ruleset.clause("8.1"))
    if not dealer_game_for_sale(state, ruleset) or not may_buy_dealer_game(box):
        text = "The dealer's game is for sale only to a box that stayed in, when the dealer has opened and has no game."
        return Refusal(RefusalCode.DEALER_GAME_NOT_FOR_SALE, text, ruleset.clause("8.1"))
    if box.answer is not None:
        return Refusal(RefusalCode.ALREADY_DECIDED, f"Box {box.box} has answered.", ruleset.clause("8.1"))
    if whose_turn(state, ruleset) is not box:
        return Refusal(RefusalCode.OUT_OF_TURN, f"It is not the turn of box {box.box}.", ruleset.clause("8.1"))
    fee = half_antes(box.ante, ruleset.dealer_game_half_antes) if isinstance(choice, c.BuyDealerGame) else 0
    return _price_refusal(ruleset, choice, fee)


def _guard_void(state: RoundState, ruleset: Ruleset, choice: c.Void) -> Refusal | None:
    if not choice.reason.strip():
        return Refusal(RefusalCode.REASON_MISSING, "A void needs its reason.", ruleset.clause("10.2"))
    if not is_record_text(choice.reason):
        return _bad_text("reason")
    if state.phase is Phase.UNOPENED:
        return _too_late(state, "")
    if state.phase in _OVER or state.phase is Phase.SHOWDOWN:
        return Refusal(RefusalCode.TOO_LATE_TO_VOID, "The round is over; it can't be voided.", ruleset.clause("10.2"))
    return None



def _too_late(state: RoundState, dealt: str) -> Refusal:
    if state.phase in _OVER:
        return Refusal(RefusalCode.ROUND_ENDED, "The round is over.")
    if state.phase is Phase.UNOPENED:
        return Refusal(RefusalCode.NOT_DEALT, "The round is not opened yet.")
    return Refusal(RefusalCode.BETS_CLOSED, dealt)


def _box(state: RoundState, choice: c.BoxChoice) -> BoxState:
    box = state.box(choice.box)
    assert box is not None  # _box_refusal has looked
    return box


def _limits(state: RoundState) -> Limits:
    assert state.opened is not None  # the phase says so
    return state.opened.limits


GUARDS: Final[dict[type[c.Choice], Guard]] = {
    c.PlaceBox: _guard_place_box,
    c.Deal: _guard_deal,
    c.Exchange: _guard_exchange,
    c.SixthCard: _guard_sixth_card,
    c.DeclineSixthCard: _guard_decline_sixth_card,
    c.Insure: _guard_insure,
    c.Bet: _guard_bet,
    c.Fold: _guard_fold,
    c.BuyDealerGame: _guard_dealer_game,
    c.TakeAnte: _guard_dealer_game,
    c.Void: _guard_void,
}
