"""`dealproof rulesets`: every parameter in words, and every difference between two rulesets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.ruleset import Parameters, Ruleset, load_ruleset
from domain.rulesets import released_rulesets
from ops.cli.rulesets import differences, sentences
from tests.ops.cli.running import REPOSITORY, dealproof, dealproof_process

RELEASED = released_rulesets()


def document(name: str, **parameters: Any) -> dict[str, Any]:
    """A released document with other values for some parameters."""
    changed: dict[str, Any] = json.loads(msgspec.json.encode(RELEASED[name].document))
    for parameter, value in parameters.items():
        changed["parameters"][parameter]["value"] = value
    return changed


def ruleset(name: str, **parameters: Any) -> Ruleset:
    return load_ruleset(json.dumps(document(name, **parameters)).encode())


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_example_of_the_page_is_the_released_document_and_has_its_digest() -> None:
    page = (REPOSITORY / "docs" / "formats" / "ruleset.md").read_text("utf-8")
    blocks = re.findall(r"^```(?:json)?\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    example = load_ruleset(blocks[0].encode())

    assert example.digest.hex() == blocks[1].strip() == RELEASED["open-russian-poker@1"].digest.hex()


def test_the_page_explains_every_parameter() -> None:
    page = (REPOSITORY / "docs" / "formats" / "ruleset.md").read_text("utf-8")
    explained = re.findall(
        r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", page.split("## Parameters")[1], re.MULTILINE))
    )

    assert explained == list(Parameters.__struct_fields__)


def test_the_list_has_every_released_ruleset_with_title_boxes_and_digest() -> None:
    ran = dealproof("rulesets")

    assert (ran.status, ran.stderr) == (0, "")
    for name, known in RELEASED.items():
        line = next(line for line in ran.stdout.splitlines() if line.startswith(name))
        assert flat(line) == (f"{name} {known.document.title.en} {known.boxes_on_table} {known.digest.hex()[:12]}…")


@pytest.mark.parametrize("name", RELEASED)
def test_show_says_every_parameter_with_clause_and_source(name: str) -> None:
    known = RELEASED[name]

    ran = dealproof("rulesets", "show", name)

    assert ran.status == 0
    assert f"digest {known.digest.hex()}" in ran.stdout
    assert known.document.title.ru in ran.stdout
    assert max(len(line) for line in ran.stdout.splitlines()) <= 80
    sources: dict[str, list[str]] = {}
    rows = [line for line in ran.stdout.splitlines() if line.startswith(f"{known.document.clauses}-")]
    assert len(rows) == len(Parameters.__struct_fields__)
    for row in rows:
        clause, source = row.split()[0], row.split()[-1]
        sources.setdefault(clause, []).append(source)
    for field in Parameters.__struct_fields__:
        parameter = getattr(known.document.parameters, field)
        assert parameter.source in sources[known.clause(parameter.clause)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("russian-poker@1", "RP-9.2 Ace-king pays 1 to 1 text Pair pays 1 to 1 Two pair pays 2 to 1"),
        ("russian-poker@1", "RP-6.4 An exchange of 1 to 5 cards costs 1 ante text"),
        ("five-card-poker@1", "FCP-6.4 An exchange of 1 card costs 1 ante, of 2 cards costs 1 1/2 text antes"),
        ("five-card-poker@1", "FCP-6.5 A sixth card is not offered text"),
        ("five-card-poker@1", "FCP-5.2 The bonus on three of a kind pays 20 to 1 text"),
        ("five-card-poker@1", "The bonus on royal flush pays 5,000 to 1"),
        ("five-card-poker@1", "FCP-5.3 The jackpot is won by no combination text"),
        ("open-russian-poker@1", "ORP-5.3 Straight flush wins 1/10 of the jackpot house"),
        ("open-russian-poker@1", "ORP-7.1 Insurance is offered from three of a kind upwards text"),
        ("multibox-russian-poker@1", "MRP-6.8 A dark box may buy a sixth card"),
    ],
)
def test_values_are_said_in_words(name: str, words: str) -> None:
    assert words in flat(dealproof("rulesets", "show", name).stdout)


@pytest.mark.parametrize("name", RELEASED)
def test_show_as_json_has_the_document_and_the_words(name: str) -> None:
    known = RELEASED[name]

    shown = json.loads(dealproof("rulesets", "show", name, "--json").stdout)

    assert (shown["ruleset"], shown["digest"]) == (name, known.digest.hex())
    assert set(shown["parameters"]) == set(Parameters.__struct_fields__)
    original = document(name)["parameters"]
    for field, parameter in shown["parameters"].items():
        assert parameter["value"] == original[field]["value"]
        assert parameter["source"] == original[field]["source"]
        assert parameter["clause"] == known.clause(original[field]["clause"])
        assert parameter["words"]


def test_without_a_version_the_newest_is_shown() -> None:
    assert dealproof("rulesets", "show", "russian-poker") == dealproof("rulesets", "show", "russian-poker@1")


def test_a_document_on_disk_is_shown_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(document("russian-poker@1", bet_antes=3) | {"version": 2}))

    ran = dealproof("rulesets", "show", str(path))

    assert ran.status == 0
    assert ran.stdout.startswith("russian-poker@2 ")
    assert "The BET is 3 antes" in ran.stdout


OTHER_VALUES: dict[str, Any] = {
    "qualifier": "pair",
    "second_combination": False,
    "doubled_straight": "straight-and-pair",
    "boxes_on_table": 2,
    "boxes_per_player": 3,
    "boxes_adjacent": False,
    "open_boxes_per_player": 1,
    "dark_boxes_per_player": 1,
    "open_antes": "free",
    "table_defaults": {
        "ante_min": 1, "ante_max": 2, "ante_step": 1, "bonus_min": 3, "bonus_max": 4, "payout_max": 5,
    },
    "bonus_stake": None,
    "funds_at_deal_half_antes": 9,
    "funds_after_draw_half_antes": 1,
    "deal_order": "one-by-one",
    "upcard": "last",
    "hands_shown": "in-turn",
    "bonus_odds": {},
    "jackpot_shares": {},
    "jackpot_contribution": [0, 1],
    "jackpot_seed_amount": 7,
    "bonus_needs_announcement": True,
    "bet_antes": 3,
    "exchange_half_antes": [],
    "sixth_card_half_antes": None,
    "draw_timing": "at-once",
    "dark_sixth_card": True,
    "insurance_from": None,
    "insurance_share": [1, 2],
    "insurance_within_payout_max": False,
    "insurance_loss": "always",
    "dealer_game_half_antes": None,
    "dealer_game_free_repeat": False,
    "bet_odds": {"two-pair": 2},
    "ante_on_win": "paid",
    "payout_max_covers": "nothing",
}  # fmt: skip


def test_the_table_of_other_values_misses_no_parameter() -> None:
    assert set(OTHER_VALUES) == set(Parameters.__struct_fields__)


@pytest.mark.parametrize("field", OTHER_VALUES)
def test_another_value_of_any_parameter_reads_differently(field: str) -> None:
    kind = msgspec.structs.fields(Parameters)[Parameters.__struct_fields__.index(field)].type
    other = msgspec.convert({"value": OTHER_VALUES[field], "source": "text", "clause": "1.1"}, kind)
    mine = getattr(RELEASED["open-russian-poker@1"].document.parameters, field)

    assert mine.value != other.value
    assert sentences(field, mine.value) != sentences(field, other.value)
    assert all(sentence[-1] not in " :" for sentence in sentences(field, other.value))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"bet_antes": 3}, ["The BET is 2 antes in A, 3 antes in B (RP-6.3)"]),
        ({"insurance_share": [1, 2]}, [
            "The largest insurance is the whole of what the BET would win, rounded down in A, "
            "1/2 of what the BET would win, rounded down in B (RP-7.2)",
        ]),
        ({"bonus_odds": {"flush": 100}, "jackpot_shares": {"royal-flush": [1, 1]}}, [
            "The bonus on three of a kind pays 25 to 1 in A, nothing in B (RP-5.2)",
            "The bonus on straight pays 40 to 1 in A, nothing in B (RP-5.2)",
            "The bonus on flush pays 50 to 1 in A, 100 to 1 in B (RP-5.2)",
            "The bonus on full house pays 70 to 1 in A, nothing in B (RP-5.2)",
            "The bonus on four of a kind pays 200 to 1 in A, nothing in B (RP-5.2)",
            "The bonus on straight flush pays 500 to 1 in A, nothing in B (RP-5.2)",
            "The bonus on royal flush pays 1,000 to 1 in A, nothing in B (RP-5.2)",
            "Royal flush wins no share of the jackpot in A, the whole of the jackpot in B (RP-5.3)",
        ]),
        ({"exchange_half_antes": [2, 2, 3]}, [
            "An exchange of 1 to 5 cards costs 1 ante in A, of 1 to 2 cards costs 1 ante, of 3 cards costs 1 1/2 antes "
            "in B (RP-6.4)",
        ]),
        ({}, []),
    ],
)  # fmt: skip
def test_a_version_differs_in_just_what_was_changed(changes: dict[str, Any], says: list[str]) -> None:
    assert list(differences(RELEASED["russian-poker@1"], ruleset("russian-poker@1", **changes))) == says


def test_another_source_or_clause_of_the_same_value_is_a_difference() -> None:
    changed = document("russian-poker@1")
    changed["parameters"]["bet_antes"]["source"] = "house"
    changed["parameters"]["upcard"]["clause"] = "4.9"

    found = differences(RELEASED["russian-poker@1"], load_ruleset(json.dumps(changed).encode()))

    assert list(found) == [
        "Upcard: the same value under another clause (RP-4.2 / RP-4.9)",
        "Bet antes: the same value from another source (RP-6.3 text / RP-6.3 house)",
    ]


def test_diff_names_both_rulesets_and_says_what_differs() -> None:
    ran = dealproof("rulesets", "diff", "russian-poker", "open-russian-poker@1")

    assert (ran.status, ran.stderr) == (0, "")
    assert ran.stdout.startswith("A  russian-poker@1  Russian Poker  ")
    assert "\nB  open-russian-poker@1  " in ran.stdout
    assert "- Two pair pays 2 to 1 in A, 1 to 1 in B (RP-9.2 / ORP-9.2)" in ran.stdout
    assert max(len(line) for line in ran.stdout.splitlines()) <= 80


def test_equal_rulesets_are_said_to_be_the_same_document() -> None:
    ran = dealproof("rulesets", "diff", "russian-poker", "russian-poker@1")

    assert ran.status == 0
    assert "are the same document" in ran.stdout


def test_rulesets_that_differ_in_their_name_alone_are_said_to_be_equal(tmp_path: Path) -> None:
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(document("russian-poker@1") | {"version": 2}))

    ran = dealproof("rulesets", "diff", "russian-poker@1", str(path))

    assert ran.status == 0
    assert "All parameters are equal" in ran.stdout


BAD_DOCUMENTS = {
    "empty": (b"", "not JSON"),
    "garbage": (bytes(range(255, 0, -1)), "not UTF-8 text"),
    "truncated": (json.dumps(document("russian-poker@1")).encode()[:500], "not JSON"),
    "doubled key": (b'{"id": "a", "id": "b"}', "the key 'id' stands twice"),
    "no parameters": (b"{}", "missing required field `format`"),
    "fraction": (json.dumps(document("russian-poker@1", bet_antes=2.5)).encode(), "parameters.bet_antes"),
    "out of range": (json.dumps(document("russian-poker@1", bet_antes=-2)).encode(), "parameters.bet_antes: must be"),
    "too long": (b" " * (1 << 21), "longer than 1048576 bytes"),
}


@pytest.mark.parametrize(("data", "says"), BAD_DOCUMENTS.values(), ids=BAD_DOCUMENTS.keys())
def test_a_bad_document_is_refused_in_one_line(data: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(data)

    ran = dealproof("rulesets", "show", str(path))

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dealproof: ")
    assert says in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("russian-poker@2", "no released ruleset and no file; there are five-card-poker@1, "),
        ("\x1b[2J", "no released ruleset and no file"),
        ("/", "Is a directory"),
        ("a\0b", "no released ruleset and no file"),
        ("", "no released ruleset and no file"),
    ],
)
def test_an_unknown_ruleset_is_named_with_what_there_is(name: str, says: str) -> None:
    ran = dealproof("rulesets", "diff", "russian-poker", name)

    assert (ran.status, ran.stdout) == (2, "")
    assert says in ran.stderr
    assert ran.stderr[:-1].isprintable()


def test_titles_in_russian_do_not_stop_a_terminal_without_the_letters() -> None:
    ran = dealproof_process("rulesets", "show", "russian-poker", environment={"PYTHONIOENCODING": "ascii"})

    assert ran.returncode == 0
    assert b"\\u0420" in ran.stdout
