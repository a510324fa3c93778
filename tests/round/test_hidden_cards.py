"""Nothing says too early what nobody may know yet: a face-down card, an undealt card, the server seed.

Stored bodies are scanned as they are, so a card that slips into any field of any event is found.

Not here: which card is dealt where (rule 4.1).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from domain.cards import CARD_TEXTS
from domain.round import events as e
from tests.round.simulated import Round, all_rulesets, simulated

SEEDS = range(25)


def card_texts_in(value: object) -> Iterator[str]:
    """Every text in a decoded body that is a card, wherever it stands."""
    if isinstance(value, str):
        if value in CARD_TEXTS:
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from card_texts_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from card_texts_in(item)


def allowed_from(whole: Round) -> dict[str, int]:
    """For each card of the deck the first event in which the rules let it be seen; written from clauses 4.1 to 4.3.

    A card that is never shown has no entry.
    """
    events, ruleset = whole.events, whole.ruleset
    texts = [CARD_TEXTS[card] for card in whole.deck.cards(0, 52)]
    placed = sorted((event for event in events if isinstance(event, e.BoxPlaced)), key=lambda event: event.box)
    hands = len(placed) + 1
    dealt = [texts[k : 5 * hands : hands] if ruleset.one_by_one else texts[5 * k : 5 * k + 5] for k in range(hands)]
    revealed = _first(events, e.DealerRevealed)
    at_deal = _first(events, e.CardsDealt)
    seen: dict[str, int] = {}
    if at_deal is None:
        return seen
    previous = at_deal
    for hand, box in zip(dealt, placed, strict=False):
        moment: int | None = at_deal
        if box.mode is e.Mode.DARK:
            moment = revealed
        elif ruleset.hands_in_turn:
            moment = previous
            previous = _finished(whole, box.box)
        if moment is not None:
            seen |= dict.fromkeys(hand, moment)
    seen[dealt[-1][ruleset.upcard_index]] = at_deal
    if revealed is not None:
        seen |= {text: revealed for text in dealt[-1] if text not in seen}
    return seen | _later(events, texts[5 * hands :], revealed)


def _finished(whole: Round, box: int) -> int:
    """When the next box may be shown: this one has bet or folded, or chosen a draw that waits for all boxes."""
    done: tuple[type[e.RoundEvent], ...] = (e.BetMade, e.BoxFolded)
    if whole.ruleset.draws_after_all:
        done += (e.ExchangeBought, e.SixthCardBought)
    chosen = (i for i, event in enumerate(whole.events) if isinstance(event, done) and getattr(event, "box", 0) == box)
    return next(chosen, len(whole.events))


def _later(events: list[e.RoundEvent], undealt: list[str], revealed: int | None) -> dict[str, int]:
    """Drawn cards with their draw, a dark box's sixth with the reveal, replacements with the replacement."""
    seen: dict[str, int] = {}
    rest = iter(undealt)
    for index, event in enumerate(events):
        match event:
            case e.CardsDrawn():
                seen |= {next(rest): index for _ in event.cards}
            case e.HiddenCardDrawn():
                hidden = next(rest)
                if revealed is not None:
                    seen[hidden] = revealed
            case e.DealerCardReplaced():
                seen[next(rest)] = index
    return seen


def _first(events: list[e.RoundEvent], kind: type[e.RoundEvent]) -> int | None:
    return next((index for index, event in enumerate(events) if isinstance(event, kind)), None)


@pytest.mark.parametrize("name", sorted(all_rulesets()))
def test_no_body_holds_a_card_before_its_moment(name: str) -> None:
    """Rules 4.2, 4.3, 6.7 and 6.8: every prefix of the record, over many rounds."""
    shown = 0
    for seed in SEEDS:
        whole = simulated(name, seed)
        allowed = allowed_from(whole)
        for index, record in enumerate(whole.records()):
            for text in card_texts_in(json.loads(record.body)):
                assert index >= allowed.get(text, len(whole.events)), f"seed {seed}, event {index}: {text} is early"
                shown += 1
    assert shown > 200  # the scan saw the cards of the rounds


@pytest.mark.parametrize("name", sorted(all_rulesets()))
def test_the_server_seed_stands_in_its_revelation_alone(name: str) -> None:
    """Rule 10.3: the last event of the round, and no body before it."""
    for seed in SEEDS:
        whole = simulated(name, seed)
        *before, last = whole.records()
        secret = whole.server_seed.hex().encode()

        assert last.type == e.SeedRevealed.NAME
        assert secret in last.body
        assert not any(secret in record.body.lower() for record in before)


def test_the_scan_finds_a_card_that_slipped_out() -> None:
    """The test of this test: the dealer's hidden card in a field of another event is found."""
    whole = simulated("russian-poker@1", 0)
    hidden = next(event for event in whole.events if isinstance(event, e.DealerRevealed)).cards[0]
    early = e.BoxPlaced(
        ante=1, bet=0, bonus=0, box=1, client_seed="", mode=e.Mode.OPEN, player=hidden
    )

    assert list(card_texts_in(json.loads(json.dumps({"data": {"player": early.player, "x": [early.player]}})))) == [
        hidden, hidden
    ]  # fmt: skip
    assert allowed_from(whole)[hidden] > 1
