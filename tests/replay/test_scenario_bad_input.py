"""Scenarios that nobody should send: each is an error that names the field, or a refusal with its index.

An error is a `ScenarioError` with one line that a person can act on; nothing else ever comes out of `run_scenario`.

Not here: which decisions the rules refuse (`tests/rules`), exit codes (`tests/ops/cli`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.cards import CARD_TEXTS
from domain.rulesets import released_rulesets
from replay.scenario import ScenarioError, run_scenario

GOOD: dict[str, Any] = {
    "ruleset": "russian-poker@1",
    "table": {"ante_min": 1, "ante_max": 100_000, "ante_step": 1, "payout_max": None, "jackpot": 0},
    "deck": list(CARD_TEXTS),
    "boxes": [{"box": 1, "player": "p1", "mode": "open", "ante": 100, "bonus": 0}],
    "decisions": [{"box": 1, "action": "exchange", "discard": [0]}, {"box": 1, "action": "bet"}],
}
TEXT = json.dumps(GOOD)


def run(text: str | bytes) -> dict[str, Any]:
    """What a scenario reports."""
    return run_scenario(text, released_rulesets())


def error(text: str | bytes) -> str:
    """The line that a scenario is refused with."""
    with pytest.raises(ScenarioError) as caught:
        run(text)
    message = str(caught.value)
    assert message
    assert "\n" not in message
    assert len(message) < 400
    return message


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    """The good scenario with one thing wrong."""
    scenario = deepcopy(GOOD)
    change(scenario)
    return json.dumps(scenario)


def test_the_scenario_that_the_others_are_made_from_is_good() -> None:
    """Else every test here would pass for nothing."""
    assert run(TEXT)["refusal"] is None
    assert run(TEXT.encode())["boxes"][0]["staked"] == 400


# -- amounts

AMOUNTS = ["-1", "1e3", "100.0", "0.5", '"100"', "true", "null", "[100]", "{}", "1" * 12, "1" * 40, "1e400", "-0.0"]
FIELDS = [
    ('"ante": 100', '"ante": ', "boxes[0].ante"),
    ('"bonus": 0', '"bonus": ', "boxes[0].bonus"),
    ('"jackpot": 0', '"jackpot": ', "table.jackpot"),
    ('"ante_max": 100000', '"ante_max": ', "table.ante_max"),
    ('"payout_max": null', '"payout_max": ', "table.payout_max"),
]


@pytest.mark.parametrize("amount", AMOUNTS, ids=lambda amount: amount[:12])
@pytest.mark.parametrize(("good", "field", "where"), FIELDS, ids=[f[2] for f in FIELDS])
def test_an_amount_is_a_whole_number_within_bounds(good: str, field: str, where: str, amount: str) -> None:
    """Never negative, never a fraction, never text or truth, never beyond what a record can hold."""
    if amount == "null" and where.startswith("table.") and not where.endswith("jackpot"):
        assert run(TEXT.replace(good, field + amount))["refusal"] is None  # null is no limit
        return
    if amount == "1" * 12 and where in ("table.jackpot", "table.payout_max"):
        assert run(TEXT.replace(good, field + amount))["refusal"] is None  # a pot may be larger than a stake
        return
    message = error(TEXT.replace(good, field + amount))

    assert where in message or message == "Number out of range"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "+5", "0100", "0x10", "1_000", ".5", "5."])
def test_what_is_no_number_in_json_is_no_number_here(number: str) -> None:
    """RFC 8259 section 6; JavaScript's and Python's extras are not let through."""
    assert "JSON" in error(TEXT.replace('"ante": 100', f'"ante": {number}'))


@pytest.mark.parametrize("where", ['"ante": 100', '"box": 1, "player"', '"discard": [0', '"ante_min": 1'])
def test_a_number_of_five_thousand_digits_is_an_error_like_any_other(where: str) -> None:
    """Python refuses to convert it with an error of its own; it must not come out as that."""
    key, _, rest = where.partition(" ")
    tail = rest.lstrip("[0123456789")
    bracket = "[" if "[" in rest else ""
    error(TEXT.replace(where, f"{key} {bracket}{'1' * 5000}{tail}", 1))


# -- cards

CARDS: list[tuple[str, Callable[[dict[str, Any]], object], list[str]]] = [
    ("51 cards", lambda s: s["deck"].pop(), ["deck", "51", "52"]),
    ("53 cards", lambda s: s["deck"].append("2c"), ["deck", "card 52", "twice"]),
    ("no cards", lambda s: s["deck"].clear(), ["deck", "0 cards"]),
    ("a doubled card", lambda s: s["deck"].__setitem__(7, "2c"), ["deck", "card 7", "2c", "twice", "first at 0"]),
    ("an unknown card", lambda s: s["deck"].__setitem__(3, "1x"), ["deck", "card 3", "'1x'"]),
    ("ten in two digits", lambda s: s["deck"].__setitem__(32, "10c"), ["deck", "card 32", "'10c'"]),
    ("a suit in capitals", lambda s: s["deck"].__setitem__(0, "2C"), ["deck", "card 0", "'2C'"]),
    ("a card as a number", lambda s: s["deck"].__setitem__(5, 5), ["deck[5]"]),
    ("a card as null", lambda s: s["deck"].__setitem__(5, None), ["deck[5]"]),
    ("a deck as text", lambda s: s.__setitem__("deck", " ".join(CARD_TEXTS)), ["deck"]),
]


@pytest.mark.parametrize(("case", "change", "words"), CARDS, ids=[c[0] for c in CARDS])
def test_a_deck_is_52_distinct_cards(
    case: str, change: Callable[[dict[str, Any]], object], words: list[str]
) -> None:
    """The error names the deck, the place and the card."""
    message = error(changed(change))

    assert [word for word in words if word not in message] == []


# -- structure

STRUCTURE: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("an unknown field", lambda s: s.__setitem__("seed", "x"), "seed"),
    ("an unknown field of a box", lambda s: s["boxes"][0].__setitem__("bet", 200), "bet"),
    ("an unknown field of the table", lambda s: s["table"].__setitem__("max", 200), "max"),
    ("an unknown field of a decision", lambda s: s["decisions"][0].__setitem__("cards", []), "cards"),
    ("an unknown ruleset", lambda s: s.__setitem__("ruleset", "russian-poker@2"), "ruleset: 'russian-poker@2'"),
    ("a ruleset without its version", lambda s: s.__setitem__("ruleset", "russian-poker"), "ruleset: 'russian-poker'"),
    ("no ruleset", lambda s: s.pop("ruleset"), "ruleset"),
    ("no deck", lambda s: s.pop("deck"), "deck"),
    ("no boxes", lambda s: s.pop("boxes"), "boxes"),
    ("no ante", lambda s: s["boxes"][0].pop("ante"), "ante"),
    ("no player", lambda s: s["boxes"][0].pop("player"), "player"),
    ("an unknown mode", lambda s: s["boxes"][0].__setitem__("mode", "blind"), "boxes[0].mode"),
    ("a box as text", lambda s: s["boxes"][0].__setitem__("box", "1"), "boxes[0].box"),
    ("a box as a fraction", lambda s: s["boxes"][0].__setitem__("box", 1.5), "boxes[0].box"),
    ("boxes as an object", lambda s: s.__setitem__("boxes", {"1": {}}), "boxes"),
    ("an unknown action", lambda s: s["decisions"][1].__setitem__("action", "raise"), "decisions[1].action: 'raise'"),
    ("an action in capitals", lambda s: s["decisions"][1].__setitem__("action", "Bet"), "decisions[1].action: 'Bet'"),
    ("an action as a number", lambda s: s["decisions"][1].__setitem__("action", 1), "decisions[1].action"),
    ("discard missing for exchange", lambda s: s["decisions"][0].pop("discard"), "decisions[0].discard: is missing"),
    ("discard for bet", lambda s: s["decisions"][1].__setitem__("discard", [1]), "decisions[1].discard: has no place"),
    ("stake missing for insure", lambda s: s["decisions"][1].__setitem__("action", "insure"), "decisions[1].stake: is"),
    ("stake for bet", lambda s: s["decisions"][1].__setitem__("stake", 1), "decisions[1].stake: has no place"),
    ("stake for exchange", lambda s: s["decisions"][0].__setitem__("stake", 1), "decisions[0].stake: has no place"),
    ("a place as text", lambda s: s["decisions"][0].__setitem__("discard", ["0"]), "decisions[0].discard[0]"),
    ("a place as truth", lambda s: s["decisions"][0].__setitem__("discard", [True]), "decisions[0].discard[0]"),
    ("a place as a fraction", lambda s: s["decisions"][0].__setitem__("discard", [0.0]), "decisions[0].discard[0]"),
    ("discard as null", lambda s: s["decisions"][0].__setitem__("discard", None), "decisions[0].discard"),
    ("limits the wrong way round", lambda s: s["table"].__setitem__("ante_min", 100_001), "ante_min: is above"),
    ("a step of nothing", lambda s: s["table"].__setitem__("ante_step", 0), "table.ante_step"),
    ("a maximum payout of nothing", lambda s: s["table"].__setitem__("payout_max", 0), "table.payout_max"),
]


@pytest.mark.parametrize(("case", "change", "words"), STRUCTURE, ids=[s[0] for s in STRUCTURE])
def test_an_error_names_the_field(case: str, change: Callable[[dict[str, Any]], object], words: str) -> None:
    """One row a mistake; a misspelled field is never passed over in silence."""
    assert words in error(changed(change))


@pytest.mark.parametrize(
    ("where", "doubled", "key"),
    [
        ('"ante": 100', '"ante": 100, "ante": 1', "ante"),
        ('"player": "p1"', '"player": "p1", "player": "p1"', "player"),
        ('"ruleset": "russian-poker@1"', '"ruleset": "russian-poker@1", "ruleset": "x"', "ruleset"),
        ('"action": "bet"', '"action": "bet", "\\u0061ction": "fold"', "action"),
    ],
)
def test_a_doubled_key_is_an_error_even_with_equal_values(where: str, doubled: str, key: str) -> None:
    """Parsers differ in which one they keep (RFC 8259 section 4), so neither is kept; escapes hide nothing."""
    assert f"the key '{key}' stands twice" in error(TEXT.replace(where, doubled))


# -- text

NOT_JSON: list[tuple[str, str | bytes]] = [
    ("nothing", b""),
    ("a word", b"scenario"),
    ("half a scenario", TEXT[:200].encode()),
    ("two scenarios", (TEXT + TEXT).encode()),
    ("broken UTF-8", TEXT.encode().replace(b"p1", b"\xff")),
    ("UTF-16", TEXT.encode("utf-16")),
    ("a byte order mark", b"\xef\xbb\xbf" + TEXT.encode()),
    ("half a surrogate pair", TEXT.replace('"p1"', '"\\ud800"').encode()),
    ("half a surrogate pair as text", TEXT.replace('"p1"', '"\ud800"')),
    ("a comment", (TEXT + " // fine").encode()),
    ("a trailing comma", TEXT.replace("]}", "],}").encode()),
    ("single quotes", TEXT.replace('"', "'").encode()),
    ("a null byte", TEXT.replace("p1", "p\x001").encode()),
    ("lists in lists", b"[" * 100_000 + b"]" * 100_000),
    ("objects in objects", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    ("lists in a field", TEXT.replace('"discard": [0]', '"discard": ' + "[" * 5000 + "]" * 5000).encode()),
    ("a list", b"[]"),
    ("null", b"null"),
    ("a number", b"1"),
    ("an empty object", b"{}"),
]


@pytest.mark.parametrize(("case", "text"), NOT_JSON, ids=[n[0] for n in NOT_JSON])
def test_what_is_no_scenario_is_an_error(case: str, text: str | bytes) -> None:
    """Broken text, other encodings, deep nesting: one line, no traceback."""
    error(text)


@given(st.binary(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_an_error_or_a_scenario(data: bytes) -> None:
    """Nothing but a ScenarioError comes out of noise."""
    error(data)


@given(st.integers(0, len(TEXT) - 1), st.binary(min_size=1, max_size=3))
@settings(max_examples=500, deadline=None)
def test_a_scenario_with_a_few_bytes_changed_is_an_error_or_an_outcome(at: int, noise: bytes) -> None:
    """Whatever they spell: an error, a refusal or another good scenario, never another exception."""
    text = TEXT.encode()
    try:
        outcome = run(text[:at] + noise + text[at + len(noise) :])
    except ScenarioError:
        return
    assert set(outcome) == {"boxes", "dealer", "refusal"}


# -- refusals

REFUSED: list[tuple[str, Callable[[dict[str, Any]], object], int | None, str]] = [
    ("a box that nobody plays", lambda s: s["decisions"][0].__setitem__("box", 2), 0, "box-unknown"),
    ("a box below zero", lambda s: s["decisions"][1].__setitem__("box", -1), 1, "box-unknown"),
    ("a decision missing", lambda s: s["decisions"].pop(), 1, "decision-missing"),
    ("no decision at all", lambda s: s.pop("decisions"), 0, "decision-missing"),
    ("a decision too many", lambda s: s["decisions"].append({"box": 1, "action": "bet"}), 2, "round-ended"),
    ("a fold too many", lambda s: s["decisions"].append({"box": 1, "action": "fold"}), 2, "round-ended"),
    ("no box", lambda s: s["boxes"].clear(), None, "no-boxes"),
    ("a box of no table", lambda s: s["boxes"][0].__setitem__("box", 2), None, "box-unknown"),
    ("a box of a huge number", lambda s: s["boxes"][0].__setitem__("box", 10**40), None, "box-unknown"),
    ("a box twice", lambda s: s["boxes"].append(dict(s["boxes"][0])), None, "box-taken"),
    ("nobody's box", lambda s: s["boxes"][0].__setitem__("player", ""), None, "player-missing"),
    ("an ante of nothing", lambda s: s["boxes"][0].__setitem__("ante", 0), None, "ante-off-limits"),
    ("a bonus above the ante", lambda s: s["boxes"][0].__setitem__("bonus", 101), None, "bonus-off-limits"),
    ("a dark box", lambda s: s["boxes"][0].__setitem__("mode", "dark"), None, "too-many-dark-boxes"),
    ("no place", lambda s: s["decisions"][0].__setitem__("discard", []), 0, "discard-invalid"),
    ("the sixth place", lambda s: s["decisions"][0].__setitem__("discard", [5]), 0, "discard-invalid"),
    ("a place twice", lambda s: s["decisions"][0].__setitem__("discard", [1, 1]), 0, "discard-invalid"),
    ("a place below zero", lambda s: s["decisions"][0].__setitem__("discard", [-1]), 0, "discard-invalid"),
]


@pytest.mark.parametrize(("case", "change", "at", "code"), REFUSED, ids=[r[0] for r in REFUSED])
def test_what_the_rules_forbid_is_a_refusal_with_its_index(
    case: str, change: Callable[[dict[str, Any]], object], at: int | None, code: str
) -> None:
    """The index is that of the decision; a box or the deal has none.  There are no results beside a refusal."""
    outcome = run(changed(change))

    assert (outcome["refusal"]["at"], outcome["refusal"]["code"]) == (at, code)
    assert outcome["refusal"]["text"].endswith(".")
    assert (outcome["boxes"], outcome["dealer"]) == ([], None)
    json.dumps(outcome)  # plain values only


def test_a_malformed_decision_is_an_error_even_where_the_rules_would_refuse_something_before_it() -> None:
    """The shape of the whole file comes first: an ante off limits and a decision that doesn't exist."""
    bad = {**GOOD, "boxes": [{**GOOD["boxes"][0], "ante": 200_000}], "decisions": [{"box": 1, "action": "cheat"}]}

    assert "decisions[0].action" in error(json.dumps(bad))
