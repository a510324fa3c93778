"""What a player or the house may choose in a round; everything else follows from the rules, the deck and the state.

Not here: whether a choice is allowed and what it leads to (`decisions`).
"""

from __future__ import annotations

import msgspec

from domain.round.events import By, Mode


class PlaceBox(msgspec.Struct, frozen=True):
    """Stake a box before the deal.  `funds` is what the player has at hand, None where no account stands behind it."""

    box: int
    player: str
    mode: Mode
    ante: int
    bonus: int = 0
    client_seed: bytes = b""
    funds: int | None = None


class Deal(msgspec.Struct, frozen=True):
    """Close the bets and deal.  `jackpot` is the pot as it stands; `beacon` 32 public bytes if the table has one."""

    jackpot: int = 0
    beacon: bytes | None = None


class BoxChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A choice of one box.  `player` is who asks (None: the caller vouches that it is the box's own player)."""

    box: int
    by: By = By.PLAYER
    player: str | None = None
    funds: int | None = None


class Exchange(BoxChoice, frozen=True, kw_only=True, gc=False):
    """Give away the cards at these positions (0 to 4) of the hand; the new ones fill them in this order."""

    discard: tuple[int, ...]


class SixthCard(BoxChoice, frozen=True, kw_only=True, gc=False):
    """Buy a sixth card."""


class DeclineSixthCard(BoxChoice, frozen=True, kw_only=True, gc=False):
    """Leave a dark box at five cards."""


class Insure(BoxChoice, frozen=True, kw_only=True, gc=False):
    """Insure the final hand."""

    stake: int


class Bet(BoxChoice, frozen=True, kw_only=True, gc=False):
    """Stay in."""


class Fold(BoxChoice, frozen=True, kw_only=True, gc=False):
    """Give up."""


class BuyDealerGame(BoxChoice, frozen=True, kw_only=True, gc=False):
    """Pay to have the dealer's highest card replaced."""


class TakeAnte(BoxChoice, frozen=True, kw_only=True, gc=False):
    """Take the ante rather than buy the dealer's game."""


class Void(msgspec.Struct, frozen=True):
    """End the round without a result."""

    reason: str


Choice = (
    PlaceBox | Deal | Exchange | SixthCard | DeclineSixthCard | Insure | Bet | Fold | BuyDealerGame | TakeAnte | Void
)
