"""The whole proof of the accounts, out of the journal: every event in the order of positions, in constant memory.

Not here: what is proved (`replay.accounts`), printing (`ops.cli.verify`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ops.journal import ROWS_AT_ONCE, Journal
from ops.rulesets import known_rulesets
from replay.accounts import AccountsProof, Book
from replay.evidence import by_digest
from replay.verdict import Discrepancy, Status

TOLD_EVERY: Final = 10_000
"""Events between two words about the progress."""

MOST_FINDINGS: Final = 10_000
"""A journal that is wrong throughout is as wrong after these; all are counted, these are kept."""


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
    findings: list[Discrepancy] = []
    events = found = 0
    with datastore.tuples() as cursor:
        for stream, seq, body in cursor.stream(_IN_ORDER, size=ROWS_AT_ONCE):
            wrong = proof.take(stream, seq, body)
            if wrong:
                found += len(wrong)
                findings += wrong[: max(MOST_FINDINGS - len(findings), 0)]
            events += 1
            if events % TOLD_EVERY == 0:
                advanced(TOLD_EVERY)
    wrong = proof.finish()
    findings += wrong  # the sums are few, and say the most
    return Proof(proof.books, findings, found + len(wrong), proof.unchecked, events)


def _body(journal: Journal, stream: str, seq: int) -> bytes | None:
    stored = journal.read_event(stream, seq)
    return None if stored is None else stored.record.body


_IN_ORDER: Final = "select originator_id, originator_version, state from dealproof.events order by notification_id"
