"""What a round's facts mean in money: who pays what to whom, as double entry.

Every move of money has a player on one side and an account of the house on the other: `bank` (the house's winnings),
`jackpot:<id>` (a pool), `bonus` (money given away), `cash` (the cashier's desk, the world outside).  The lines of an
entry sum to zero.  Format: docs/formats/accounts.md.

Not here: a player's balance (`account`), a pool's (`jackpot`), what is owed to a box (`settlement`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from domain.round import events as e
from domain.round.state import BoxState, RoundState, Stage
from domain.ruleset import Ruleset

PLAYER: Final = "player"
BANK: Final = "bank"
BONUS: Final = "bonus"
CASH: Final = "cash"


def jackpot_account(jackpot: str) -> str:
    """The ledger's name of a jackpot's pool."""
    return f"jackpot:{jackpot}"


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One side of an entry; a positive amount is money that the account gets."""

    account: str
    amount: int


def lines(amounts: dict[str, int]) -> list[Line]:
    """The lines of an entry in the order of their names, those of nothing left out.  They must sum to zero."""
    if sum(amounts.values()):
        raise ValueError(f"an entry that does not balance: {amounts}")
    return [Line(account, amount) for account, amount in sorted(amounts.items()) if amount]


class Entry(StrEnum):
    """Which way money went in a round."""

    STAKED = "staked"          # player -> house: stakes and fees
    RETURNED = "returned"      # house -> player: a stake (or, in a void, a fee) given back
    WON = "won"                # house -> player: above the stake
    TAKEN_BACK = "taken-back"  # player -> house: a payment of a round that was voided afterwards


class Wager(StrEnum):
    """What money was staked on or paid for."""

    ANTE = "ante"
    BET = "bet"
    BONUS = "bonus"
    JACKPOT = "jackpot"
    INSURANCE = "insurance"
    EXCHANGE = "exchange"
    SIXTH_CARD = "sixth-card"
    DEALER_GAME = "dealer-game"


class Move(NamedTuple):
    """Money that one fact of a round (its `seq`) moves for one box; `amount` is above zero."""

    seq: int
    box: int
    player: str
    entry: Entry
    wager: Wager
    amount: int


def moves(events: Sequence[e.RoundEvent], first_seq: int, state: RoundState) -> list[Move]:
    """All money that these events of a round move; `state` is the round's state after them (or later)."""
    found = []
    for seq, event in enumerate(events, first_seq):
        kind = type(event)
        if kind is e.RoundVoided:
            for box in state.boxes:
                found += [Move(seq, box.box, box.player, *part) for part in _undone(box) if part[2]]
        elif kind in _PARTS:
            placed = state.box(event.box)  # type: ignore[union-attr]  # the events in the table have a box
            if placed is not None:
                parts = _PARTS[kind](event, placed)
                found += [Move(seq, placed.box, placed.player, *part) for part in parts if part[2]]
    return found


Part = tuple[Entry, Wager, int]


def _placed(event: e.BoxPlaced, _: BoxState) -> Iterator[Part]:
    # Rule 3.6: a dark box brings its BET along.
    yield Entry.STAKED, Wager.ANTE, event.ante
    yield Entry.STAKED, Wager.BET, event.bet
    yield Entry.STAKED, Wager.BONUS, event.bonus


def _exchange(event: e.ExchangeBought, _: BoxState) -> Iterator[Part]:
    yield Entry.STAKED, Wager.EXCHANGE, event.fee


def _sixth_card(event: e.SixthCardBought, _: BoxState) -> Iterator[Part]:
    yield Entry.STAKED, Wager.SIXTH_CARD, event.fee


def _insured(event: e.InsuranceBought, _: BoxState) -> Iterator[Part]:
    yield Entry.STAKED, Wager.INSURANCE, event.stake


def _bet(event: e.BetMade, _: BoxState) -> Iterator[Part]:
    yield Entry.STAKED, Wager.BET, event.bet


def _dealer_game(event: e.DealerGameBought, _: BoxState) -> Iterator[Part]:
    yield Entry.STAKED, Wager.DEALER_GAME, event.fee


def _jackpot_won(event: e.JackpotWon, _: BoxState) -> Iterator[Part]:
    yield Entry.WON, Wager.JACKPOT, event.amount


def _bonus_settled(event: e.BonusSettled, _: BoxState) -> Iterator[Part]:
    yield from _came_back(Wager.BONUS, event.stake, event.returned)


def _insurance_settled(event: e.InsuranceSettled, _: BoxState) -> Iterator[Part]:
    yield from _came_back(Wager.INSURANCE, event.stake, event.returned)


def _box_settled(event: e.BoxSettled, box: BoxState) -> Iterator[Part]:
    yield from _came_back(Wager.ANTE, box.ante, event.ante)
    yield from _came_back(Wager.BET, box.bet, event.bet)


def _came_back(wager: Wager, stake: int, returned: int) -> Iterator[Part]:
    yield Entry.RETURNED, wager, min(stake, returned)
    yield Entry.WON, wager, max(returned - stake, 0)


def _undone(box: BoxState) -> Iterator[Part]:
    """Rule 10.2: stakes and fees go back, and what the box had been paid already is set against them."""
    yield Entry.RETURNED, Wager.ANTE, box.ante
    yield Entry.RETURNED, Wager.BET, box.bet
    yield Entry.RETURNED, Wager.BONUS, box.bonus
    yield Entry.RETURNED, Wager.INSURANCE, box.insurance
    yield Entry.RETURNED, Wager.SIXTH_CARD if box.sixth else Wager.EXCHANGE, box.draw_fee
    yield Entry.RETURNED, Wager.DEALER_GAME, box.bought
    yield Entry.TAKEN_BACK, Wager.BONUS, box.bonus_returned
    yield Entry.TAKEN_BACK, Wager.JACKPOT, box.jackpot
    yield Entry.TAKEN_BACK, Wager.INSURANCE, box.insurance_returned


_PARTS: Final[dict[type[e.RoundEvent], Any]] = {
    e.BoxPlaced: _placed,
    e.ExchangeBought: _exchange,
    e.SixthCardBought: _sixth_card,
    e.InsuranceBought: _insured,
    e.BetMade: _bet,
    e.DealerGameBought: _dealer_game,
    e.JackpotWon: _jackpot_won,
    e.BonusSettled: _bonus_settled,
    e.InsuranceSettled: _insurance_settled,
    e.BoxSettled: _box_settled,
}


def owed_bets(state: RoundState, ruleset: Ruleset, player: str, but_for: int | None = None) -> int:
    """Rule 7.3: the BETs that a player's insured boxes must still make, but for one box (which is about to)."""
    return sum(
        ruleset.bet_antes * box.ante
        for box in state.boxes
        if box.player == player and box.box != but_for and box.insurance and box.stage is not Stage.DONE
    )
