"""The page of the account formats: its examples are real bytes, and it names every event with all its keys in order.

To bring the examples up to date: python -m tests.domain.account_examples

Not here: the other format pages (`tests.golden.test_pages`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from domain import account, activation, jackpot, ledger, table
from domain.account import ACCOUNT_EVENTS, InPlay, Posting
from domain.activation import ActivationProposed, RulesetActivated
from domain.codec import Codec, Event
from domain.jackpot import JACKPOT_EVENTS
from domain.record import canonical_json, leaf_hash, read_envelope
from domain.ruleset import Limits
from domain.table import TABLE_EVENTS
from replay.accounts import AccountsProof
from replay.evidence import by_digest
from tests.domain.account_examples import GAME, PAGE, examples, page_with_examples, played_evening, voided_evening
from tests.replay.casino import Casino

EVENTS: tuple[type[Event], ...] = (
    *ACCOUNT_EVENTS, *JACKPOT_EVENTS, *TABLE_EVENTS, ActivationProposed, RulesetActivated,
)  # fmt: skip
CODECS: dict[str, Codec[Any]] = {
    "account": account.CODEC, "jackpot": jackpot.CODEC, "table": table.CODEC, "ruleset": activation.CODEC,
}  # fmt: skip


def test_the_examples_are_what_the_program_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_with_examples()


@pytest.mark.parametrize("house", [played_evening, voided_evening])
def test_the_examples_are_of_evenings_that_are_proved(house: object) -> None:
    """Every event of the evening, not only those that are shown."""
    assert callable(house)
    evening = house()
    assert isinstance(evening, Casino)
    bodies = {(record.stream, record.seq): record.body for record in evening.records}
    proof = AccountsProof(by_digest([GAME]), lambda stream, seq: bodies.get((stream, seq)))

    found = [each for place, record in enumerate(evening.records, 1) for each in proof.take(place, record)]

    assert found + proof.finish() == []


@pytest.mark.parametrize("name", ["account", "jackpot", "table", "void", "activation"])
def test_an_example_is_canonical_and_chained(name: str) -> None:
    """Spelt in the only way, read by the stream's codec, each linked to the one before it in its stream."""
    streams: dict[str, list[bytes]] = {}
    for record in examples()[name]:
        envelope = read_envelope(record.body)
        assert canonical_json(msgspec.json.decode(record.body)) == record.body
        assert (envelope.stream, envelope.seq) == (record.stream, record.seq)
        decoded = CODECS[record.stream.partition(":")[0]].decode(record.body).data
        assert record.type == decoded.NAME
        streams.setdefault(record.stream, []).append(record.body)
    for bodies in streams.values():
        assert [read_envelope(after).prev for _, after in pairwise(bodies)] == [leaf_hash(b) for b in bodies[:-1]]


def test_every_event_has_an_example() -> None:
    shown = {record.type for records in examples().values() for record in records}

    assert shown == {event.NAME for event in EVENTS}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.NAME)
def test_every_event_stands_on_the_page_with_all_its_keys_in_order(event: type[Event]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith(f"| `{event.NAME}` ")]
    row = next(row for row in rows if len(row.split("|")) == 4)
    keys = [key for key in event.__struct_fields__ if key != "after"]
    cell = row.split("|")[2]

    named = [part.strip().split("`")[1] for part in cell.split(" · ")]

    assert named == keys


@pytest.mark.parametrize(
    "struct",
    [InPlay, account.AccountState, jackpot.JackpotState, table.TableState, table.TableSettings, Posting, ledger.Line],
)
def test_every_key_of_what_stands_inside_is_on_the_page(struct: type[msgspec.Struct]) -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert [key for key in struct.__struct_fields__ if f"`{key}`" not in page] == []
    assert "`limits`" in page and Limits.__struct_fields__


def test_every_wager_and_ledger_account_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    words = [*ledger.Wager, ledger.PLAYER, ledger.BANK, ledger.BONUS, ledger.CASH, *account.Against, *account.Ending]

    assert [word for word in [*words, *table.Abandoned] if f"`{word}`" not in page] == []
