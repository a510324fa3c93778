"""What a player or the house may choose in a round; everything else follows from the rules, the deck and the state.

Not here: whether a choice is allowed and what it leads to (`decisions`).
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.round.events import By, Mode


@dataclass(frozen=True, slots=True)
class PlaceBox:
    """Stake a box before the deal.  `funds` is what the player has at hand, None where no account stands behind it."""

    box: int
    player: str
    mode: Mode
    ante: int
    bonus: int = 0
    client_seed: bytes = b""
    funds: int | None = None


@dataclass(frozen=True, slots=True)
class Deal:
    """Close the bets and deal.  `jackpot` is the pot as it stands; `beacon`: 32 public bytes where the table has one."""

    jackpot: int = 0
    beacon: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxChoice:
    """A choice of one box.  `player` is who asks (None: the caller vouches that it is the box's own player)."""

    box: int
    by: By = By.PLAYER
    player: str | None = None
    funds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange(BoxChoice):
    """Give away the cards at these positions (0 to 4) of the hand; the new ones fill them in this order."""

    discard: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SixthCard(BoxChoice):
    """Buy a sixth card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclineSixthCard(BoxChoice):
    """Leave a dark box at five cards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Insure(BoxChoice):
    """Insure the final hand."""

    stake: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bet(BoxChoice):
    """Stay in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold(BoxChoice):
    """Give up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuyDealerGame(BoxChoice):
    """Pay to have the dealer's highest card replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeAnte(BoxChoice):
    """Take the ante rather than buy the dealer's game."""


@dataclass(frozen=True, slots=True)
class Void:
    """End the round without a result."""

    reason: str


Choice = (
    PlaceBox | Deal | Exchange | SixthCard | DeclineSixthCard | Insure | Bet | Fold | BuyDealerGame | TakeAnte | Void
)
