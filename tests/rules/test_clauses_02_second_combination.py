"""Rules 2.1 to 2.5: the main and the second combination, seen in what a winning BET is paid.

Each row of the pages' own table (rule 2.3) is played with ante 10 and BET 20 against a dealer with a pair of twos or
ace-king, so a win is 20 x (odds of the main + odds of the second).

Not here: which seconds exist over all six-card hands (`tests/domain/test_hands_exhaustive.py`).
"""

from __future__ import annotations

import pytest

from domain.hands import COMBINATION_NAMES
from domain.round import events as e
from domain.ruleset import Ruleset
from tests.rules.table import NO_GAME, WITH_SECOND, Box, Laid, game, house_version

# five cards, sixth card or "", main, second, odds together in RP and MRP, in ORP (two pair pays 1:1 there)
SECONDS = [
    ("Ah Ks 7c 7d 4h", "", "pair", "ace-king", 2, 2),
    ("Kc Kd 8h 8s Ac", "", "two-pair", "ace-king", 3, 2),
    ("Ac Ad Kh Ks 5c", "", "two-pair", None, 2, 1),
    ("Ac Ad Ah Ks 9c", "", "three-of-a-kind", "ace-king", 4, 4),
    ("Ac Ad Ah Ks Kc", "", "full-house", None, 7, 7),
    ("Ac Ad Ah As Kc", "", "four-of-a-kind", "ace-king", 21, 21),
    ("5h 4d 3h 2s Ac", "Kd", "straight", "ace-king", 5, 5),
    ("Qc Qd 9h 9s 4c", "4d", "two-pair", "two-pair", 4, 2),
    ("Tc 9d 8h 7c 6c", "5d", "straight", "straight", 8, 8),
    ("2h 5h 7h 9h Jh", "Ah", "flush", "flush", 10, 10),
    ("Ac Ad Ah Ks Kc", "Kd", "full-house", "full-house", 14, 14),
    ("9c 9d 9h 9s Ac", "Ad", "four-of-a-kind", "full-house", 27, 27),
    ("As Ks Qs Js Ts", "9s", "royal-flush", "straight-flush", 150, 150),
    # beside the pages' table
    ("As Ks Qs Js Ts", "2s", "royal-flush", "flush", 105, 105),
    ("As Ks Qs Js Ts", "9d", "royal-flush", "straight", 104, 104),
    ("6h 5h 4h 3h 2h", "Ah", "straight-flush", "straight-flush", 100, 100),
    ("5h 4h 3h 2h Ah", "Kd", "straight-flush", "ace-king", 51, 51),
    ("Ah Qh 9h 6h 3h", "Kd", "flush", "ace-king", 6, 6),
    ("Ah Kh 9h 6h 3h", "Kd", "flush", "pair", 6, 6),
    ("Qh Jh 9h 6h 3h", "3d", "flush", "pair", 6, 6),
    ("Qh Jh Th 9h 3h", "8d", "flush", "straight", 9, 9),
    ("Kc Kd Kh 7s 7c", "As", "full-house", "ace-king", 8, 8),
    ("Ac Kd 7h 7s 6c", "", "pair", "ace-king", 2, 2),
    ("7c 7d 7h Qs Jc", "", "three-of-a-kind", None, 3, 3),
    ("9c 9d 9h 9s 4c", "5d", "four-of-a-kind", None, 20, 20),
    ("3c 3d 3h 7s 7c", "Qd", "full-house", None, 7, 7),
]


@pytest.mark.parametrize("page", WITH_SECOND)
@pytest.mark.parametrize(
    ("hand", "sixth", "main", "second", "odds", "orp_odds"),
    SECONDS,
    ids=[f"{s[2]} and {s[3]}: {s[0]}" for s in SECONDS],
)
def test_a_winning_bet_is_paid_for_main_and_second(
    page: str, hand: str, sixth: str, main: str, second: str | None, odds: int, orp_odds: int
) -> None:
    """Rules 2.1 to 2.4: forming cards decide whether there is a second; BET x (main + second)."""
    laid = Laid(game(page), Box(1, hand), draws=sixth)
    laid.say("1 sixth; 1 bet" if sixth else "1 bet")

    settled = laid.settled(1)
    assert (settled.outcome, settled.main, settled.second) == (e.Outcome.WON, main, second)
    assert settled.bet == 20 + 20 * (orp_odds if page == "ORP" else odds)
    assert settled.ante == 10


@pytest.mark.parametrize("sixth_first", [False, True])
def test_the_order_of_the_cards_does_not_matter(sixth_first: bool) -> None:
    """Rule 2.2: the best five of six count, wherever the sixth lies."""
    hand, sixth = ("Kc Kd Kh Ks 7c", "7d") if sixth_first else ("Kc Kd Kh 7d 7c", "Ks")
    laid = Laid(game("RP"), Box(1, hand), dealer="2c 2d 9h 8s 5c", draws=sixth).say("1 sixth; 1 bet")

    assert (laid.settled(1).main, laid.settled(1).second) == ("four-of-a-kind", "full-house")


ALONE = [
    ("a pair with ace-king against a higher pair", "Ac Kd 3h 3s 8c", "4c 4d 5h 7s 9c", e.Outcome.LOST, 0, 0),
    ("two pair with ace-king, equal pairs, lower kicker", "Kc Kd 8h 8s Qc", "Kh Ks 8c 8d Ac", e.Outcome.LOST, 0, 0),
    ("a tie pays no second", "Ac Kd 3h 3s 8c", "Ad Kh 3c 3d 8h", e.Outcome.TIED, 10, 20),
    ("no game pays no second", "Ac Kd 3h 3s 8c", "Qc Jd 9h 7s 2c", e.Outcome.NO_GAME, 20, 20),
]


@pytest.mark.parametrize("page", WITH_SECOND)
@pytest.mark.parametrize(("case", "hand", "dealer", "outcome", "ante", "bet"), ALONE, ids=[a[0] for a in ALONE])
def test_the_main_combination_alone_meets_the_dealer(
    page: str, case: str, hand: str, dealer: str, outcome: e.Outcome, ante: int, bet: int
) -> None:
    """Rules 2.2 and 2.4: a second combination neither wins nor saves a box, it is paid only on top of a win."""
    laid = Laid(game(page), Box(1, hand), dealer=dealer).say("1 bet")
    if laid.state.closed is None:
        laid.say("1 ante")

    settled = laid.settled(1)
    assert (settled.outcome, settled.ante, settled.bet) == (outcome, ante, bet)


def test_the_second_need_not_beat_the_dealer() -> None:
    """Rule 2.4: ace-king on the side is paid though the dealer's pair is higher than it."""
    laid = Laid(game("RP"), Box(1, "Ac Ad Ah Ks 9c"), dealer="Qc Qd 9h 8s 2c").say("1 bet")

    assert laid.settled(1).bet == 20 + 20 * (3 + 1)


DOUBLED = [
    ("K Q J 10 9 9", "Kh Qd Jh Ts 9c", "9d", 8, 5),
    ("the ace twice below", "Ah 2d 3h 4s 5c", "Ad", 8, 5),
    ("the top twice", "Kh Qd Jh Ts 9c", "Kc", 8, 5),
    ("a straight flush with its five twice", "9h 8h 7h 6h 5h", "5d", 54, 51),
    ("a royal flush with its ten twice", "Ah Kh Qh Jh Th", "Td", 104, 101),
    ("six in a row", "4c 5d 6h 7s 8c", "9d", 8, 8),
]


@pytest.mark.parametrize("page", WITH_SECOND)
@pytest.mark.parametrize(("case", "hand", "sixth", "doubled", "single"), DOUBLED, ids=[d[0] for d in DOUBLED])
def test_a_doubled_straight_is_paid_as_the_parameter_says(
    page: str, case: str, hand: str, sixth: str, doubled: int, single: int
) -> None:
    """Rule 2.5: two straights as released, straight and pair in a house's own version; six in a row under either."""

    def paid(ruleset: Ruleset) -> int:
        laid = Laid(ruleset, Box(1, hand), dealer="2c 2h 8d Js 6s", draws=sixth).say("1 sixth; 1 bet")
        return laid.settled(1).bet - 20

    assert paid(game(page)) == 20 * doubled
    assert paid(house_version(page, doubled_straight="straight-and-pair")) == 20 * single


@pytest.mark.parametrize(
    ("hand", "main", "odds"),
    [("Ah Ks 7c 7d 4h", "pair", 1), ("Kc Kd 8h 8s Ac", "two-pair", 2), ("Ac Ad Ah As Kc", "four-of-a-kind", 20)],
)
def test_classic_five_card_poker_has_one_combination(hand: str, main: str, odds: int) -> None:
    """Rules 2.1 to 2.5 of FCP: ace-king beside a pair is not paid."""
    laid = Laid(game("FCP"), Box(1, hand), dealer="2c 2d Js 5s 3s").say("1 bet")

    assert (laid.settled(1).main, laid.settled(1).second) == (main, None)
    assert laid.settled(1).bet == 20 + 20 * odds


def test_a_folded_box_shows_no_combination() -> None:
    """Rules 2.2 and 6.2: a box that gave up its cards is not compared."""
    laid = Laid(game("RP"), Box(1, "Ac Ad Ah Ks 9c"), dealer=NO_GAME).say("1 fold")

    assert (laid.settled(1).main, laid.settled(1).second) == (None, None)


@pytest.mark.parametrize("page", ["RP", "ORP", "FCP", "MRP"])
def test_the_odds_tables_name_every_combination_but_no_game(page: str) -> None:
    """Rules 2.4 and 9.2: whatever wins has odds; two pair is 1:1 in ORP alone."""
    ruleset = game(page)

    assert [COMBINATION_NAMES[n] for n, odds in enumerate(ruleset.bet_odds) if not odds] == ["no-game"]
    assert ruleset.bet_odds[3] == (1 if page == "ORP" else 2)
