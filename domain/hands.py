"""Five and six cards: the main combination, its strength, and what may stand as a second one.

Rules: docs/rules, clauses 1.2 to 1.5 (combinations, ties) and 2.1 to 2.5 (second combination).

A hand without five cards of one suit depends on its ranks alone, so its judgement is looked up by the multiset of
ranks; a hand with a flush is looked up by the ranks of that suit and the ranks of all.  Each entry is worked out from
the rules the first time it is asked for and kept: there are 18,395 + 18,447 six-card entries at most.

Not here: what a combination pays (`ruleset`), which of several seconds counts (it depends on the odds: `ruleset`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import combinations, product
from typing import Final, NamedTuple

from domain.cards import ACE, DECK_SIZE, KING


class Combination(IntEnum):
    """Rule 1.2: the eleven combinations, weakest first."""

    NO_GAME = 0
    ACE_KING = 1
    PAIR = 2
    TWO_PAIR = 3
    THREE_OF_A_KIND = 4
    STRAIGHT = 5
    FLUSH = 6
    FULL_HOUSE = 7
    FOUR_OF_A_KIND = 8
    STRAIGHT_FLUSH = 9
    ROYAL_FLUSH = 10


COMBINATION_NAMES: Final[tuple[str, ...]] = tuple(c.name.lower().replace("_", "-") for c in Combination)
COMBINATION_WORDS: Final[tuple[str, ...]] = tuple(
    name if name == "ace-king" else name.replace("-", " ") for name in COMBINATION_NAMES
)
COMBINATION_BY_NAME: Final[dict[str, Combination]] = {COMBINATION_NAMES[c]: c for c in Combination}


class Hand(NamedTuple):
    """What five or six cards are worth, whatever the game pays for it.

    `strength` compares main combinations (rule 2.2): higher wins, equal ties; 7,462 values.  The two masks have bit
    `1 << combination` set for each combination that may stand as the second one (rule 2.3), once with doubled
    straights as two straights and once as straight and pair (rule 2.5).
    """

    strength: int
    main: Combination
    seconds: int
    seconds_single_straight: int


def evaluate(cards: Sequence[int]) -> Hand:
    """Judge five or six distinct card ids, in any order."""
    key = 0
    for card in cards:
        key += _CARD_KEYS[card]
    suits = key >> _SUIT_SHIFT
    if (suits + 0x3333) & 0x8888:  # some suit has five cards or six
        return _flush_hand(cards, key)
    return _BY_RANKS[key & _RANKS_MASK]


# -- look-up keys: three bits a rank, above them four bits a suit, both counting cards

_SUIT_SHIFT: Final = 39
_RANKS_MASK: Final = (1 << _SUIT_SHIFT) - 1
_CARD_KEYS: Final[tuple[int, ...]] = tuple(
    (1 << (3 * (card >> 2))) + (1 << (_SUIT_SHIFT + 4 * (card & 3))) for card in range(DECK_SIZE)
)


class _HandsByRanks(dict[int, Hand]):
    """Hands without a flush by their counts of ranks, worked out when first asked for."""

    def __missing__(self, key: int) -> Hand:
        ranks = [rank for rank in range(13) for _ in range((key >> (3 * rank)) & 7)]
        hand = self[key] = _judge(_apart(ranks))
        return hand


def _apart(ranks: Sequence[int]) -> list[int]:
    """Cards of these ranks (sorted) of which no five share a suit."""
    cards: list[int] = []
    for index, rank in enumerate(ranks):
        # Four suits in turn over a sorted list: equal ranks stand together, so they differ; a suit comes twice at most.
        cards.append(4 * rank + index % 4)
    return cards


_BY_RANKS: Final = _HandsByRanks()
_BY_FLUSH: Final[dict[tuple[int, int], Hand]] = {}


def _flush_hand(cards: Sequence[int], key: int) -> Hand:
    """A hand with five or six cards of one suit depends on the ranks in that suit and on all its ranks."""
    counts = Counter(card & 3 for card in cards)
    suit = counts.most_common(1)[0][0]
    in_suit = sum(1 << (card >> 2) for card in cards if card & 3 == suit)
    flush_key = (in_suit, key & _RANKS_MASK)
    hand = _BY_FLUSH.get(flush_key)
    if hand is None:
        hand = _BY_FLUSH[flush_key] = _judge(cards)
    return hand


# -- judging from the rules


Formed = tuple[Combination, frozenset[int]]
"""A combination and the cards that form it (rule 2.1)."""


def _judge(cards: Sequence[int]) -> Hand:
    """Work a hand out from clauses 1 and 2, card by card."""
    fives = [_five_cards(five) for five in combinations(cards, 5)]
    strength = max([value for value, _ in fives])
    main = Combination(strength >> 20)
    # Rule 2.2; where several sets of cards make the same main hand, each may leave another second one.
    main_sets = {forming for value, forming in fives if value == strength}
    runs_and_flushes = [(Combination(value >> 20), forming) for value, forming in fives if value >> 20 in _OF_FIVE]
    formed = [*_sets_of_ranks(cards), *runs_and_flushes]
    seconds = single = 0
    for main_set in main_sets:
        for combination, forming in formed:
            if forming <= main_set:
                continue  # rule 2.3: a second needs a card that does not form the main one
            bit = 1 << combination
            seconds |= bit
            if combination != Combination.STRAIGHT or _ranks(forming) != _ranks(main_set):
                single |= bit  # rule 2.5: the same five ranks once more are a pair there, not a second straight
    return Hand(strength, main, seconds, single)


def _five_cards(cards: Sequence[int]) -> tuple[int, frozenset[int]]:
    """Strength of exactly five cards and the set of cards that form the combination (rule 2.1).

    The strength is the combination above five four-bit ranks that decide a tie (rule 1.4).
    """
    counts: dict[int, int] = {}
    for card in cards:
        counts[card >> 2] = counts.get(card >> 2, 0) + 1
    weights = sorted([(count, rank) for rank, count in counts.items()], reverse=True)
    by_weight = [rank for _, rank in weights]
    flush = len({card & 3 for card in cards}) == 1
    high = _straight_high(by_weight)
    if high is not None:
        combination = Combination.STRAIGHT
        if flush:
            combination = Combination.ROYAL_FLUSH if high == ACE else Combination.STRAIGHT_FLUSH
        return _pack(combination, [high]), frozenset(cards)
    if flush:
        return _pack(Combination.FLUSH, by_weight), frozenset(cards)
    shape = tuple([count for count, _ in weights])
    if shape in _BY_SHAPE:
        combination, forming_ranks = _BY_SHAPE[shape]
        leading = by_weight[:forming_ranks]
        return _pack(combination, by_weight), frozenset([card for card in cards if card >> 2 in leading])
    if by_weight[:2] == [ACE, KING]:
        return _pack(Combination.ACE_KING, by_weight), frozenset([card for card in cards if card >> 2 >= KING])
    return _pack(Combination.NO_GAME, by_weight), frozenset()


# counts of ranks, most first -> combination, and how many of its ranks form it (rule 2.1: kickers never count)
_BY_SHAPE: Final[dict[tuple[int, ...], tuple[Combination, int]]] = {
    (4, 1): (Combination.FOUR_OF_A_KIND, 1),
    (3, 2): (Combination.FULL_HOUSE, 2),
    (3, 1, 1): (Combination.THREE_OF_A_KIND, 1),
    (2, 2, 1): (Combination.TWO_PAIR, 2),
    (2, 1, 1, 1): (Combination.PAIR, 1),
}

_WHEEL: Final = [ACE, 3, 2, 1, 0]


def _straight_high(ranks: Sequence[int]) -> int | None:
    """Rule 1.3: the highest rank of a straight, the five in A-2-3-4-5; None if different ranks, falling, make none."""
    if len(ranks) != 5:
        return None
    if ranks == _WHEEL:
        return 3
    return ranks[0] if ranks[0] - ranks[4] == 4 else None


def _pack(combination: Combination, ranks: Sequence[int]) -> int:
    packed = int(combination)
    for rank in [*ranks, 0, 0, 0, 0, 0][:5]:
        packed = packed << 4 | rank
    return packed


def _sets_of_ranks(cards: Sequence[int]) -> Iterator[Formed]:
    """Every ace-king, pair, two pair, three, full house and four that some of the cards form."""
    by_rank: dict[int, list[int]] = {}
    for card in cards:
        by_rank.setdefault(card >> 2, []).append(card)
    for pair in product(by_rank.get(ACE, ()), by_rank.get(KING, ())):
        yield Combination.ACE_KING, frozenset(pair)
    twos, threes = _same_rank(by_rank, 2), _same_rank(by_rank, 3)
    yield from ((Combination.PAIR, two) for _, two in twos)
    yield from ((Combination.THREE_OF_A_KIND, three) for _, three in threes)
    yield from ((Combination.FOUR_OF_A_KIND, four) for _, four in _same_rank(by_rank, 4))
    yield from ((Combination.TWO_PAIR, one | other) for (r, one), (q, other) in combinations(twos, 2) if r != q)
    yield from ((Combination.FULL_HOUSE, three | two) for (r, three), (q, two) in product(threes, twos) if r != q)


def _same_rank(by_rank: dict[int, list[int]], count: int) -> list[tuple[int, frozenset[int]]]:
    """Every set of so many cards of one rank, with the rank."""
    return [
        (rank, frozenset(cards))
        for rank, same in by_rank.items()
        if len(same) >= count
        for cards in combinations(same, count)
    ]


_OF_FIVE: Final = {
    Combination.STRAIGHT,
    Combination.FLUSH,
    Combination.STRAIGHT_FLUSH,
    Combination.ROYAL_FLUSH,
}
"""Combinations of five single cards; those of equal ranks are found by `_sets_of_ranks`."""


def _ranks(cards: frozenset[int]) -> frozenset[int]:
    return frozenset(card >> 2 for card in cards)
