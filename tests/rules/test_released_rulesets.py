"""Released rulesets never change: their digests are pinned here, beside the rule pages' other promises.

A digest that differs means that a released document was edited.  Before the first release the owner may update the pin
in tests/vectors/rulesets/digests.json; after it, another value is another version in a file of its own.

Not here: what the parameters do (the clause tests beside this file).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from domain.ruleset import Parameters
from domain.rulesets import released_rulesets
from tests.rules.table import GAMES

ROOT = Path(__file__).parents[2]
PINS: dict[str, str] = json.loads((ROOT / "tests/vectors/rulesets/digests.json").read_text())


def test_every_released_document_has_its_pinned_digest() -> None:
    """The digest is what rounds, commitments and decks are bound to (rule 4.4)."""
    found = {name: ruleset.digest.hex() for name, ruleset in released_rulesets().items()}

    assert found == PINS, "a released ruleset was edited: give the new values a version of their own"


@pytest.mark.parametrize("page", GAMES)
def test_every_parameter_cites_a_clause_of_its_page(page: str) -> None:
    """A parameter's clause stands on the game's own page, in both languages."""
    document = released_rulesets()[GAMES[page]].document
    wanted = {getattr(document.parameters, name).clause for name in Parameters.__struct_fields__}
    for language in ("en", "ru"):
        text = (ROOT / f"docs/rules/{document.id}.{language}.md").read_text()
        assert wanted <= set(re.findall(rf"^\*\*{page}-(\d+\.\d+)\*\*", text, re.M))


@pytest.mark.parametrize("page", GAMES)
@pytest.mark.parametrize("number", ["5.2", "9.2"])
def test_the_odds_of_the_page_are_the_odds_of_the_document(page: str, number: str) -> None:
    """Rules 5.2 and 9.2: the tables in both languages against the document."""
    document = released_rulesets()[GAMES[page]].document
    parameters = document.parameters
    odds = (parameters.bonus_odds if number == "5.2" else parameters.bet_odds).value
    shares = parameters.jackpot_shares.value if number == "5.2" else {}
    expected = [f"{odds[name]}:1" for name in STRONGEST_FIRST if name in odds]
    expected = [f"{100 * n // d} %" for name in STRONGEST_FIRST if name in shares for n, d in [shares[name]]] + expected
    for language in ("en", "ru"):
        text = (ROOT / f"docs/rules/{document.id}.{language}.md").read_text()
        clause: Any = re.search(rf"\*\*{page}-{re.escape(number)}\*\*(.*?)\n\*\*{page}-", text, re.S)
        rows = re.findall(r"^\|[^|\n]+\|\s*(\d+:1|\d+ %)[^|\n]*\|", clause.group(1).replace("\u00a0", " "), re.M)
        assert rows == expected, f"{document.id}.{language}.md, clause {number}"


STRONGEST_FIRST = (
    "royal-flush", "straight-flush", "four-of-a-kind", "full-house", "flush", "straight", "three-of-a-kind",
    "two-pair", "pair", "ace-king",
)  # fmt: skip
