"""Exact returns of the bonus on the first five cards: rules.md, section 6.  Page: exact-numbers.md."""

from collections import Counter
from fractions import Fraction
from functools import cache
from math import comb

import pytest

from domain.hands import Combination, evaluate
from domain.ruleset import Ruleset
from domain.rulesets import released_rulesets
from domain.settlement import bonus_returned
from tests.exact.returns import to_places
from tests.reference.hands import SUIT_LENGTHS, suit_folded


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ("russian-poker@1", Fraction(-19_813, 649_740)),
        ("five-card-poker@1", Fraction(-14_691, 216_580)),
        ("multibox-russian-poker@1", Fraction(-19_813, 649_740)),
    ],
)
def test_a_bonus_returns_the_published_share_of_its_stake(game: str, expected: Fraction) -> None:
    assert bonus_return(released_rulesets()[game]) == expected


def test_fixed_rows_of_the_jackpot_bonus_return_the_published_share() -> None:
    """The jackpot itself is left out; its two rows hand back the stake (rule 5.3)."""
    value = bonus_return(released_rulesets()["open-russian-poker@1"])

    assert value == Fraction(-719_012, 2_598_960)
    assert to_places(100 * value, 4) == "-27.6654"


def bonus_return(ruleset: Ruleset) -> Fraction:
    stake = 1
    nets = (times * (bonus_returned(ruleset, stake, main) - stake) for main, times in first_fives().items())
    return Fraction(sum(nets), comb(52, 5) * stake)


@cache
def first_fives() -> Counter[Combination]:
    """How many of the 2,598,960 hands have each combination."""
    counts: Counter[Combination] = Counter()
    for lengths in SUIT_LENGTHS[5]:
        for hand in suit_folded(lengths):
            counts[evaluate(hand.cards).main] += hand.weight
    assert counts.total() == comb(52, 5)
    return counts
