"""Read rounds out of the journal together with what accounts, jackpots and tables have of them.

An append holds a round's events and right behind them those of its players' accounts and its jackpot, so the postings
of some rounds lie between the first and the last position of these rounds, or just behind.  A group of rounds is read
at once; a round that stayed open for long is looked up by itself, lest all that happened meanwhile be read.

Not here: what the postings should be (`replay.checks.ledger`), writing them (`ops.floor`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Final, LiteralString

from domain.account import account_stream
from domain.codec import Event, EventRecord
from domain.jackpot import jackpot_stream
from domain.record import BodyError
from domain.round import events as e
from domain.round.codec import read
from domain.table import CODEC, RoundNumbered, TableChanged, TableOpened, TableSettings, table_stream
from ops.journal import ROWS_AT_ONCE, Found, Journal
from ops.recorder import JournalDatastore
from replay.postings import Postings, Row, Table

ROUNDS_AT_ONCE: Final = 100
LONG: Final = 5_000
"""Positions: a round that was open for longer is read by itself."""

BEHIND: Final = 256
"""Positions behind a round's last event: more than one append ever posts."""


class PostingsReader:
    """Reads for one verification; remembers what tables had set."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._rows: JournalDatastore = journal.application.recorder.datastore
        self._settings: dict[tuple[str, int], TableSettings | None] = {}
        self._tables: dict[str, int | None] = {}
        self.keeps_accounts = bool(self._rows.rows(_ANY_TABLE))

    def read_rounds(self, first: str, last: str) -> Generator[tuple[str, list[bytes], Postings | None]]:
        """Each round from first to last, both included, in stream order, with its postings.

        Postings are None in a journal that has no table.  In memory are a hundred rounds and what was posted meanwhile.
        """
        group: list[Found] = []
        for found in self._journal.find_rounds(first, last):
            group.append(found)
            if len(group) == ROUNDS_AT_ONCE:
                yield from self._with_postings(group)
                group = []
        yield from self._with_postings(group)

    def _with_postings(self, group: Sequence[Found]) -> Iterator[tuple[str, list[bytes], Postings | None]]:
        if not self.keeps_accounts:
            yield from ((found.stream, found.bodies, None) for found in group)
            return
        together = [found for found in group if found.last - found.first <= LONG]
        posted = self._posted(together)
        for found in group:
            if found.last - found.first > LONG:
                posted |= self._posted_to(found)
        for found in group:
            yield found.stream, found.bodies, self._postings(found, posted[found.stream])

    # -- what mentions a round

    def _posted(self, group: Sequence[Found]) -> dict[str, dict[str, list[Row]]]:
        """Round stream -> stream -> rows, of everything between the positions of these rounds."""
        rows = defaultdict[str, list[Row]](list)
        for first, last in _merged(group):
            with self._rows.tuples() as cursor:
                for stream, seq, body in cursor.stream(_BETWEEN, (first, last), size=ROWS_AT_ONCE):
                    rows[stream].append((seq, body))
        return self._sorted_out([found.stream for found in group], rows)

    def _posted_to(self, found: Found) -> dict[str, dict[str, list[Row]]]:
        """The same for one round, from the streams of its own players, table and jackpot."""
        opened = _opened(found.bodies)
        if opened is None:
            return self._posted([found])
        rows = defaultdict[str, list[Row]](list)
        # The table numbers a round in the append that opens it.
        for stream, seq, body in self._rows.rows(_BETWEEN, (found.first, found.first + BEHIND)):
            if stream == table_stream(opened.table):
                rows[stream].append((seq, body))
        table = self._table_of(opened.table, found, rows)
        pots = [] if table is None or table.settings.jackpot is None else [jackpot_stream(table.settings.jackpot)]
        accounts = [account_stream(opened.currency, player) for player in {box.player for box in _boxes(found.bodies)}]
        mention = b'"round":"' + found.stream.removeprefix("round:").encode() + b'"'
        window = (found.first, found.last + BEHIND)
        for stream, seq, body in self._rows.rows(_OF_STREAMS, (accounts, *window, pots, mention, *window)):
            rows[stream].append((seq, body))
        return self._sorted_out([found.stream], rows)

    def _sorted_out(
        self, streams: Sequence[str], rows: Mapping[str, list[Row]]
    ) -> dict[str, dict[str, list[Row]]]:
        """Whose mention is whose, with the event before where it lies before all that was read."""
        wanted = {stream.removeprefix("round:").encode(): stream for stream in streams}
        sorted_out: dict[str, dict[str, list[Row]]] = {stream: {} for stream in streams}
        lacking: list[tuple[str, str, int]] = []
        for name, own in rows.items():
            places = defaultdict[bytes, list[int]](list)
            for place, (_, body) in enumerate(own):
                for round_id in set(_MENTION.findall(body)):
                    if round_id in wanted:
                        places[round_id].append(place)
            for round_id, of_round in places.items():
                stream = wanted[round_id]
                chosen = _slice(of_round) if name.startswith("account:") else _neighbours(of_round)
                sorted_out[stream][name] = [own[place] for place in chosen if place >= 0]
                lacking += [(stream, name, seq) for seq in _before(own, of_round, name)]
        self._add_before(sorted_out, lacking)
        return sorted_out

    def _add_before(
        self, sorted_out: dict[str, dict[str, list[Row]]], lacking: Sequence[tuple[str, str, int]]
    ) -> None:
        """The events right before the first ones that were read."""
        if not lacking:
            return
        asked = sorted({(name, seq) for _, name, seq in lacking})
        names, seqs = [name for name, _ in asked], [seq for _, seq in asked]
        known = {(name, seq): body for name, seq, body in self._rows.rows(_EACH, (names, seqs))}
        for stream, name, seq in lacking:
            if (name, seq) in known:
                own = sorted_out[stream][name]
                sorted_out[stream][name] = sorted([*own, (seq, known[name, seq])])

    # -- tables

    def _postings(self, found: Found, streams: dict[str, list[Row]]) -> Postings:
        opened = _opened(found.bodies)
        table = None if opened is None else self._table_of(opened.table, found, streams)
        posted = {name: rows for name, rows in streams.items() if not name.startswith("table:")}
        return Postings(table, posted)

    def _table_of(self, name: str, found: Found, streams: Mapping[str, list[Row]]) -> Table | None:
        """What the table had set when it numbered the round; None if there was no such table yet."""
        stream = table_stream(name)
        if stream not in self._tables:
            rows = self._rows.rows(_FIRST_POSITION, (stream,))
            self._tables[stream] = rows[0][0] if rows else None
        since = self._tables[stream]
        if since is None or since > found.first:
            return None
        for _, body in streams.get(stream, ()):
            numbered = _numbered(body)
            if numbered is not None and f"round:{numbered.round}" == found.stream:
                settings = self._settings_at(stream, numbered.after.settings)
                return None if settings is None else Table(settings, numbered.after.number)
        # Nobody numbered it: what the table had set last before is as good as can be known.
        rows = self._rows.rows(_SETTINGS_BEFORE, (stream, found.first))
        settings = self._settings_at(stream, rows[0][0]) if rows else None
        return None if settings is None else Table(settings, None)

    def _settings_at(self, stream: str, seq: int) -> TableSettings | None:
        key = (stream, seq)
        if key not in self._settings:
            rows = self._rows.rows(_EACH, ([stream], [seq]))
            self._settings[key] = _settings(rows[0][2]) if rows else None
        return self._settings[key]


def _merged(group: Iterable[Found]) -> list[tuple[int, int]]:
    """Ranges of positions that hold what these rounds posted, those that touch made one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted((found.first, found.last + BEHIND) for found in group):
        if merged and first <= merged[-1][1] + BEHIND:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _slice(places: Sequence[int]) -> Sequence[int]:
    """An account from the event before the first mention to the last one, whatever lies between."""
    return range(places[0] - 1, places[-1] + 1)


def _neighbours(places: Sequence[int]) -> Sequence[int]:
    """Each mention and the event before it."""
    return sorted({near for place in places for near in (place - 1, place)})


def _before(own: Sequence[Row], places: Sequence[int], name: str) -> list[int]:
    """Seqs of events before a mention that were not read."""
    firsts = places[:1] if name.startswith("account:") else places
    return [
        own[place][0] - 1
        for place in firsts
        if own[place][0] > 0 and (place == 0 or own[place - 1][0] != own[place][0] - 1)
    ]


def _opened(bodies: Sequence[bytes]) -> e.RoundOpened | None:
    opened = _data(read(bodies[0]))
    return opened if isinstance(opened, e.RoundOpened) else None


def _boxes(bodies: Sequence[bytes]) -> Iterator[e.BoxPlaced]:
    for body in bodies:
        event = _data(read(body))
        if isinstance(event, e.BoxPlaced):
            yield event


def _numbered(body: bytes) -> RoundNumbered | None:
    event = _data(CODEC.read(body))
    return event if isinstance(event, RoundNumbered) else None


def _settings(body: bytes) -> TableSettings | None:
    event = _data(CODEC.read(body))
    return event.settings if isinstance(event, TableOpened | TableChanged) else None


def _data(record: EventRecord[Event] | BodyError) -> Event | None:
    return None if isinstance(record, BodyError) else record.data


_MENTION: Final = re.compile(rb'"round":"([0-9a-f]{32})"')

_ANY_TABLE: Final = """
select originator_id from dealproof.events where originator_id >= 'table:' and originator_id < 'table;' limit 1
"""

_BETWEEN: Final = """
select originator_id, originator_version, state from dealproof.events
where notification_id between %b and %b
and (originator_id >= 'account:' and originator_id < 'account;'
     or originator_id >= 'jackpot:' and originator_id < 'jackpot;'
     or originator_id >= 'table:' and originator_id < 'table;')
order by notification_id
"""

_OF_STREAMS: Final = """
select originator_id, originator_version, state from dealproof.events
where originator_id = any (%b::text[]) and notification_id between %b and %b
union all
select originator_id, originator_version, state from dealproof.events
where originator_id = any (%b::text[]) and position(%b::bytea in state) > 0 and notification_id between %b and %b
order by 1, 2
"""

_EACH: Final = """
select event.originator_id, event.originator_version, event.state
from unnest(%b::text[], %b::bigint[]) as wanted (stream, seq)
join dealproof.events as event on event.originator_id = wanted.stream and event.originator_version = wanted.seq
"""

_FIRST_POSITION: Final = """
select notification_id from dealproof.events where originator_id = %b order by originator_version limit 1
"""

_SETTINGS_BEFORE: Final[LiteralString] = """
select originator_version from dealproof.events
where originator_id = %b and notification_id < %b and topic in ('table-opened.v1', 'table-changed.v1')
order by originator_version desc limit 1
"""
