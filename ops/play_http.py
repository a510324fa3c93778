"""Let simulated players play through the HTTP API: many tables at once, each command a signed request.

The players know only what the API shows to a game server, and choose among what it offers them.

Not here: the tables and players (`ops.play.furnish`), the server (`ops.serving_process`).
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import Any, Final

from domain.access import Role
from domain.round.events import Mode
from ops.api_client import Client
from ops.api_keys import create_key, revoke_key
from ops.journal import Journal
from ops.play import DEPOSIT, VOIDED_PER_MILLE, Played, Table, Takings
from ops.simulation import stakes

PERSON: Final = "simulation"

AHEAD: Final = 20
"""Rounds that a thread opens before it plays the first of them: a wager waits until the log has its round's commitment,
which takes a second."""


@contextmanager
def short_lived_keys(journal: Journal, roles: Sequence[Role]) -> Iterator[dict[Role, str]]:
    """Keys for a session, revoked after it."""
    made = {role: create_key(journal, role=role, person=PERSON, label="dealproof play", by=PERSON) for role in roles}
    try:
        yield {role: key.text for role, key in made.items()}
    finally:
        for key in made.values():
            revoke_key(journal, key.id, by=PERSON, reason="the session is over")


def play(
    address: str,
    keys: dict[Role, str],
    tables: Sequence[Table],
    rounds: int,
    seed: int,
    done: Callable[[], None],
    threads: int = 4,
) -> Played:
    """Play so many rounds; each thread has tables of its own, and players' decisions that follow from the seed."""
    played, lock = Played(), threading.Lock()
    numbers, interrupted = itertools.count(1), threading.Event()

    def at_tables(own: Sequence[Table], random: Random) -> None:
        seats = _Seats(Client(address, keys[Role.GAME_SERVER]), Client(address, keys[Role.CASHIER]), random)
        turns, ahead, more = itertools.cycle(own), deque[tuple[Table, dict[str, Any]]](), True
        while more or ahead:
            if more and len(ahead) < AHEAD:
                with lock:
                    more = not interrupted.is_set() and next(numbers) <= rounds
                if more:
                    table = next(turns)
                    ahead.append((table, seats.open_round(table)))
                continue
            table, opened = ahead.popleft()
            view, events = seats.play_round(table, opened, void=interrupted.is_set())
            with lock:
                _count(played, table, view, events)
                done()

    count = min(threads, len(tables))
    with ThreadPoolExecutor(count) as pool:
        shares = [(tables[index::count], Random(f"{seed} {index}")) for index in range(count)]
        try:
            for finished in [pool.submit(at_tables, *share) for share in shares]:
                finished.result()
        except BaseException:
            interrupted.set()  # the others end their rounds, then stop
            raise
    return played


class _Seats:
    """The players of some tables, in one thread."""

    def __init__(self, server: Client, cashier: Client, random: Random) -> None:
        self._server = server
        self._cashier = cashier
        self._random = random

    def open_round(self, table: Table) -> dict[str, Any]:
        """The table's next round, committed to."""
        view: dict[str, Any] = self._server.post(f"/v1/tables/{table.name}/rounds", {})
        return view

    def play_round(
        self, table: Table, view: dict[str, Any], *, void: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """An opened round to its end: the last view of it, the names of its events."""
        address, events = f"/v1/rounds/{view['round']}", list(view["events"])
        if void:
            view = self._server.post(f"{address}/void", {"reason": "the simulation was interrupted"})
            return view, events + view["events"]
        view = self._server.post(f"{address}/boxes", {"boxes": self._boxes(table)})
        self._top_up(view["currency"], view["accounts"])
        events += view["events"]
        view = self._server.post(f"{address}/deal", {})
        events += view["events"]
        void = self._random.randrange(1000) < VOIDED_PER_MILLE
        while view["phase"] != "ended":
            if void:
                view = self._server.post(f"{address}/void", {"reason": "simulated fault of the table"})
            else:
                view = self._decide(address, view)
            events += view["events"]
        return view, events

    def _boxes(self, table: Table) -> list[dict[str, Any]]:
        return [
            {
                "box": stake.box,
                "player": stake.player,
                "mode": "dark" if stake.mode is Mode.DARK else "open",
                "ante": stake.ante,
                "bonus": stake.bonus,
                "client_seed": stake.client_seed.hex(),
            }
            for stake in stakes(self._random, table.ruleset, table.limits, table.players)
        ]

    def _top_up(self, currency: str, accounts: dict[str, dict[str, int]]) -> None:
        for player, funds in accounts.items():
            if funds["balance"] < DEPOSIT // 10:
                deposit = {"amount": DEPOSIT, "reference": "simulation"}
                self._cashier.post(f"/v1/accounts/{currency}/{player}/deposits", deposit)

    def _decide(self, address: str, view: dict[str, Any]) -> dict[str, Any]:
        offer = view["next"]
        box = next(box for box in view["boxes"] if box["box"] == offer["box"])
        decision = {"box": box["box"], "player": box["player"], **self._choose(offer)}
        answer: dict[str, Any] = self._server.post(f"{address}/decisions", decision)
        return answer

    def _choose(self, offer: dict[str, Any]) -> dict[str, Any]:
        """Any of the offers; a stake or a number of discards within what is offered."""
        action = self._random.choice(offer["actions"])
        if action == "fold" and self._random.random() < 0.6:
            action = "bet"  # else too few rounds come to their showdown
        if action == "insure":
            least, most = offer["insurance"]["min"], offer["insurance"]["max"]
            return {"action": action, "stake": self._random.randint(least, most)}
        if action == "exchange":
            count = self._random.randint(1, len(offer["prices"]["exchange"]))
            return {"action": action, "discard": self._random.sample(range(5), count)}
        return {"action": action}


def _count(played: Played, table: Table, view: dict[str, Any], events: list[str]) -> None:
    takings = played.by_ruleset.setdefault(table.ruleset.name, Takings())
    takings.rounds += 1
    takings.events += len(events)
    takings.boxes += len(view["boxes"])
    if view["voided"] is not None:
        takings.voided += 1
    else:
        takings.staked += view["totals"]["staked"]
        takings.returned += view["totals"]["returned"]
    played.richest = max(played.richest, (len(set(events)), f"round:{view['round']}"))


