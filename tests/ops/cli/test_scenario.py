"""`dealproof scenario`: outcomes, exit statuses, and what is said about input that can't be played."""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.ops.cli.running import REPOSITORY, command, dealproof, dealproof_process

VECTORS = sorted((REPOSITORY / "tests" / "vectors" / "scenarios").glob("*.jsonl"))
GAMES = [path.stem for path in VECTORS]


def vectors(game: str) -> list[dict[str, Any]]:
    path = next(path for path in VECTORS if path.stem == game)
    return [json.loads(line) for line in path.read_text().splitlines()]


SCENARIO: dict[str, Any] = vectors("russian-poker")[0]["scenario"]
REFUSED: dict[str, Any] = {**SCENARIO, "decisions": [{"box": 1, "action": "bet"}, {"box": 1, "action": "fold"}]}


def lines(*scenarios: object) -> bytes:
    return b"".join(json.dumps(scenario).encode() + b"\n" for scenario in scenarios)


def test_the_example_of_the_page_comes_out_as_the_page_says() -> None:
    page = (REPOSITORY / "docs" / "formats" / "scenario.md").read_text("utf-8")
    given, expected = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    ran = dealproof("scenario", "--json", "-", stdin=given.encode())

    assert ran.status == 0
    assert ran.stdout == json.dumps(json.loads(expected), separators=(",", ":")) + "\n"


@pytest.mark.parametrize("game", GAMES)
def test_every_vector_comes_out_as_expected_and_in_order(game: str, tmp_path: Path) -> None:
    cases = vectors(game)
    file = tmp_path / "cases.jsonl"
    file.write_bytes(lines(*(case["scenario"] for case in cases)))

    ran = dealproof("scenario", "--json", str(file))

    assert (ran.status, ran.stderr) == (0, "")
    outcomes = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(outcomes) == len(cases) == 300
    for case, outcome in zip(cases, outcomes, strict=True):
        assert [_without_extras(box) for box in outcome["boxes"]] == case["expected"]["boxes"]
        assert {name: outcome["dealer"][name] for name in case["expected"]["dealer"]} == case["expected"]["dealer"]
        assert all(sum(line["amount"] for line in box["lines"]) == box["net"] for box in outcome["boxes"])


def _without_extras(box: dict[str, Any]) -> dict[str, Any]:
    return {name: box[name] for name in ("box", "staked", "returned", "net", "main", "second")}


@pytest.mark.parametrize("indent", [None, 0, 2], ids=["one line", "many lines", "indented"])
def test_one_object_may_stand_on_any_number_of_lines(indent: int | None) -> None:
    pretty = json.dumps(SCENARIO, indent=indent).encode()

    ran = dealproof("scenario", "--json", "-", stdin=b"\n\n" + pretty)

    assert ran.status == 0
    assert json.loads(ran.stdout)["boxes"][0]["net"] == 810


def test_blank_lines_and_a_missing_last_line_break_do_no_harm() -> None:
    ran = dealproof("scenario", "--json", "-", stdin=b"\n" + lines(SCENARIO) + b"\r\n  \n" + lines(SCENARIO)[:-1])

    assert (ran.status, len(ran.stdout.splitlines())) == (0, 2)


def test_a_refusal_is_printed_the_rest_is_played_and_the_status_is_1() -> None:
    ran = dealproof("scenario", "--json", "-", stdin=lines(SCENARIO, REFUSED, SCENARIO))

    assert (ran.status, ran.stderr) == (1, "")
    outcomes = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [outcome["refusal"] and outcome["refusal"]["at"] for outcome in outcomes] == [None, 1, None]
    assert outcomes[1]["refusal"]["code"] == "round-ended"


def test_a_malformed_line_goes_before_a_refusal_and_all_before_it_is_printed() -> None:
    ran = dealproof("scenario", "--json", "-", stdin=lines(REFUSED, SCENARIO) + b'{"ruleset": \n' + lines(SCENARIO))

    assert ran.status == 2
    assert len(ran.stdout.splitlines()) == 2
    assert ran.stderr.startswith("dealproof: standard input: line 3: not JSON")


def changed(**changes: Any) -> bytes:
    return lines(SCENARIO | changes)


def with_ante(text: str) -> bytes:
    return lines(SCENARIO).replace(b'"ante": 364', f'"ante": {text}'.encode())


DECK: list[str] = SCENARIO["deck"]
BAD_INPUT = {
    "empty": (b"", "holds no scenario"),
    "blank": (b"\n \n", "holds no scenario"),
    "binary garbage": (bytes(range(256)), "line 1: not "),
    "zero bytes": (bytes(64), "line 1: not JSON: Expecting value"),
    "truncated": (lines(SCENARIO)[:300], "line 1: not JSON"),
    "truncated, more follows": (lines(SCENARIO)[:300] + b"\n" + lines(SCENARIO), "line 1: not JSON"),
    "a list": (b"[1]\n", "line 1: Expected `object`, got `array`"),
    "too deep": (b"[" * 5000, "line 1: not JSON: nested too deeply"),
    "unknown key": (changed(bet=1), "line 1: bet: is no field of a scenario"),
    "missing key": (lines({k: v for k, v in SCENARIO.items() if k != "deck"}), "line 1: deck: is missing"),
    "missing key below": (changed(boxes=[{"box": 1}]), "line 1: boxes[0].player: is missing"),
    "51 cards": (changed(deck=DECK[:51]), "line 1: deck: has 51 cards, not 52"),
    "doubled card": (changed(deck=[*DECK[:51], DECK[0]]), f"line 1: deck: card 51: {DECK[0]} stands there twice"),
    "no card": (changed(deck=["1x", *DECK[1:]]), "line 1: deck: card 0: '1x' is not a card"),
    "NaN": (with_ante("NaN"), "line 1: ante: NaN is not a number in JSON"),
    "1e3": (with_ante("1e3"), "line 1: boxes[0].ante: Expected `int`, got `float`"),
    "fraction": (with_ante("364.5"), "line 1: boxes[0].ante: Expected `int`, got `float`"),
    "text": (with_ante('"364"'), "line 1: boxes[0].ante: Expected `int`, got `str`"),
    "negative": (with_ante("-1"), "line 1: boxes[0].ante: Expected `int` >= 0"),
    "huge": (with_ante("9" * 30), "line 1: boxes[0].ante: "),
    "doubled key": (with_ante('364, "ante": 365'), "line 1: the key 'ante' stands twice"),
    "unknown ruleset": (changed(ruleset="russian-poker@9"), "line 1: ruleset: 'russian-poker@9' is not known"),
    "unknown mode": (lines(SCENARIO).replace(b'"open"', b'"ajar"'), "line 1: boxes[0].mode: Invalid enum value"),
    "unknown action": (changed(decisions=[{"box": 1, "action": "raise"}]), "line 1: decisions[0].action: 'raise'"),
    "control characters": (changed(ruleset="\x1b[31m\n"), "line 1: ruleset: '\\x1b[31m\\n' is not known"),
    "third line": (lines(SCENARIO) + b"\n" + with_ante("true"), "line 3: boxes[0].ante: Expected `int`, got `bool`"),
    "far too long": (b'"' + b"x" * (1 << 21) + b'"', "line 1: longer than 1048576 bytes"),
}


@pytest.mark.parametrize(("text", "says"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_refused_in_one_line_that_names_line_field_and_reason(text: bytes, says: str) -> None:
    ran = dealproof("scenario", "--json", "-", stdin=text)

    assert ran.status == 2
    assert ran.stderr.startswith(f"dealproof: standard input: {says}")
    assert ran.stderr.count("\n") == 1
    assert ran.stderr[:-1].isprintable()


def test_the_line_of_an_error_is_counted_through_an_object_over_many_lines() -> None:
    pretty = json.dumps(SCENARIO, indent=1).splitlines()
    pretty[9] = pretty[9].rstrip(",") + " oops"

    ran = dealproof("scenario", "-", stdin="\n".join(pretty).encode())

    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("dealproof: standard input: line 10: not JSON: Expecting ',' delimiter at column")


@pytest.mark.parametrize(
    ("name", "reason"), [("missing.json", "No such file or directory"), (".", "Is a directory"), ("a\0b", "null")]
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, name: str, reason: str) -> None:
    ran = dealproof("scenario", str(tmp_path / name))

    assert (ran.status, ran.stdout) == (2, "")
    assert reason in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_for_people_every_amount_has_its_clause() -> None:
    ran = dealproof("scenario", "-", stdin=lines(SCENARIO))

    assert ran.status == 0
    for words in (
        "Box 1, open, p1",
        "5♥ J♥ 10♠ K♥ A♦ Q♦",
        "RP-7.2  insurance staked                              -1,611",
        "RP-9.2  BET wins: straight 4 to 1, stake returned      3,640",
        "6♥ 3♦ 2♣ 3♣ 8♦",
        "pair, qualifies",
    ):
        assert words in ran.stdout


def test_for_people_a_refusal_says_which_decision_and_why() -> None:
    ran = dealproof("scenario", "-", stdin=lines(REFUSED))

    assert ran.status == 1
    assert ran.stdout.startswith("REFUSED decision 1: ")


def test_a_players_name_cannot_steer_the_terminal() -> None:
    boxes = [SCENARIO["boxes"][0] | {"player": "\x1b[2J[red]p\u202e\n1"}]

    ran = dealproof("scenario", "-", stdin=changed(boxes=boxes))

    assert ran.status == 0
    assert "Box 1, open, \\x1b[2J[red]p\\u202e\\n1" in ran.stdout


def test_suits_are_letters_where_the_terminal_has_no_signs() -> None:
    ran = dealproof_process("scenario", "-", stdin=lines(SCENARIO), environment={"PYTHONIOENCODING": "ascii"})

    assert ran.returncode == 0
    assert b"5h Jh 10s Kh Ad Qd" in ran.stdout


def test_a_reader_that_leaves_early_ends_it_without_a_word() -> None:
    many = lines(*([SCENARIO] * 2000))

    with subprocess.Popen(
        command("scenario", "--json", "-"),
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        with suppress(BrokenPipeError):  # the command has gone before it read everything
            process.stdin.write(many)
            process.stdin.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (141, b"")
