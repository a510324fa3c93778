"""The benchmark of the log works, on real journals and at tiny sizes, and never counts what proves nothing.

Not here: how fast it is (docs/benchmarks.md).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest

from domain.log.merkle import ProofError, root, root_of
from domain.log.tiles import Tile
from ops import clock
from ops.bench_core import fill
from ops.bench_proof import BY, TARGETS, Site, closed, day_over_bulk, following, made_up, proof_costs
from ops.journal import Journal
from ops.log.keys import make_keys, record_first_keys
from ops.settings import Settings


@pytest.fixture
def site(migrated_database_url: str, tmp_path: Path) -> Iterator[Site]:
    """A journal with the log's keys and twenty simulated rounds."""
    keys = make_keys(Settings(tmp_path, migrated_database_url, tmp_path / "keys" / "dealproof.key"))
    with Journal.open(migrated_database_url) as journal:
        record_first_keys(journal, keys, BY)
        fill(migrated_database_url, 20)
        yield Site(migrated_database_url, journal, keys, tmp_path)


@pytest.mark.long
def test_every_ratio_is_measured() -> None:
    command = [sys.executable, "-m", "ops.cli.main", "bench", "proof", "--quick", "--json"]

    done = subprocess.run(command, check=True, capture_output=True)

    measures = msgspec.json.decode(done.stdout)
    assert list(measures) == list(TARGETS)
    assert all(measure["ratio"] > 0 and measure["target"] == TARGETS[name] for name, measure in measures.items())
    assert measures["day_over_bulk"]["parts"]["rounds"] == 100


# -- the sequencer


def test_the_log_has_all_that_was_appended_meanwhile(site: Site) -> None:
    before = site.journal.head_position()

    measured = following(site, 15)

    appended = site.journal.head_position() - before
    assert measured.parts["events"] == appended > 15
    assert measured.ratio == 1000 * measured.parts["cpu_s"] / measured.parts["events"] > 0
    assert measured.parts["behind_s"] > 0


# -- proofs


def test_the_tiles_of_a_made_up_tree_are_those_of_its_leaves(tmp_path: Path) -> None:
    """Of three levels of tiles, each with a partial one at the end."""
    size = 66_000

    store = made_up(tmp_path, size)

    nodes = store.nodes(size)
    leaves = [nodes(0, index) for index in range(size)]
    assert root(size, nodes) == root_of(leaves)
    assert len(set(leaves)) == size
    for tile in (Tile(0, 257, 208), Tile(1, 0, 256), Tile(1, 1, 1), Tile(2, 0, 1)):
        assert (tmp_path / tile.path()).is_file()


def test_the_larger_tree_is_held_against_the_smaller(tmp_path: Path) -> None:
    trees = {size: made_up(tmp_path / str(size), size) for size in (3000, 300)}

    measures = proof_costs(trees, 20)

    assert list(measures) == ["inclusion_large_over_small", "consistency_large_over_small"]
    for measure in measures.values():
        assert (measure.parts["leaves_large"], measure.parts["leaves_small"]) == (3000, 300)
        assert measure.ratio == measure.parts["large_us"] / measure.parts["small_us"] > 0


def test_a_proof_that_proves_nothing_is_not_counted(tmp_path: Path) -> None:
    trees = {size: made_up(tmp_path / str(size), size) for size in (300, 600)}
    tile = trees[600].folder / Tile(0, 1, 256).path()
    tile.write_bytes(bytes(32) + tile.read_bytes()[32:])

    with pytest.raises(ProofError):
        proof_costs(trees, 20)


# -- a day


def test_a_day_is_proved_and_its_rounds_are_verified(site: Site) -> None:
    days = closed(site)

    measured = day_over_bulk(days, 1)

    assert len(days.days) == 1
    assert days.checkpoint.size == site.journal.head_position()
    assert measured.parts["rounds"] == 20
    assert measured.ratio == pytest.approx(measured.parts["day_per_s"] / measured.parts["bulk_per_s"])


def test_a_journal_filled_about_midnight_is_two_days(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    midnight = clock.milliseconds(f"{clock.now()[:10]}T00:00:00.000Z") + 86_400_000
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: (midnight - 10) * 1_000_000)
        fill(site.url, 30)

    days = closed(site)

    assert len(days.days) == 2
    assert day_over_bulk(days, 1).parts["rounds"] == 50


def test_a_day_with_a_finding_is_not_counted(site: Site) -> None:
    days = closed(site)
    with psycopg.connect(site.url) as owner:
        owner.execute("alter table dealproof.events disable trigger user")
        owner.execute("update dealproof.events set originator_version = 99 where notification_id = 10")

    with pytest.raises(AssertionError):
        day_over_bulk(days, 1)


def test_rounds_behind_the_day_are_no_part_of_the_comparison(site: Site) -> None:
    days = closed(site)
    fill(site.url, 5)

    with pytest.raises(AssertionError, match="20 rounds in the days, 25 in the journal"):
        day_over_bulk(days, 1)
