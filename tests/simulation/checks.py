"""What must be true of a journal after an evening, whatever went wrong in it.

Not here: what each answer must be (`world`).
"""

from __future__ import annotations

from collections.abc import Mapping

from domain import account as a
from domain.log.checkpoint import Note, Opened
from domain.log.tiles import TileNodes
from domain.round.codec import decode
from domain.round.events import RoundOpened, SeedRevealed
from ops.accounts_proof import prove
from ops.evidence_file import gather, logged
from ops.journal import Journal
from ops.postings import PostingsReader
from ops.rulesets import known_rulesets
from replay.evidence import by_digest
from replay.verdict import Check, CheckName, Status
from replay.verify_round import verify_round
from tests.ops.logged import tiles_of


class Wrong(AssertionError):
    """The casino is not as it must be."""


def require(condition: bool, *words: object) -> None:
    """Raise Wrong unless it is so."""
    if not condition:
        raise Wrong(" ".join(map(str, words)))


def check_rounds(journal: Journal, opened: Mapping[str, int], ended: frozenset[str]) -> None:
    """No round lost or doubled: those that the clients know (stream -> seq) are those that there are.

    Numbers are dense, those that ended verify with every rung, those that didn't are listed as open; all are logged.
    """
    found: dict[str, int] = {}
    numbers: dict[str, list[int]] = {}
    rulesets, revealed, tiles = by_digest(known_rulesets(journal)), set(), tiles_of(journal)
    opened_log = Opened(tiles.checkpoint, (), Note(b"", ()))
    for stream, bodies, postings in PostingsReader(journal).read_rounds("round:", "round;"):
        events = [decode(body).data for body in bodies]
        found[stream] = len(bodies) - 1
        require(isinstance(events[0], RoundOpened), stream, "does not begin with its opening")
        assert isinstance(events[0], RoundOpened)
        numbers.setdefault(events[0].table, []).append(events[0].number)
        if isinstance(events[-1], SeedRevealed):
            revealed.add(stream)
        log = logged(gather(journal, stream), opened_log, lambda size: TileNodes(size, tiles.read))
        status = verify_round(stream, bodies, rulesets, postings, log)
        expected = Status.VERIFIED if stream in revealed else Status.NOT_CHECKABLE
        require(status.status is expected, stream, status.as_json())
        require(postings is not None, stream, "has no postings")
        require(status.checks[-1] == Check(CheckName.LOG, Status.VERIFIED), stream, status.as_json())
    require(found == opened, "rounds differ:", dict(found.items() ^ opened.items()))
    require(revealed == ended, "ended rounds differ:", revealed ^ ended)
    require(set(journal.open_rounds()) == set(opened) - ended, "open rounds differ:", journal.open_rounds())
    require(journal.count_rounds() == len(opened), "identities:", journal.count_rounds())
    for table, of_table in numbers.items():
        require(sorted(of_table) == list(range(1, len(of_table) + 1)), "numbers of", table, sorted(of_table))


def check_money(journal: Journal, balances: Mapping[tuple[str, str], int]) -> None:
    """Zero sum, every balance proved from the journal alone, and every balance what its player's evening came to."""
    proof = prove(journal, lambda _: None)
    require(proof.status is Status.VERIFIED, [finding.as_json() for finding in proof.findings[:3]])
    require(all(book.sum == 0 for book in proof.books.values()), "sums:", proof.books)
    found = {}
    for stored in journal.heads_between("account:", "account;", 10_000):
        _, currency, player = stored.record.stream.split(":")
        found[currency, player] = a.CODEC.decode(stored.record.body).data.after.balance
    require(found == balances, "balances differ:", dict(found.items() ^ balances.items()))
