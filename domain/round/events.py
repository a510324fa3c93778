"""The facts of a round, as they are stored.

Every event is in the past tense, frozen and complete: plain values, no defaults.  NAME is the stored name and outlives
the class name; a stored name is never used again for another shape (docs/formats/event-record.md).  Cards appear in an
event only when they are shown; `HiddenCardDrawn` says that a card went face down to a dark box, not which.

The fields of every event stand in the order of the alphabet, which is the order of the stored bytes.

Not here: which event may follow which (`phases`), what an event does to the state (`state`), older names (`codec`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

import msgspec

from domain.codec import Event
from domain.ruleset import Limits


class Mode(StrEnum):
    """How a box is played: seen by its player, or never (rule 3.2)."""

    OPEN = "open"
    DARK = "dark"


class By(StrEnum):
    """Who made a decision: the box's player, or the house by its published policy."""

    PLAYER = "player"
    HOUSE = "house"


class InsuranceOutcome(StrEnum):
    WON = "won"
    LOST = "lost"
    RETURNED = "returned"


class Outcome(StrEnum):
    """How a box ended (clauses 6.2 and 9.1 to 9.5)."""

    FOLDED = "folded"
    NO_GAME = "no-game"
    WON = "won"
    TIED = "tied"
    LOST = "lost"


class RoundOpened(Event, frozen=True, gc=False):
    """The house committed to a seed (rule 4.4) under one ruleset version and one table's limits."""

    NAME: ClassVar[str] = "round-opened.v1"

    commitment: str
    currency: str
    limits: Limits
    number: int
    ruleset: str
    ruleset_digest: str
    sealed_seed: str
    table: str


class BoxPlaced(Event, frozen=True, gc=False):
    """A player staked a box; a dark one brings its BET along (rule 3.6)."""

    NAME: ClassVar[str] = "box-placed.v1"

    ante: int
    bet: int
    bonus: int
    box: int
    client_seed: str
    mode: Mode
    player: str


class CardsDealt(Event, frozen=True, gc=False):
    """Bets were closed and every box and the dealer got five cards (rule 4.1); the open card of the dealer (4.2)."""

    NAME: ClassVar[str] = "cards-dealt.v1"

    beacon: str | None
    jackpot: int
    upcard: str


class JackpotContributed(Event, frozen=True, gc=False):
    """A share of a bonus stake went to the pot (rule 5.3)."""

    NAME: ClassVar[str] = "jackpot-contributed.v1"

    amount: int
    box: int


class HandShown(Event, frozen=True, gc=False):
    """A box's cards were shown: five at the deal or in turn, all of a dark box after the reveal (rule 4.3)."""

    NAME: ClassVar[str] = "hand-shown.v1"

    box: int
    cards: list[str]


class BonusSettled(Event, frozen=True, gc=False):
    """A bonus was judged on the first five cards (rule 5.1); `returned` has the stake in it when it won."""

    NAME: ClassVar[str] = "bonus-settled.v1"

    box: int
    combination: str
    returned: int
    stake: int


class JackpotWon(Event, frozen=True, gc=False):
    """A box took its share of the pot as it stood at the deal (rule 5.3)."""

    NAME: ClassVar[str] = "jackpot-won.v1"

    amount: int
    box: int
    combination: str
    pot: int


class ExchangeBought(Event, frozen=True, gc=False):
    """A box discarded the cards at these positions and paid for new ones (rule 6.4)."""

    NAME: ClassVar[str] = "exchange-bought.v1"

    box: int
    by: By
    discard: list[int]
    fee: int


class SixthCardBought(Event, frozen=True, gc=False):
    """A box paid for a sixth card (rule 6.5)."""

    NAME: ClassVar[str] = "sixth-card-bought.v1"

    box: int
    by: By
    fee: int


class SixthCardDeclined(Event, frozen=True, gc=False):
    """A dark box stayed with its five cards (rule 6.8)."""

    NAME: ClassVar[str] = "sixth-card-declined.v1"

    box: int
    by: By


class CardsDrawn(Event, frozen=True, gc=False):
    """An open box got its new cards, in the order of its discards (rule 6.7)."""

    NAME: ClassVar[str] = "cards-drawn.v1"

    box: int
    cards: list[str]


class HiddenCardDrawn(Event, frozen=True, gc=False):
    """A dark box got its sixth card face down (rule 6.8)."""

    NAME: ClassVar[str] = "hidden-card-drawn.v1"

    box: int


class InsuranceBought(Event, frozen=True, gc=False):
    """A box insured its final hand against a dealer without a game (clauses 7.1 to 7.3)."""

    NAME: ClassVar[str] = "insurance-bought.v1"

    box: int
    by: By
    stake: int


class BetMade(Event, frozen=True, gc=False):
    """A box stayed in (rule 6.3)."""

    NAME: ClassVar[str] = "bet-made.v1"

    bet: int
    box: int
    by: By


class BoxFolded(Event, frozen=True, gc=False):
    """A box gave up its ante and fees (rule 6.2)."""

    NAME: ClassVar[str] = "box-folded.v1"

    box: int
    by: By


class DealerRevealed(Event, frozen=True, gc=False):
    """The dealer's five cards were opened; the first reveal."""

    NAME: ClassVar[str] = "dealer-revealed.v1"

    cards: list[str]
    combination: str


class InsuranceSettled(Event, frozen=True, gc=False):
    """An insurance was settled at the first reveal, for good (clauses 7.4 and 7.5)."""

    NAME: ClassVar[str] = "insurance-settled.v1"

    box: int
    outcome: InsuranceOutcome
    returned: int
    stake: int


class DealerGameBought(Event, frozen=True, gc=False):
    """A box paid to have the dealer's highest card replaced (clauses 8.1 and 8.2)."""

    NAME: ClassVar[str] = "dealer-game-bought.v1"

    box: int
    by: By
    fee: int


class AnteTaken(Event, frozen=True, gc=False):
    """A box asked about the dealer's game took the ante instead (rule 8.1)."""

    NAME: ClassVar[str] = "ante-taken.v1"

    box: int
    by: By


class DealerCardReplaced(Event, frozen=True, gc=False):
    """The dealer's highest card was replaced, for the buyers together or once more free (clauses 8.2 and 8.4)."""

    NAME: ClassVar[str] = "dealer-card-replaced.v1"

    combination: str
    free: bool
    new: str
    old: str


class BoxSettled(Event, frozen=True, gc=False):
    """A box's ante and BET were settled (clause 9), with the totals of the box over the whole round.

    `ante` and `bet` are what came back of each, winnings included; `staked` counts stakes and fees, `returned` all that
    came back, `net` the difference.
    """

    NAME: ClassVar[str] = "box-settled.v1"

    ante: int
    bet: int
    box: int
    main: str | None
    net: int
    outcome: Outcome
    returned: int
    second: str | None
    staked: int


class RoundClosed(Event, frozen=True, gc=False):
    """Every box was settled; the sums over the boxes (rule 10.3)."""

    NAME: ClassVar[str] = "round-closed.v1"

    net: int
    returned: int
    staked: int


class Refund(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What brings a box to net zero: stakes and fees, less what it had been paid already."""

    amount: int
    box: int


class RoundVoided(Event, frozen=True, gc=False):
    """An irrecoverable fault ended the round without a result (rule 10.2)."""

    NAME: ClassVar[str] = "round-voided.v1"

    jackpot_reversed: int
    reason: str
    refunds: list[Refund]


class SeedRevealed(Event, frozen=True, gc=False):
    """The round has ended and its server seed is public, and with it the whole deck (rule 10.3)."""

    NAME: ClassVar[str] = "seed-revealed.v1"

    server_seed: str


RoundEvent = (
    RoundOpened
    | BoxPlaced
    | CardsDealt
    | JackpotContributed
    | HandShown
    | BonusSettled
    | JackpotWon
    | ExchangeBought
    | SixthCardBought
    | SixthCardDeclined
    | CardsDrawn
    | HiddenCardDrawn
    | InsuranceBought
    | BetMade
    | BoxFolded
    | DealerRevealed
    | InsuranceSettled
    | DealerGameBought
    | AnteTaken
    | DealerCardReplaced
    | BoxSettled
    | RoundClosed
    | RoundVoided
    | SeedRevealed
)

ROUND_EVENTS: Final[tuple[type[RoundEvent], ...]] = RoundEvent.__args__
EVENT_TYPES: Final[dict[str, type[RoundEvent]]] = {event.NAME: event for event in ROUND_EVENTS}
