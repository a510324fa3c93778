"""The mutations are what their names say: a forger's chain is whole, his money adds up, his tables agree.

Not here: who finds them (`test_drill`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from domain.log.merkle import leaf_hash, root_of
from domain.record import CHAIN_START, Record, read_envelope
from domain.record import leaf_hash as chain_hash
from domain.wager import WagersAccepted
from ops.accounts_proof import prove
from ops.drill.copy import Copy
from ops.drill.forging import (
    another_field,
    another_value,
    lines_of,
    plain,
    rechained,
    records_after,
    tables_for,
    tile_files,
    with_forged_roots,
)
from ops.drill.kinds import KINDS, WEIGHTS, Kind, mutation
from ops.drill.original import Change, Original, Zone, changed

BY_NAME = {kind.name: kind for kind in KINDS}
CAREFUL = ("field changed, re-chained", "deposit raised, all made to agree", "payout raised, all made to agree")


def some(original: Original, kind: Kind, count: int = 12) -> list[Change]:
    return [mutation(1, number, original, [kind]).change for number in range(count)]


def breaks(records: Iterable[Record]) -> int:
    """How many events are not chained to the one before them in their stream."""
    heads: dict[str, tuple[int, str]] = defaultdict(lambda: (-1, CHAIN_START))
    found = 0
    for record in records:
        envelope = read_envelope(record.body)
        seq, prev = heads[record.stream]
        found += (envelope.seq, envelope.prev, record.seq) != (seq + 1, prev, seq + 1)
        heads[record.stream] = record.seq, chain_hash(record.body)
    return found


# -- any kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_mutation_changes_something_in_a_zone_of_its_kind(copy: Copy, kind: Kind) -> None:
    for number in range(12):
        made = mutation(2, number, copy.original, [kind])
        assert not made.change.is_nothing(copy.original)
        assert made.zone in kind.zones
        assert made.number == number


def test_what_would_change_nothing_is_no_mutation(copy: Copy) -> None:
    def nothing(random: Random, original: Original, places: range) -> Change:
        return Change("nowhere", changed(original, {5: [original.at(5)]}))

    with pytest.raises(LookupError, match="nothing to mutate"):
        mutation(1, 1, copy.original, [Kind("nothing", nothing)])


def test_the_zones_follow_each_other_to_the_end_of_the_journal(copy: Copy) -> None:
    original = copy.original
    below, between, above = (original.places(zone) for zone in (Zone.BELOW, Zone.BETWEEN, Zone.ABOVE))

    assert (below.start, below.stop, between.stop, above.stop) == (
        1, between.start, above.start, len(original.events) + 1,
    )  # fmt: skip
    assert all(original.zone_of(at) is Zone.BELOW for at in (1, original.cosigned))
    assert original.zone_of(original.cosigned + 1) is original.zone_of(original.signed) is Zone.BETWEEN
    assert original.zone_of(original.signed + 1) is original.zone_of(10**9) is Zone.ABOVE
    assert set(WEIGHTS) == set(Zone)


# -- the careful ones


@pytest.mark.parametrize("name", CAREFUL)
def test_a_careful_change_leaves_no_broken_chain(copy: Copy, name: str) -> None:
    for change in some(copy.original, BY_NAME[name]):
        assert breaks(records_after(copy.original, change)) == 0


def test_a_thief_s_wagers_name_roots_of_the_forged_log(copy: Copy) -> None:
    """And those of receipts that players have can't."""
    change = some(copy.original, BY_NAME["deposit raised, all made to agree"], 1)[0]
    forged = records_after(copy.original, with_forged_roots(copy.original, change))
    leaves = [leaf_hash(record.body) for record in forged]
    named = [plain(record)["data"] for record in forged if record.type == WagersAccepted.NAME]

    assert named
    assert all(each["checkpoint_root"] == root_of(leaves[: each["checkpoint_size"]]).hex() for each in named)
    assert breaks(forged) == 0


@pytest.mark.parametrize("name", ["deposit raised, all made to agree", "end cut off"])
def test_what_agrees_with_everything_passes_the_proof_of_the_books(copy: Copy, name: str) -> None:
    """Or the drill would praise the books for an oversight of its own."""
    for change in some(copy.original, BY_NAME[name], 3 if name.startswith("deposit") else 1):
        if name == "end cut off":
            change = _cut_between_appends(copy.original)
        copy.carry_out(change)
        try:
            assert prove(copy.journal, lambda _: None).findings == []
        finally:
            copy.undo(change)


def _cut_between_appends(original: Original) -> Change:
    from ops.drill.forging import whole_change

    end = original.tables.commands[-20].first_position - 1
    return whole_change(original, "the last appends", lines_of(original)[:end])


def test_a_raised_payout_is_the_only_thing_that_the_ladder_has_against_it(copy: Copy) -> None:
    """No posting, no balance and no total gives it away."""
    from ops.drill.verifier import Verifier

    for change in some(copy.original, BY_NAME["payout raised, all made to agree"], 5):
        zone = Zone.ABOVE if change.zone(copy.original) is Zone.ABOVE else Zone.BELOW
        copy.carry_out(change)
        try:
            rungs = set(Verifier(copy).look(change, zone).rungs)
        finally:
            copy.undo(change)
        assert rungs - {"log", "audit"} == {"payout"}


def test_the_tables_of_the_true_journal_come_out_as_they_are(copy: Copy) -> None:
    assert tables_for(copy.original, lines_of(copy.original)).rows == copy.original.tables.rows


def test_chaining_a_true_stream_anew_changes_nothing(copy: Copy) -> None:
    lines = lines_of(copy.original)

    rechained(copy.original, lines, copy.original.streams)

    assert lines == lines_of(copy.original)


def test_the_tiles_of_the_true_events_are_those_that_the_sequencer_wrote(copy: Copy) -> None:
    original = copy.original
    stored = {path: data for path, data in original.files.items() if path.startswith("tile/")}

    assert tile_files(original.leaves[: original.signed]) == stored


# -- values


@pytest.mark.parametrize("value", [0, 7, -3, True, "2c", "deadbeefdeadbeef", "anna", ""])
def test_another_value_is_mostly_another_one_and_has_the_same_type(value: Any) -> None:
    others = [another_value(Random(seed), value) for seed in range(40)]

    assert {type(other) for other in others} == {type(value)}
    assert sum(other != value for other in others) > 10


def test_nothing_becomes_something() -> None:
    assert all(another_value(Random(seed), None) is not None for seed in range(20))


def test_a_changed_field_is_written_canonically_in_the_data_alone(copy: Copy) -> None:
    for position in range(1, 200, 7):
        before = copy.original.at(position)
        where, after = another_field(Random(position), before)
        frame: Callable[[Record], dict[str, Any]] = lambda record: plain(record) | {"data": None}  # noqa: E731 - once
        assert where.startswith("data")
        assert frame(after) == frame(before)
        assert (after.stream, after.seq, after.type) == (before.stream, before.seq, before.type)
