"""Words, amounts and times in the reader's language: English, which the program is written in, and Russian.

A translation stands in `locale/ru*.po`, under the English text; `locale/en*.po` has English for names of the journal
(`funds-deposited.v1`).  Amounts are made from whole minor units by putting a point into their digits: no number becomes
a float on its way to paper.

Not here: what is said (`ops.reports.definitions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from domain.currency import EXPONENTS

LANGUAGES: Final = ("en", "ru")

_LOCALE: Final = Path(__file__).parent / "locale"
_GROUP: Final = {"en": ",", "ru": "\N{NO-BREAK SPACE}"}
_POINT: Final = {"en": ".", "ru": ","}
_MINUS: Final = "\N{MINUS SIGN}"


class Words:
    """One language.  Raises ValueError for another than those of LANGUAGES."""

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise ValueError(f"language {language!r}: there are {' and '.join(LANGUAGES)}")
        self.language = language
        self._known: Mapping[str, str] = translations(language)

    def __call__(self, text: str, **values: object) -> str:
        """An English text in this language, with values in place of {names}."""
        return self._known.get(text, text).format(**values) if values else self._known.get(text, text)

    def money(self, amount: int, currency: str) -> str:
        """An amount in major units: 1,234.50."""
        digits = EXPONENTS[currency]
        text = str(abs(amount)).rjust(digits + 1, "0")
        whole, cents = (text[:-digits], text[-digits:]) if digits else (text, "")
        return self._signed(amount, self._grouped(whole) + (_POINT[self.language] + cents if cents else ""))

    def count(self, number: int) -> str:
        """A whole number: 12,345."""
        return self._signed(number, self._grouped(str(abs(number))))

    def ratio(self, ratio: Fraction) -> str:
        """A percentage with four decimals, rounded half to even."""
        parts = round(ratio * 1_000_000)
        whole, rest = divmod(abs(parts), 10_000)
        text = f"{self._grouped(str(whole))}{_POINT[self.language]}{rest:04d}"
        return self._signed(parts, f"{text}\N{NO-BREAK SPACE}%" if self.language == "ru" else f"{text} %")

    def time(self, at: str, zone: str) -> str:
        """A time of the record by the clock of a zone: 2026-12-01 08:10:36.123 +03:00."""
        local = datetime.fromisoformat(at).astimezone(ZoneInfo(zone))
        return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03d} {_offset(local)}"

    def quarter(self, at: str, zone: str) -> str:
        """A time at a quarter of an hour: 2026-12-01 08:15 +03:00."""
        local = datetime.fromisoformat(at).astimezone(ZoneInfo(zone))
        return f"{local:%Y-%m-%d %H:%M} {_offset(local)}"

    def _grouped(self, digits: str) -> str:
        return f"{int(digits):,}".replace(",", _GROUP[self.language])

    def _signed(self, number: int, text: str) -> str:
        return _MINUS + text if number < 0 else text


def _offset(local: datetime) -> str:
    offset = local.strftime("%z")
    return f"{offset[:3]}:{offset[3:5]}"


@cache
def translations(language: str) -> dict[str, str]:
    """English text -> text of the language, from all of its files."""
    from babel.messages.pofile import read_po

    found: dict[str, str] = {}
    for path in sorted(_LOCALE.glob(f"{language}*.po")):
        with path.open("rb") as file:
            found |= {str(each.id): str(each.string) for each in read_po(file) if each.id and each.string}
    return found


def plain_money(amount: int, currency: str) -> str:
    """An amount for machines: 1234.50, -0.05."""
    digits = EXPONENTS[currency]
    text = str(abs(amount)).rjust(digits + 1, "0")
    point = f"{text[:-digits]}.{text[-digits:]}" if digits else text
    return f"-{point}" if amount < 0 else point


def plain_ratio(ratio: Fraction) -> str:
    """A percentage for machines, as `Words.ratio` rounds it: 97.1234."""
    parts = round(ratio * 1_000_000)
    whole, rest = divmod(abs(parts), 10_000)
    return f"{'-' if parts < 0 else ''}{whole}.{rest:04d}"
