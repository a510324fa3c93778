"""From what somebody asks to a report: the period, the filters, the moment, the frame around what a definition says.

A period is named by days or instants in a time zone and becomes two times of the record, of which the second is not
included.  Sums are kept by quarters of an hour, so both lie on one.

Not here: what each report says (`ops.reports.definitions`), printing (`ops.reports.render`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from domain.currency import EXPONENTS
from ops.reports.model import Chart, Checkpoint, Frame, Identity, Report, Section
from ops.reports.words import Words
from projections.reading import Reading

LARGE_WINS: Final = "large-wins"
"""The one report that is asked for from an amount on."""


class ReportError(ValueError):
    """A report can't be made as it was asked for; one line that names the field and the reason."""


class Period(NamedTuple):
    """Times as in the record, the end not included; the zone is an IANA name."""

    begin: str
    end: str
    zone: str


class Filters(NamedTuple):
    """What a report is narrowed to; None is all."""

    table: str | None = None
    ruleset: str | None = None
    player: str | None = None
    currency: str | None = None


@dataclass(frozen=True)
class Request:
    """What was asked: as of which position, in which words.  `large_win`: minor units, None for the usual rule."""

    name: str
    period: Period
    filters: Filters
    position: int
    words: Words
    large_win: int | None = None


@dataclass(frozen=True)
class Body:
    """What a definition says; `identities` are asked for after every row was read."""

    sections: tuple[Section, ...]
    identities: Callable[[], list[Identity]]
    charts: tuple[Chart, ...] = ()


class Definition(Protocol):
    """A module of `ops.reports.definitions`."""

    NAME: str
    VERSION: int
    TITLE: str
    FILTERS: frozenset[str]
    NEEDS: tuple[str, ...]

    @staticmethod
    def build(reading: Reading, request: Request) -> Body: ...


# -- periods


_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MONTH: Final = re.compile(r"\d{4}-\d{2}")
_INSTANT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{3})?)?(Z|[+-]\d{2}:\d{2})?")

YEARS: Final = range(1900, 9999)
"""Of four digits, and with room for every zone's offset behind the last one."""


def read_period(begin: str, end: str, zone: str) -> Period:
    """Days (2026-11-30), months (2026-11) or instants (2026-11-30T06:00, by the zone's clock, or with an offset or Z).

    A day or a month at the end is included, an instant is not.  Raises ReportError.
    """
    clock = _zone(zone)
    for field, text in (("--from", begin), ("--to", end)):
        _require_year(field, text)
    first, last = _instant("--from", begin, clock, False), _instant("--to", end, clock, True)
    if last < first or (last == first and not _INSTANT.fullmatch(end)):
        raise ReportError(f"--to: {end} lies before --from {begin}")
    if last == first:
        raise ReportError("--to: the period is empty")
    for field, text, moment in (("--from", begin, first), ("--to", end, last)):
        if moment.minute % 15 or moment.second or moment.microsecond:
            raise ReportError(f"{field}: {text} is not at a quarter of an hour, by which sums are kept")
    return Period(_record_time(first), _record_time(last), zone)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ReportError(f"--zone: there is no time zone {name!r} (as Europe/Moscow)") from None


def _require_year(field: str, text: str) -> None:
    known = any(form.fullmatch(text) for form in (_DAY, _MONTH, _INSTANT))
    if known and int(text[:4]) not in YEARS:
        raise ReportError(f"{field}: {text} lies outside of the years {YEARS[0]} to {YEARS[-1]}")


def _instant(field: str, text: str, zone: ZoneInfo, closing: bool) -> datetime:
    try:
        if _MONTH.fullmatch(text):
            first = date.fromisoformat(f"{text}-01")
            day = (first + timedelta(days=32)).replace(day=1) if closing else first
            return _local(field, text, datetime.combine(day, time()), zone)
        if _DAY.fullmatch(text):
            day = date.fromisoformat(text) + timedelta(days=1 if closing else 0)
            return _local(field, text, datetime.combine(day, time()), zone)
        if _INSTANT.fullmatch(text):
            moment = datetime.fromisoformat(text)
            return moment.astimezone(UTC) if moment.tzinfo else _local(field, text, moment, zone)
    except (ValueError, OverflowError) as error:
        if isinstance(error, ReportError):
            raise
    raise ReportError(f"{field}: {text!r} is no day as 2026-11-30, month as 2026-11 or instant as 2026-11-30T06:00")


def _local(field: str, text: str, moment: datetime, zone: ZoneInfo) -> datetime:
    """A reading of the zone's clock as a time.  Raises ReportError where the clock skips it or shows it twice."""
    early, late = moment.replace(tzinfo=zone), moment.replace(tzinfo=zone, fold=1)
    back = early.astimezone(UTC).astimezone(zone).replace(tzinfo=None)
    if back != moment:
        what = "is skipped when the clocks change"
    elif early.utcoffset() != late.utcoffset():
        what = "comes twice when the clocks change"
    else:
        return early.astimezone(UTC)
    offsets = " or ".join(_with_offset(moment, each) for each in (early, late))
    raise ReportError(f"{field}: {text} {what} in {zone.key}; write {offsets}")


def _with_offset(moment: datetime, of: datetime) -> str:
    offset = of.strftime("%z")
    return f"{moment:%Y-%m-%dT%H:%M}{offset[:3]}:{offset[3:5]}"


def _record_time(moment: datetime) -> str:
    plain = moment.astimezone(UTC)
    return f"{plain:%Y-%m-%dT%H:%M:%S}.{plain.microsecond // 1000:03d}Z"


# -- filters


def require_filters(reading: Reading, definition: Definition, filters: Filters) -> None:
    """Each filter is one that the report has, and names what the journal knows.  Raises ReportError."""
    for field, value in filters._asdict().items():
        if value is None:
            continue
        if field not in definition.FILTERS:
            raise ReportError(f"--{field}: the report {definition.NAME} can't be narrowed to it")
        if field == "currency" and value not in EXPONENTS:
            raise ReportError(f"--currency: {value!r} is no currency that the program knows")
        if field in _KNOWN and not reading.rows(*_KNOWN[field](value)):
            raise ReportError(f"--{field}: {_UNKNOWN[field].format(value)}")


_KNOWN: Final[Mapping[str, Callable[[str], tuple[Any, tuple[object, ...]]]]] = {
    "table": lambda name: (
        "select 1 from dealproof.events where originator_id = %s limit 1", (f"table:{name}",)
    ),
    "ruleset": lambda name: (
        "select 1 from dealproof.events where originator_id = %s limit 1", (f"ruleset:{name}",)
    ),
    "player": lambda name: (
        "select 1 from dealproof.events where originator_id = any(%s) limit 1",
        ([f"account:{currency}:{name}" for currency in EXPONENTS],),
    ),
}
_UNKNOWN: Final = {
    "table": "there is no table {!r}", "ruleset": "no ruleset {!r} was published",
    "player": "nobody named {!r} has an account",
}  # fmt: skip


def filter_words(filters: Filters, words: Words) -> tuple[str, ...]:
    """The filters as sentences; one sentence where there is none."""
    texts = {
        "table": "Table {value} only.", "ruleset": "Game {value} only.", "player": "Player {value} only.",
        "currency": "Currency {value} only.",
    }  # fmt: skip
    found = tuple(words(texts[name], value=value) for name, value in filters._asdict().items() if value is not None)
    return found or (words("All tables, games, players and currencies."),)


# -- the frame


@dataclass(frozen=True)
class House:
    """Who reports, and how the report is asked for again."""

    operator: str | None
    generated_at: str
    checkpoint: Checkpoint | None
    again: str


def make_report(reading: Reading, definition: Definition, request: Request, house: House) -> Report:
    """A report at the moment of a reading.  Raises ReportError."""
    require_filters(reading, definition, request.filters)
    if request.large_win is not None and definition.NAME != LARGE_WINS:
        raise ReportError(f"--at-least: goes with the report {LARGE_WINS}, not with {definition.NAME}")
    if request.position > reading.position:
        text = f"--as-of: {request.position} lies beyond {reading.position}, up to where events were taken in"
        raise ReportError(text)
    body, words = definition.build(reading, request), request.words
    frame = Frame(
        name=definition.NAME,
        title=words(definition.TITLE),
        operator=house.operator or words("operator not named"),
        software=f"Dealproof {software_version()}",
        definition=f"{definition.NAME} {definition.VERSION}",
        begin=request.period.begin,
        end=request.period.end,
        zone=request.period.zone,
        generated_at=house.generated_at,
        position=request.position,
        checkpoint=house.checkpoint,
        filters=filter_words(request.filters, words),
        again=house.again,
        language=words.language,
    )
    return Report(frame, body.sections, body.identities, body.charts)


def software_version() -> str:
    """Of the installed distribution."""
    try:
        return version("dealproof")
    except PackageNotFoundError:
        return "unknown"  # run from its source
