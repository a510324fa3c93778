"""Every hand there is, the product's evaluation against the slow one.  Rules: design/rules.md, sections 1 and 2.

The five-card hands are counted one by one.  For the comparison, hands that differ only in the names of their suits are
judged once and weighted; that this folding loses no hand and counts none twice is proved here too.  A hand's outcome is
written as a row: its class (0 to 7,461, weakest first), its main combination, and the two masks of seconds.

The reference takes minutes over six cards, so its rows are pinned as digests, against which the product is checked in
every run; `-m slow` compares the two hand by hand, and writes out the hands on which they differ.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from itertools import combinations, islice, permutations
from math import comb
from struct import pack
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.cards import card_text
from domain.hands import Combination, Hand, evaluate
from tests.reference import hands as reference
from tests.reference.hands import SUIT_LENGTHS, FoldedHand, SuitLengths, suit_folded

CLASSES = 7_462

COUNTS_ON_FIVE = {  # section 1
    "ROYAL_FLUSH": 4,
    "STRAIGHT_FLUSH": 36,
    "FOUR_OF_A_KIND": 624,
    "FULL_HOUSE": 3_744,
    "FLUSH": 5_108,
    "STRAIGHT": 10_200,
    "THREE_OF_A_KIND": 54_912,
    "TWO_PAIR": 123_552,
    "PAIR": 1_098_240,
    "ACE_KING": 167_280,
    "NO_GAME": 1_135_260,
}

SECONDS_ON_FIVE = {  # section 2
    "FOUR_OF_A_KIND + ACE_KING": 8,
    "THREE_OF_A_KIND + ACE_KING": 2_112,
    "TWO_PAIR + ACE_KING": 3_168,
    "PAIR + ACE_KING": 84_480,
}

SECONDS_ON_SIX = {  # section 2 names the 21 pairs; their counts are the reference's
    "ROYAL_FLUSH + STRAIGHT_FLUSH": 4,
    "ROYAL_FLUSH + FLUSH": 28,
    "ROYAL_FLUSH + STRAIGHT": 72,
    "STRAIGHT_FLUSH + STRAIGHT_FLUSH": 32,
    "STRAIGHT_FLUSH + FLUSH": 220,
    "STRAIGHT_FLUSH + STRAIGHT": 744,
    "STRAIGHT_FLUSH + ACE_KING": 12,
    "FOUR_OF_A_KIND + FULL_HOUSE": 936,
    "FOUR_OF_A_KIND + ACE_KING": 528,
    "FULL_HOUSE + FULL_HOUSE": 1_248,
    "FULL_HOUSE + ACE_KING": 4_224,
    "FLUSH + FLUSH": 6_580,
    "FLUSH + STRAIGHT": 4_152,
    "FLUSH + PAIR": 76_620,
    "FLUSH + ACE_KING": 7_704,
    "STRAIGHT + STRAIGHT": 112_380,
    "STRAIGHT + ACE_KING": 4_020,
    "THREE_OF_A_KIND + ACE_KING": 56_320,
    "TWO_PAIR + TWO_PAIR": 61_776,
    "TWO_PAIR + ACE_KING": 158_400,
    "PAIR + ACE_KING": 1_249_680,
}

DOUBLED_STRAIGHTS = {  # what `straight_and_pair` makes of the straights in which one rank is doubled
    "ROYAL_FLUSH + PAIR": 60,
    "STRAIGHT_FLUSH + PAIR": 540,
    "STRAIGHT + PAIR": 76_200,
}

ROWS_ON_SIX: dict[SuitLengths, str] = {  # the reference's rows, a digest for each distribution of suits
    (6,): "2aef77c4b886d8c7720e2e8a5ab40792947f3be73a6b6c66e3564551ee7dfd6c",
    (5, 1): "30db8b25ec53d75ff3997f9f68269b65697b6c4f408364ef329f26ac91b109fa",
    (4, 2): "4e64ff164f1804df749593257ca959dea510af5cf9133ecc0f14a9fb2ba9f22e",
    (4, 1, 1): "43bca00b312fa02f16e646569dc5a2b3fa5f4db14eb6064552d0484f0ab5cb92",
    (3, 3): "ce48ceaf0482f58a1741607322ad5885b50c1567ea6b7c6dd323c3423380c7e3",
    (3, 2, 1): "39d44f2f9a281d2edfb92850981c7ff823c2a02ea14611f552a93715269988e1",
    (3, 1, 1, 1): "1ec9fdbea0cbd34a168d0def7f2e1888592610a59dfc8d920bf5030a92645a46",
    (2, 2, 2): "14afa727b6034686d35698ef250ba44b44734187f3e45d512d85b390e8250723",
    (2, 2, 1, 1): "de274d4bab2bd1351d23c68c5303046d4281d1c5ae0a85d1d885bf0305f44e12",
}


class Row(NamedTuple):
    """The outcome of a hand, told the same way for both implementations."""

    strength_class: int
    main: int
    seconds: int
    seconds_single_straight: int


def fast_row(cards: Sequence[int]) -> Row:
    return row_of(evaluate(cards))


def row_of(hand: Hand) -> Row:
    return Row(fast_classes()[hand.strength], hand.main, hand.seconds, hand.seconds_single_straight)


def reference_row(cards: Sequence[int]) -> Row:
    judged = reference.judge(cards)
    return Row(
        reference_classes()[judged.strength],
        judged.main,
        sum(1 << second for second in judged.seconds),
        sum(1 << second for second in judged.seconds_single_straight),
    )


@cache
def fast_classes() -> dict[int, int]:
    """The place of every five-card strength among all of them, by the product's scale."""
    return {strength: place for place, strength in enumerate(sorted({hand.strength for hand in every_five_cards()}))}


@cache
def reference_classes() -> dict[reference.Strength, int]:
    """The same by the reference's scale, so that equal places mean equal order and equal ties."""
    strengths = {reference.strength(hand.cards) for hand in folded(5)}
    return {strength: place for place, strength in enumerate(sorted(strengths))}


@cache
def every_five_cards() -> Counter[Hand]:
    """All 2,598,960 hands, unfolded, by what the product says of them."""
    return Counter(map(evaluate, combinations(range(52), 5)))


class SixCards(NamedTuple):
    """What the product says of all six-card hands with some suit lengths."""

    rows: str  # SHA-256 over the rows, seven bytes each, in the order of `suit_folded`
    weights: Counter[Hand]


@cache
def six_cards(lengths: SuitLengths) -> SixCards:
    rows = sha256()
    weights: Counter[Hand] = Counter()
    for folded_hand in suit_folded(lengths):
        hand = evaluate(folded_hand.cards)
        rows.update(pack(">HBHH", *row_of(hand)))
        weights[hand] += folded_hand.weight
    return SixCards(rows.hexdigest(), weights)


def every_six_cards() -> Counter[Hand]:
    """All 20,358,520 hands by what the product says of the hand that stands for them."""
    return sum((six_cards(lengths).weights for lengths in SUIT_LENGTHS[6]), Counter())


def folded(size: int) -> Iterator[FoldedHand]:
    for lengths in SUIT_LENGTHS[size]:
        yield from suit_folded(lengths)


def pairs(hands: Counter[Hand], mask_of: Callable[[Hand], int] = lambda hand: hand.seconds) -> Counter[str]:
    """How many hands have each pair of main and best second combination."""
    counts: Counter[str] = Counter()
    for hand, times in hands.items():
        if mask := mask_of(hand):
            counts[f"{hand.main.name} + {Combination(mask.bit_length() - 1).name}"] += times
    return counts


def disagreements(hands: Iterable[FoldedHand]) -> Iterator[str]:
    for hand in hands:
        expected, found = reference_row(hand.cards), fast_row(hand.cards)
        if expected != found:
            yield f"{' '.join(map(card_text, hand.cards))}: reference {expected}, product {found}"


# Five cards.


def test_each_combination_has_its_known_number_of_five_card_hands() -> None:
    counts: Counter[str] = Counter()
    for hand, times in every_five_cards().items():
        counts[hand.main.name] += times

    assert counts == COUNTS_ON_FIVE


def test_five_card_hands_fall_into_7462_strengths() -> None:
    assert len(fast_classes()) == len(reference_classes()) == CLASSES


def test_a_stronger_combination_is_always_a_stronger_hand() -> None:
    by_strength = sorted(every_five_cards(), key=lambda hand: hand.strength)
    mains = [hand.main for hand in by_strength]

    assert mains == sorted(mains)


def test_on_five_cards_the_second_combination_is_ace_king_in_the_known_numbers() -> None:
    assert pairs(every_five_cards()) == SECONDS_ON_FIVE
    assert pairs(every_five_cards(), lambda hand: hand.seconds_single_straight) == SECONDS_ON_FIVE


@pytest.mark.parametrize("lengths", SUIT_LENGTHS[5], ids=str)
def test_every_five_card_hand_is_judged_as_the_reference_judges_it(lengths: SuitLengths) -> None:
    assert list(islice(disagreements(suit_folded(lengths)), 5)) == []


# Six cards.


def when(lengths: SuitLengths) -> pytest.MarkDecorator:
    """The three shapes with most hands take longer than CI has time for."""
    return pytest.mark.long if lengths in ((2, 2, 1, 1), (3, 2, 1), (3, 1, 1, 1)) else pytest.mark.slow


def test_on_six_cards_exactly_21_pairs_of_combinations_occur() -> None:
    assert len(SECONDS_ON_SIX) == 21
    assert pairs(every_six_cards()) == SECONDS_ON_SIX


def test_a_doubled_straight_is_a_straight_and_a_pair_where_the_house_says_so() -> None:
    doubled = Counter({hand: times for hand, times in every_six_cards().items() if differs(hand)})

    assert pairs(doubled, lambda hand: hand.seconds_single_straight) == DOUBLED_STRAIGHTS


def differs(hand: Hand) -> bool:
    return hand.seconds != hand.seconds_single_straight


@pytest.mark.parametrize("lengths", SUIT_LENGTHS[6], ids=str)
def test_six_card_hands_have_the_pinned_outcomes(lengths: SuitLengths) -> None:
    assert six_cards(lengths).rows == ROWS_ON_SIX[lengths]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("lengths", [pytest.param(each, marks=when(each), id=str(each)) for each in SUIT_LENGTHS[6]])
def test_every_six_card_hand_is_judged_as_the_reference_judges_it(lengths: SuitLengths) -> None:
    assert list(islice(disagreements(suit_folded(lengths)), 5)) == []


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_six_card_hands_counted_one_by_one_add_up_to_the_folded_count() -> None:
    assert Counter(map(evaluate, combinations(range(52), 6))) == every_six_cards()


# The folding.


@pytest.mark.parametrize(("size", "classes"), [(5, 134_459), pytest.param(6, 962_988, marks=pytest.mark.slow)])
def test_folding_keeps_every_hand_once(size: int, classes: int) -> None:
    """Classes that all differ, carry their true weights and together weigh as much as all hands are all hands."""
    seen: set[int] = set()
    weight = 0
    for hand in folded(size):
        seen.add(without_suit_names(hand.cards))
        weight += hand.weight

    assert len(seen) == classes
    assert weight == comb(52, size)


@pytest.mark.parametrize("size", [5, 6])
def test_a_folded_hand_weighs_as_many_hands_as_renaming_its_suits_makes(size: int) -> None:
    for lengths in SUIT_LENGTHS[size]:
        for hand in islice(suit_folded(lengths), 0, None, 499):
            made = {frozenset(renamed(hand.cards, naming)) for naming in permutations(range(4))}
            assert len(made) == hand.weight, hand


def without_suit_names(cards: Sequence[int]) -> int:
    """One number for all hands equal but for suit names: the four suits' holdings, 13 bits each, in falling order."""
    holdings = sorted((sum(1 << card // 4 for card in cards if card % 4 == suit) for suit in range(4)), reverse=True)
    return sum(holding << 13 * place for place, holding in enumerate(holdings))


def renamed(cards: Iterable[int], naming: Sequence[int]) -> list[int]:
    """The same cards with suit 0 named naming[0], and so on."""
    return [card // 4 * 4 + naming[card % 4] for card in cards]


# The order in which cards are held, and the names of suits, mean nothing.

WHOLE_DECK = range(52)
TWO_SUITS = [card for card in range(52) if card % 4 < 2]  # flushes, and flushes beside straights
HIGH_CARDS = range(28, 52)  # nines to aces: straights, doubled ranks, ace-king

hands_of_cards = st.sampled_from([WHOLE_DECK, TWO_SUITS, HIGH_CARDS]).flatmap(
    lambda deck: st.lists(st.sampled_from(deck), min_size=5, max_size=6, unique=True)
)


@given(cards=hands_of_cards, data=st.data())
def test_the_order_of_the_cards_changes_nothing(cards: list[int], data: st.DataObject) -> None:
    assert evaluate(data.draw(st.permutations(cards))) == evaluate(cards)


@given(cards=hands_of_cards, naming=st.permutations(range(4)))
def test_the_names_of_the_suits_change_nothing(cards: list[int], naming: list[int]) -> None:
    assert evaluate(renamed(cards, naming)) == evaluate(cards)


@given(cards=hands_of_cards)
def test_any_hand_is_judged_as_the_reference_judges_it(cards: list[int]) -> None:
    assert fast_row(cards) == reference_row(cards)
