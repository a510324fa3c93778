"""The engine plays any ruleset: rounds under games nobody released are played, verified and counted.

First the rulesets of tests/rulesets: each parameter of a document takes another value than in the released games there
or between them.  Then documents thrown together from a seed: whatever `load_ruleset` accepts must be playable.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from typing import Any

import pytest

from domain.derivation import derivation
from domain.hands import COMBINATION_NAMES, Combination
from domain.round import events as e
from domain.round.codec import append_to
from domain.round.phases import Phase
from domain.round.state import fold
from domain.ruleset import Parameters, Ruleset, RulesetError, load_ruleset
from domain.rulesets import released_rulesets
from ops.simulation import Seat, steps
from replay.evidence import by_digest
from replay.verdict import Status
from replay.verify_round import climb, is_exactly_as_recomputed, verify_round
from tests.exact.games import FOLDER, unreleased_rulesets

UNRELEASED = list(unreleased_rulesets().values())


def rounds(ruleset: Ruleset, count: int, seed: str) -> Iterator[tuple[str, list[e.RoundEvent], list[bytes]]]:
    """Seeded rounds: the stream, its events, their stored bodies."""
    random = Random(f"{ruleset.name} {seed}")
    for number in range(1, count + 1):
        identity, server_seed = random.randbytes(16), random.randbytes(32)
        pot = ruleset.jackpot_seed_amount
        seat = Seat("t1", number, identity, server_seed, ruleset.table_defaults, jackpot=pot)
        stream = f"round:{identity.hex()}"
        events = [event for step in steps(random, ruleset, seat) for event in step]
        records = append_to(stream, None, events, "2026-03-01T12:00:00.000Z")
        yield stream, events, [record.body for record in records]


def assert_plays(ruleset: Ruleset, count: int, seed: str) -> Counter[str]:
    """Play rounds and hold each against the verifier and the sums; what happened how often, by stored name."""
    happened: Counter[str] = Counter()
    rulesets = by_digest([ruleset])
    for stream, events, bodies in rounds(ruleset, count, seed):
        assert verify_round(stream, bodies, rulesets).status is Status.VERIFIED
        happened.update(event.NAME for event in events)
        assert_adds_up(ruleset, events)
    # The quick way may have answered; rung by rung must say the same, and the last round stands for all.
    assert climb(stream, bodies, rulesets).status is Status.VERIFIED
    return happened


def assert_adds_up(ruleset: Ruleset, events: list[e.RoundEvent]) -> None:
    """No amount is lost between the lines, the boxes and the round, and no card is shown in two places."""
    state = fold(events)
    assert state.phase is Phase.ENDED
    if state.closed is None:
        return  # voided
    for box in state.boxes:
        assert box.settled is not None
        assert sum(line.amount for line in derivation(ruleset, state, box)) == box.settled.net
    assert state.closed.net == sum(box.settled.net for box in state.boxes if box.settled)
    shown = [card for box in state.boxes for card in box.cards] + list(state.dealer)
    assert len(shown) == len(set(shown))


# The rulesets of tests/rulesets.


def test_every_parameter_is_set_in_different_ways() -> None:
    documents = [ruleset.document.parameters for ruleset in (*released_rulesets().values(), *UNRELEASED)]
    values = {
        name: {repr(getattr(parameters, name).value) for parameters in documents}
        for name in Parameters.__struct_fields__
    }

    assert [name for name, found in values.items() if len(found) < 2] == []


def test_a_file_is_named_after_its_ruleset() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(unreleased_rulesets())


@pytest.mark.parametrize("ruleset", UNRELEASED, ids=lambda ruleset: ruleset.name)
def test_an_unreleased_ruleset_is_played_and_verified(ruleset: Ruleset) -> None:
    """And what the game offers happens, what it does not offer never does."""
    happened = assert_plays(ruleset, 300, "played")

    offers = offered(ruleset)
    assert {name: happened[name] > 0 for name in offers} == offers


@pytest.mark.parametrize("ruleset", UNRELEASED, ids=lambda ruleset: ruleset.name)
def test_a_true_round_is_recognized_the_quick_way(ruleset: Ruleset) -> None:
    """Without climbing the ladder, which takes many times as long."""
    rulesets = by_digest([ruleset])

    climbed = [s for s, _, bodies in rounds(ruleset, 50, "quick") if not is_exactly_as_recomputed(s, bodies, rulesets)]

    assert climbed == []


def offered(ruleset: Ruleset) -> dict[str, bool]:
    """Facts that only some games know, by their stored names."""
    opened, dark = ruleset.open_boxes_per_player > 0, ruleset.dark_boxes_per_player > 0
    sells = opened and ruleset.dealer_game_half_antes is not None and ruleset.qualifier > Combination.NO_GAME
    sixth = ruleset.sixth_card_half_antes is not None
    return {
        e.BetMade.NAME: opened,
        e.BoxFolded.NAME: opened,
        e.ExchangeBought.NAME: opened and bool(ruleset.exchange_half_antes),
        e.SixthCardBought.NAME: sixth and (opened or ruleset.dark_sixth_card),
        e.HiddenCardDrawn.NAME: dark and ruleset.dark_sixth_card,
        e.SixthCardDeclined.NAME: dark and ruleset.dark_sixth_card,
        e.InsuranceBought.NAME: opened and ruleset.insurance_from is not None,
        e.DealerGameBought.NAME: sells,
        e.AnteTaken.NAME: sells,
        e.DealerCardReplaced.NAME: sells,
        e.BonusSettled.NAME: ruleset.bonus_stake is not None,
        e.JackpotContributed.NAME: ruleset.bonus_stake is not None and ruleset.jackpot_contribution[0] > 0,
    }


# Single rulesets whose peculiarity must be seen.


def some_rounds(name: str, count: int) -> Iterator[tuple[Ruleset, list[e.RoundEvent]]]:
    ruleset = unreleased_rulesets()[name]
    for _, events, _ in rounds(ruleset, count, "looked at"):
        yield ruleset, events


def test_seven_boxes_are_dealt_at_once() -> None:
    """Forty cards, and the two that a bought dealer's game may take."""
    boxes = [len(fold(events).boxes) for _, events in some_rounds("seven-boxes@1", 200)]

    assert max(boxes) == 7


def test_a_table_of_one_dark_box_asks_nobody() -> None:
    for _, events in some_rounds("dark-box@1", 50):
        names = [event.NAME for event in events if not isinstance(event, e.BonusSettled | e.RoundVoided)]
        assert names == [
            kind.NAME
            for kind in (e.RoundOpened, e.BoxPlaced, e.CardsDealt, e.DealerRevealed, e.HandShown, e.BoxSettled,
                         e.RoundClosed, e.SeedRevealed)
        ]  # fmt: skip


@pytest.mark.parametrize(("name", "share"), [("half-insurance@1", (1, 2)), ("part-insurance@1", (3, 4))])
def test_no_insurance_is_above_the_share(name: str, share: tuple[int, int]) -> None:
    insured = 0
    for ruleset, events in some_rounds(name, 300):
        for box in fold(events).boxes:
            if box.insurance:
                second = ruleset.second(box.final_hand())
                odds = ruleset.bet_odds[box.final_hand().main] + (ruleset.bet_odds[second] if second else 0)
                assert box.ante <= box.insurance <= 2 * box.ante * odds * share[0] // share[1]
                insured += 1

    assert insured > 10


@pytest.mark.parametrize("name", ["announced-bonus@1", "announced-bonus-in-turn@1"])
def test_an_unannounced_bonus_is_lost_with_the_fold(name: str) -> None:
    """A fold without a draw before it: the bonus is settled at 0, whatever the five cards were worth."""
    lost_wins = 0
    for ruleset, events in some_rounds(name, 300):
        state = fold(events)
        for box in state.boxes:
            if box.folded and box.bonus and not box.drew:
                assert box.bonus_returned == 0
                lost_wins += bool(ruleset.bonus_odds[box.final_hand().main])

    assert lost_wins > 0


def test_a_pot_for_common_hands_is_never_overdrawn() -> None:
    winners: Counter[int] = Counter()
    for ruleset, events in some_rounds("frequent-jackpot@1", 300):
        amounts = [event.amount for event in events if isinstance(event, e.JackpotWon)]
        assert sum(amounts) <= ruleset.jackpot_seed_amount
        winners[len(amounts)] += 1

    assert winners[0]
    assert max(winners) >= 2


def test_a_cap_on_the_bet_leaves_the_ante_alone() -> None:
    capped = 0
    for ruleset, events in some_rounds("ante-paid@1", 300):
        limit = ruleset.table_defaults.payout_max
        assert limit is not None
        for event in events:
            if isinstance(event, e.BoxSettled) and event.outcome is e.Outcome.WON:
                box = fold(events).boxes[0]
                assert event.ante == 2 * box.ante
                assert event.bet - box.bet <= limit
                capped += event.bet - box.bet == limit

    assert capped > 0


# Documents thrown together.


SEEDS = [*range(40), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(40, 600))]


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_can_be_loaded_can_be_played(seed: int) -> None:
    ruleset = random_ruleset(Random(seed))

    assert_plays(ruleset, 12, "thrown together")


def random_ruleset(random: Random) -> Ruleset:
    """A document that is accepted; most throws are."""
    while True:
        try:
            return load_ruleset(json.dumps(random_document(random)).encode())
        except RulesetError:
            continue


def random_document(random: Random) -> dict[str, Any]:
    """Every parameter anew, over a document that supplies the clauses."""
    document = json.loads(template())
    document["id"] = "thrown-together"
    for name, value in random_values(random).items():
        document["parameters"][name]["value"] = value
    return dict(document)


@cache
def template() -> str:
    return (FOLDER / "caribbean-stud@1.json").read_text("utf-8")


def random_values(random: Random) -> Mapping[str, Any]:
    boxes = random.randint(1, 7)
    own = random.randint(1, boxes)
    bonus = dict(zip(COMBINATION_NAMES, (0, 1, 1, 2, 7, 40, 50, 70, 200, 500, 1000), strict=True))
    jackpot = random.sample(COMBINATION_NAMES, random.choice((0, 0, 1, 3)))
    return {
        "qualifier": random.choice(COMBINATION_NAMES[:6]),
        "second_combination": coin(random),
        "doubled_straight": random.choice(("two-straights", "straight-and-pair")),
        "boxes_on_table": boxes,
        "boxes_per_player": own,
        "boxes_adjacent": coin(random),
        "open_boxes_per_player": random.randint(0, own),
        "dark_boxes_per_player": random.randint(0, own),
        "open_antes": random.choice(("equal", "free")),
        "table_defaults": random_limits(random),
        "bonus_stake": random.choice((None, "up-to-ante", "table-limits")),
        "funds_at_deal_half_antes": random.randint(0, 9),
        "funds_after_draw_half_antes": random.randint(0, 4),
        "deal_order": random.choice(("packets", "one-by-one")),
        "upcard": random.choice(("first", "last")),
        "hands_shown": random.choice(("at-deal", "in-turn")),
        "bonus_odds": {name: odds for name, odds in bonus.items() if name not in jackpot and coin(random)},
        "jackpot_shares": {name: [random.randint(0, 4), 4] for name in jackpot},
        "jackpot_contribution": [random.randint(0, 3), 7],
        "jackpot_seed_amount": random.choice((0, 1, 999_999)),
        "bonus_needs_announcement": coin(random),
        "bet_antes": random.randint(1, 4),
        "exchange_half_antes": [random.randint(0, 5) for _ in range(random.randint(0, 5))],
        "sixth_card_half_antes": random.choice((None, 0, 1, 2)),
        "draw_timing": random.choice(("at-once", "after-all-decided")),
        "dark_sixth_card": coin(random),
        "insurance_from": random.choice((None, *COMBINATION_NAMES[:8])),
        "insurance_share": [random.randint(0, 3), 3],
        "insurance_within_payout_max": coin(random),
        "insurance_loss": random.choice(("always", "if-player-higher")),
        "dealer_game_half_antes": random.choice((None, 0, 1, 2, 3)),
        "dealer_game_free_repeat": coin(random),
        "bet_odds": {name: random.randint(0, 12) for name in COMBINATION_NAMES[1:]},
        "ante_on_win": random.choice(("returned", "paid")),
        "payout_max_covers": random.choice(("nothing", "bet", "bet-and-insurance")),
    }


def random_limits(random: Random) -> dict[str, int | None]:
    step = random.choice((1, 2, 7, 100))
    lowest = step * random.randint(1, 3)
    return {
        "ante_min": lowest,
        "ante_max": lowest + step * random.randint(2, 100),
        "ante_step": step,
        "bonus_min": random.randint(1, 50),
        "bonus_max": random.randint(50, 500),
        "payout_max": random.choice((None, 1, 150, 5_000)),
    }


def coin(random: Random) -> bool:
    return random.random() < 0.5
