"""A day is closed: how many rounds, events and units of money it had, by table and currency, and which positions.

One stream `days:utc`.  A day is a calendar day in UTC, but positions decide: its range begins behind that of the day
before and ends before the first event that says a later day.  The ranges leave out nothing, and no day is left out, so
whoever adds the manifests up has the whole journal.  Format: docs/formats/day-close.md.

Rounds that are open when a day ends are handed to the next one by its manifest, so that each day can be counted again
from its own events and the manifest before.

Not here: whether a manifest is true (`replay.day`), when a day is closed (`ops.day_close`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

import msgspec

from domain import account as a
from domain.codec import Codec, Event
from domain.record import BodyError, Record
from domain.round import events as e
from domain.round.codec import read

DAYS: Final = "days:utc"
"""The stream of all days."""


class EventRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Positions from `first` to `last`, both included; in a day without events `last` is `first` - 1."""

    count: int
    first: int
    last: int


class TableDay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a table's rounds in one currency came to on a day.

    `closed`, `voided`: rounds that ended on the day; `opened`: those that began on it, under the numbers `first_number`
    (None: none was) to `last_number` (the last one ever, 0 if there is none); `open`: those that had not ended when
    the day did.  Money is that of the closed rounds, whenever they began: `jackpot_won` is a part of `returned`.
    `events`: of the table's rounds.
    """

    closed: int
    currency: str
    events: int
    first_number: int | None
    jackpot_contributed: int
    jackpot_won: int
    last_number: int
    net: int
    open: int
    opened: int
    returned: int
    staked: int
    table: str
    voided: int


class CashDay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What went over the desk in one currency; `adjusted` and `reversed` are what players got by it, below zero too."""

    adjusted: int
    currency: str
    deposited: int
    events: int
    reversed: int
    withdrawn: int


class AbortedRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A commitment that was voided on the day; `boxes`: how many had been staked."""

    boxes: int
    number: int
    round: str
    table: str


class PendingRound(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A round whose seed was not revealed when the day ended; `opened` is the time.

    `contributed` and `won`: what it has fed and won of a jackpot so far, lest the day of its end must know.
    """

    boxes: int
    contributed: int
    currency: str
    number: int
    opened: str
    round: str
    table: str
    won: int


class DayBegun(Event, frozen=True, gc=False):
    """It was this day by now, and nothing else in the journal had said so: the days before end here at the latest."""

    NAME: ClassVar[str] = "day-begun.v1"

    by: str
    day: str


class DayClosed(Event, frozen=True):
    """The manifest of a day.  `root`: hex, of the Merkle tree over the first `size` events, all up to the day's last.

    `tables` has every table that ever opened a round, in the order of table and currency; `cash` the currencies that
    were moved at the desk; `aborted` and `pending` stand in the order of table and number.
    """

    NAME: ClassVar[str] = "day-closed.v1"

    aborted: list[AbortedRound]
    by: str
    cash: list[CashDay]
    day: str
    events: EventRange
    pending: list[PendingRound]
    root: str
    size: int
    tables: list[TableDay]


DayEvent = DayBegun | DayClosed
DAY_EVENTS: Final[tuple[type[DayEvent], ...]] = (DayBegun, DayClosed)
CODEC: Final[Codec[DayEvent]] = Codec(DAY_EVENTS)


# -- the calendar


def day_of(at: str) -> str:
    """The day of a time in the record's format."""
    return at[:10]


def says_later(record: Record, day: str) -> bool:
    """Whether an event is of a later day.  Canonical bodies begin with their time; what doesn't says nothing."""
    return record.body[:17] > _BEGINNING + day.encode() and record.body.startswith(_BEGINNING)


def time_said(record: Record) -> str:
    """The time that a canonical body begins with."""
    return record.body[7:31].decode("ascii", "replace")


def is_day(text: str) -> bool:
    """Whether a text is a day of the calendar as 2026-12-01."""
    if len(text) != 10 or text[4] + text[7] != "--" or not text.isascii():
        return False
    year, month, day = text[:4], text[5:7], text[8:]
    if not (year.isdigit() and month.isdigit() and day.isdigit()) or int(year) == 0:
        return False
    return 1 <= int(month) <= 12 and 1 <= int(day) <= _length(int(year), int(month))


def day_after(day: str) -> str:
    """The next day of the calendar."""
    year, month, number = int(day[:4]), int(day[5:7]), int(day[8:]) + 1
    if number > _length(year, month):
        month, number = month + 1, 1
    if month > 12:
        year, month = year + 1, 1
    return f"{year:04d}-{month:02d}-{number:02d}"


def _length(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


# -- the fold


@dataclass(slots=True)
class OpenRound:
    """A round whose seed is not revealed yet."""

    row: _Row
    number: int
    opened: str
    boxes: int = 0
    contributed: int = 0
    won: int = 0
    ended: bool = False
    """Its end has gone by; the seed must be next."""


@dataclass(slots=True)
class _Row:
    """A `TableDay` that is being counted."""

    table: str
    currency: str
    last_number: int = 0
    first_number: int | None = None
    opened: int = 0
    closed: int = 0
    voided: int = 0
    events: int = 0
    staked: int = 0
    returned: int = 0
    net: int = 0
    contributed: int = 0
    won: int = 0


@dataclass(slots=True)
class _Cash:
    """A `CashDay` that is being counted."""

    events: int = 0
    deposited: int = 0
    withdrawn: int = 0
    adjusted: int = 0
    reversed: int = 0


class DayFold:
    """Counts a day: `take` every event of its range in order, then ask what it `comes_to`.

    `previous` is the manifest of the day before, None before the first.  As every fold it takes what comes: a body
    that can't be read counts as an event and no more.
    """

    def __init__(self, previous: DayClosed | None) -> None:
        self.first = 1 if previous is None else previous.events.last + 1
        self.last = self.first - 1
        self.count = 0
        self.open: dict[str, OpenRound] = {}
        """By stream."""
        self.numbers: dict[str, int] = {}
        """Of each table the number of the last round that it ever opened, in whatever currency."""
        self._rows: dict[tuple[str, str], _Row] = {}
        self._cash: dict[str, _Cash] = {}
        self._aborted: list[AbortedRound] = []
        if previous is not None:
            self._begin_after(previous)

    def _begin_after(self, previous: DayClosed) -> None:
        for table in previous.tables:
            self._row(table.table, table.currency).last_number = table.last_number
            self.numbers[table.table] = max(table.last_number, self.numbers.get(table.table, 0))
        for each in previous.pending:
            round_ = OpenRound(self._row(each.table, each.currency), each.number, each.opened, each.boxes)
            round_.contributed, round_.won = each.contributed, each.won
            self.open[f"round:{each.round}"] = round_

    def take(self, position: int, record: Record) -> None:
        """The next event of the range."""
        self.count += 1
        self.last = position
        kind, _, name = record.stream.partition(":")
        if kind == "round":
            self._round(record)
        elif kind == "account":
            self._account(record, name.partition(":")[0])

    def comes_to(self, *, day: str, by: str, root: str) -> DayClosed:
        """The manifest; `root` is that of the tree up to the last event taken."""
        events = EventRange(self.count, self.first, self.last)
        pending = sorted(self._pending(), key=lambda each: (each.table, each.number, each.round))
        aborted = sorted(self._aborted, key=lambda each: (each.table, each.number, each.round))
        left = Counter((each.row.table, each.row.currency) for each in self.open.values())
        tables = [_table(row, left[name]) for name, row in sorted(self._rows.items())]
        return DayClosed(
            aborted=aborted, by=by, cash=self._cash_days(), day=day, events=events, pending=pending, root=root,
            size=self.last, tables=tables,
        )  # fmt: skip

    # -- rounds

    def _round(self, record: Record) -> None:
        if record.type == e.RoundOpened.NAME:
            self._opened(record)
        round_ = self.open.get(record.stream)
        if round_ is None:
            return  # replay says so
        round_.row.events += 1
        round_.boxes += record.type == e.BoxPlaced.NAME
        handler = _HANDLERS.get(record.type)
        if handler is not None:
            event = _event(record)
            if event is not None:
                handler(self, record.stream, round_, event)

    def _opened(self, record: Record) -> None:
        read_ = read(record.body)
        if isinstance(read_, BodyError) or not isinstance(read_.data, e.RoundOpened) or record.stream in self.open:
            return
        opened = read_.data
        row = self._row(opened.table, opened.currency)
        row.opened += 1
        self.numbers[opened.table] = max(opened.number, self.numbers.get(opened.table, 0))
        row.last_number = max(row.last_number, opened.number)
        row.first_number = opened.number if row.first_number is None else min(row.first_number, opened.number)
        self.open[record.stream] = OpenRound(row, opened.number, read_.at)

    def _contributed(self, _: str, round_: OpenRound, event: e.JackpotContributed) -> None:
        round_.contributed += event.amount

    def _won(self, _: str, round_: OpenRound, event: e.JackpotWon) -> None:
        round_.won += event.amount

    def _closed(self, _: str, round_: OpenRound, event: e.RoundClosed) -> None:
        row, round_.ended = round_.row, True
        row.closed += 1
        row.staked += event.staked
        row.returned += event.returned
        row.net += event.net
        row.contributed += round_.contributed
        row.won += round_.won

    def _voided(self, stream: str, round_: OpenRound, _: e.RoundVoided) -> None:
        # Rule 10.2: all that it had moved has gone back.
        round_.row.voided += 1
        round_.ended = True
        name = stream.removeprefix("round:")
        self._aborted.append(AbortedRound(round_.boxes, round_.number, name, round_.row.table))

    def _revealed(self, stream: str, _: OpenRound, __: e.SeedRevealed) -> None:
        del self.open[stream]

    # -- accounts

    def _account(self, record: Record, currency: str) -> None:
        if record.type not in _CASH:
            return
        read_ = a.CODEC.read(record.body)
        if isinstance(read_, BodyError):
            return
        cash = self._cash.setdefault(currency, _Cash())
        cash.events += 1
        match read_.data:
            case a.FundsDeposited(amount=amount):
                cash.deposited += amount
            case a.FundsWithdrawn(amount=amount):
                cash.withdrawn += amount
            case a.FundsAdjusted(amount=amount):
                cash.adjusted += amount
            case a.FundsReversed(amount=amount):
                cash.reversed += amount

    # -- rows

    def _row(self, table: str, currency: str) -> _Row:
        return self._rows.setdefault((table, currency), _Row(table, currency))

    def _pending(self) -> list[PendingRound]:
        return [
            PendingRound(
                boxes=each.boxes, contributed=each.contributed, currency=each.row.currency, number=each.number,
                opened=each.opened, round=stream.removeprefix("round:"), table=each.row.table, won=each.won,
            )
            for stream, each in self.open.items()
        ]  # fmt: skip

    def _cash_days(self) -> list[CashDay]:
        return [
            CashDay(each.adjusted, currency, each.deposited, each.events, each.reversed, each.withdrawn)
            for currency, each in sorted(self._cash.items())
        ]


def _table(row: _Row, left: int) -> TableDay:
    return TableDay(
        closed=row.closed, currency=row.currency, events=row.events, first_number=row.first_number,
        jackpot_contributed=row.contributed, jackpot_won=row.won, last_number=row.last_number, net=row.net, open=left,
        opened=row.opened, returned=row.returned, staked=row.staked, table=row.table, voided=row.voided,
    )  # fmt: skip


def _event(record: Record) -> e.RoundEvent | None:
    """The event of a round's record, None if it is not what its column says."""
    read_ = read(record.body)
    return None if isinstance(read_, BodyError) or record.type != read_.data.NAME else read_.data


_HANDLERS: Final[dict[str, Callable[..., None]]] = {
    e.JackpotContributed.NAME: DayFold._contributed,
    e.JackpotWon.NAME: DayFold._won,
    e.RoundClosed.NAME: DayFold._closed,
    e.RoundVoided.NAME: DayFold._voided,
    e.SeedRevealed.NAME: DayFold._revealed,
}
_BEGINNING: Final = b'{"at":"'
_CASH: Final = frozenset(event.NAME for event in a.CASH_EVENTS)
