"""Amounts, ratios and times in words, and Russian for everything that a report says.

Not here: how a report is printed (`test_render`).
"""

from __future__ import annotations

import ast
import string
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import pytest
from babel.messages.pofile import read_po
from hypothesis import given
from hypothesis import strategies as st

from domain.account import ACCOUNT_EVENTS
from domain.currency import EXPONENTS
from domain.hands import COMBINATION_NAMES
from domain.jackpot import JACKPOT_EVENTS
from domain.ledger import Wager
from domain.round.events import Mode
from ops.reports.words import LANGUAGES, Words, plain_money, plain_ratio, translations
from projections import exceptions

REPORTS: Final = Path(__file__).parents[3] / "ops" / "reports"

EN, RU = Words("en"), Words("ru")


@pytest.mark.parametrize(
    ("amount", "currency", "english", "russian", "plain"),
    [
        (0, "EUR", "0.00", "0,00", "0.00"),
        (5, "EUR", "0.05", "0,05", "0.05"),
        (-5, "EUR", "−0.05", "−0,05", "-0.05"),
        (123456789, "EUR", "1,234,567.89", "1 234 567,89", "1234567.89"),
        (-123456789, "JPY", "−123,456,789", "−123 456 789", "-123456789"),
        (1, "KWD", "0.001", "0,001", "0.001"),
        (10**18 + 1, "USD", "10,000,000,000,000,000.01", "10 000 000 000 000 000,01", "10000000000000000.01"),
    ],
)
def test_an_amount_is_printed_from_its_digits(
    amount: int, currency: str, english: str, russian: str, plain: str
) -> None:
    assert EN.money(amount, currency) == english
    assert RU.money(amount, currency) == russian.replace(" ", "\N{NO-BREAK SPACE}")
    assert plain_money(amount, currency) == plain


@given(st.integers(), st.sampled_from(sorted(EXPONENTS)), st.sampled_from(LANGUAGES))
def test_an_amount_can_be_read_back(amount: int, currency: str, language: str) -> None:
    whole, _, part = plain_money(amount, currency).partition(".")
    assert (int(whole + part), len(part)) == (amount, EXPONENTS[currency])
    shown = Words(language).money(amount, currency).replace("−", "-")
    plain = shown.replace(",", "") if language == "en" else shown.replace("\xa0", "").replace(",", ".")
    assert plain == plain_money(amount, currency)


@pytest.mark.parametrize(
    ("ratio", "english", "russian", "plain"),
    [
        (Fraction(0), "0.0000 %", "0,0000 %", "0.0000"),
        (Fraction(1, 3), "33.3333 %", "33,3333 %", "33.3333"),
        (Fraction(2, 3), "66.6667 %", "66,6667 %", "66.6667"),
        (Fraction(-97, 100), "−97.0000 %", "−97,0000 %", "-97.0000"),
        (Fraction(1, 2_000_000), "0.0000 %", "0,0000 %", "0.0000"),  # half of the last decimal: to the even one
        (Fraction(3, 2_000_000), "0.0002 %", "0,0002 %", "0.0002"),
        (Fraction(-1, 2_000_001), "0.0000 %", "0,0000 %", "0.0000"),  # no minus nought
        (Fraction(123456), "12,345,600.0000 %", "12 345 600,0000 %", "12345600.0000"),
    ],
)
def test_a_ratio_is_a_percentage_rounded_half_to_even(ratio: Fraction, english: str, russian: str, plain: str) -> None:
    assert EN.ratio(ratio) == english
    assert RU.ratio(ratio) == russian.replace(" ", "\N{NO-BREAK SPACE}")
    assert plain_ratio(ratio) == plain


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("UTC", "2026-10-25 00:59:59.007 +00:00"),
        ("Europe/Moscow", "2026-10-25 03:59:59.007 +03:00"),
        ("Europe/Berlin", "2026-10-25 02:59:59.007 +02:00"),  # a second before the clocks go back
        ("America/St_Johns", "2026-10-24 22:29:59.007 −02:30".replace("−", "-")),
        ("Asia/Kathmandu", "2026-10-25 06:44:59.007 +05:45"),
    ],
)
def test_a_time_is_by_the_clock_of_its_zone_with_its_offset(zone: str, shown: str) -> None:
    assert EN.time("2026-10-25T00:59:59.007Z", zone) == shown
    assert EN.quarter("2026-10-25T00:59:59.007Z", zone) == shown[:16] + shown[23:]


def test_a_language_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="language 'de': there are en and ru"):
        Words("de")


def test_values_stand_in_the_place_of_their_names() -> None:
    assert EN("page {page} of {pages}", page=2, pages=3) == "page 2 of 3"
    assert RU("page {page} of {pages}", page=2, pages=3) == "страница 2 из 3"


def test_braces_in_a_value_stay_what_they_are() -> None:
    assert EN("Player {value} only.", value="{x}") == "Player {x} only."


# -- every sentence has its translation

NOT_SAID: Final = {"DejaVu Sans"}
"""Texts of definitions that begin with a capital letter and are for no person."""


def test_every_sentence_of_a_report_has_its_russian() -> None:
    missing = {text: path.name for path in sources() for text in said(path) if text not in translations("ru")}
    assert missing == {}, "translate them in ops/reports/locale/ru*.po"


def test_every_name_of_the_journal_that_reports_print_has_its_russian() -> None:
    events = {each.NAME for each in (*ACCOUNT_EVENTS, *JACKPOT_EVENTS)}
    kinds = set(calls_of("_note", Path(exceptions.__file__)))
    names = {*events, *kinds, *Wager, *Mode, *COMBINATION_NAMES, "closed", "voided"}
    assert len(kinds) > 5
    assert sorted(names - set(translations("ru"))) == []


def test_no_translation_is_of_a_text_that_nobody_says() -> None:
    texts = {text for path in sources() for text in strings(path)}
    stale = set(translations("ru")) - texts - set(messages("ru-names.po"))
    assert sorted(stale) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_has_the_values_of_its_sentence(language: str) -> None:
    other = {text: told for text, told in translations(language).items() if fields(told) != fields(text)}
    assert other == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_is_translated_twice(language: str) -> None:
    every = Counter(text for path in (REPORTS / "locale").glob(f"{language}*.po") for text in messages(path.name))
    assert [text for text, times in every.items() if times > 1] == []


def test_names_of_the_journal_are_english_words_in_an_english_report() -> None:
    assert (EN("funds-deposited.v1"), EN("sixth-card"), EN("no-game")) == ("deposit", "sixth card", "no game")


def messages(name: str) -> list[str]:
    with (REPORTS / "locale" / name).open("rb") as file:
        return [str(each.id) for each in read_po(file) if each.id]


def fields(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def sources() -> list[Path]:
    return sorted(REPORTS.rglob("*.py"))


def strings(path: Path) -> Iterator[str]:
    """The texts of a module on one line that are no docstrings and no parts of longer ones."""
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    parts |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) and id(node) not in parts else None
        if isinstance(text, str) and "\n" not in text:
            yield text


def said(path: Path) -> set[str]:
    """The texts that a module gives to be translated, and in a definition all that look like a text for people."""
    found = set(calls_of("words", path)) | set(calls_of("w", path))
    if path.parent.name == "definitions":
        found |= {text for text in strings(path) if text[:1].isupper() or text[:1] == "{" or " % " in text}
    return found - NOT_SAID


def calls_of(name: str, path: Path) -> Iterator[str]:
    """The texts among the arguments of calls of a function by this name."""
    for node in ast.walk(ast.parse(path.read_text())):
        called = isinstance(node, ast.Call) and (getattr(node.func, "attr", None) or getattr(node.func, "id", None))
        if isinstance(node, ast.Call) and called == name:
            for argument in node.args:
                yield from texts(argument)


def texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*texts(node.body), *texts(node.orelse))
