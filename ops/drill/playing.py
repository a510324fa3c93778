"""A journal to be drilled where there is none yet: simulated players at tables of all games, with receipts and cash.

Not here: the simulation (`ops.play`), the log that is drilled (`ops.drill.copy`); this one only binds the wagers.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from random import Random
from typing import Final

from domain.log.checkpoint import Checkpoint, parse_note
from domain.log.events import receipt_key_name
from domain.rulesets import released_rulesets
from ops.floor import Floor
from ops.journal import Journal
from ops.keys import new_data_key
from ops.log.sequencer import Sequencer
from ops.log.signing import FileSigningKey
from ops.log.store import LogStore
from ops.play import CURRENCY, Table, allowed, furnish, new_command, play, top_up
from ops.receipts import Receipts
from ops.rulesets import publish

ORIGIN: Final = "dealproof.drill/played"
ROUNDS_AT_ONCE: Final = 8


def play_instead(journal: Journal, folder: Path, events: int) -> None:
    """Play until the journal has about so many events."""
    folder.mkdir(parents=True)
    rulesets = list(released_rulesets().values())
    for ruleset in rulesets:
        publish(journal, ruleset)
    store, random = LogStore(folder), Random(secrets.randbits(64))
    with Sequencer(journal, store, FileSigningKey(folder / "log.key", ORIGIN), ORIGIN) as sequencer:
        floor = Floor(journal, new_data_key(), receipts=_receipts(sequencer, store, folder))
        tables = furnish(floor, rulesets, tables_each=1)
        while journal.head_position() < events:
            play(floor, tables, ROUNDS_AT_ONCE, random, lambda: None)
            _move_cash(floor, random, tables)


def _receipts(sequencer: Sequencer, store: LogStore, folder: Path) -> Receipts:
    """Each wager names a checkpoint that is made for it."""

    def newest() -> Checkpoint | None:
        sequencer.catch_up()
        note = store.checkpoint()
        return None if note is None else Checkpoint.from_body(parse_note(note).body)

    key = FileSigningKey(folder / "receipt.key", receipt_key_name(ORIGIN))
    return Receipts(newest, key.verifier, key.sign)


def _move_cash(floor: Floor, random: Random, tables: list[Table]) -> None:
    """Somebody pays in, somebody takes out."""
    players = [player for table in tables for player in table.players]
    for deposits in (True, False):
        player, amount, command = random.choice(players), 100 * random.randint(1, 1000), new_command("simulation")
        if deposits:
            allowed(floor.cashier.deposit(command, CURRENCY, player, amount, "desk"))
        else:
            top_up(floor, player, None)
            allowed(floor.cashier.withdraw(command, CURRENCY, player, amount, "desk"))
