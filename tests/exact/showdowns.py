"""Every deal of five cards to a player and five to the dealer, one of them open, counted by what a settlement asks.

A settlement asks only whether the dealer has a game and which hand is higher, so the 19,933,230,517,200 deals fall into
a million groups, each with four counts of dealer hands.  The counting looks at no payout and knows no combination: it
takes strengths from `evaluate` and orders them.

How the dealer's hands without any of the player's cards are counted.  For a set S of the player's cards let N(S) be the
number of hands that hold S and the open card; then the wanted number is the sum of (-1)^|S| N(S) over all S (inclusion
and exclusion).  As long as flushes are taken for what their ranks are worth, N(S) depends on ranks alone; the flushes
of the open card's suit are then moved from the one strength to the other.

Not here: what a deal pays (`returns`).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, combinations, combinations_with_replacement
from math import comb, prod
from typing import NamedTuple

from domain.hands import Combination, Hand, evaluate

Ranks = tuple[int, ...]  # ascending, 0 (deuce) to 12 (ace); a rank stands once for each card

RANKS = range(13)
HANDS = comb(52, 5)
DEALER_HANDS = comb(46, 4)  # with a given open card, none of the player's
DEALS = HANDS * 47 * DEALER_HANDS


class Against(NamedTuple):
    """How many dealer hands have no game, and how many that have one are lower than the player's, equal or higher."""

    no_game: int
    lower: int
    equal: int
    higher: int


class Situation(NamedTuple):
    """What the player sees, and what the dealer may hold.  It stands for `weight` pairs of a hand and an open card."""

    hand: Hand
    weight: int
    against: Against


class Tally:
    """Strengths with multiplicities, to be asked how many lie below a bound."""

    def __init__(self, times: Counter[int]) -> None:
        self._strengths = sorted(times)
        self._below = [0, *accumulate(times[strength] for strength in self._strengths)]

    def below(self, bound: int) -> int:
        return self._below[bisect_left(self._strengths, bound)]


def every_situation(qualifier: Combination) -> Iterator[Situation]:
    """All of them, hands that differ only in suits that mean nothing taken together."""
    for ranks, hand in ranked().items():
        yield from _situations(hand, ranks, qualifier, {held: _namings(ranks, held) for held in _holdings(ranks)})
    for ranks, hand in suited().items():
        # The open card is of the flush's suit, one of four, or of one of the other three.
        yield from _situations(hand, ranks, qualifier, {ranks: 4, (): 4 * 3})


def situation_of(cards: Sequence[int], upcard: int, qualifier: Combination) -> Against:
    """The same counts for one deal."""
    ranks = tuple(sorted(card >> 2 for card in cards))
    held = tuple(sorted(card >> 2 for card in cards if card & 3 == upcard & 3))
    return _against(_edges(evaluate(cards), qualifier), ranks, held, upcard >> 2)


def _situations(hand: Hand, ranks: Ranks, qualifier: Combination, weights: dict[Ranks, int]) -> Iterator[Situation]:
    edges = _edges(hand, qualifier)
    for upcard in RANKS:
        for held, weight in weights.items():
            if weight and upcard not in held:
                yield Situation(hand, weight, _against(edges, ranks, held, upcard))


# -- the player's hands


@cache
def ranked() -> dict[Ranks, Hand]:
    """Every five ranks with what they are worth without a flush."""
    every = combinations_with_replacement(RANKS, 5)
    # Suits in turn over sorted ranks: no rank has a suit twice, and there is no flush.
    return {
        ranks: evaluate([4 * rank + place % 4 for place, rank in enumerate(ranks)])
        for ranks in every
        if max(Counter(ranks).values()) <= 4
    }


@cache
def suited() -> dict[Ranks, Hand]:
    """Every five ranks of one suit with what they are worth."""
    return {ranks: evaluate([4 * rank for rank in ranks]) for ranks in combinations(RANKS, 5)}


def _holdings(ranks: Ranks) -> list[Ranks]:
    """What the hand may hold of the open card's suit."""
    different = sorted(set(ranks))
    return [held for size in range(len(different) + 1) for held in combinations(different, size)]


def _namings(ranks: Ranks, held: Ranks) -> int:
    """How often that is so: four suits for the open card, then suits for the other cards, flushes left out."""
    others = prod(comb(3, count - (rank in held)) for rank, count in Counter(ranks).items())
    if len(set(ranks)) == 5 and len(held) in (0, 5):
        others -= 1 if held else 3
    return 4 * others


# -- the dealer's hands


def _edges(hand: Hand, qualifier: Combination) -> tuple[int, int, int]:
    """Bounds of strength between no game, lower, equal and higher."""
    game = _first_game(qualifier)
    return game, max(hand.strength, game), max(hand.strength + 1, game)


@cache
def _first_game(qualifier: Combination) -> int:
    hands = [*ranked().values(), *suited().values()]
    return min(hand.strength for hand in hands if hand.main >= qualifier)


def _against(edges: tuple[int, int, int], ranks: Ranks, held: Ranks, upcard: int) -> Against:
    """Dealer hands with the open card and none of the player's, who holds `held` of the open card's suit."""
    plain = _plain_below(edges, ranks, upcard)
    as_ranks, as_flush = _flushes(held, upcard)
    game, own, above = [
        count - as_ranks.below(edge) + as_flush.below(edge) for count, edge in zip(plain, edges, strict=True)
    ]
    return Against(game, own - game, above - own, DEALER_HANDS - above)


@cache
def _plain_below(edges: tuple[int, int, int], ranks: Ranks, upcard: int) -> list[int]:
    """By inclusion and exclusion, flushes taken for what their ranks are worth."""
    sums = [0, 0, 0]
    for subset, times in _signed_subsets(ranks).items():
        tally = _holding().get(tuple(sorted((*subset, upcard))))
        if tally is not None:
            for place, edge in enumerate(edges):
                sums[place] += times * tally.below(edge)
    return sums


@cache
def _signed_subsets(ranks: Ranks) -> Counter[Ranks]:
    """The sets of up to four of the player's cards by their ranks, with the sign of their size."""
    subsets: Counter[Ranks] = Counter()
    for size in range(5):
        for subset in combinations(ranks, size):
            subsets[subset] += (-1) ** size
    return subsets


@cache
def _holding() -> dict[Ranks, Tally]:
    """For up to five cards by their ranks: the strengths of all hands that hold these very cards."""
    times: dict[Ranks, Counter[int]] = {}
    for ranks, hand in ranked().items():
        counts = Counter(ranks)
        for part in {part for size in range(1, 6) for part in combinations(ranks, size)}:
            given = Counter(part)
            ways = prod(comb(4 - given[rank], count - given[rank]) for rank, count in counts.items())
            times.setdefault(part, Counter())[hand.strength] += ways
    return {part: Tally(strengths) for part, strengths in times.items()}


@cache
def _flushes(held: Ranks, upcard: int) -> tuple[Tally, Tally]:
    """Five cards of the open card's suit: what their ranks are worth, and what they are worth."""
    left = [rank for rank in RANKS if rank != upcard and rank not in held]
    fives = [tuple(sorted((*four, upcard))) for four in combinations(left, 4)]
    return (
        Tally(Counter(ranked()[ranks].strength for ranks in fives)),
        Tally(Counter(suited()[ranks].strength for ranks in fives)),
    )
