"""The shuffle: the published deck, exact fairness on small decks, the discarded words, the dealt prefix."""

import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.deal.drbg import HmacDrbg
from domain.deal.shuffle import DECK_SIZE, NO_BEACON, WORD_RANGE, Deck, FixedDeck, SeededDeck, _words, forward_shuffle
from tests.deal import example

SMALL_WORD_RANGE = 8        # three-bit words: decks of 3 and 5 cards discard some of them

seeds = st.binary(min_size=32, max_size=32)


class OutOfWords(Exception):
    """A shuffle wanted more words than the sequence under test has."""


def endless(words: Sequence[int]) -> Iterator[int]:
    yield from words
    raise OutOfWords


def seeded(server_seed: bytes = example.SERVER_SEED) -> SeededDeck:
    return SeededDeck(server_seed, example.ROUND_ID, example.RULESET_DIGEST, example.ENTROPY)


def test_the_published_deck() -> None:
    assert list(seeded().cards(0, DECK_SIZE)) == example.DECK
    assert example.DEAL["deck"].startswith("5h Jd 6c 7h Kd") and example.DEAL["deck"].endswith("Qs Jc Kh 6s")


# --- fairness, exactly ---------------------------------------------------------------------------


def orders_by_count(shuffle: Callable[[Iterator[int], int], Iterator[int]], size: int, words: int) -> Counter[object]:
    """How often each order comes out over *every* sequence of so many words; unfinished shuffles count for none."""
    counts: Counter[object] = Counter()
    for sequence in product(range(SMALL_WORD_RANGE), repeat=words):
        try:
            counts[tuple(shuffle(endless(sequence), size))] += 1
        except OutOfWords:
            continue
    return counts


def small_word_shuffle(words: Iterator[int], size: int) -> Iterator[int]:
    return forward_shuffle(words, size, SMALL_WORD_RANGE)


@pytest.mark.parametrize(("size", "words"), [(1, 1), (2, 3), (3, 5), (4, 5), (5, 5)])
def test_all_orders_come_out_equally_often_over_every_sequence_of_words(size: int, words: int) -> None:
    counts = orders_by_count(small_word_shuffle, size, words)

    assert set(counts) == set(permutations(range(size)))
    assert len(set(counts.values())) == 1


def test_the_count_above_notices_a_shuffle_that_discards_nothing() -> None:
    def biased(words: Iterator[int], size: int) -> Iterator[int]:
        return forward_shuffle((word % 6 for word in words), size, 6)

    assert len(set(orders_by_count(biased, 3, 2).values())) > 1


# --- discarded words -----------------------------------------------------------------------------


@pytest.mark.parametrize("left", range(2, DECK_SIZE + 1))
def test_the_last_word_below_the_limit_counts_and_the_first_at_it_is_discarded(left: int) -> None:
    """With n cards left the limit is 65536 − (65536 mod n); where n divides 65536 no word is discarded."""
    limit = 65536 - 65536 % left
    last = next(forward_shuffle(endless([limit - 1]), left))
    assert last == left - 1

    discarded = [word for word in (limit, 65535) if word < 65536]
    if limit < 65536:
        assert next(forward_shuffle(endless([*discarded, 1]), left)) == 1
    else:
        assert left in (2, 4, 8, 16, 32)
        assert next(forward_shuffle(endless([65535]), left)) == left - 1


def test_a_word_is_discarded_in_the_middle_of_a_shuffle_too() -> None:
    """52 cards left: words 65520 and up are discarded; 51 left: 65535 alone."""
    words = [65520, 65535, 0, 65535, 65534, *[0] * 49]

    assert list(forward_shuffle(endless(words), DECK_SIZE))[:2] == [0, 51]


def test_the_words_of_one_request_are_followed_by_the_next_without_a_gap() -> None:
    words = _words(HmacDrbg(bytes(32), bytes(16)))
    read = [next(words) for _ in range(100)]

    drbg = HmacDrbg(bytes(32), bytes(16))
    output = drbg.generate(128) + drbg.generate(128)
    assert read == [int.from_bytes(output[at : at + 2], "big") for at in range(0, 200, 2)]
    assert max(read) < WORD_RANGE


# --- the dealt prefix ----------------------------------------------------------------------------


@given(seeds, st.lists(st.integers(0, DECK_SIZE), min_size=1, max_size=5))
def test_what_is_dealt_is_the_beginning_of_the_full_deck_in_whatever_portions(seed: bytes, stops: list[int]) -> None:
    whole = seeded(seed).cards(0, DECK_SIZE)
    assert sorted(whole) == list(range(DECK_SIZE))

    deck = seeded(seed)
    for stop in stops:
        assert deck.cards(stop // 2, stop) == whole[stop // 2 : stop]


@given(seeds, st.sampled_from(["server_seed", "ruleset_digest", "entropy", "beacon"]))
def test_every_input_changes_the_deck(other: bytes, changed: str) -> None:
    inputs = {
        "server_seed": example.SERVER_SEED,
        "ruleset_digest": example.RULESET_DIGEST,
        "entropy": example.ENTROPY,
        "beacon": NO_BEACON,
    }
    same = inputs[changed] == other
    deck = SeededDeck(round_id=example.ROUND_ID, **{**inputs, changed: other})

    assert (list(deck.cards(0, DECK_SIZE)) == example.DECK) == same


@pytest.mark.parametrize("deck", [seeded(), FixedDeck(range(DECK_SIZE))], ids=["seeded", "fixed"])
@pytest.mark.parametrize(("start", "stop"), [(0, 53), (52, 53), (-1, 2), (3, 2), (-2, -1)])
def test_cards_that_are_not_in_the_deck_are_an_index_error(deck: Deck, start: int, stop: int) -> None:
    with pytest.raises(IndexError, match=f"cards {start} to {stop} of a deck of 52"):
        deck.cards(start, stop)
    assert list(deck.cards(52, 52)) == []


# --- a fixed deck --------------------------------------------------------------------------------


def test_a_fixed_deck_deals_as_it_lies() -> None:
    assert list(FixedDeck([7, 3, 51, 0]).cards(1, 3)) == [3, 51]
    with pytest.raises(IndexError, match="cards 3 to 5 of a deck of 4"):
        FixedDeck([7, 3, 51, 0]).cards(3, 5)


@pytest.mark.parametrize(
    ("cards", "message"),
    [
        ([5, 9, 5], "deck position 2: card 5 stands in the deck twice"),
        ([0, 52], "deck position 1: 52 is not a card id"),
        ([-1], "deck position 0: -1 is not a card id"),
        ([*range(52), 0], "deck position 52: card 0 stands in the deck twice"),
    ],
)
def test_a_deck_with_a_doubled_or_unknown_card_is_refused(cards: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FixedDeck(cards)


# --- wrong sizes, and silence --------------------------------------------------------------------


@pytest.mark.parametrize("field", ["server seed", "round id", "ruleset digest", "entropy", "beacon"])
def test_an_input_of_a_wrong_size_is_refused_by_name_without_its_value(field: str) -> None:
    secret = b"\xa5" * 33
    sizes = {"server seed": 32, "round id": 16, "ruleset digest": 32, "entropy": 32, "beacon": 32}
    values = [secret if name == field else b"\xa5" * size for name, size in sizes.items()]

    with pytest.raises(ValueError, match=f"^{field}: 33 bytes instead of") as caught:
        SeededDeck(*values)
    shown = "".join(traceback.format_exception(caught.value))
    assert "a5a5" not in shown and "xa5" not in shown


def test_a_deck_shows_neither_its_seed_nor_an_undealt_card() -> None:
    deck = seeded()
    deck.cards(0, 5)

    assert repr(deck).startswith("<domain.deal.shuffle.SeededDeck object at")
    assert not hasattr(deck, "__dict__")


# --- statistics ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_card_lies_at_every_position_equally_often() -> None:
    """Chi-square of card by position over 100,000 seeds: 51 x 51 = 2,601 degrees of freedom.

    Rows and columns both have fixed sums, hence the factor 51/52.  The seeds
    are fixed, so the outcome is too.  The bounds are 5 standard deviations
    (sqrt(2 x 2,601) = 72) around the mean.
    """
    rounds = 100_000
    counts = [[0] * DECK_SIZE for _ in range(DECK_SIZE)]
    for number in range(rounds):
        for position, card in enumerate(seeded(number.to_bytes(32, "big")).cards(0, DECK_SIZE)):
            counts[position][card] += 1

    expected = rounds / DECK_SIZE
    chi_square = sum((count - expected) ** 2 / expected for row in counts for count in row)
    assert 2_601 - 5 * 72 < chi_square * 51 / 52 < 2_601 + 5 * 72
