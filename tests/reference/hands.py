"""What a hand is worth, worked out the slow way.  Rules: design/rules.md, sections 1 and 2.

A hand is judged by trying everything: every five cards of it for the main combination, every set of two to five
cards of it for the second one.  How the words of the rules are read here:

- A set of cards *forms* a combination when it has exactly that combination's forming cards: a pair is two cards,
  four of a kind is four, a straight is five.  Kickers are in no set (2.1).
- A set forms at most one combination, as a hand is one of eleven: five suited cards in a row are a straight flush and
  not also a straight.  Smaller sets inside it, or others beside it, are sets of their own.
- A *main set* is a forming set of the main combination inside any five cards of the greatest strength.  K Q J 10 9 9
  has two (one with each nine), A A A K K K has three; a hand without game has none.
- A *second* is any set that forms something and is not wholly inside the main set (2.3).  Three of four nines are in
  the main set, so four of a kind never pays its own trips; the pair of nines in K Q J 10 9 9 has a nine outside.
- Seconds of all main sets are collected; which of them pays most is for the paytable to say.
- Under `straight_and_pair` a straight of the same five ranks as the main straight (plain, flush or royal) is no
  second; what else the doubled rank forms stays.

Cards are ids, 4 * (rank - 2) + suit, ranks 2 to 14.  Not here: odds, choice among the seconds, speed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from math import factorial, prod
from typing import NamedTuple

ACE, KING, FIVE = 14, 13, 5


class Combination(IntEnum):
    """Section 1, weakest to strongest."""

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


Ranks = tuple[int, ...]
Strength = tuple[int, ...]


class Judged(NamedTuple):
    """The main combination with its five-card strength, and every combination that may stand beside it."""

    strength: Strength
    main: Combination
    seconds: frozenset[Combination]
    seconds_single_straight: frozenset[Combination]


def judge(cards: Sequence[int]) -> Judged:
    """Judge five or six distinct cards (2.2, 2.3)."""
    best = max(strength(five) for five in combinations(cards, 5))
    main = Combination(best[0])
    best_fives = [set(five) for five in combinations(cards, 5) if strength(five) == best]
    formed = {held: combination for held in forming_candidates(cards) if (combination := forms(held)) is not None}
    main_sets = [
        set(held)
        for held, combination in formed.items()
        if combination == main and any(five.issuperset(held) for five in best_fives)
    ]

    seconds: set[Combination] = set()
    seconds_single_straight: set[Combination] = set()
    for main_set in main_sets:
        for held, combination in formed.items():
            if main_set.issuperset(held):
                continue
            seconds.add(combination)
            if not doubles_the_straight(main, main_set, held):
                seconds_single_straight.add(combination)
    return Judged(best, main, frozenset(seconds), frozenset(seconds_single_straight))


def strength(five: Sequence[int]) -> Strength:
    """Five cards against five others: the greater tuple wins, equal tuples tie."""
    return strength_of_ranks(ranks_of(five), suited(five))


@cache
def strength_of_ranks(ranks: Ranks, is_suited: bool) -> Strength:
    """Combination, then ranks in the order in which a tie is broken: the most repeated first, then the highest.

    A straight is compared by its top card alone; in A 2 3 4 5 that is the five.
    """
    top = straight_top(ranks)
    if top:
        return (suited_straight(top) if is_suited else Combination.STRAIGHT, top)
    times = Counter(ranks)
    combination = Combination.FLUSH if is_suited else combination_of_ranks(times)
    return (combination, *sorted(times, key=lambda rank: (times[rank], rank), reverse=True))


def combination_of_ranks(times: Counter[int]) -> Combination:
    """The combination of five cards, no straight and no flush, from how often each rank stands in them."""
    match sorted(times.values(), reverse=True):
        case [4, 1]:
            return Combination.FOUR_OF_A_KIND
        case [3, 2]:
            return Combination.FULL_HOUSE
        case [3, 1, 1]:
            return Combination.THREE_OF_A_KIND
        case [2, 2, 1]:
            return Combination.TWO_PAIR
        case [2, 1, 1, 1]:
            return Combination.PAIR
    return Combination.ACE_KING if {ACE, KING} <= set(times) else Combination.NO_GAME


def forms(held: Sequence[int]) -> Combination | None:
    """The combination whose forming cards (2.1) are exactly these cards; most sets form none."""
    return formed_by_ranks(ranks_of(held), suited(held))


@cache
def formed_by_ranks(ranks: Ranks, is_suited: bool) -> Combination | None:
    """Two to five cards, told apart by how often each rank stands in them."""
    match sorted(Counter(ranks).values()):
        case [1, 1]:
            return Combination.ACE_KING if ranks == (KING, ACE) else None
        case [2]:
            return Combination.PAIR
        case [3]:
            return Combination.THREE_OF_A_KIND
        case [2, 2]:
            return Combination.TWO_PAIR
        case [4]:
            return Combination.FOUR_OF_A_KIND
        case [2, 3]:
            return Combination.FULL_HOUSE
        case [1, 1, 1, 1, 1]:
            return formed_by_five_ranks(ranks, is_suited)
    return None


def formed_by_five_ranks(ranks: Ranks, is_suited: bool) -> Combination | None:
    """Five different ranks form a straight, a flush, or both in one; never anything smaller."""
    top = straight_top(ranks)
    if top and is_suited:
        return suited_straight(top)
    if top:
        return Combination.STRAIGHT
    return Combination.FLUSH if is_suited else None


def doubles_the_straight(main: Combination, main_set: Iterable[int], held: Iterable[int]) -> bool:
    """Whether this is the main straight over again, with the other card of a doubled rank."""
    if main not in (Combination.STRAIGHT, Combination.STRAIGHT_FLUSH, Combination.ROYAL_FLUSH):
        return False
    return ranks_of(held) == ranks_of(main_set)


def straight_top(ranks: Ranks) -> int:
    """The top rank of five ranks in a row, the ace high or low; 0 when they are not in a row."""
    if ranks == (2, 3, 4, FIVE, ACE):
        return FIVE
    return ranks[-1] if ranks == tuple(range(ranks[0], ranks[0] + 5)) else 0


def suited_straight(top: int) -> Combination:
    """A straight in one suit is royal when the ace is on top."""
    return Combination.ROYAL_FLUSH if top == ACE else Combination.STRAIGHT_FLUSH


def forming_candidates(cards: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every set of two to five of these cards."""
    for size in range(2, 6):
        yield from combinations(cards, size)


def ranks_of(cards: Iterable[int]) -> Ranks:
    """Ranks in ascending order, 2 to 14, the ace 14."""
    return tuple(sorted([card // 4 + 2 for card in cards]))


def suited(cards: Iterable[int]) -> bool:
    """Whether the cards are all of one suit."""
    return len({card % 4 for card in cards}) == 1


# Suits have no order (section 1), so hands that differ by a renaming of suits are judged alike, and one of them
# stands for all: 134,459 hands for the 2,598,960 of five cards, 962,988 for the 20,358,520 of six.

SuitLengths = tuple[int, ...]

SUIT_LENGTHS: dict[int, tuple[SuitLengths, ...]] = {
    5: ((5,), (4, 1), (3, 2), (3, 1, 1), (2, 2, 1), (2, 1, 1, 1)),
    6: ((6,), (5, 1), (4, 2), (4, 1, 1), (3, 3), (3, 2, 1), (3, 1, 1, 1), (2, 2, 2), (2, 2, 1, 1)),
}
"""How many cards of each suit five and six cards can hold, longest suit first."""


class FoldedHand(NamedTuple):
    """One hand and the number of hands, itself included, that a renaming of suits makes of it."""

    cards: tuple[int, ...]
    weight: int


def suit_folded(lengths: SuitLengths) -> Iterator[FoldedHand]:
    """One hand for each class of hands that have these suit lengths and are equal but for the names of suits.

    Suits of the same length are interchangeable, so their holdings are drawn as a multiset.
    """
    groups = [
        combinations_with_replacement(list(combinations(range(2, ACE + 1), length)), times)
        for length, times in Counter(lengths).items()
    ]
    for drawn in product(*groups):
        holdings = [holding for group in drawn for holding in group]
        cards = tuple(4 * (r - 2) + s for s, holding in enumerate(holdings) for r in holding)
        yield FoldedHand(cards, namings(holdings))


def namings(holdings: Sequence[tuple[int, ...]]) -> int:
    """In how many different ways the four suit names fall on these holdings; suits not held are alike too."""
    alike = [*Counter(holdings).values(), 4 - len(holdings)]
    return factorial(4) // prod(factorial(times) for times in alike)
