"""The rows agree with what other code makes of the same journal: the accounts' proof, the day's manifest, the heads.

Not here: each column by itself (`test_reference_agrees`), the engine (`test_runner`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from domain.account import CODEC as ACCOUNTS
from domain.account import RoundEntry
from domain.day import DayFold
from domain.jackpot import CODEC as JACKPOTS
from domain.ledger import Wager
from domain.record import Record
from ops.accounts_proof import prove
from ops.journal import Journal
from ops.projecting import catch_up, projector
from projections.projection import BLOCK, quarter_of
from tests.conftest import _database as new_database
from tests.ops.played import play_rounds
from tests.projections.rows import all_rows

Rows = dict[str, list[tuple[Any, ...]]]


class Seen:
    """A journal, read whole, and the rows that were made of it."""

    def __init__(self, url: str) -> None:
        with Journal.open(url) as journal:
            play_rounds(journal, 60, 11)
            catch_up(url)
            datastore = journal.application.recorder.datastore
            self.events = [
                (position, Record(*rest))
                for position, *rest in datastore.rows(
                    "select notification_id, originator_id, originator_version, topic, state "
                    "from dealproof.events order by notification_id"
                )
            ]
            self.proof = prove(journal, lambda _: None)
            self.identities = datastore.rows("select stream, encode(commitment, 'hex') from dealproof.round_identity")
        with projector(url) as connection:
            self.rows: Rows = all_rows(connection)


@pytest.fixture(scope="module")
def seen(server_url: str, migrated_template: str) -> Iterator[Seen]:
    with new_database(server_url, migrated_template) as url:
        yield Seen(url)


def test_every_account_of_the_house_is_what_the_proof_of_accounts_says(seen: Seen) -> None:
    """Two programs, one journal: `replay.accounts` and `balances`."""
    ours: dict[str, Counter[str]] = defaultdict(Counter)
    for currency, account, _, amount, *_ in seen.rows["balance"]:
        ours[currency]["player" if account.startswith("player:") else account] += amount
    assert seen.proof.status == "verified"
    for currency, book in seen.proof.books.items():
        assert {name: ours[currency][name] for name in book.totals} == book.totals
        assert sum(ours[currency].values()) == 0


def test_every_balance_is_that_of_the_accounts_newest_event(seen: Seen) -> None:
    """And so are the funds in play; the pots likewise."""
    heads = {record.stream: record for _, record in seen.events}
    balances = {(currency, account): (amount, in_play) for currency, account, _, amount, in_play, *_ in
                seen.rows["balance"]}  # fmt: skip
    accounts = 0
    for stream, record in heads.items():
        if stream.startswith("account:"):
            after = ACCOUNTS.decode(record.body).data.after
            _, currency, player = stream.split(":", 2)
            assert balances[currency, f"player:{player}"] == (after.balance, after.funds_in_play)
            accounts += 1
        elif stream.startswith("jackpot:"):
            state = JACKPOTS.decode(record.body).data.after
            assert balances[state.currency, stream][0] == state.pot
            assert {row[0]: row[3] for row in seen.rows["jackpot"]}[stream.removeprefix("jackpot:")] == state.pot
    assert accounts > 5


def test_the_last_entry_of_a_currency_has_the_sums_of_all_its_balances(seen: Seen) -> None:
    """So the entry of any moment has those of that moment."""
    for currency in seen.proof.books:
        last = [row for row in seen.rows["ledger_entry"] if row[2] == currency][-1]
        rows = [row for row in seen.rows["balance"] if row[0] == currency]
        players = [row for row in rows if row[1].startswith("player:")]
        by_name = {row[1]: row[3] for row in rows}
        pots = sum(row[3] for row in rows if row[1].startswith("jackpot:"))
        assert last[15:] == (
            sum(row[3] for row in players), sum(row[4] for row in players), by_name.get("bank", 0),
            by_name.get("bonus", 0), by_name.get("cash", 0), pots,
        )  # fmt: skip


def test_every_entry_balances(seen: Seen) -> None:
    """What somebody got, somebody gave."""
    assert all(sum(row[8:13]) == 0 for row in seen.rows["ledger_entry"])
    assert all(row[15] + row[17] + row[18] + row[19] + row[20] == 0 for row in seen.rows["ledger_entry"])


def test_rounds_and_cash_are_those_of_the_days_manifest(seen: Seen) -> None:
    """The fold of `domain.day` over the whole journal as one day."""
    fold = DayFold(None)
    for position, record in seen.events:
        fold.take(position, record)
    manifest = fold.comes_to(day="2026-12-01", by="test", root="")
    assert len(manifest.tables) > 4
    for table in manifest.tables:
        rounds = [row for row in seen.rows["round"] if (row[1], row[3]) == (table.table, table.currency)]
        closed = [row for row in rounds if row[14] == "closed"]
        assert (len(closed), len(rounds) - len(closed)) == (table.closed, table.voided)
        sums = [sum(row[column] for row in closed) for column in (27, 28, 30, 31)]
        assert sums == [table.staked, table.returned, table.jackpot_contributed, table.jackpot_won]
        # A round's net is the house's in the manifest, and the players' in a row.
        assert sum(row[29] for row in closed) in (table.net, -table.net)
        of_table = [row for row in seen.rows["revenue"] if (row[2], row[3]) == (table.currency, table.table)]
        assert sum(row[6] for row in of_table) == table.closed
        assert sum(row[8] for row in of_table) == table.staked
        assert sum(row[10] for row in of_table) == table.returned
    for cash in manifest.cash:
        rows = [row for row in seen.rows["cash"] if row[2] == cash.currency]
        net = cash.deposited - cash.withdrawn + cash.adjusted + cash.reversed
        assert (len(rows), sum(row[5] for row in rows)) == (cash.events, net)


def test_every_commitment_is_there_once(seen: Seen) -> None:
    """As the table of identities has them."""
    ours = {(f"round:{row[0]}", row[3]) for row in seen.rows["commitment"]}
    assert ours == set(seen.identities) and len(ours) == len(seen.rows["commitment"]) == 60


def test_wagers_are_what_the_accounts_paid(seen: Seen) -> None:
    """Sums by kind of wager: out of the rounds' facts here, out of the accounts' postings there; voids apart."""
    voided = {row[0] for row in seen.rows["round"] if row[14] == "voided"}
    paid: Counter[tuple[str, str]] = Counter()
    for _, record in seen.events:
        if record.stream.startswith("account:"):
            event = ACCOUNTS.decode(record.body).data
            if isinstance(event, RoundEntry) and event.round not in voided:
                kind = "staked" if event.NAME == "funds-staked.v1" else "returned"
                for posting in event.postings:
                    paid[posting.wager.value, kind] += posting.amount
    ours: Counter[tuple[str, str]] = Counter()
    for row in seen.rows["wager_performance"]:
        ours[row[7], "staked"] += row[10]
        ours[row[7], "returned"] += row[11]
    assert {key: amount for key, amount in ours.items() if amount} == {key: n for key, n in paid.items() if n}
    assert ours[Wager.EXCHANGE.value, "staked"] and ours[Wager.ANTE.value, "returned"]


def test_sums_lie_in_the_block_and_the_quarter_of_their_end(seen: Seen) -> None:
    """And a round's parts add up to its row."""
    import json

    for row in seen.rows["round"]:
        if row[14] == "closed":
            parts = json.loads(row[34])
            assert sum(box[4] for box in parts["boxes"]) == row[27] == sum(wager[4] for wager in parts["wagers"])
            assert sum(box[6] for box in parts["boxes"]) == row[28] == sum(wager[5] for wager in parts["wagers"])
            assert sum(row[20:27]) == row[27]
    blocks = {row[13] // BLOCK for row in seen.rows["round"]}
    assert {row[0] for row in seen.rows["revenue"]} == blocks


@pytest.mark.parametrize(
    ("at", "quarter"),
    [
        ("2026-12-01T05:00:00.000Z", "2026-12-01T05:00:00Z"), ("2026-12-01T05:14:59.999Z", "2026-12-01T05:00:00Z"),
        ("2026-12-01T05:15:00.000Z", "2026-12-01T05:15:00Z"), ("2026-12-01T23:59:59.999Z", "2026-12-01T23:45:00Z"),
    ],
)  # fmt: skip
def test_a_quarter_begins_at_its_first_millisecond(at: str, quarter: str) -> None:
    """And ends before the next."""
    assert quarter_of(at) == quarter
