"""The books as a whole: an honest journal is proved, and a forgery of any kind is named with its stream and event.

Not here: one round's postings in detail (`test_ledger`), the journal and the command (tests/ops).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import zip_longest
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain import account as a
from domain import activation
from domain.access import ACCESS_CODEC, KEY_CODEC, Hidden, HiddenRead, KeyCreated, KeyRevoked, Role
from domain.codec import Codec
from domain.ledger import Move
from domain.record import Record, canonical_json
from replay.accounts import AccountsProof
from replay.verdict import Discrepancy
from tests.replay.casino import JACKPOT, PLAYERS, Casino, casino, forged, rehashed
from tests.replay.test_ledger import FORGERIES, GAMES, RULESETS, mutate


class Proved(NamedTuple):
    """The proof after the last event, and all that was found."""

    proof: AccountsProof
    findings: list[Discrepancy]


def proved(records: Sequence[Record]) -> Proved:
    """The whole proof of some records; what it finds can be written."""
    bodies = {(record.stream, record.seq): record.body for record in records}
    proof = AccountsProof(RULESETS, lambda stream, seq: bodies.get((stream, seq)))
    findings = [each for place, record in enumerate(records, 1) for each in proof.take(place, record)]
    findings += proof.finish()
    assert msgspec.json.encode([finding.as_json() for finding in findings])
    return Proved(proof, findings)


def named(findings: Sequence[Discrepancy]) -> list[tuple[str | None, int | None, str]]:
    """Where findings are."""
    return [(finding.stream, finding.seq, finding.field) for finding in findings]


@cache
def evening(seed: int = 5) -> Casino:
    """Rounds of all games with a cashier between them."""
    return casino(seed, GAMES, rounds=8)


# -- honest journals


@given(seed=st.integers(0, 2**32), rounds=st.integers(0, 8))
@settings(max_examples=40)
def test_an_honest_journal_is_proved(seed: int, rounds: int) -> None:
    """Every unit comes from somewhere: players, bank, jackpot, bonus fund and cash desk together have nothing."""
    house = casino(seed, GAMES, rounds=rounds)

    proof, findings = proved(house.records)

    assert findings == []
    book = proof.books["EUR"]
    assert book.sum == 0
    assert book.accounts == len(PLAYERS)
    assert book.totals["player"] == sum(house.balance(player).balance for player in PLAYERS)
    assert book.totals[f"jackpot:{JACKPOT}"] == house.states[f"jackpot:{JACKPOT}"].pot


def test_a_proof_may_end_in_the_middle_of_rounds() -> None:
    records = evening().records
    ends = [place for place in range(1, len(records)) if _at(records[place]) != _at(records[place - 1])]

    assert [found for end in ends for found in proved(records[:end]).findings] == []


def _at(record: Record) -> str:
    return str(msgspec.json.decode(record.body)["at"])


def test_an_empty_journal_has_no_books() -> None:
    proof, findings = proved([])

    assert (proof.books, findings) == ({}, [])


def test_rounds_that_have_ended_are_forgotten() -> None:
    """In memory are heads and open rounds, nothing else that grows."""
    proof, _ = proved(casino(2, GAMES, rounds=12).records)

    assert proof._open == {}
    assert proof._append is None


def test_a_round_at_a_table_without_accounts_asks_for_nothing() -> None:
    """Rounds of before the accounts: their facts stand in the journal, and nobody posted them."""
    house = casino(3, GAMES, rounds=2)
    rounds = [record for record in house.records if record.stream.startswith("round:")]
    others = [
        record for record in house.records
        if record.type in ("account-opened.v1", "funds-deposited.v1") and record.seq < 2
    ]  # fmt: skip

    assert proved([*others, *rounds]).findings == []


def test_rounds_of_an_unknown_ruleset_are_counted_and_held_against_each_other() -> None:
    records = evening().records
    bodies = {(record.stream, record.seq): record.body for record in records}
    proof = AccountsProof({}, lambda stream, seq: bodies.get((stream, seq)))
    findings = [each for place, record in enumerate(records, 1) for each in proof.take(place, record)]

    assert findings + proof.finish() == []
    assert proof.unchecked == 8


# -- forgeries with all hashes made anew


def place_of(house: Casino, name: str) -> Record:
    return next(record for record in house.records if record.type == name)


def _other(key: str, value: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        data[key] = value

    return change


def _larger(data: Any) -> None:
    """The cashier's event with everything in it as if the amount had been larger, but for the balance."""
    data["amount"] += 1
    for line in data["lines"]:
        line["amount"] += 1 if line["amount"] > 0 else -1


def _rich(data: Any) -> None:
    data["after"]["balance"] += 1


def _unbalanced(data: Any) -> None:
    data["lines"][0]["amount"] += 1


def _in_play(data: Any) -> None:
    data["after"]["in_play"] = [
        {"before": 0, "reserved": 0, "returned": 0, "round": "0" * 32, "since": 0, "staked": 0}
    ]


CASH: list[tuple[str, Callable[[Any], None], str]] = [
    ("account-opened.v1", _other("player", "player-9"), "player"),
    ("account-opened.v1", _other("currency", "USD"), "currency"),
    ("account-opened.v1", _rich, "after.balance"),
    ("funds-deposited.v1", _larger, "after.balance"),
    ("funds-deposited.v1", _rich, "after.balance"),
    ("funds-deposited.v1", _unbalanced, "lines"),
    ("funds-deposited.v1", _in_play, "after.in_play"),
    ("funds-deposited.v1", _other("amount", -5), "choice"),
    ("funds-deposited.v1", _other("amount", 10**16), "choice"),
    ("funds-deposited.v1", _other("reference", "  "), "choice"),
    ("funds-withdrawn.v1", _larger, "after.balance"),
    ("funds-withdrawn.v1", _other("amount", 10**12), "choice"),
    ("funds-adjusted.v1", _larger, "after.balance"),
    ("funds-adjusted.v1", _other("approver", "ann"), "choice"),
    ("funds-adjusted.v1", _other("reason", ""), "choice"),
    ("funds-adjusted.v1", _other("against", "bonus"), "lines"),
    ("funds-reversed.v1", _larger, "amount"),
    ("funds-reversed.v1", _other("approver", "ann"), "choice"),
    ("funds-reversed.v1", _other("reverses", 0), "choice"),
    ("funds-reversed.v1", _other("reverses", 10**9), "reverses"),
    ("funds-reversed.v1", _other("reverses", -1), "reverses"),
    ("jackpot-opened.v1", _unbalanced, "lines"),
    ("table-opened.v1", _other("after", {"closed": True, "number": 3, "settings": 0}), "after.closed"),
    ("round-numbered.v1", _other("after", {"closed": False, "number": 7, "settings": 0}), "after.number"),
    ("round-numbered.v1", _other("round", "0" * 32), "round"),
]


@cache
def busy_evening() -> Casino:
    """One in which the cashier did everything, each against the bank."""
    for seed in range(200):
        house = casino(seed, GAMES, rounds=8)
        names = {record.type for record in house.records}
        if {name for name, _, _ in CASH} <= names and b'"against":"bank"' in place_of(house, "funds-adjusted.v1").body:
            return house
    raise LookupError


@pytest.mark.parametrize(("name", "change", "field"), CASH)
def test_a_forged_event_of_cashier_or_office_is_named(name: str, change: Callable[[Any], None], field: str) -> None:
    house = busy_evening()
    record = place_of(house, name)

    findings = proved(forged(house.records, record.stream, record.seq, change)).findings

    assert (record.stream, record.seq, field) in named(findings)


@pytest.mark.parametrize(("name", "change", "field"), FORGERIES)
def test_a_forged_event_of_a_round_is_named(name: str, change: Callable[[Any], None], field: str) -> None:
    """The forgeries of the rung ledger, seen from the books."""
    evenings = (casino(seed, GAMES, rounds=4) for seed in range(400))
    house = next(each for each in evenings if any(record.type == name for record in each.records))
    record = place_of(house, name)

    findings = proved(forged(house.records, record.stream, record.seq, change)).findings

    assert (record.stream, record.seq, field) in named(findings)


def test_a_reversal_comes_once() -> None:
    house = Casino()
    house.welcome("player-1")
    house.cash("player-1", a.deposit(house.balance("player-1"), amount=500, by="ann", reference="r"))
    for _ in range(2):
        undone = a.CODEC.decode(house.bodies(house.account("player-1"))[2]).data
        house.cash("player-1", a.reverse(
            house.balance("player-1"), 2, undone, by="ann", approver="bob", reason="typo", reference="r"
        ))  # fmt: skip

    findings = proved(house.records).findings

    assert named(findings) == [("account:EUR:player-1", 4, "reverses")]


# -- streams without books


@cache
def papers() -> list[Record]:
    """A key that was revoked, a ruleset that was activated, looks at a round, and streams of unknown kinds."""
    game, at = GAMES[0], "2026-09-21T14:13:20.000Z"
    what: dict[str, Any] = {"by": "olga", "label": "", "person": "ed", "role": Role.CASHIER, "secret_sha256": "0" * 64}
    look = HiddenRead(by="rita", key="1", reason="dispute", role=Role.REGULATOR, round="0" * 32, what=Hidden.DECK)
    streams: list[tuple[Codec[Any], str, list[Any]]] = [
        (KEY_CODEC, "key:1", [KeyCreated(**what), KeyRevoked(**what, reason="left")]),
        (activation.CODEC, f"ruleset:{game.name}", [
            activation.RulesetPublished(digest=game.digest.hex(), document=msgspec.to_builtins(game.document)),
            activation.ActivationProposed(by="olga", reason="new"),
            activation.RulesetActivated(by="pavel", proposed_by="olga", reason="checked"),
        ]),
        (ACCESS_CODEC, "access:1", [look, look]),
    ]  # fmt: skip
    records = [each for codec, stream, events in streams for each in codec.append_to(stream, None, events, at)]
    unknown = canonical_json(
        {"at": at, "data": {}, "prev": "", "seq": 0, "stream": "camera:1", "type": "picture-taken.v1", "v": 1}
    )
    records += [Record(stream, seq, "picture-taken.v1", unknown) for stream in ("camera:1", "alone") for seq in (0, 1)]
    return rehashed(records)


def test_streams_without_books_are_whole() -> None:
    records = [record for pair in zip_longest(evening().records, papers()) for record in pair if record is not None]

    assert proved(records).findings == []


@pytest.mark.parametrize("record", [*papers(), *evening().records[:40]], ids=lambda each: f"{each.type}-{each.seq}")
def test_a_column_that_says_something_else_than_its_body_is_found(record: Record) -> None:
    records = [*evening().records, *papers()]
    place = records.index(record)

    records[place] = record._replace(type="box-folded.v1")
    topic = proved(records).findings
    records[place] = record._replace(seq=record.seq + 7)
    seq = proved(records).findings

    assert named(topic)[0] == (record.stream, record.seq, "topic")
    assert record.stream in {finding.stream for finding in seq}


@pytest.mark.parametrize("old", [b"{", b'"at":"2026', b'"v":1'])
@pytest.mark.parametrize("record", papers(), ids=lambda each: f"{each.stream}-{each.seq}")
def test_a_body_in_another_spelling_is_found(record: Record, old: bytes) -> None:
    new = {b"{": b"{ ", b'"at":"2026': b'"at":"1926-2', b'"v":1': b'"v":2'}[old]
    records = [each._replace(body=each.body.replace(old, new, 1)) if each == record else each for each in papers()]

    assert (record.stream, record.seq, "v" if old == b'"v":1' else "body") in named(proved(records).findings)


@pytest.mark.parametrize("stream", ["key:1", f"ruleset:{GAMES[0].name}", "access:1", "camera:1", "alone"])
def test_an_edit_without_new_hashes_breaks_the_chain(stream: str) -> None:
    records = list(papers())
    place = next(place for place, record in enumerate(records) if record.stream == stream)
    records[place] = records[place]._replace(body=records[place].body.replace(b":20.000Z", b":20.001Z"))

    assert named(proved(records).findings) == [(stream, 1, "prev")]


def test_a_round_of_a_table_without_accounts_has_its_chain_held_too() -> None:
    rounds = [record for record in evening().records if record.stream.startswith("round:")]
    place = next(place for place, record in enumerate(rounds) if record.type == "cards-dealt.v1")
    body = rounds[place].body
    at = msgspec.json.decode(body)["at"].encode()
    assert proved(rounds).findings == []

    rounds[place] = rounds[place]._replace(body=body.replace(at, b"2026-01-01T00:00:00.000Z"))

    assert named(proved(rounds).findings) == [(rounds[place].stream, rounds[place].seq + 1, "prev")]


def test_no_event_comes_behind_a_round_s_seed() -> None:
    rounds = [record for record in evening().records if record.stream.startswith("round:")]
    late = next(record for record in rounds if record.type == "seed-revealed.v1")

    proof, findings = proved([*rounds, late._replace(seq=late.seq + 1)])

    assert named(findings) == [(late.stream, late.seq + 1, "seq")]
    assert proof.streams.open_rounds == set()
    assert not any(stream.startswith("round:") for stream in proof.streams._heads)


PAPERS: list[tuple[str, Callable[[Any], None], str]] = [
    ("key-created.v1", _other("by", " "), "by"),
    ("key-created.v1", _other("role", "croupier"), "body"),
    ("key-revoked.v1", _other("person", "carl"), "person"),
    ("key-revoked.v1", _other("secret_sha256", "1" * 64), "secret_sha256"),
    ("ruleset-published.v1", _other("digest", "1" * 64), "digest"),
    ("ruleset-published.v1", lambda data: _other("id", "another")(data["document"]), "document"),
    ("activation-proposed.v1", _other("reason", " "), "choice"),
    ("activation-proposed.v1", _other("by", "pavel"), "choice"),
    ("ruleset-activated.v1", _other("by", "olga"), "choice"),
    ("ruleset-activated.v1", _other("proposed_by", "oleg"), "proposed_by"),
    ("hidden-information-read.v1", _other("what", "nothing"), "body"),
    ("hidden-information-read.v1", _other("by", ""), "by"),
]


@pytest.mark.parametrize(("name", "change", "field"), PAPERS)
def test_a_forged_paper_is_named(name: str, change: Callable[[Any], None], field: str) -> None:
    """With all hashes made anew."""
    record = next(record for record in papers() if record.type == name)

    findings = proved(forged(papers(), record.stream, record.seq, change)).findings

    assert field in {found for stream, _, found in named(findings) if stream == record.stream}


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("key-created.v1", "event"), ("ruleset-published.v1", "choice"), ("activation-proposed.v1", "choice"),
    ],
)  # fmt: skip
def test_a_paper_that_is_gone_is_missed(name: str, field: str) -> None:
    records = [record for record in papers() if record.type != name]

    assert field in {found for _, _, found in named(proved(rehashed(records)).findings)}


@pytest.mark.parametrize("name", ["key-created.v1", "key-revoked.v1", "ruleset-published.v1", "ruleset-activated.v1"])
def test_a_paper_comes_once(name: str) -> None:
    record = next(record for record in papers() if record.type == name)

    assert proved(rehashed([*papers(), record])).findings


# -- positions


@pytest.mark.parametrize(("places", "words"), [
    ([2, 3], [("position 1", "missing")]), ([1, 2, 5, 6], [("position 3 to 4", "missing")]),
    ([1, 3, 5], [("position 2", "missing"), ("position 4", "missing")]), ([1, 2, 2], [("position 2", "there twice")]),
])  # fmt: skip
def test_positions_have_no_gap(places: list[int], words: list[tuple[str, str]]) -> None:
    proof = AccountsProof(RULESETS, lambda stream, seq: None)
    records = [record for record in papers() if record.stream.startswith(("key:", "ruleset:", "access:"))]

    found = [each for place, record in zip(places, records, strict=False) for each in proof.take(place, record)]

    assert [(each.event, each.recorded) for each in found] == words
    assert {each.stream for each in found} == {"dealproof.events"}


# -- events dropped, doubled, moved, in another order


@pytest.mark.parametrize(
    "name",
    [
        "funds-staked.v1", "funds-won.v1", "funds-returned.v1", "round-finished.v1", "jackpot-fed.v1",
        "round-numbered.v1", "account-opened.v1", "funds-deposited.v1", "table-opened.v1",
    ],
)  # fmt: skip
def test_an_event_that_is_gone_leaves_a_trace(name: str) -> None:
    """Without new hashes by its gap; with them because what comes after does not follow, or nothing was posted."""
    records = list(busy_evening().records)
    gone = records.index(place_of(busy_evening(), name))
    stream = records.pop(gone).stream

    assert stream in {finding.stream for finding in proved(records).findings}
    assert proved(rehashed(records)).findings


@pytest.mark.parametrize(
    "name",
    [
        "funds-staked.v1", "funds-won.v1", "round-finished.v1", "jackpot-fed.v1", "funds-deposited.v1",
        "jackpot-opened.v1",
    ],
)  # fmt: skip
def test_an_event_that_comes_twice_does_not_follow(name: str) -> None:
    records = list(busy_evening().records)
    place = records.index(place_of(busy_evening(), name))
    records.insert(place, records[place])

    assert records[place].stream in {finding.stream for finding in proved(rehashed(records)).findings}


def test_the_order_of_positions_counts() -> None:
    """Two events of one account whose places were changed, and a posting that came before its round's facts."""
    records = list(busy_evening().records)
    late = records.index(place_of(busy_evening(), "funds-withdrawn.v1"))
    early = max(place for place in range(late) if records[place].stream == records[late].stream)
    swapped = list(records)
    swapped[early], swapped[late] = swapped[late], swapped[early]
    assert proved(swapped).findings

    posted = records.index(place_of(busy_evening(), "funds-staked.v1"))
    placed = next(place for place in range(posted, 0, -1) if records[place].type == "box-placed.v1")
    moved = [*records[:placed], records[posted], *records[placed:posted], *records[posted + 1 :]]
    assert proved(moved).findings


def test_a_posting_long_after_its_round_is_not_to_be_there() -> None:
    house = evening()
    won = place_of(house, "funds-won.v1")

    findings = proved(rehashed([*house.records, won])).findings

    assert ("event", "not to be here") in [(each.field, each.recomputed) for each in findings]


def test_an_event_in_another_stream_is_found_in_both() -> None:
    records = list(busy_evening().records)
    place = records.index(place_of(busy_evening(), "funds-won.v1"))
    other = next(f"account:EUR:{name}" for name in PLAYERS if f"account:EUR:{name}" != records[place].stream)
    own, records[place] = records[place].stream, records[place]._replace(stream=other)

    assert {own, other} <= {finding.stream for finding in proved(rehashed(records)).findings}


# -- books that agree with themselves


def test_a_balance_below_zero_is_a_discrepancy_however_it_came_about() -> None:
    """Nobody asked whether the player had the money: all follows, and the books say so."""
    house = Casino()
    house.welcome("player-1", "player-2", "player-3", amount=60)
    house = _played(house)

    found = named(proved(house.records).findings)

    assert any(field == "after.balance" for _, _, field in found)
    assert any(field == "available" for _, _, field in found)


def _played(house: Casino) -> Casino:
    ruleset = GAMES[0]
    house.open_table("table-1", ruleset)
    for _ in house.play(Random(4), ruleset, "table-1"):
        pass
    return house


def test_a_house_that_posts_otherwise_is_found_out() -> None:
    """Nothing in the accounts alone gives it away: hashes, balances and sums are all right."""
    def skimmed(moved: list[Move]) -> list[Move]:
        return [move._replace(amount=move.amount - 1) if move.amount > 1 else move for move in moved]

    house = casino(7, GAMES, rounds=3, house=Casino(crooked=skimmed))
    proof, findings = proved(house.records)

    assert proof.books["EUR"].sum == 0
    assert {field for _, _, field in named(findings)} >= {"postings", "after.balance"}


def test_limits_that_changed_in_mid_round_are_found() -> None:
    """A round keeps what its table had set when it was opened."""
    house = evening()
    opened = place_of(house, "round-opened.v1")

    def higher(data: Any) -> None:
        data["limits"]["ante_max"] += 1

    findings = proved(forged(house.records, opened.stream, 0, higher)).findings

    assert (opened.stream, 0, "limits") in named(findings)


# -- any change at all


@given(seed=st.integers(0, 60), random=st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_any_change_of_an_account_body_is_found(seed: int, random: Random) -> None:
    """One value of one event of an account, a jackpot or a table, with every hash made anew."""
    house = casino(seed, GAMES, rounds=3)
    record = random.choice([each for each in house.records if each.stream.startswith(("account:", "jackpot:"))])

    records = forged(house.records, record.stream, record.seq, lambda data: mutate(random, data))

    changed = next(each for each in records if (each.stream, each.seq) == (record.stream, record.seq))
    if changed.body != record.body and not _means_nothing(record, changed):
        assert proved(records).findings


FREE = ("by", "approver", "reason", "reference", "test")
"""What somebody said: any other text would do as well, with the hashes made anew."""


def _means_nothing(record: Record, changed: Record) -> bool:
    """Whether only free texts differ, and are texts that the cashier takes."""
    before, after = (msgspec.json.decode(each.body)["data"] for each in (record, changed))
    others = {key: value for key, value in before.items() if key not in FREE}
    texts = [after.get(key) for key in FREE if key in before]
    return others == {key: value for key, value in after.items() if key not in FREE} and all(
        isinstance(value, bool) or (isinstance(value, str) and value.strip()) for value in texts
    )


@given(body=st.binary(max_size=60), place=st.integers(0, 10**6))
@settings(max_examples=100)
def test_bytes_that_are_no_event_are_named(body: bytes, place: int) -> None:
    """Whatever they are; nothing raises."""
    records = list(evening().records)
    place %= len(records)
    records[place] = records[place]._replace(body=body)

    assert proved(records).findings
