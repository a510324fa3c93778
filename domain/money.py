"""Money: whole minor units of one currency, never a float.

Rules: docs/rules, clause 3.4.  The largest stake keeps every product of stake and odds below 2^53, the largest whole
number of the record format (docs/formats/event-record.md).

Not here: who may stake how much (`round.decisions`), accounts and currencies (a later stream).
"""

from __future__ import annotations

from typing import Final, NewType

Cents = NewType("Cents", int)
"""An amount in minor units; a negative amount is money that goes from the player to the house."""

LARGEST_STAKE: Final = 10**11
"""No single stake or limit is larger: 10^11 x (5000 + 1) is still below 2^53."""

LARGEST_POT: Final = 10**14
"""No jackpot pot is larger."""


def is_amount(value: object, largest: int = LARGEST_STAKE) -> bool:
    """Whether a value is a whole amount from 0 to `largest`; True and 1.0 are not amounts."""
    return type(value) is int and 0 <= value <= largest


def half_antes(ante: int, halves: int) -> Cents:
    """A price of so many half antes.  The ante was accepted only if this is whole (rule 3.4), so nothing is cut off."""
    return Cents(ante * halves // 2)


def floor_share(amount: int, share: tuple[int, int]) -> Cents:
    """Numerator/denominator of an amount, rounded down: the only rounding there is (rules 5.3 and 7.2)."""
    return Cents(amount * share[0] // share[1])
