"""Hold an operator's file against the journal: what matches, what is missing here or there, what differs.

Both sides are put beside each other in a work file that SQLite keeps on the disk, so neither has to fit into memory.

A line of a wallet that names a round is held together with all lines of that player and round: what the round made of
his money is one amount, in however many steps it was booked.  One without is a movement at the desk, known by its
reference.  A file of some days may cut a round in two; such a round matches if either all of it or its part within
the days is there.

Not here: reading the file (`operator_file`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from itertools import groupby
from typing import Any, Final, NamedTuple

import msgspec

from ops.reconciling.mapping import MONEY, Mapping, ReconcileError, What
from ops.reconciling.operator_file import Entry
from projections.reading import Reading

Period = tuple[str, str]
"""Times as in the record, the end not included."""

LOOKED_UP: Final = 500
"""Keys that are asked for at once."""
LARGEST_SUM: Final = 2**62


class Outcome(StrEnum):
    """What became of a line, or of a row that no line speaks of."""

    MATCHED = "matched"
    MISSING_HERE = "missing-here"    # in the file, not in the journal
    MISSING_THERE = "missing-there"  # in the journal, not in the file
    DIFFERENT = "different"


class Difference(NamedTuple):
    """Something that doesn't match.  `here`, `there`: what the journal and the file say of `field`."""

    outcome: Outcome
    currency: str | None
    player: str | None
    round: str | None
    reference: str | None
    type: str | None
    field: str
    here: str | int | None
    there: str | int | None
    line: int | None


class Sums(NamedTuple):
    """Of a currency and a field, in minor units: of all that was held."""

    currency: str
    field: str
    here: int
    there: int


Key = tuple[str | None, ...]
"""Currency, player, round, reference, type."""


class Matching:
    """The two sides; made by `match`."""

    def __init__(self, work: sqlite3.Connection, fields: tuple[str, ...]) -> None:
        self._work, self._fields = work, fields
        self.lines: int = work.execute("select coalesce(sum(rows), 0) from theirs").fetchone()[0]

    def counts(self) -> dict[str, int]:
        """How many keys had each outcome."""
        return {outcome: self._work.execute(f"select count(*) {_FROM[outcome]}").fetchone()[0] for outcome in Outcome}

    def differences(self) -> Iterator[Difference]:
        """All that doesn't match, one a field, in the order of their keys."""
        for outcome in (Outcome.DIFFERENT, Outcome.MISSING_HERE, Outcome.MISSING_THERE):
            for row in self._work.execute(f"{_SELECT} {_FROM[outcome]} order by key"):
                yield from self._of_key(outcome, *row)

    def _of_key(
        self, outcome: Outcome, key: str, currency: str | None, here: str | None, there: str | None, line: int | None
    ) -> Iterator[Difference]:
        _, player, round_, reference, kind = msgspec.json.decode(key)
        ours, theirs = self._told(here), self._told(there)
        # What is missing as a whole is told in one line.
        fields = self._fields if outcome is Outcome.DIFFERENT else self._fields[:1]
        for field, is_here, is_there in zip(fields, ours, theirs, strict=False):
            if is_here != is_there:
                yield Difference(outcome, currency, player, round_, reference, kind, field, is_here, is_there, line)

    def _told(self, text: str | None) -> list[Any]:
        told: list[Any] = [None] * len(self._fields) if text is None else msgspec.json.decode(text)
        return told

    def sums(self) -> list[Sums]:
        """Money on both sides, of what either says that lies within the period or is in the file."""
        places = {field: nth for nth, field in enumerate(self._fields) if field == "amount" or field in MONEY}
        totals: dict[tuple[str, str], list[int]] = {}
        for currency, here, there in self._work.execute("select currency, here, there from judged"):
            ours, theirs = self._told(here), self._told(there)
            for field, nth in places.items():
                sums = totals.setdefault((currency or "", field), [0, 0])
                sums[0] += ours[nth] or 0
                sums[1] += theirs[nth] or 0
        return [Sums(*key, *both) for key, both in sorted(totals.items())]


@contextmanager
def match(reading: Reading, mapping: Mapping, entries: Iterable[Entry], period: Period | None) -> Iterator[Matching]:
    """Both sides beside each other, while the work file is there.

    `period`: for what time the file should have everything; None is all time.  Raises ReconcileError.
    """
    fields = ("amount", "movements") if mapping.what is What.WALLET else ("lines", *mapping.values)
    with closing(sqlite3.connect("")) as work:
        work.executescript(_TABLES)
        work.executemany(_PUT_THERE, (_theirs(entry, mapping) for entry in entries))
        _fold_there(work, mapping)
        _put_here(work, reading, mapping, period)
        work.execute(_JUDGE)
        yield Matching(work, fields)


# -- theirs


def _theirs(entry: Entry, mapping: Mapping) -> tuple[object, ...]:
    currency = entry.currency if mapping.what is What.WALLET else None
    key = (currency, entry.player, entry.round, entry.reference, entry.type)
    return _text(key), entry.currency, entry.amount, _text(entry.values), entry.line


def _fold_there(work: sqlite3.Connection, mapping: Mapping) -> None:
    """Lines of one key together: a wallet's add up, a round's must be one."""
    lines = work.execute("select key, currency, amount, told, line from lines order by key, line")
    for key, group in groupby(lines, key=lambda row: row[0]):
        rows = list(group)
        _, currency, _, _, line = rows[0]
        if mapping.what is What.WALLET:
            amount = sum(row[2] for row in rows)
            told: list[Any] = [amount, len(rows) if _is_desk(key) else None]
        else:
            told = [len(rows), *_added([msgspec.json.decode(row[3]) for row in rows], mapping)]
        if any(isinstance(value, int) and abs(value) > LARGEST_SUM for value in told):
            raise ReconcileError(f"line {line}: the amounts that belong to it are too large together")
        work.execute("insert into theirs values (?, ?, ?, ?, ?)", (key, currency, _text(told), len(rows), line))


def _added(rows: list[list[Any]], mapping: Mapping) -> list[Any]:
    """Several lines of one round: their money together, of all else what the first one says."""
    columns = zip(mapping.values, zip(*rows, strict=True), strict=True)
    return [sum(values) if name in MONEY else values[0] for name, values in columns]


def _is_desk(key: str) -> bool:
    return msgspec.json.decode(key)[3] is not None


# -- ours


def _put_here(work: sqlite3.Connection, reading: Reading, mapping: Mapping, period: Period | None) -> None:
    """What lies in the period, and what else the file speaks of."""
    for query, parameters in _queries(mapping, period):
        work.executemany(_PUT_HERE, _ours(reading, mapping, query, parameters))
    if period is not None:
        _look_up(work, reading, mapping, period)


def _look_up(work: sqlite3.Connection, reading: Reading, mapping: Mapping, period: Period) -> None:
    """What the file speaks of beyond the period."""
    names: list[str] = []
    references: list[str] = []
    for (key,) in work.execute("select key from theirs where key not in (select key from ours)").fetchall():
        _, _, round_, reference, _ = msgspec.json.decode(key)
        names += [] if round_ is None else [round_]
        references += [] if reference is None else [reference]
    for chosen in _portions(sorted(set(names))):
        query = _ROUNDS if mapping.what is What.ROUNDS else _PLAY
        found = _ours(reading, mapping, query, _parameters(mapping, period, names=chosen))
        work.executemany(_PUT_HERE, ((*row[:-1], 0) for row in found))
    for chosen in _portions(sorted(set(references))):
        found = _ours(reading, mapping, _DESK, _parameters(mapping, period, references=chosen))
        work.executemany(_PUT_HERE, ((*row[:-1], 0) for row in found))


def _portions(names: Sequence[str]) -> Iterator[list[str]]:
    for begin in range(0, len(names), LOOKED_UP):
        yield list(names[begin : begin + LOOKED_UP])


def _queries(mapping: Mapping, period: Period | None) -> Iterator[tuple[Any, dict[str, object]]]:
    parameters = _parameters(mapping, period)
    if mapping.what is What.ROUNDS:
        yield (_PLAYERS_ROUNDS if "player" in mapping.columns else _ROUNDS), parameters
        return
    if "round" in mapping.columns or mapping.by_number:
        yield _PLAY, parameters
    if "reference" in mapping.columns:
        yield _DESK, parameters


def _parameters(
    mapping: Mapping, period: Period | None, names: list[str] | None = None, references: list[str] | None = None
) -> dict[str, object]:
    begin, end = period or ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
    return {
        "begin": begin, "end": end, "names": names, "references": references, "by_number": mapping.by_number,
        "tests": mapping.tests, "typed": "type" in mapping.columns,
    }  # fmt: skip


def _ours(
    reading: Reading, mapping: Mapping, query: Any, parameters: dict[str, object]
) -> Iterator[tuple[object, ...]]:
    """Rows for `ours`: key, currency, all of it, its part within the period, whether the file must have it."""
    if mapping.what is What.ROUNDS and "player" in mapping.columns:
        query = _PLAYERS_ROUNDS
    for currency, player, round_, reference, kind, *values in reading.stream(query, parameters):
        if mapping.what is What.WALLET:
            key = _text((currency, player, round_, reference, kind))
            whole, inside, rows, rows_inside = (int(value) for value in values)
            # A round of the time may have players all of whose movements lie outside of it.
            due = rows_inside > 0
            if reference is None:
                yield key, currency, _text((whole, None)), _text((inside, None)), due
            else:
                yield key, currency, _text((whole, rows)), _text((inside, rows_inside)), due
        else:
            told = dict(zip(_VALUES, (currency, *values), strict=True))
            row = _text((1, *(told[name] for name in mapping.values)))
            yield _text((None, player, round_, None, None)), currency, row, row, 1


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


# -- the work file


_TABLES: Final = """
create table lines (key text, currency text, amount integer, told text, line integer);
create table theirs (key text primary key, currency text, told text, rows integer, line integer) without rowid;
create table ours (key text primary key, currency text, whole text, inside text, due integer) without rowid;
create table judged (key text primary key, currency text, here text, there text, line integer, outcome text)
    without rowid;
"""

_PUT_THERE: Final = "insert into lines values (?, ?, ?, ?, ?)"
_PUT_HERE: Final = "insert or ignore into ours values (?, ?, ?, ?, ?)"

# A row that the file is not due to have is there only because the file speaks of it.
_JUDGE: Final = """
insert into judged
select theirs.key, coalesce(ours.currency, theirs.currency),
    case when theirs.told = ours.inside then ours.inside else ours.whole end, theirs.told, theirs.line,
    case when ours.key is null then 'missing-here'
        when theirs.told in (ours.whole, ours.inside) then 'matched' else 'different' end
from theirs left join ours using (key)
union all
select ours.key, ours.currency, ours.inside, null, null, 'missing-there'
from ours left join theirs using (key) where theirs.key is null and ours.due
"""

_FROM: Final = {outcome: f"from judged where outcome = '{outcome}'" for outcome in Outcome}
_SELECT: Final = "select key, currency, here, there, line"

_VALUES: Final = (
    "currency", "ending", "ruleset", "boxes", "staked", "returned", "net", "jackpot_contributed", "jackpot_won",
)  # fmt: skip

# Play of rounds that moved something within the period, or that are named.
_PLAY: Final = """
select currency, player, name, null, null, sum(to_player),
    coalesce(sum(to_player) filter (where inside), 0), count(*), count(*) filter (where inside)
from (
    select entry.*, at >= %(begin)s and at < %(end)s as inside,
        case when %(by_number)s then round.table_name || '/' || round.number else entry.round end as name
    from {ledger_entry} as entry join {commitment} as round using (round)
    where entry.player is not null and entry.type <> 'round-finished.v1' and (%(tests)s or not entry.test)
) as played
where case when %(names)s::text[] is not null then name = any(%(names)s) else round in (
    select round from {ledger_entry} where round is not null and at >= %(begin)s and at < %(end)s
) end
group by currency, player, name
"""

_DESK: Final = """
select currency, player, null, reference, case when %(typed)s then type end as type, sum(amount),
    coalesce(sum(amount) filter (where inside), 0), count(*), count(*) filter (where inside)
from (select *, at >= %(begin)s and at < %(end)s as inside from {cash} where %(tests)s or not test) as cash
where %(references)s::text[] is null or reference = any(%(references)s)
group by currency, player, reference, case when %(typed)s then type end
having %(references)s::text[] is not null or count(*) filter (where inside) > 0
"""

_ROUNDS: Final = """
select currency, null, name, null, null, ending, ruleset, boxes, staked, returned, net, jackpot_contributed,
    jackpot_won
from (
    select *, case when %(by_number)s then table_name || '/' || number else round end as name from {round}
    where %(tests)s or not test
) as round
where case when %(names)s::text[] is not null then name = any(%(names)s)
    else ended_at >= %(begin)s and ended_at < %(end)s end
"""

_PLAYERS_ROUNDS: Final = """
select currency, player, name, null, null, ending, null, null, staked, returned, net, null, null
from (
    select *, case when %(by_number)s then table_name || '/' || number else round end as name from {round_player}
    where %(tests)s or not test
) as played
where case when %(names)s::text[] is not null then name = any(%(names)s)
    else at >= %(begin)s and at < %(end)s end
"""
