"""What the product's own verification says of the mutated copy: ladder of the rounds concerned, audit, witness, books.

Asked in this order, the lowest that finds something is what the drill reports:

    bytes … log   `verify_round` of each round that was touched (the first two), with its postings and the log
    audit         `ops.log.audit` of every position that the checkpoint covers
    witness       `ops.log.witness`, where the log's folder was touched
    accounts      `ops.accounts_proof`, where nobody else has found anything

Below the last cosignature a verifier holds the cosigned note; it was kept outside of the house.  Above it he has
nothing but the newest note in the log's folder.  Every answer is the product's: what raises is a bug, and ends it all.

Not here: the mutations (`ops.drill.kinds`), counting (`ops.drill.drill`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from domain.log.checkpoint import Opened, open_checkpoint
from domain.record import Record
from ops.accounts_proof import prove
from ops.drill.copy import Copy
from ops.drill.original import Change, Zone
from ops.drill.witnessing import refuses
from ops.evidence_file import gather, logged, newest_checkpoint
from ops.log.audit import audit
from ops.log.ed25519 import check_signature
from ops.log.store import StoreError
from ops.rulesets import known_rulesets
from replay.evidence import by_digest
from replay.logged import Unlogged, Untrusted
from replay.verdict import CheckName
from replay.verify_round import verify_round

ROUNDS_ASKED: Final = 2
"""Of a mutation that touches many."""

AUDIT, WITNESS, ACCOUNTS = "audit", "witness", "accounts"
RUNGS: Final = (*CheckName, AUDIT, WITNESS, ACCOUNTS)
"""Who may find something, in the order in which they are asked."""


class Found(NamedTuple):
    """Everybody who found the mutation, in the order of asking; nobody: it was not found."""

    rungs: tuple[str, ...]

    @property
    def lowest(self) -> str | None:
        """What is reported."""
        return self.rungs[0] if self.rungs else None

    @property
    def by_log(self) -> bool:
        """Whether the log found it, whoever else did."""
        return not {CheckName.LOG, AUDIT, WITNESS}.isdisjoint(self.rungs)


class Verifier:
    """Somebody who checks the copy with the product."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy

    def look(self, change: Change, zone: Zone) -> Found:
        """Who finds a change that was carried out."""
        opened = self._checkpoint(zone)
        rungs = set(self._ladder(change, opened))
        if self._audit_finds(opened):
            rungs.add(AUDIT)
        if not rungs and change.files and refuses(self._copy.witness, self._copy.store):
            rungs.add(WITNESS)
        if not rungs and prove(self._copy.journal, lambda _: None).findings:
            rungs.add(ACCOUNTS)
        return Found(tuple(rung for rung in RUNGS if rung in rungs))

    def is_clean(self) -> bool:
        """Whether the copy as it is passes everything, with both checkpoints."""
        rounds = [row.stream for row in self._copy.original.tables.identities]
        for zone in (Zone.BELOW, Zone.ABOVE):
            opened = self._checkpoint(zone)
            if self._audit_finds(opened) or any(self._climb(rounds, opened)):
                return False
        return not prove(self._copy.journal, lambda _: None).findings

    # -- what is asked

    def _checkpoint(self, zone: Zone) -> Opened | Unlogged | Untrusted:
        copy = self._copy
        if zone is Zone.BELOW:
            return open_checkpoint(copy.original.kept, copy.trust, check_signature)
        return newest_checkpoint(copy.store, replace(copy.trust, witnesses_needed=0))

    def _ladder(self, change: Change, opened: Opened | Unlogged | Untrusted) -> Iterator[str]:
        rounds = _rounds(change.touched(self._copy.original))
        yield from self._climb(rounds[:ROUNDS_ASKED], opened)

    def _climb(self, rounds: Sequence[str], opened: Opened | Unlogged | Untrusted) -> Iterator[str]:
        copy = self._copy
        rulesets = by_digest(known_rulesets(copy.journal)) if rounds else {}
        for stream in rounds:
            gathered = gather(copy.journal, stream)
            if not gathered.bodies and not copy.journal.missing_rounds(stream, stream):
                continue  # nobody can ask for a round that the house does not have
            try:
                log = logged(gathered, opened, copy.store.nodes)
            except StoreError:
                log = None  # `dealproof verify` says so and verifies nothing; the audit says where
            verdict = verify_round(stream, gathered.bodies, rulesets, gathered.postings, log)
            yield from (check.name for check in verdict.checks if check.discrepancies)

    def _audit_finds(self, opened: Opened | Unlogged | Untrusted) -> bool:
        if not isinstance(opened, Opened):
            return isinstance(opened, Untrusted)  # whoever audits gets no further than the note
        checkpoint = opened.checkpoint
        return bool(audit(self._copy.journal, self._copy.store.read_tile, checkpoint, 1, checkpoint.size).findings)


def _rounds(records: Sequence[Record]) -> list[str]:
    """The streams of rounds that events are of, or about."""
    found: dict[str, None] = {}
    for record in records:
        for name in (*_STREAM.findall(record.stream), *(each.decode() for each in _MENTION.findall(record.body))):
            found[f"round:{name}"] = None
    return list(found)


_STREAM: Final = re.compile("^(?:round|receipt|access):([0-9a-f]{32})$")
_MENTION: Final = re.compile(rb'"(?:round":"|stream":"round:)([0-9a-f]{32})"')
