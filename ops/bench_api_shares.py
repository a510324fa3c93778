"""Where the time of one decision over HTTP goes: measured in this process, one request after the other.

    admit     the caller is let in: signature, nonce, one call of the database
    heads     the heads of the accounts: one call of the database
    append    the append: one call of the database, with its flush to the disk
    rules     the floor's own work: rules, deck, postings, encoding
    view      what the game server is shown, as JSON
    web       the rest: Flask, parsing and checking the body

Not here: the ratios (`ops.bench_api`), what is before the app (granian, sockets).
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from flask import Flask
from werkzeug.test import create_environ

from domain.access import Role
from domain.record import Record
from ops.api.app import create_app
from ops.api.views import command_view
from ops.api_keys import Caller, Denial, Gatekeeper, Headers, new_nonce, sign
from ops.bench_api_load import DECISIONS, Table, choices_of, database_of, deal_all, decision_bodies
from ops.bench_core import Measure
from ops.floor import Floor
from ops.journal import Appended, Journal, RoundIdentity, Stored
from ops.play import allowed, new_command
from ops.settings import Settings
from ops.site import floor_at

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment


class Stopwatch:
    """Nanoseconds spent, by what they were spent on."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Time a block."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            self.spent[what] += time.perf_counter_ns() - start

    def restart(self) -> Counter[str]:
        """What was spent so far; from here on it begins at zero."""
        spent, self.spent = self.spent, Counter()
        return spent


def shares(settings: Settings, key: str, tables: Sequence[Table]) -> Measure:
    """Microseconds of each part of a decision; the ratio is the append's share of the whole."""
    url, watch = database_of(settings), Stopwatch()
    with _TimedJournal.open(url) as journal:
        journal.watch = watch
        floor = floor_at(url, journal, settings)
        app = create_app(floor, _TimedGatekeeper(journal, watch), lambda: floor.house.data_key)
        for _ in range(2):  # the first time warms everything
            direct = _decide_direct(floor, tables, watch)
            over_http = _decide_over_http(app, floor, key, tables, watch)
    count = 1000 * len(DECISIONS) * sum(table.rounds for table in tables)
    parts = {f"{name}_us": spent / count for name, spent in _parts(direct, over_http).items()}
    return Measure(over_http["append"] / over_http["whole"], parts)


def _parts(direct: Counter[str], over_http: Counter[str]) -> dict[str, int]:
    parts = {name: over_http[name] for name in ("admit", "heads", "append")}
    parts["rules"] = direct["whole"] - direct["heads"] - direct["append"]
    parts["view"] = direct["view"]
    return parts | {"web": over_http["whole"] - sum(parts.values())}


def _decide_direct(floor: Floor, tables: Sequence[Table], watch: Stopwatch) -> Counter[str]:
    """Every decision straight at the floor, and the view of what it led to."""
    dealt = deal_all(floor, tables)
    watch.restart()
    for stream, table, nth in dealt:
        for choice in choices_of(table, nth):
            command = new_command("bench")
            with watch.on("whole"):
                done = allowed(floor.choose(command, stream, choice))
            with watch.on("view"):
                msgspec.json.encode(command_view(done, Role.GAME_SERVER))
    return watch.restart()


def _decide_over_http(
    app: Flask, floor: Floor, key: str, tables: Sequence[Table], watch: Stopwatch
) -> Counter[str]:
    """The same decisions as requests to the app."""
    dealt = deal_all(floor, tables)
    watch.restart()
    for stream, table, nth in dealt:
        for body in decision_bodies(table, nth):
            environ = _environ(key, f"/v1/rounds/{stream.removeprefix('round:')}/decisions", msgspec.json.encode(body))
            with watch.on("whole"):
                answer = b"".join(app(environ, _must_succeed))
            assert answer  # of a decision that was carried out
    return watch.restart()


def _environ(key: str, target: str, body: bytes) -> WSGIEnvironment:
    headers = sign(key, "POST", target, int(time.time()), new_nonce(), body)
    headers |= {"Idempotency-Key": secrets.token_hex(16), "Content-Type": "application/json"}
    return create_environ(target, method="POST", headers=headers, data=body)


def _must_succeed(status: str, headers: list[tuple[str, str]], error: object = None) -> Callable[[bytes], object]:
    if not status.startswith("200 "):
        raise RuntimeError(f"a decision was answered with {status}")
    return lambda data: None


class _TimedJournal(Journal):
    """A journal that times what a decision asks of it."""

    watch: Stopwatch

    def append(
        self, command_id: str, request: bytes, records: Sequence[Record], rounds: Sequence[RoundIdentity] = ()
    ) -> Appended:
        with self.watch.on("append"):
            return super().append(command_id, request, records, rounds)

    def heads(self, streams: Sequence[str]) -> dict[str, Stored]:
        with self.watch.on("heads"):
            return super().heads(streams)


class _TimedGatekeeper(Gatekeeper):
    """A gatekeeper that times himself, and lets everybody in as often as he likes."""

    def __init__(self, journal: Journal, watch: Stopwatch) -> None:
        super().__init__(journal, per_minute=1_000_000)
        self._watch = watch

    def admit(self, method: str, target: str, headers: Headers, body: bytes) -> Caller | Denial:
        with self._watch.on("admit"):
            return super().admit(method, target, headers, body)
