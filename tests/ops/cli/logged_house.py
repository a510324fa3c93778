"""A house that keeps a log, with a round that was played, one that is open, and receipts; to be copied for each test.

Not here: what is asked of it (`test_receipt`, `test_evidence`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import psycopg

from domain.log.checkpoint import Checkpoint
from ops.floor import Floor
from ops.log.keys import make_keys
from ops.log.public import PublicLog
from ops.log.sequencer import open_sequencer
from ops.log.store import LogStore
from ops.receipts import NewestCheckpoint, Receipts
from ops.settings import Settings
from ops.site import open_journal
from tests.conftest import _database as new_database
from tests.ops.floor.casino import KEY, OPEN, RUSSIAN, Casino, box

ORIGIN = "casino.example/log"
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
"""A database that is not there: whoever asks it fails."""


@dataclass(frozen=True)
class House:
    """Where everything is.  The round's players: anna (box 1, 300 and a bonus of 100), boris (box 2, 300)."""

    home: Path
    database: str
    """The name of the database, a template for copies."""
    ended: str
    open: str
    behind: str
    """Ids of three rounds; of the last one the log has nothing yet."""
    tokens: tuple[str, str]
    open_token: str

    @property
    def trust(self) -> Path:
        return self.home / "trust.json"


@contextmanager
def house_with_log(server_url: str, template: str, home: Path) -> Iterator[House]:
    with new_database(server_url, template) as url:
        settings = Settings(home, url, home / "keys" / "dealproof.key")
        make_keys(settings, ORIGIN)
        with open_journal(settings) as (_, journal):
            casino = Casino(url, journal)
            casino.furnish()
            with open_sequencer(settings, journal, by="test") as sequencer:
                newest = NewestCheckpoint(PublicLog(LogStore(settings.log_folder), settings.trust_file))

                def covering() -> Checkpoint | None:
                    sequencer.catch_up()
                    return newest()

                key = make_keys(settings).receipt
                casino.floor = Floor(journal, KEY, receipts=Receipts(covering, key.verifier, key.sign))
                ended = casino.open(OPEN)
                placed = casino.place(ended.stream, box(1, "anna", 300, 100), box(2, "boris", 300))
                casino.played_out(casino.deal(ended.stream), Random(5))
                still = casino.open(RUSSIAN)
                waiting = casino.place(still.stream, box(1, "clara", 200))
                sequencer.catch_up()
            behind = Casino(url, journal).played(OPEN, Random(7))
        yield House(
            home,
            url.rpartition("/")[2].partition("?")[0],
            ended.round_id,
            still.round_id,
            behind.round_id,
            (placed.receipts[0].token, placed.receipts[1].token),
            waiting.receipts[0].token,
        )


def as_superuser(url: str, *statements: tuple[str, tuple[object, ...]]) -> None:
    """What somebody does to a journal who owns its server: he has the triggers off."""
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("alter table dealproof.events disable trigger user")
        for statement, values in statements:
            changed = owner.execute(statement.encode(), values).rowcount
            assert changed > 0, statement
