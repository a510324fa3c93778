"""A day counted again: a true manifest is proved, and a round that is missing, doubled, added or renumbered is named.

Not here: the log, which says whether the events are the right ones (tests/ops/log), closing days (tests/ops).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.account import CASH_EVENTS
from domain.day import (
    CODEC,
    DAYS,
    AbortedRound,
    CashDay,
    DayBegun,
    DayClosed,
    DayFold,
    EventRange,
    PendingRound,
    TableDay,
    day_after,
    day_of,
    is_day,
    says_later,
)
from domain.log.merkle import leaf_hash, root_of
from domain.record import Record
from domain.round.events import ROUND_EVENTS
from domain.rulesets import released_rulesets
from replay.day import DayProof, Manifest, differences, ends_right, follows, read_days
from replay.verdict import Discrepancy
from tests.replay.casino import Casino, casino, forged, rehashed

GAMES = tuple(released_rulesets().values())


@dataclass
class SlowCasino(Casino):
    """Hours go by between two appends, so that rounds run over the end of a day."""

    hours: int = 2

    def next_append(self) -> None:
        self.milliseconds += self.random.randint(1, self.hours * 3_600_000)


@cache
def week(seed: int = 5, rounds: int = 12, hours: int = 2) -> tuple[Record, ...]:
    """A journal of several days."""
    return tuple(casino(seed, GAMES, rounds=rounds, house=SlowCasino(hours=hours)).records)


def at(record: Record) -> str:
    return str(msgspec.json.decode(record.body)["at"])


def closed(records: Sequence[Record]) -> list[DayClosed]:
    """The manifests of all days but the last one, which goes on."""
    day, manifests = day_of(at(records[0])), list[DayClosed]()
    while day < max(day_of(at(record)) for record in records):
        fold = DayFold(manifests[-1] if manifests else None)
        for position in range(fold.first, len(records) + 1):
            if says_later(records[position - 1], day):
                break
            fold.take(position, records[position - 1])
        manifests.append(fold.comes_to(day=day, by="keeper", root=root_at(records, fold.last)))
        day = day_after(day)
    return manifests


def root_at(records: Sequence[Record], size: int) -> str:
    return root_of([leaf_hash(record.body) for record in records[:size]]).hex()


def proved(
    records: Sequence[Record], manifest: DayClosed, previous: DayClosed | None
) -> list[Discrepancy]:
    """All that the proof of one day finds; what it finds can be written."""
    proof, events = DayProof(manifest.day, previous), manifest.events
    found = follows(Manifest(7, manifest), previous)
    for position in range(events.first, events.last + 1):
        found += proof.take(position, records[position - 1])
    found += proof.finish(Manifest(7, manifest), root_at(records, events.last))
    found += ends_right(Manifest(7, manifest), records[events.last] if events.last < len(records) else None)
    assert msgspec.json.encode([finding.as_json() for finding in found])
    return found


def before(manifests: Sequence[DayClosed], place: int) -> DayClosed | None:
    return manifests[place - 1] if place else None


def named(findings: Sequence[Discrepancy]) -> list[tuple[str | None, str]]:
    """Of which round or place, and which field."""
    return [(finding.event, finding.field) for finding in findings]


# -- the calendar


@pytest.mark.parametrize(
    ("day", "after"),
    [
        ("2026-12-01", "2026-12-02"), ("2026-11-30", "2026-12-01"), ("2026-12-31", "2027-01-01"),
        ("2027-02-28", "2027-03-01"), ("2028-02-28", "2028-02-29"), ("2028-02-29", "2028-03-01"),
        ("2100-02-28", "2100-03-01"), ("2000-02-28", "2000-02-29"), ("2026-04-30", "2026-05-01"),
    ],
)  # fmt: skip
def test_a_day_has_one_that_follows_it(day: str, after: str) -> None:
    assert day_after(day) == after


@pytest.mark.parametrize(
    "text",
    ["", "2026-2-01", "2026-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "2026-04-31", "2026/01/01", "0000-01-01",
     "2026-01-01T", "٢٠٢٦-01-01", "2026-+1-01", "26-01-0001", "2026-01-1 "],
)  # fmt: skip
def test_what_is_no_day_is_none(text: str) -> None:
    assert not is_day(text)


@given(st.dates())
def test_the_calendar_is_that_of_everybody(date: Any) -> None:
    """Our own arithmetic, for want of a clock in the core, against Python's."""
    day = date.isoformat()

    assert is_day(day)
    if day < "9999-12-31":
        assert day_after(day) == type(date).fromordinal(date.toordinal() + 1).isoformat()


# -- true days


@given(seed=st.integers(0, 2**32), hours=st.integers(1, 40))
@settings(max_examples=25)
def test_a_true_manifest_is_proved(seed: int, hours: int) -> None:
    """Whatever is open at midnight, and on days without an event too."""
    records = week(seed, 8, hours)
    manifests = closed(records)

    for place, manifest in enumerate(manifests):
        assert proved(records, manifest, before(manifests, place)) == []


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_days_leave_out_no_event_and_no_day(seed: int) -> None:
    manifests = closed(week(seed, 8, 20))

    assert manifests[0].events.first == 1
    for one, other in pairwise(manifests):
        assert other.day == day_after(one.day)
        assert other.events.first == one.events.last + 1
    for manifest in manifests:
        assert manifest.events.count == manifest.events.last - manifest.events.first + 1
        assert manifest.size == manifest.events.last


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_the_sum_of_all_days_is_what_the_rounds_say_of_themselves(seed: int) -> None:
    """A second opinion: each round is looked at as a whole, without days."""
    records = week(seed, 10, 3)
    manifests = closed(records)
    counted, wanted = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for manifest in manifests:
        for row in manifest.tables:
            for field in ("opened", "closed", "voided", "events", "staked", "returned", "net", "jackpot_contributed",
                          "jackpot_won"):  # fmt: skip
                counted[row.table, field] += getattr(row, field)
    end = manifests[-1].events.last if manifests else 0
    for stream in {record.stream for record in records[:end] if record.stream.startswith("round:")}:
        of_round(wanted, [record for record in records[:end] if record.stream == stream])

    assert +counted == +wanted
    assert {each for each, amount in counted.items() if amount < 0} == {
        each for each, amount in wanted.items() if amount < 0
    }


def of_round(sums: Counter[tuple[str, str]], records: Sequence[Record]) -> None:
    bodies = [msgspec.json.decode(record.body) for record in records]
    data = {body["type"]: body["data"] for body in bodies}
    table = data["round-opened.v1"]["table"]
    sums[table, "opened"] += 1
    sums[table, "events"] += len(records)
    sums[table, "voided"] += "round-voided.v1" in data
    if "round-closed.v1" not in data:
        return
    sums[table, "closed"] += 1
    for field in ("staked", "returned", "net"):
        sums[table, field] += data["round-closed.v1"][field]
    for body in bodies:
        if body["type"] in ("jackpot-contributed.v1", "jackpot-won.v1"):
            sums[table, body["type"].removesuffix(".v1").replace("-", "_")] += body["data"]["amount"]


def test_a_round_that_is_open_at_midnight_is_handed_on() -> None:
    """It is pending with its opening, and its money is that of the day on which it ends."""
    manifests = closed(week(5, 12, 6))
    pending = [(place, each) for place, manifest in enumerate(manifests) for each in manifest.pending]

    assert pending
    for place, each in pending:
        assert day_of(each.opened) <= manifests[place].day
        rows = {row.table: row for row in manifests[place].tables}
        assert rows[each.table].open >= 1
    assert sum(row.open for manifest in manifests for row in manifest.tables) == len(pending)


def test_voided_rounds_are_listed_with_their_stakes() -> None:
    manifests = [each for seed in range(12) for each in closed(week(seed, 12, 2))]
    aborted = [each for manifest in manifests for each in manifest.aborted]

    assert len(aborted) == sum(row.voided for manifest in manifests for row in manifest.tables) > 3
    assert {each.boxes > 0 for each in aborted} >= {True}


@pytest.mark.parametrize(
    ("field", "name"),
    [("deposited", "funds-deposited.v1"), ("withdrawn", "funds-withdrawn.v1"), ("adjusted", "funds-adjusted.v1"),
     ("reversed", "funds-reversed.v1")],
)  # fmt: skip
def test_cash_is_counted_by_what_was_done(field: str, name: str) -> None:
    counted, amounts = 0, list[int]()
    for seed in range(8):
        records = week(seed, 12, 2)
        manifests = closed(records)
        bodies = [msgspec.json.decode(record.body) for record in records[: manifests[-1].events.last]]
        amounts += [body["data"]["amount"] for body in bodies if body["type"] == name]
        counted += sum(getattr(each, field) for manifest in manifests for each in manifest.cash)

    assert counted == sum(amounts)
    assert len(amounts) > 3


def test_cash_has_its_events() -> None:
    records = week(3, 12, 2)
    manifests = closed(records)
    cash = [r for r in records[: manifests[-1].events.last] if r.type in {event.NAME for event in CASH_EVENTS}]

    assert sum(each.events for manifest in manifests for each in manifest.cash) == len(cash) > 3


def test_a_manifest_is_the_same_bytes_whoever_reads_it() -> None:
    """Stored, read and stored again; and in the order of the alphabet, as every body."""
    for manifest in closed(week()):
        body = CODEC.encode(manifest, at="2026-12-02T00:05:00.000Z", prev="0" * 64, seq=0, stream=DAYS)
        assert CODEC.decode(body).data == manifest
        assert msgspec.json.encode(msgspec.json.decode(body), order="sorted") == body


def test_every_fact_of_a_round_may_be_taken() -> None:
    """The fold takes whatever comes, readable or not."""
    fold = DayFold(None)
    for position, event in enumerate(ROUND_EVENTS, 1):
        fold.take(position, Record("round:1", position, event.NAME, b"garbage"))
    fold.take(99, Record("account:EUR", 0, "funds-deposited.v1", b""))

    assert fold.count == len(ROUND_EVENTS) + 1
    assert fold.comes_to(day="2026-12-01", by="x", root="").tables == []


# -- forged days


def middle(rounds: int = 12, seed: int = 5) -> tuple[list[Record], list[DayClosed], int]:
    """A journal, its manifests, and the place of a day on which rounds began and ended."""
    records = list(week(seed, rounds, 2))
    manifests = closed(records)
    place = max(range(1, len(manifests)), key=lambda place: sum(row.closed for row in manifests[place].tables))
    return records, manifests, place


def opened_on(records: Sequence[Record], events: EventRange) -> list[Record]:
    return [
        record for record in records[events.first - 1 : events.last]
        if record.type == "round-opened.v1"
    ]  # fmt: skip


def ended_on(records: Sequence[Record], events: EventRange) -> set[str]:
    return {r.stream for r in records[events.first - 1 : events.last] if r.type == "seed-revealed.v1"}


def whole_rounds(records: Sequence[Record], events: EventRange) -> list[Record]:
    """Openings of rounds that began and ended on the day."""
    ended = ended_on(records, events)
    return [record for record in opened_on(records, events) if record.stream in ended]


def shrunk(manifest: DayClosed, by: int) -> DayClosed:
    """The manifest over so many events fewer, which a forger would adapt."""
    events = manifest.events
    return msgspec.structs.replace(manifest, events=EventRange(events.count, events.first, events.last - by))


def test_a_round_that_was_taken_out_with_all_that_mentions_it_leaves_its_number() -> None:
    """As an administrator would do it: the streams chained anew, positions dense, the manifest counted again."""
    records, manifests, place = middle()
    candidates = [r for r in whole_rounds(records, manifests[place].events) if not last_of_table(records, r)]
    gone = candidates[0]
    round_id, data = gone.stream.removeprefix("round:"), msgspec.json.decode(gone.body)["data"]
    left = rehashed([r for r in records if r.stream != gone.stream and round_id.encode() not in r.body])
    again = closed(left)

    found = [each for at_ in range(len(again)) for each in proved(left, again[at_], before(again, at_))]

    where = f"round {data['table']}/{data['number']}"
    assert (where, "number") in named(found)


def last_of_table(records: Sequence[Record], opening: Record) -> bool:
    """Whether no round comes after it: then its number is not missed by the next one but by the manifest."""
    data = msgspec.json.decode(opening.body)["data"]
    numbers = [
        other["number"]
        for other in (msgspec.json.decode(r.body)["data"] for r in records if r.type == "round-opened.v1")
        if other["table"] == data["table"]
    ]
    return bool(data["number"] == max(numbers))


def test_a_round_that_is_gone_is_missed_by_the_true_manifest() -> None:
    """The last one of its table too: then no number behind it tells."""
    records, manifests, place = middle()
    for gone in whole_rounds(records, manifests[place].events):
        left = [r for r in records if r.stream != gone.stream]
        count = len(records) - len(left)
        found = proved(left, shrunk(manifests[place], count), manifests[place - 1])

        table = msgspec.json.decode(gone.body)["data"]["table"]
        fields = {field for _, field in named(found)}
        assert {f"tables[{table} EUR].opened", f"tables[{table} EUR].closed", "root"} <= fields


def test_a_round_that_was_put_in_has_a_number_that_was_given() -> None:
    """A copy under another name, and one that is called next."""
    records, manifests, place = middle()
    events = manifests[place].events
    opening = whole_rounds(records, events)[0]
    body = opening.body.replace(opening.stream.encode(), b"round:" + b"7" * 32)
    added = [*records[: events.last], Record("round:" + "7" * 32, 0, opening.type, body), *records[events.last :]]
    manifest = msgspec.structs.replace(manifests[place], events=EventRange(events.count, events.first, events.last + 1))

    found = proved(added, manifest, manifests[place - 1])

    number = msgspec.json.decode(body)["data"]["number"]
    [doubled] = [each for each in found if each.field == "number"]
    assert (doubled.stream, doubled.recorded) == ("round:" + "7" * 32, number)
    assert any("opened" in each.field for each in found)


@pytest.mark.parametrize(("change", "words"), [(1, "missing"), (-1, None), (40, "missing")])
def test_a_round_under_another_number_is_named(change: int, words: str | None) -> None:
    records, manifests, place = middle()
    opening = next(r for r in opened_on(records, manifests[place].events) if b'"number":1,' not in r.body)

    def renumber(data: Any) -> None:
        data["number"] += change

    changed = forged(records, opening.stream, 0, renumber)
    found = [each for each in proved(changed, manifests[place], manifests[place - 1]) if each.field == "number"]

    assert found
    if words is None:
        assert found[0].stream == opening.stream
    else:
        assert (found[0].recorded, found[0].recomputed) == (words, "there")


def _without(*types: str) -> Callable[[list[Record], str], list[Record]]:
    return lambda records, stream: [r for r in records if (r.stream, r.type in types) != (stream, True)]


def _twice(type_: str) -> Callable[[list[Record], str], list[Record]]:
    def change(records: list[Record], stream: str) -> list[Record]:
        place = next(place for place, r in enumerate(records) if (r.stream, r.type) == (stream, type_))
        return [*records[: place + 1], records[place], *records[place + 1 :]]

    return change


@pytest.mark.parametrize(
    ("change", "event", "words"),
    [
        (_without("seed-revealed.v1"), "seed-revealed.v1", "there: the round has ended"),
        (_without("round-opened.v1"), "box-placed.v1", "nothing: the round was not opened, or had ended"),
        (_without("round-opened.v1"), "seed-revealed.v1", "nothing: the round was not opened, or had ended"),
        (_without("round-closed.v1"), "seed-revealed.v1", "after the round's end, on the same day"),
        (_twice("round-opened.v1"), "round-opened.v1", "once, as the round's first event"),
        (_twice("round-closed.v1"), "round-closed.v1", "once: the round has ended"),
        (_twice("seed-revealed.v1"), "seed-revealed.v1", "nothing: the round was not opened, or had ended"),
    ],
)
def test_a_round_is_opened_once_and_ends_revealed(
    change: Callable[[list[Record], str], list[Record]], event: str, words: str
) -> None:
    """An aborted commitment ends revealed as well."""
    records, manifests, place = middle()
    events = manifests[place].events
    stream = next(
        r.stream for r in whole_rounds(records, events)
        if "round-closed.v1" in [other.type for other in records if other.stream == r.stream]
    )  # fmt: skip
    changed = change(records, stream)
    manifest = shrunk(manifests[place], len(records) - len(changed))

    found = proved(changed, manifest, manifests[place - 1])

    assert (event, stream, words) in [(each.event, each.stream, each.recomputed) for each in found]


@pytest.mark.parametrize("commitment", ["", "0" * 63, "g" * 64, "A" * 64])
def test_a_round_without_a_commitment_is_named(commitment: str) -> None:
    records, manifests, place = middle()
    opening = opened_on(records, manifests[place].events)[0]

    changed = forged(records, opening.stream, 0, lambda data: data.update(commitment=commitment))
    found = proved(changed, manifests[place], manifests[place - 1])

    assert (opening.stream, "commitment") in [(each.stream, each.field) for each in found]


def test_an_event_of_a_later_day_is_not_to_be_there() -> None:
    records, manifests, place = middle()
    events = manifests[place].events
    longer = msgspec.structs.replace(manifests[place], events=EventRange(events.count, events.first, events.last + 1))

    found = proved(records, longer, manifests[place - 1])

    assert found[0].field == "at"
    assert str(found[0].recomputed) == f"not after {manifests[place].day}"


def test_a_day_that_ends_early_is_named() -> None:
    """What is left over would be money of the next day."""
    records, manifests, place = middle()
    found = proved(records, shrunk(manifests[place], 1), manifests[place - 1])

    assert (f"position {manifests[place].events.last}", "at") in named(found)


def test_the_first_day_is_that_of_the_first_event() -> None:
    records = list(week())
    [first, second, *_] = closed(records)
    fold = DayFold(None)
    for position in range(1, second.events.last + 1):
        fold.take(position, records[position - 1])
    late = fold.comes_to(day=second.day, by="keeper", root=root_at(records, fold.last))

    found = proved(records, late, None)

    assert [(each.event, each.field, each.recorded) for each in found] == [
        (records[0].type, "at", at(records[0])),
    ]
    assert first.day in at(records[0])


# -- forged manifests


def leaves_of(value: Any, where: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every number and text in a manifest."""
    if isinstance(value, dict):
        return [path for key in value for path in leaves_of(value[key], (*where, key))]
    if isinstance(value, list):
        return [path for place, each in enumerate(value) for path in leaves_of(each, (*where, place))]
    return [where]


@given(st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_whatever_is_changed_in_a_manifest_is_named(random: Random) -> None:
    """One number or text, or a row that is gone, there twice, or in another place; but for who wrote it."""
    records, manifests, place = middle()
    plain = msgspec.to_builtins(manifests[place])
    path = random.choice([each for each in leaves_of(plain) if each != ("by",)])
    holder = plain
    for key in path[:-1]:
        holder = holder[key]
    value = holder[path[-1]]
    kind = random.randrange(4)
    rows = plain[random.choice(["aborted", "cash", "pending", "tables"])]
    if kind == 0 and rows:
        del rows[random.randrange(len(rows))]
    elif kind == 1 and rows:
        rows.append(random.choice(rows))
    elif kind == 2 and len(rows) > 1:
        rows[0], rows[-1] = rows[-1], rows[0]
    else:
        holder[path[-1]] = f"{value}0" if isinstance(value, str) else (value or 0) + random.choice([-1, 1, 1000])
    forgery = msgspec.convert(plain, DayClosed)
    if forgery.events != manifests[place].events:
        assert list(differences(forgery, manifests[place])) != []
        return

    found = proved(records, forgery, manifests[place - 1])

    assert found
    assert any(each.stream == DAYS and each.seq == 7 for each in found)


def test_a_manifest_over_another_range_is_named() -> None:
    records, manifests, place = middle()
    events = manifests[place].events
    for first in (events.first - 1, events.first + 1):
        moved = msgspec.structs.replace(manifests[place], events=EventRange(events.count, first, events.last))
        assert ("day-closed.v1", "events.first") in named(proved(records, moved, manifests[place - 1]))


@pytest.mark.parametrize("day", ["2026-09-20", "2026-09-30", "today"])
def test_a_day_that_is_left_out_is_named(day: str) -> None:
    _, manifests, place = middle()
    skipped = msgspec.structs.replace(manifests[place], day=day)

    assert ("day-closed.v1", "day") in named(follows(Manifest(7, skipped), manifests[place - 1]))


# -- the stream of days


def stream_of_days() -> list[Record]:
    begun = DayBegun(by="keeper", day="2026-09-22")
    return CODEC.append_to(DAYS, None, [begun, *closed(week())], "2026-10-01T00:00:00.000Z")


def test_the_stream_of_days_is_read_in_its_order() -> None:
    records = stream_of_days()
    days = read_days(records)

    assert days.findings == []
    assert [each.closed for each in days.closings()] == closed(week())
    assert [each.seq for each in days.closings()] == list(range(1, len(records)))


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (lambda rs: [*rs[:2], *rs[3:]], {"seq", "prev"}),
        (lambda rs: [*rs[:2], rs[1], *rs[2:]], {"seq", "prev"}),
        (lambda rs: [rs[1], rs[0], *rs[2:]], {"seq", "prev"}),
        (lambda rs: [rs[0]._replace(type="day-closed.v1"), *rs[1:]], {"topic"}),
        (lambda rs: [rs[0]._replace(body=b"{}"), *rs[1:]], {"body", "prev"}),
        (lambda rs: [rs[0]._replace(body=rs[0].body.replace(b"keeper", b"deeper")), *rs[1:]], {"prev"}),
    ],
)
def test_a_stream_of_days_that_is_not_whole_is_named(
    change: Callable[[list[Record]], list[Record]], fields: set[str]
) -> None:
    found = read_days(change(stream_of_days())).findings

    assert {each.field for each in found} == fields
    assert {each.stream for each in found} == {DAYS}


# -- the page of the format


PAGE = Path(__file__).parents[2] / "docs/formats/day-close.md"


def example_lines() -> list[str]:
    """The first two days of a house with one table."""
    first, second, *_ = closed(casino(112, GAMES[:1], rounds=5, house=SlowCasino(hours=2)).records)
    lines: list[str] = []
    head: tuple[int, str] | None = None
    for manifest in (first, second):
        [record] = CODEC.append_to(DAYS, head, [manifest], f"{day_after(manifest.day)}T00:05:00.000Z")
        head = record.seq, leaf_hash(record.body).hex()
        lines.append(record.body.decode())
    return lines


def test_the_example_of_the_page_is_what_the_program_writes() -> None:
    """Put `example_lines` into the page where this fails."""
    text = PAGE.read_text(encoding="utf-8")
    example = text.partition("<!-- example: days -->\n```\n")[2].partition("\n```\n<!-- end -->")[0]

    assert example.splitlines() == example_lines()


@pytest.mark.parametrize("kind", [DayBegun, DayClosed, EventRange, TableDay, CashDay, AbortedRound, PendingRound])
def test_the_page_names_every_key_in_the_order_of_the_bytes(kind: type[msgspec.Struct]) -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert [field for field in kind.__struct_fields__ if f"`{field}`" not in text] == []
    assert list(kind.__struct_fields__) == sorted(kind.__struct_fields__)
