"""A round as a person reads it: complete, within 80 columns, and never a traceback whatever the record holds."""

from __future__ import annotations

import io
import re
from itertools import count
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from domain.cards import card_texts, pretty_card
from domain.derivation import derivation
from domain.round import events as e
from domain.round.codec import EventRecord
from domain.round.state import fold
from domain.ruleset import Ruleset
from domain.rulesets import released_rulesets
from ops.cli.show import render_round
from replay.evidence import Evidence, by_digest
from tests.ops.cli.recorded import RecordedRound, recorded_round

NAMES = list(released_rulesets())


def shown(round_: RecordedRound, *, colour: bool = False, ruleset: Ruleset | None = None) -> str:
    file = io.StringIO()
    console = Console(file=file, width=80, color_system="standard" if colour else None, force_terminal=colour)
    console.print(render_round(round_.stream, round_.records, ruleset))
    return file.getvalue()


def with_ruleset(round_: RecordedRound, colour: bool = False) -> str:
    return shown(round_, ruleset=round_.ruleset, colour=colour)


def flat(text: str) -> str:
    """Without the line breaks of a narrow page."""
    return re.sub(r"\s+", " ", text)


def first_round_with(kind: type[e.RoundEvent]) -> RecordedRound:
    """A simulated round in which a kind of event happens."""
    for seed in count():
        for name in NAMES:
            round_ = recorded_round(name, seed)
            if any(isinstance(record.data, kind) for record in round_.records):
                return round_
    raise AssertionError


@pytest.mark.parametrize("name", NAMES)
def test_a_finished_round_is_told_whole(name: str) -> None:
    round_ = recorded_round(name, 1)
    state = fold(record.data for record in round_.records)
    assert state.opened is not None
    assert state.closed is not None

    text = flat(with_ruleset(round_))

    assert text.startswith(f"REPLAY {round_.stream} ")
    assert f"table table-1, round 1,234 ruleset {name} digest {round_.ruleset.digest.hex()}" in text
    assert f"commitment {state.opened.commitment}" in text
    assert "opened 2026-09-21 23:59:59.999 UTC ended 2026-09-22 00:00:00" in text
    assert text.count("minor units") == 1
    for record in round_.records:
        assert f" {record.seq} {record.at[11:23]} " in text
    for box in state.boxes:
        assert f"Box {box.box}, {'dark' if box.dark else 'open'}, {box.player}" in text
        assert f"hand {pretty(card_texts(box.cards))} combination" in text
        for line in derivation(round_.ruleset, state, box):
            assert line.clause in text
            assert f"{line.amount:,}" in text
    assert f"cards {pretty(card_texts(state.dealer))} combination" in text
    assert f"server seed {state.server_seed}" in text


@pytest.mark.parametrize("name", NAMES)
def test_after_the_reveal_the_whole_deck_is_shown(name: str) -> None:
    round_ = recorded_round(name, 1)
    deck = Evidence(round_.stream, round_.bodies, by_digest([round_.ruleset])).deck
    assert deck is not None

    text = flat(with_ruleset(round_))

    assert f"deck {pretty(card_texts(deck.cards(0, 52)))}" in text


def pretty(texts: list[str]) -> str:
    return " ".join(pretty_card(text) for text in texts)


def test_a_round_still_open_says_so_and_shows_no_card_that_was_not_shown() -> None:
    whole = recorded_round("multibox-russian-poker@1", 5)  # two open and two dark boxes
    open_round = whole.up_to(next(n for n, record in enumerate(whole.records) if isinstance(record.data, e.BetMade)))
    events = [record.data for record in open_round.records]
    public = {card for event in events if isinstance(event, e.HandShown | e.CardsDrawn) for card in event.cards}
    public |= {event.upcard for event in events if isinstance(event, e.CardsDealt)}

    text = with_ruleset(open_round)

    assert "still open" in text
    assert "The seed is not revealed" in text
    assert "hand         not shown" in text
    assert "staked so far" in text
    cards = set(re.findall(r"(?:10|[2-9JQKA])[♣♦♥♠]", text))
    assert cards == {pretty_card(card) for card in public}


def test_every_beginning_of_a_round_can_be_shown() -> None:
    round_ = recorded_round("open-russian-poker@1", 2)
    for length in range(len(round_.records) + 1):
        text = with_ruleset(round_.up_to(length))
        assert "fit together" not in text
        assert ("still open" in text) == (0 < length < len(round_.records))


def test_a_voided_round_names_the_reason_and_the_refunds() -> None:
    round_ = first_round_with(e.RoundVoided)
    voided = next(record.data for record in round_.records if isinstance(record.data, e.RoundVoided))

    text = flat(with_ruleset(round_))

    assert f"VOID {voided.reason}" in text
    for refund in voided.refunds:
        assert f"refunded, round void {refund.amount:,}" in text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (e.ExchangeBought, r"Box \d: exchanges ([0-9JQKA]+[♣♦♥♠] )+for [\d,]+"),
        (e.SixthCardBought, r"Box \d: buys a sixth card for [\d,]+"),
        (e.SixthCardDeclined, r"Box \d: stays with five cards"),
        (e.CardsDrawn, r"Box \d: gets ([0-9JQKA]+[♣♦♥♠] )+"),
        (e.HiddenCardDrawn, r"Box \d: gets its sixth card face down"),
        (e.InsuranceBought, r"Box \d: insures for [\d,]+"),
        (e.InsuranceSettled, r"Box \d: insurance [\d,]+ (lost|(won|returned), [\d,]+ back)"),
        (e.BoxFolded, r"Box \d: folds"),
        (e.BonusSettled, r"Box \d: bonus [\d,]+ (lost|won, [\d,]+ back): [a-z -]+"),
        (e.JackpotContributed, r"Box \d: [\d,]+ of the bonus go to the jackpot"),
        (e.DealerGameBought, r"Box \d: buys the dealer's game for [\d,]+"),
        (e.AnteTaken, r"Box \d: takes the ante"),
        (e.DealerCardReplaced, r"The dealer's \S+ is replaced (once more, free )?by \S+: [a-z -]+"),
    ],
)
def test_each_kind_of_event_has_its_words(kind: type[e.RoundEvent], words: str) -> None:
    assert re.search(words, flat(with_ruleset(first_round_with(kind))))


def test_a_jackpot_has_its_words() -> None:
    round_ = recorded_round("open-russian-poker@1", 1)
    won = e.JackpotWon(amount=100_000, box=1, combination="straight-flush", pot=1_000_000)
    records = [*round_.records, msgspec.structs.replace(round_.records[-1], data=won, seq=99)]  # type: ignore[type-var]

    text = flat(with_ruleset(round_._replace(records=records)))

    assert "Box 1: wins 100,000 of the jackpot 1,000,000: straight flush" in text


@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_wider_than_80_columns_and_nothing_is_cut(name: str) -> None:
    for seed in range(8):
        text = with_ruleset(recorded_round(name, seed))
        assert max(len(line) for line in text.splitlines()) <= 80
        assert "…" not in text


def test_hearts_and_diamonds_are_red_and_only_in_colour() -> None:
    round_ = recorded_round("open-russian-poker@1", 3)

    assert re.search("\x1b\\[31m[0-9JQKA]+[♥♦]\x1b\\[0m", with_ruleset(round_, colour=True))
    assert not re.search("\x1b\\[31m[0-9JQKA]+[♣♠]", with_ruleset(round_, colour=True))
    assert "\x1b" not in with_ruleset(round_)


def test_without_its_ruleset_a_round_is_shown_with_its_totals() -> None:
    round_ = recorded_round("five-card-poker@1", 4)

    text = shown(round_, ruleset=None)

    assert "not known here: no deck and no derivation" in flat(text)
    assert "FCP-" not in text
    assert " net " in text


def test_a_net_that_the_lines_do_not_give_is_visible() -> None:
    round_ = recorded_round("russian-poker@1", 7)
    records = [_with_more_net(record) for record in round_.records]

    assert "the lines above add up to" in with_ruleset(round_._replace(records=records))
    assert "the lines above add up to" not in with_ruleset(round_)


def _with_more_net(record: EventRecord) -> EventRecord:
    if not isinstance(record.data, e.BoxSettled):
        return record
    data = msgspec.structs.replace(record.data, net=record.data.net + 1)
    return msgspec.structs.replace(record, data=data)  # type: ignore[type-var]


def test_a_card_that_is_none_is_shown_as_it_stands_without_results() -> None:
    round_ = recorded_round("russian-poker@1", 7)
    shown_hand = next(n for n, record in enumerate(round_.records) if isinstance(record.data, e.HandShown))
    data = e.HandShown(box=1, cards=["As", "zz", "\x1b[2J"])
    records = list(round_.records)
    records[shown_hand] = msgspec.structs.replace(records[shown_hand], data=data)  # type: ignore[type-var]

    text = with_ruleset(round_._replace(records=records))

    assert "Box 1: hand A♠ zz \\x1b[2J" in text
    assert "The events don't fit together: no results." in text


@settings(deadline=None, max_examples=60)  # rendering a page takes what the machine has left
@given(seed=st.integers(0, 50), name=st.sampled_from(NAMES), tampering=st.randoms(use_true_random=False))
def test_a_tampered_record_is_shown_as_far_as_it_can_be(seed: int, name: str, tampering: Random) -> None:
    round_ = recorded_round(name, seed)
    records = list(round_.records)
    for _ in range(tampering.randint(1, 4)):
        place = tampering.randrange(len(records))
        match tampering.randrange(4):
            case 0:
                records.pop(place)
            case 1:
                records.insert(tampering.randrange(len(records)), records[place])
            case 2:
                other = tampering.randrange(len(records))
                records[place], records[other] = records[other], records[place]
            case 3:
                records[place] = _garbled(records[place], tampering)
        if not records:
            return

    text = with_ruleset(round_._replace(records=records))

    assert text.startswith("REPLAY")
    assert "\x1b" not in text


def _garbled(record: EventRecord, random: Random) -> EventRecord:
    """The record with one field of its event set to something a decoder would take."""
    field = random.choice(record.data.__struct_fields__)
    value = getattr(record.data, field)
    if isinstance(value, str):
        value = random.choice(["", "\x1b[2J", "zz", "9" * 300])
    elif isinstance(value, list):
        value = random.choice([[], value + value, value[1:], *([["zz"]] if field == "cards" else [])])
    elif type(value) is int:
        value = random.choice([-1, 0, 7, 10**15])
    changed = msgspec.structs.replace(record.data, **{field: value})
    return msgspec.structs.replace(record, data=changed)  # type: ignore[type-var]
