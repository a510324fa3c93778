"""Cards: ids, two-letter text, and the text a person reads.

A card id is 4 x (rank - 2) + suit, ranks 2 ... 14 (ace), suits clubs, diamonds, hearts, spades = 0 ... 3
(docs/formats/deal.md).  The stored text is rank then suit, `2c` ... `As`, `T` for ten.

Not here: which hand is worth more (`hands`), which card comes next (`deal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

RANKS: Final = "23456789TJQKA"
SUITS: Final = "cdhs"
DECK_SIZE: Final = 52
ACE: Final = 12  # rank indexes: deuce = 0 ... ace = 12
KING: Final = 11

CARD_TEXTS: Final[tuple[str, ...]] = tuple(rank + suit for rank in RANKS for suit in SUITS)
CARD_IDS: Final[dict[str, int]] = {text: card for card, text in enumerate(CARD_TEXTS)}
_SUIT_SIGNS: Final = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}


class CardError(ValueError):
    """A text that is no card, or a set of cards that can't lie on one table."""


def parse_card(text: object) -> int:
    """The id of a two-letter card text.  Raises CardError that names the text."""
    card = CARD_IDS.get(text) if isinstance(text, str) else None
    if card is None:
        raise CardError(_not_a_card(text))
    return card


def parse_cards(texts: Sequence[object]) -> list[int]:
    """Ids of distinct cards.  Raises CardError that names the position of what is wrong."""
    try:
        cards = [CARD_IDS[text] for text in texts]  # type: ignore[index]
    except (KeyError, TypeError):  # a TypeError is a list or an object where a text belongs
        position, text = next((p, t) for p, t in enumerate(texts) if not isinstance(t, str) or t not in CARD_IDS)
        raise CardError(f"card {position}: {_not_a_card(text)}") from None
    if len(set(cards)) != len(cards):
        position = next(p for p, card in enumerate(cards) if card in cards[:p])
        first = cards.index(cards[position])
        raise CardError(f"card {position}: {texts[position]} stands there twice (first at {first})")
    return cards


def _not_a_card(text: object) -> str:
    return f"{text!r} is not a card; a card is a rank 2-9 T J Q K A and a suit c d h s, as in 'Td'"


def card_text(card: int) -> str:
    """Two-letter text of a card id."""
    return CARD_TEXTS[card]


def card_texts(cards: Iterable[int]) -> list[str]:
    """Two-letter texts of card ids, in the same order."""
    return list(map(CARD_TEXTS.__getitem__, cards))


def pretty_card(text: str) -> str:
    """The text a person reads: `Td` is `10♦`."""
    rank = "10" if text[0] == "T" else text[0]
    return rank + _SUIT_SIGNS[text[1]]
