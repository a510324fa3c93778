"""Rules 4.1 to 4.4: who gets which card of the deck, which of them is shown when, and what is promised before.

The deck here lies in order, `2c 2d 2h 2s 3c` and so on, so a card's text is its place.

Not here: the shuffle itself (`tests/deal`), hidden cards over many rounds (`tests/round/test_hidden_cards.py`).
"""

from __future__ import annotations

import pytest

from domain.cards import CARD_TEXTS
from domain.deal.commitment import client_entropy, commitment
from domain.deal.shuffle import FixedDeck, SeededDeck
from domain.round import choices as c
from domain.round import events as e
from domain.round.decisions import advance, open_round
from domain.round.refusals import Refusal, RefusalCode
from domain.round.state import RoundState
from tests.rules.table import ALL, LIMITS, NO_GAME, Box, Laid, cards, dark, game, opened_state


def in_order(page: str, *boxes: Box) -> Laid:
    """A round dealt from the deck in the order of the ids, the boxes placed in the order given."""
    return Laid(game(page), *boxes, deck=range(52))


def shown(laid: Laid) -> dict[int, list[int]]:
    """Deck places, from 1, of each box's shown cards."""
    return {event.box: [place + 1 for place in cards(*event.cards)] for event in laid.all(e.HandShown)}


@pytest.mark.parametrize("page", ["RP", "ORP", "MRP"])
def test_packets_of_five_go_to_the_boxes_then_to_the_dealer(page: str) -> None:
    """Rule 4.1: the k-th box has cards 5k - 4 to 5k, the dealer 5n + 1 to 5n + 5."""
    numbers = (1,) if page == "RP" else (2, 3, 4)
    laid = in_order(page, *(Box(n, player=f"p{n}") for n in numbers))
    places = {n: list(range(5 * k + 1, 5 * k + 6)) for k, n in enumerate(numbers)}

    assert shown(laid) == places
    laid.say("; ".join(f"{n} bet" for n in numbers))
    dealer = [place + 1 for place in cards(*laid.all(e.DealerRevealed)[0].cards)]
    assert dealer == list(range(5 * len(numbers) + 1, 5 * len(numbers) + 6))


@pytest.mark.parametrize("numbers", [(1,), (1, 3), (2, 3), (1, 2, 3)])
def test_classic_five_card_poker_is_dealt_one_by_one(numbers: tuple[int, ...]) -> None:
    """Rule 4.1 of FCP: the k-th of n boxes has k, k + (n + 1), ... k + 4(n + 1); the dealer is k = n + 1."""
    laid = in_order("FCP", *(Box(n, player=f"p{n}") for n in numbers))
    for n in numbers:
        laid.say(f"{n} fold")
    hands = len(numbers) + 1

    assert shown(laid) == {n: [k + 1 + j * hands for j in range(5)] for k, n in enumerate(numbers)}
    dealer = [place + 1 for place in cards(*laid.all(e.DealerRevealed)[0].cards)]
    assert dealer == [hands + j * hands for j in range(5)]


@pytest.mark.parametrize("page", ["ORP", "MRP"])
def test_boxes_are_dealt_ascending_in_whatever_order_they_were_placed(page: str) -> None:
    """Rule 4.1: by number, an open box and a dark one alike."""
    laid = in_order(page, dark(3), Box(2), dark(1)).say("2 bet" if page == "ORP" else "1 decline; 2 bet; 3 decline")

    assert shown(laid) == {2: [6, 7, 8, 9, 10], 1: [1, 2, 3, 4, 5], 3: [11, 12, 13, 14, 15]}


@pytest.mark.parametrize("page", ALL)
def test_every_later_card_is_the_next_undealt_one(page: str) -> None:
    """Rule 4.1: the first drawn card follows the dealer's last."""
    laid = in_order(page, Box(1)).say("1 exchange 4 0")

    assert cards(*laid.all(e.CardsDrawn)[0].cards) == [10, 11]


def test_a_round_without_a_box_is_not_dealt() -> None:
    """Rule 4.1: somebody must have staked."""
    ruleset = game("RP")
    state = opened_state(ruleset)
    answer = advance(state, ruleset, None, c.Deal())

    assert isinstance(answer, Refusal)
    assert (answer.code, answer.clause) == (RefusalCode.NO_BOXES, "RP-4.1")


@pytest.mark.parametrize(("page", "place"), [("RP", 4), ("ORP", 0), ("FCP", 4), ("MRP", 4)])
def test_one_card_of_the_dealer_lies_open(page: str, place: int) -> None:
    """Rule 4.2: the last of the dealer's five, in ORP the first."""
    laid = Laid(game(page), Box(1), dealer="Ac Kd 9h 8s 2c")

    assert laid.all(e.CardsDealt)[0].upcard == ["Ac", "Kd", "9h", "8s", "2c"][place]
    assert not laid.state.dealer
    assert laid.all(e.DealerRevealed) == []


@pytest.mark.parametrize("page", ["ORP", "MRP"])
def test_open_boxes_are_shown_at_the_deal_and_dark_ones_after_the_reveal(page: str) -> None:
    """Rule 4.3: the dealer opens when all have decided, then the dark boxes in ascending order."""
    laid = Laid(game(page), dark(1), Box(2), dark(3), Box(4, player="p2"))
    at_deal = laid.story(e.CardsDealt, e.HandShown)
    first, second = ("2 bet", "4 bet") if page == "ORP" else ("1 decline; 2 bet; 3 decline", "4 bet")

    assert at_deal == ["cards-dealt", "hand-shown 2", "hand-shown 4"]
    assert laid.say(first).all(e.DealerRevealed) == []
    laid.say(second)
    assert laid.story(e.DealerRevealed, e.HandShown)[2:] == ["dealer-revealed", "hand-shown 1", "hand-shown 3"]


def test_a_hand_of_classic_five_card_poker_waits_for_its_turn() -> None:
    """Rule 4.3 of FCP: the next box is shown when the box before it has finished, not when it draws."""
    laid = Laid(game("FCP"), Box(1, player="p1"), Box(2, player="p2"), Box(3, player="p1"))

    assert laid.story(e.HandShown) == ["hand-shown 1"]
    assert laid.say("1 exchange 0").story(e.HandShown) == ["hand-shown 1"]
    assert laid.say("1 bet").story(e.HandShown) == ["hand-shown 1", "hand-shown 2"]
    assert laid.say("2 fold").story(e.HandShown) == ["hand-shown 1", "hand-shown 2", "hand-shown 3"]
    assert laid.all(e.DealerRevealed) == []
    assert len(laid.say("3 fold").all(e.DealerRevealed)) == 1


def test_a_dark_boxs_sixth_card_is_shown_with_its_hand() -> None:
    """Rule 4.3 of MRP: six cards after the reveal, none before."""
    laid = Laid(game("MRP"), Box(1), dark(2, "As Ks Qs Js 3d"), draws="Ts")
    laid.say("1 bet; 2 sixth")

    assert laid.story(e.HiddenCardDrawn, e.DealerRevealed) == ["hidden-card-drawn 2", "dealer-revealed"]
    assert laid.all(e.HandShown)[-1].cards == ["As", "Ks", "Qs", "Js", "3d", "Ts"]


def test_the_commitment_stands_before_the_first_stake() -> None:
    """Rule 4.4: it is in the round's first fact, and no stake is taken without one."""
    ruleset = game("RP")
    promise = commitment(bytes(16), ruleset.digest, bytes(32))
    opened = open_round(
        ruleset, table="t", number=1, currency="EUR", limits=LIMITS, commitment=promise, sealed_seed="sealed"
    )
    answer = advance(RoundState(), ruleset, None, Box(1).place())

    assert isinstance(opened, e.RoundOpened)
    assert (opened.commitment, opened.ruleset) == (promise.hex(), "russian-poker@1")
    assert opened.ruleset_digest == ruleset.digest.hex()
    assert isinstance(answer, Refusal)


@pytest.mark.parametrize(("size", "code"), [(0, None), (255, None), (256, RefusalCode.CLIENT_SEED_TOO_LONG)])
def test_a_client_seed_has_up_to_255_bytes(size: int, code: RefusalCode | None) -> None:
    """Rule 4.4: it stands in the stake's fact."""
    ruleset = game("RP")
    state = opened_state(ruleset)
    answer = advance(
        state, ruleset, None, c.PlaceBox(1, "p1", e.Mode.OPEN, 10, client_seed=b"\xa5" * size)
    )

    assert (answer.code if isinstance(answer, Refusal) else None) is code
    if not isinstance(answer, Refusal):
        placed = answer[0]
        assert isinstance(placed, e.BoxPlaced)
        assert placed.client_seed == "a5" * size


@pytest.mark.parametrize(("beacon", "code"), [(bytes(31), RefusalCode.BEACON_INVALID), (bytes(32), None), (None, None)])
def test_a_beacon_has_32_bytes(beacon: bytes | None, code: RefusalCode | None) -> None:
    """Rule 4.4: where the table uses one, it stands in the deal's fact."""
    ruleset = game("RP")
    state = opened_state(ruleset)
    advance(state, ruleset, None, Box(1).place())
    answer = advance(state, ruleset, FixedDeck(range(52)), c.Deal(beacon=beacon))

    assert (answer.code if isinstance(answer, Refusal) else None) is code
    if not isinstance(answer, Refusal):
        assert isinstance(answer[0], e.CardsDealt)
        assert answer[0].beacon == (None if beacon is None else beacon.hex())


def test_each_player_moves_the_whole_deck() -> None:
    """Rule 4.4: another client seed, another box or another beacon gives another order of the 52 cards."""
    digest = game("RP").digest
    decks = [
        SeededDeck(bytes(32), bytes(16), digest, client_entropy(seeds), beacon).cards(0, 52)
        for seeds, beacon in (
            ([(1, b"a")], bytes(32)),
            ([(1, b"b")], bytes(32)),
            ([(2, b"a")], bytes(32)),
            ([(1, b"a"), (2, b"")], bytes(32)),
            ([(1, b"a")], b"\x01" * 32),
        )
    ]

    assert len({tuple(deck) for deck in decks}) == len(decks)
    assert all(sorted(deck) == list(range(52)) for deck in decks)


def test_the_dealers_cards_are_five_texts_of_the_deck() -> None:
    """Rule 4.3: what is revealed is what was dealt, the open card among it."""
    laid = Laid(game("ORP"), Box(1), dealer=NO_GAME).say("1 bet")

    revealed = laid.all(e.DealerRevealed)[0].cards
    assert revealed == NO_GAME.split()
    assert laid.all(e.CardsDealt)[0].upcard in revealed
    assert set(revealed) <= set(CARD_TEXTS)
