"""Every deal of five cards to a player and five to the dealer, one of them open, counted by what a settlement asks.

A settlement asks only whether the dealer has a game and which hand is higher, so the 19,933,230,517,200 deals fall into
1,121,471 situations, each with four counts of dealer hands.  The counting looks at no payout and knows no combination:
it takes strengths from `evaluate` and orders them.

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
from operator import add
from typing import NamedTuple

from domain.hands import Combination, Hand, evaluate

Ranks = tuple[int, ...]  # ascending, 0 (deuce) to 12 (ace); a rank stands once for each card
Edges = tuple[int, int, int]  # bounds of strength: the weakest game, the player's hand, what is above it

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
    """An open card the player sees, and what the dealer may hold.  It stands for `weight` deals of hand and card."""

    weight: int
    against: Against


class Deals(NamedTuple):
    """All that may happen to one hand: situation by situation, and the sums over them."""

    hand: Hand
    situations: list[Situation]
    altogether: Against


class Tally:
    """Strengths with multiplicities, to be asked how many lie below each edge."""

    def __init__(self, times: Counter[int]) -> None:
        self._strengths = sorted(times)
        self._below = [0, *accumulate(times[strength] for strength in self._strengths)]

    def below(self, edges: Edges) -> tuple[int, int, int]:
        strengths, below = self._strengths, self._below
        game, own, above = edges
        return (
            below[bisect_left(strengths, game)],
            below[bisect_left(strengths, own)],
            below[bisect_left(strengths, above)],
        )


def every_hand(qualifier: Combination) -> Iterator[Deals]:
    """All of them by the player's hand; hands and open cards that differ in suits without a meaning come as one."""
    for ranks, hand in ranked().items():
        held = {held: _namings(ranks, held) for held in _holdings(ranks)}
        yield _deals(hand, ranks, qualifier, held)
    for ranks, hand in suited().items():
        # The open card is of the flush's suit, one of four, or of one of the other three.
        yield _deals(hand, ranks, qualifier, {ranks: 4, (): 4 * 3})


def against_in(cards: Sequence[int], upcard: int, qualifier: Combination) -> Against:
    """The counts of one deal."""
    edges = _edges(evaluate(cards), qualifier)
    ranks = tuple(sorted(card >> 2 for card in cards))
    held = tuple(sorted(card >> 2 for card in cards if card & 3 == upcard & 3))
    return _against(edges, _plain_below(edges, ranks, upcard >> 2), _flushes(held, upcard >> 2))


def _deals(hand: Hand, ranks: Ranks, qualifier: Combination, weights: dict[Ranks, int]) -> Deals:
    """The situations of a hand, given how many hands hold what of the open card's suit."""
    edges = _edges(hand, qualifier)
    situations = []
    for upcard in RANKS:
        plain = _plain_below(edges, ranks, upcard)
        for held, weight in weights.items():
            if weight and upcard not in held:
                situations.append(Situation(weight, _against(edges, plain, _flushes(held, upcard))))
    sums = [sum(weight * against[kind] for weight, against in situations) for kind in range(4)]
    return Deals(hand, situations, Against(*sums))


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


def _edges(hand: Hand, qualifier: Combination) -> Edges:
    """Where no game ends, lower ends and equal ends; without a game of his own the player meets only higher ones."""
    game = _first_game(qualifier)
    return game, max(hand.strength, game), max(hand.strength + 1, game)


@cache
def _first_game(qualifier: Combination) -> int:
    hands = [*ranked().values(), *suited().values()]
    return min(hand.strength for hand in hands if hand.main >= qualifier)


def _against(edges: Edges, plain: list[int], flushes: Tally) -> Against:
    game, own, above = map(add, plain, flushes.below(edges))
    return Against(game, own - game, above - own, DEALER_HANDS - above)


def _plain_below(edges: Edges, ranks: Ranks, upcard: int) -> list[int]:
    """Dealer hands below each edge, with the open card and none of the player's; flushes count by their ranks."""
    holding = _holding()
    sums = [0, 0, 0]
    for subset, times in _signed_subsets(ranks).items():
        tally = holding.get(tuple(sorted((*subset, upcard))))
        if tally is not None:
            sums = [total + times * below for total, below in zip(sums, tally.below(edges), strict=True)]
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
def _flushes(held: Ranks, upcard: int) -> Tally:
    """Hands all of the open card's suit, of which the player holds these ranks: from the one strength to the other."""
    moved: Counter[int] = Counter()
    for four in combinations([rank for rank in RANKS if rank != upcard and rank not in held], 4):
        ranks = tuple(sorted((*four, upcard)))
        moved[ranked()[ranks].strength] -= 1
        moved[suited()[ranks].strength] += 1
    return Tally(moved)
