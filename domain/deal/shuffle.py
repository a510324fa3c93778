"""The deck of a round.  Format: docs/formats/deal.md.

The shuffle runs forward and is read lazily: a card is fixed when it's first
asked for, and a replay of 12 dealt cards does the work of 12, not of 52.

Not here: card names (`domain.cards`), who gets which card (`domain.round`).
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from struct import Struct
from typing import Protocol

from domain.deal.commitment import ROUND_ID_SIZE, SEED_SIZE, check_size
from domain.deal.drbg import HmacDrbg

DECK_SIZE = 52
NO_BEACON = bytes(32)       # B of a table that uses no public beacon
REQUEST = 128               # bytes asked of the generator at a time
WORD_RANGE = 65_536         # a word is 16 bits

_ALL_CARDS = frozenset(range(DECK_SIZE))
_WORDS_OF_A_BLOCK = Struct(">16H")


class Deck(Protocol):
    """Cards in dealing order, wherever they come from."""

    def cards(self, start: int, stop: int) -> Sequence[int]:
        """The card ids from index `start` up to, but not including, `stop`; IndexError past the last card."""
        ...


class SeededDeck:
    """The deck that a revealed seed gives: 52 cards, shuffled only as far as they're dealt."""

    __slots__ = ("_dealt", "_undealt")

    def __init__(
        self, server_seed: bytes, round_id: bytes, ruleset_digest: bytes, entropy: bytes, beacon: bytes = NO_BEACON
    ) -> None:
        """S (32 bytes), R (16), G (32), X (32) and B (32); ValueError names the field of a wrong size."""
        check_size("server seed", server_seed, SEED_SIZE)
        check_size("round id", round_id, ROUND_ID_SIZE)
        check_size("ruleset digest", ruleset_digest, SEED_SIZE)
        check_size("entropy", entropy, SEED_SIZE)
        check_size("beacon", beacon, SEED_SIZE)
        drbg = HmacDrbg(server_seed, round_id, b"dp1/shuffle\0" + ruleset_digest + entropy + beacon)
        self._dealt: list[int] = []
        self._undealt = forward_shuffle(_words(drbg), DECK_SIZE)

    def cards(self, start: int, stop: int) -> Sequence[int]:
        """See `Deck.cards`."""
        _check_range(start, stop, DECK_SIZE)
        missing = stop - len(self._dealt)
        if missing > 0:
            self._dealt.extend(islice(self._undealt, missing))
        return self._dealt[start:stop]


class FixedDeck:
    """A deck somebody laid down: the "what if" of a scenario."""

    __slots__ = ("_cards",)

    def __init__(self, cards: Sequence[int]) -> None:
        """Distinct card ids 0 to 51 in dealing order, a whole deck or its beginning; ValueError names the position."""
        self._cards = tuple(cards)
        if len(_ALL_CARDS.intersection(self._cards)) == len(self._cards):
            return
        seen: set[int] = set()
        for position, card in enumerate(self._cards):
            if not 0 <= card < DECK_SIZE:
                raise ValueError(f"deck position {position}: {card} is not a card id (0 to {DECK_SIZE - 1})")
            if card in seen:
                raise ValueError(f"deck position {position}: card {card} stands in the deck twice")
            seen.add(card)

    def cards(self, start: int, stop: int) -> Sequence[int]:
        """See `Deck.cards`."""
        _check_range(start, stop, len(self._cards))
        return self._cards[start:stop]


def forward_shuffle(words: Iterator[int], size: int, word_range: int = WORD_RANGE) -> Iterator[int]:
    """Fisher-Yates from the front over cards 0 … size − 1; each card comes as soon as it's fixed.

    `words` are uniform in 0 … word_range − 1 and must not run out.  A word
    from the last, incomplete run of n values is discarded: else the low
    positions would be likelier than the high ones.
    """
    cards = list(range(size))
    for here in range(size - 1):
        left = size - here
        limit = word_range - word_range % left
        word = next(words)
        while word >= limit:
            word = next(words)
        there = here + word % left
        cards[here], cards[there] = cards[there], cards[here]
        yield cards[here]
    yield cards[-1]


def _words(drbg: HmacDrbg) -> Iterator[int]:
    """The generator's output as big-endian 16-bit words, without end."""
    while True:
        for block in drbg.blocks(REQUEST):
            yield from _WORDS_OF_A_BLOCK.unpack(block)


def _check_range(start: int, stop: int, size: int) -> None:
    if not 0 <= start <= stop <= size:
        raise IndexError(f"cards {start} to {stop} of a deck of {size}")
