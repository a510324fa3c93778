"""A casino with rounds that were played in it, for tests of what reads a journal.

Not here: the playing (`ops.play`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import psycopg

from domain.ruleset import Ruleset
from domain.rulesets import released_rulesets
from ops.floor import Floor
from ops.journal import Journal
from ops.keys import DataKey
from ops.play import Played, furnish, play
from ops.rulesets import publish
from tests.conftest import _database as new_database
from tests.ops.test_house import KEY

Owner = psycopg.Connection[tuple[Any, ...]]


def close_ranks(owner: Owner) -> None:
    """Give the events that are left positions without a gap, as somebody would who took some out."""
    owner.execute("alter table dealproof.events drop constraint events_position")
    owner.execute("""
        update dealproof.events as event set notification_id = dense.position
        from (select originator_id, originator_version, row_number() over (order by notification_id) as position
              from dealproof.events) as dense
        where event.originator_id = dense.originator_id and event.originator_version = dense.originator_version
    """)


@contextmanager
def played_database(server_url: str, template: str, rounds: int, tables_each: int = 2) -> Iterator[str]:
    """The name of a database with so many true rounds at tables of all games, to be copied."""
    with new_database(server_url, template) as url:
        with Journal.open(url) as journal:
            play_rounds(journal, rounds, 1, tables_each=tables_each)
        yield url.rpartition("/")[2].partition("?")[0]


def play_rounds(
    journal: Journal,
    rounds: int,
    seed: int,
    *,
    rulesets: Sequence[Ruleset] = tuple(released_rulesets().values()),
    tables_each: int = 2,
    key: DataKey = KEY,
    done: Callable[[], None] = lambda: None,
) -> Played:
    """Play in a journal where nothing needs to be ready."""
    for ruleset in rulesets:
        publish(journal, ruleset)
    floor = Floor(journal, key)
    return play(floor, furnish(floor, rulesets, tables_each), rounds, Random(seed), done)
