"""What a journal has of each round besides its own events: read in groups, alone, and held against a plain search.

Not here: what the postings must be (tests/replay), the command (`cli.test_verify_accounts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from domain import account as a
from domain import table as t
from domain.record import Record, leaf_hash
from domain.rulesets import released_rulesets
from ops import postings as module
from ops.bulk_verify import Filters, Manifest, Tally, verify_all
from ops.house import House
from ops.journal import FIRST_ROUND, LAST_ROUND, Journal
from ops.postings import PostingsReader
from replay.evidence import by_digest
from replay.postings import Postings
from replay.verdict import CheckName, Status
from replay.verify_round import verify_round
from tests.ops.played import Owner, played_database
from tests.ops.test_house import KEY, OPEN, opened, played_out
from tests.replay.casino import postings_of

ROUNDS = 30
RULESETS = by_digest(released_rulesets().values())


@pytest.fixture(scope="module")
def played_template(server_url: str, migrated_template: str) -> Iterator[str]:
    """A database with thirty true rounds at eight tables, to be copied."""
    with played_database(server_url, migrated_template, ROUNDS) as name:
        yield name


def all_records(owner: Owner) -> list[Record]:
    """The whole journal in the order of positions."""
    columns = "originator_id, originator_version, topic, state"
    rows = owner.execute(f"select {columns} from dealproof.events order by notification_id".encode()).fetchall()
    return [Record(*row) for row in rows]


def searched(records: list[Record], stream: str) -> Postings:
    """The postings of a round by a search through everything."""
    tables = [record for record in records if record.type == "table-opened.v1"]
    settings: dict[str, t.TableSettings] = {}
    for record in tables:
        event = t.CODEC.decode(record.body).data
        assert isinstance(event, t.TableOpened)
        settings[record.stream.removeprefix("table:")] = event.settings
    return postings_of(records, stream, settings)


def read(journal: Journal) -> dict[str, Postings | None]:
    return {stream: postings for stream, _, postings in PostingsReader(journal).read_rounds(FIRST_ROUND, LAST_ROUND)}


def plain(postings: Postings | None) -> Postings:
    assert postings is not None
    return Postings(postings.table, {name: list(rows) for name, rows in postings.streams.items()})


@pytest.mark.parametrize(("at_once", "long"), [(100, 5_000), (1, 5_000), (7, 5_000), (100, 0), (7, 12)])
def test_every_posting_is_found_whatever_is_read_at_once(
    journal: Journal, owner: Owner, monkeypatch: pytest.MonkeyPatch, at_once: int, long: int
) -> None:
    """In one group, round by round, by position or by stream: the same as a search through all."""
    monkeypatch.setattr(module, "ROUNDS_AT_ONCE", at_once)
    monkeypatch.setattr(module, "LONG", long)
    records = all_records(owner)

    found = read(journal)

    assert len(found) == ROUNDS
    for stream, postings in found.items():
        assert plain(postings) == searched(records, stream)


def test_a_journal_without_tables_has_no_postings(migrated_database_url: str) -> None:
    with Journal.open(migrated_database_url) as journal:
        house = House(journal, KEY)
        played_out(house, opened(house, released_rulesets()[OPEN]), Random(1))
        assert list(read(journal).values()) == [None]


def test_a_round_at_a_table_without_accounts_has_none(journal: Journal) -> None:
    house = House(journal, KEY)
    live = played_out(house, opened(house, released_rulesets()[OPEN], 1, "elsewhere"), Random(1))

    assert read(journal)[live.stream] == Postings(None, {})


def test_a_round_that_its_table_did_not_number_is_still_one_of_a_table_with_accounts(
    journal: Journal, owner: Owner
) -> None:
    """Else dropping one event and all postings would make a round one of a house without accounts."""
    stream = journal.last_rounds(1)[0].stream
    mention = f'%"round":"{stream[6:]}"%'.encode()
    owner.execute("delete from dealproof.events where state like %s", (mention,))

    postings = read(journal)[stream]

    assert postings is not None and postings.table is not None
    assert (postings.table.number, postings.streams) == (None, {})
    verdicts = {
        name: verify_round(name, bodies, RULESETS, found)
        for name, bodies, found in PostingsReader(journal).read_rounds(stream, stream)
    }
    assert verdicts[stream].status is Status.DISCREPANCY


# -- tampering, seen by verify --all


def verification(journal: Journal, url: str, folder: Path, workers: int = 1) -> Tally:
    tally = Tally()
    manifest = Manifest.open(folder, journal, Filters(), "1", afresh=True)
    verify_all(
        journal, url, Filters(), workers=workers, every_verdict=False, manifest=manifest, done=tally.add
    )
    return tally


def ledger_findings(tally: Tally) -> dict[str, list[dict[str, Any]]]:
    """What the rung ledger finds, by round."""
    found = {}
    for line in tally.unclean:
        verdict = msgspec.json.decode(line)
        check = next(check for check in verdict["checks"] if check["check"] == CheckName.LEDGER)
        found[f"round:{verdict['round']}"] = check.get("discrepancies", [])
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_all_rounds_are_verified_with_their_postings(
    journal: Journal, url: str, tmp_path: Path, workers: int
) -> None:
    assert verification(journal, url, tmp_path, workers).counts == {"verified": ROUNDS}


def rewritten(owner: Owner, stream: str, seq: int, change: tuple[bytes, bytes]) -> str:
    """One body changed and every hash behind it made anew; the round that it is about."""
    rows = owner.execute(
        "select originator_version, state from dealproof.events where originator_id = %s order by 1", (stream,)
    ).fetchall()
    prev, about = None, ""
    for number, body in rows:
        event = msgspec.json.decode(body)
        if number == seq:
            assert change[0] in body
            event = msgspec.json.decode(body.replace(change[0], change[1], 1))
            about = f"round:{event['data']['round']}"
        if prev is not None:
            event["prev"] = prev
        made = msgspec.json.encode(event, order="sorted")
        prev = leaf_hash(made)
        owner.execute(
            "update dealproof.events set state = %s where originator_id = %s and originator_version = %s",
            (made, stream, number),
        )
    return about


def test_a_win_that_was_made_larger_is_found_by_its_round_alone(
    journal: Journal, url: str, tmp_path: Path, owner: Owner
) -> None:
    """With all hashes made anew; the other rounds of the account are still as they were."""
    record = next(record for record in all_records(owner) if record.type == "funds-won.v1")
    bad = rewritten(owner, record.stream, record.seq, (b'"postings":[{"amount":', b'"postings":[{"amount":9'))

    tally = verification(journal, url, tmp_path)

    assert tally.counts == {"verified": ROUNDS - 1, "discrepancy": 1}
    [(stream, findings)] = ledger_findings(tally).items()
    assert stream == bad
    assert (record.stream, record.seq, "postings") in [(f["stream"], f["seq"], f["field"]) for f in findings]


def test_a_posting_that_was_deleted_is_found(journal: Journal, url: str, tmp_path: Path, owner: Owner) -> None:
    record = next(record for record in all_records(owner) if record.type == "funds-returned.v1")
    event = a.CODEC.decode(record.body).data
    assert isinstance(event, a.FundsReturned)
    owner.execute(
        "delete from dealproof.events where originator_id = %s and originator_version = %s",
        (record.stream, record.seq),
    )

    findings = ledger_findings(verification(journal, url, tmp_path))

    assert f"round:{event.round}" in findings
    assert any(f["recorded"] == "missing" for f in findings[f"round:{event.round}"])


def test_the_jackpot_of_a_round_is_looked_at(journal: Journal, url: str, tmp_path: Path, owner: Owner) -> None:
    record = next(record for record in all_records(owner) if record.type == "jackpot-fed.v1")
    bad = rewritten(owner, record.stream, record.seq, (b'"amount":', b'"amount":7'))

    findings = ledger_findings(verification(journal, url, tmp_path))

    assert (record.stream, record.seq, "amount") in [(f["stream"], f["seq"], f["field"]) for f in findings[bad]]
