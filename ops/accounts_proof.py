"""The whole proof of the accounts, out of the journal: every event in the order of positions, in constant memory.

The tables beside the events follow from them, so they are held against them: who deletes an event, or a row that says
what was done, must do it in all of them.

Not here: what is proved of events (`replay.accounts`), printing (`ops.cli.verify`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from domain.record import BodyError, Record
from domain.round.codec import EventRecord, read
from domain.round.events import RoundOpened
from ops.findings import Findings
from ops.journal import ROWS_AT_ONCE, Journal
from ops.rulesets import known_rulesets
from replay.accounts import AccountsProof, Book
from replay.evidence import by_digest
from replay.verdict import EVENTS, Discrepancy, Status

Cursor = psycopg.Cursor[tuple[Any, ...]]

TOLD_EVERY: Final = 10_000
"""Events between two words about the progress."""

@dataclass(frozen=True)
class Proof:
    """What the proof came to: the books by currency, the findings, rounds of unknown rulesets, events read."""

    books: dict[str, Book]
    findings: list[Discrepancy]
    found: int
    unchecked: int
    events: int

    @property
    def status(self) -> Status:
        """The verdict, as of a round."""
        if self.findings:
            return Status.DISCREPANCY
        return Status.NOT_CHECKABLE if self.unchecked else Status.VERIFIED

    @property
    def counts(self) -> dict[str, int]:
        """For the log."""
        return {"events": self.events, "currencies": len(self.books), "findings": self.found}

    def as_json(self) -> list[dict[str, Any]]:
        """One object a currency, and one for the journal (docs/formats/verdict.md)."""
        books = [
            {
                "currency": currency,
                "accounts": book.accounts,
                "events": book.events,
                "ledger": dict(sorted(book.totals.items())),
                "sum": book.sum,
            }
            for currency, book in sorted(self.books.items())
        ]
        findings = [finding.as_json() for finding in self.findings]
        whole = {"verdict": self.status, "unchecked_rounds": self.unchecked, "found": self.found}
        return [*books, {**whole, "discrepancies": findings}]


def prove(journal: Journal, advanced: Callable[[int], None]) -> Proof:
    """Read the journal once, as it is at this moment; `advanced` hears of every so many events."""
    datastore = journal.application.recorder.datastore
    proof = AccountsProof(by_digest(known_rulesets(journal)), lambda stream, seq: _body(journal, stream, seq))
    findings, events = Findings(), 0
    with datastore.tuples() as cursor, cursor.connection.transaction():
        cursor.execute(_ONE_MOMENT)  # an append between two statements would look like a forgery
        for position, *columns in cursor.stream(_IN_ORDER, size=ROWS_AT_ONCE):
            wrong = proof.take(position, Record(*columns))
            if wrong:
                findings.add(wrong)
            events += 1
            if events % TOLD_EVERY == 0:
                advanced(TOLD_EVERY)
        for held in (_commands(cursor, proof.head), _identities(cursor), _open(cursor, proof.streams.open_rounds)):
            findings.add(held)
    sums = proof.finish()  # they are few, and say the most: kept whatever else was found
    return Proof(proof.books, findings.kept + sums, findings.count + len(sums), proof.unchecked, events)


def _body(journal: Journal, stream: str, seq: int) -> bytes | None:
    stored = journal.read_event(stream, seq)
    return None if stored is None else stored.record.body


# -- the tables beside the events


def _commands(cursor: Cursor, head: int) -> Iterator[Discrepancy]:
    """Each position belongs to just one command, and each command has events.  `head` is the last position."""
    table, last = "dealproof.commands", 0
    for name, first, count, expected in cursor.stream(_MISPLACED_COMMANDS, size=ROWS_AT_ONCE):
        row, first, expected = f"command {name}", int(first), int(expected)
        if count < 1:
            yield Discrepancy(None, row, "event_count", count, "1 or more", table)
        if first > expected:
            yield Discrepancy(None, f"of {_positions(expected, first - 1)}", "command", "missing", "there", table)
        if first < expected:
            words = f"{expected}: those before belong to another command"
            yield Discrepancy(None, row, "first_position", first, words, table)
    [(name, last)] = cursor.execute(_LAST_COMMAND).fetchall() or [("", 0)]
    if last < head:
        yield Discrepancy(None, f"of {_positions(int(last) + 1, head)}", "command", "missing", "there", table)
    elif last > head:
        gone = _positions(head + 1, int(last))
        yield Discrepancy(None, gone, "event", "missing", f"there, by command {name} of {table}", EVENTS)
    for name, stream, seq in cursor.stream(_OTHER_REQUESTS, size=ROWS_AT_ONCE):
        words = f"the hash of {stream} event {seq}"
        yield Discrepancy(None, f"command {name}", "request_hash", "of another request", words, table)
    for name, stream, seq in cursor.stream(_OTHER_PEOPLE, size=ROWS_AT_ONCE):
        yield Discrepancy(None, f"command {name}", "by", "somebody else's", f"who did {stream} event {seq}", table)


def _positions(first: int, last: int) -> str:
    return f"position {first}" if first == last else f"position {first} to {last}"


def _identities(cursor: Cursor) -> Iterator[Discrepancy]:
    """Each round that was opened has its row, which says what its first event says."""
    table = "dealproof.round_identity"
    for opening, body, stream, *row in cursor.stream(_IDENTITIES, size=ROWS_AT_ONCE):
        if stream is None:
            yield Discrepancy(None, f"row of {opening}", "stream", "missing", "there", table)
        elif opening is None:
            yield Discrepancy(None, f"row of {stream}", "stream", "there", "not there: no such round is opened", table)
        else:
            yield from _differing(table, stream, read(body), row)


def _differing(table: str, stream: str, first: EventRecord | BodyError, row: list[Any]) -> Iterator[Discrepancy]:
    opened = None if isinstance(first, BodyError) else first.data
    if not isinstance(opened, RoundOpened):
        return  # the round's own verification names it
    said = (opened.table, opened.number, opened.commitment)
    for field, recorded, wanted in zip(("table_id", "number", "commitment"), row, said, strict=True):
        if recorded != wanted:
            yield Discrepancy(None, f"row of {stream}", field, recorded, wanted, table)


def _open(cursor: Cursor, rounds: set[str]) -> Iterator[Discrepancy]:
    """The list of open rounds has those whose seed is not revealed."""
    table, missing = "dealproof.open_rounds", set(rounds)
    for (stream,) in cursor.stream(_OPEN, size=ROWS_AT_ONCE):
        if stream not in missing:
            words = "not there: the round has ended, or never was"
            yield Discrepancy(None, f"row of {stream}", "stream", "there", words, table)
        missing.discard(stream)
    for stream in sorted(missing):
        yield Discrepancy(None, f"row of {stream}", "stream", "missing", "there: the round is open", table)


_ONE_MOMENT: Final = "set transaction isolation level repeatable read, read only"

_IN_ORDER: Final = """
select notification_id, originator_id, originator_version, topic, state from dealproof.events order by notification_id
"""

# Numeric: a position that somebody made as large as can be must not end the proof.
_MISPLACED_COMMANDS: Final = """
select command_id, first_position, event_count, expected from (
    select command_id, first_position, event_count,
        lag(first_position::numeric + event_count, 1, 1) over (order by first_position, command_id) as expected
    from dealproof.commands
) as command
where first_position <> expected or event_count < 1
"""

_LAST_COMMAND: Final = """
select command_id, first_position::numeric + event_count - 1 from dealproof.commands
order by first_position desc, command_id desc limit 1
"""

# What the house does by itself it asks for in the words of the event, so the newest event of a stream, which no other
# is chained to, is held by its command.  Commands of callers have names that begin otherwise.
_OTHER_REQUESTS: Final = """
select command_id, originator_id, originator_version
from dealproof.commands join dealproof.events on notification_id = first_position
where (starts_with(command_id, 'create key:') or starts_with(command_id, 'revoke key:')
    or starts_with(command_id, 'look access:') or starts_with(command_id, 'open round:'))
and request_hash <> sha256(state)
"""

# The API names a command `api <role> <person> <key>`, and its event says that the person did it.
_OTHER_PEOPLE: Final = """
select command_id, originator_id, originator_version
from dealproof.commands join dealproof.events on notification_id = first_position
cross join lateral to_json(substring(command_id from '^api [^ ]+ (.*) [^ ]+$')) as person
where starts_with(command_id, 'api ') and originator_id not between 'round:' and 'round;'
and position(convert_to('"by":"', 'UTF8') in state) > 0
and position(convert_to('"by":' || person::text, 'UTF8') in state) = 0
"""

_IDENTITIES: Final = """
select opening.originator_id, opening.state, identity.stream, identity.table_id, identity.number,
    encode(identity.commitment, 'hex')
from (
    select originator_id, state from dealproof.events
    where originator_id >= 'round:' and originator_id < 'round;' and originator_version = 0
) as opening
full join dealproof.round_identity as identity on identity.stream = opening.originator_id
"""

_OPEN: Final = "select stream from dealproof.open_rounds order by stream"
