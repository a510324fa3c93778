"""The load of `dealproof bench api`: prepared rounds that are decided, over HTTP or straight at a floor.

    with Load(partial(HttpTables, address, key, tables)) as load:
        load.prepare()
        load.done()
        load.play()
        turn = load.done()

Each load is a process of its own.  It is cheap beside what it measures (requests are spelt and signed beforehand) and
times nothing but what it is there for.  Whatever is not answered with a success ends it.

Not here: what is compared with what (`ops.bench_api`).
"""

from __future__ import annotations

import multiprocessing
import re
import secrets
import selectors
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

import msgspec

from domain.round import choices as c
from domain.round.events import Mode
from ops.api_keys import new_nonce, sign
from ops.floor import Floor
from ops.journal import Journal
from ops.play import allowed, new_command
from ops.settings import Settings
from ops.site import floor_at

ANTE: Final = 100
BOXES: Final = (1, 2)
DECISIONS: Final = tuple((box, action) for action in ("sixth_card", "bet") for box in BOXES)
"""What is decided in every round of multibox Russian poker, whatever its cards: the last one ends it."""


class Table(NamedTuple):
    """A table with players for so many rounds at once: nobody has the stakes of hundreds of rounds in play."""

    name: str
    rounds: int

    def player(self, nth: int, box: int) -> str:
        """Who holds a box in the nth of the rounds."""
        return f"{self.name}.{nth}.{box}"


class Turn(NamedTuple):
    """When a load began and ended, by the clock that all processes share, and the seconds of each answer."""

    began: float
    ended: float
    seconds: list[float]


class Player(Protocol):
    """What a load's process does."""

    def prepare(self) -> None:
        """All that is not timed."""

    def play(self) -> Turn:
        """What was prepared."""


# -- straight at a floor


class DirectTables:
    """Decisions at a floor, one after the other."""

    def __init__(self, floor: Floor, tables: Sequence[Table]) -> None:
        self._floor, self._tables = floor, tables
        self._choices: list[tuple[str, c.SixthCard | c.Bet]] = []

    @classmethod
    def at(cls, settings: Settings, tables: Sequence[Table]) -> Self:
        """At a floor of its own."""
        url = database_of(settings)
        return cls(floor_at(url, Journal.open(url), settings), tables)

    def prepare(self) -> None:
        """Deal the rounds of every table; the floor has them in memory then, as rounds that are played."""
        dealt = deal_all(self._floor, self._tables)
        self._choices = [(stream, choice) for stream, table, nth in dealt for choice in choices_of(table, nth)]

    def play(self) -> Turn:
        """Every decision of the rounds."""
        commands = [(new_command("bench"), stream, choice) for stream, choice in self._choices]
        times = [time.monotonic()]
        for command, stream, choice in commands:
            allowed(self._floor.choose(command, stream, choice))
            times.append(time.monotonic())
        return Turn(times[0], times[-1], [after - before for before, after in pairwise(times)])


def deal_all(floor: Floor, tables: Sequence[Table]) -> list[tuple[str, Table, int]]:
    """Rounds that wait for their decisions: all that the tables have players for."""
    return [(_deal_round(floor, table, nth), table, nth) for table in tables for nth in range(table.rounds)]


def _deal_round(floor: Floor, table: Table, nth: int) -> str:
    stream = allowed(floor.open_round(new_command("bench"), table.name)).stream
    boxes = [c.PlaceBox(box, table.player(nth, box), Mode.OPEN, ANTE) for box in BOXES]
    allowed(floor.choose(new_command("bench"), stream, *boxes))
    allowed(floor.deal(new_command("bench"), stream))
    return stream


def choices_of(table: Table, nth: int) -> Iterator[c.SixthCard | c.Bet]:
    """What is decided in the nth round of a table."""
    for box, action in DECISIONS:
        player = table.player(nth, box)
        yield c.SixthCard(box=box, player=player) if action == "sixth_card" else c.Bet(box=box, player=player)


def database_of(settings: Settings) -> str:
    """The database of a benchmark, which always names one: it works in a scratch database."""
    assert settings.database_url is not None
    return settings.database_url


# -- over HTTP


class HttpTables:
    """Decisions through the API: a connection for each table, side by side, none of which ever pauses."""

    def __init__(self, address: str, key: str, tables: Sequence[Table]) -> None:
        self._address, self._key, self._tables = address, key, tables
        self._lanes: list[Lane] = []
        self._requests: list[list[bytes]] = []

    def prepare(self) -> None:
        """Deal the rounds of every table.  The connections are new: they spread over the workers by chance."""
        self._lanes = _connect(self._address, self._lanes, len(self._tables))
        opening = [[f"/v1/tables/{table.name}/rounds"] * table.rounds for table in self._tables]
        exchange(self._lanes, [[self._post(target, {}) for target in targets] for targets in opening])
        rounds = [[str(msgspec.json.decode(answer)["round"]) for answer in lane.answers] for lane in self._lanes]
        for what, bodies in (("boxes", _boxes), ("deal", _deal)):
            exchange(self._lanes, self._of_each(rounds, what, bodies))
        self._requests = self._of_each(rounds, "decisions", decision_bodies)

    def play(self) -> Turn:
        """Every decision of the rounds."""
        return exchange(self._lanes, self._requests)

    def _of_each(self, rounds: list[list[str]], what: str, bodies: Bodies) -> list[list[bytes]]:
        """Requests to each round of each table."""
        return [
            [
                self._post(f"/v1/rounds/{name}/{what}", body)
                for nth, name in enumerate(names)
                for body in bodies(table, nth)
            ]
            for table, names in zip(self._tables, rounds, strict=True)
        ]

    def _post(self, target: str, body: dict[str, Any]) -> bytes:
        return request(self._key, "POST", target, msgspec.json.encode(body))


Bodies = Callable[[Table, int], list[dict[str, Any]]]


def _boxes(table: Table, nth: int) -> list[dict[str, Any]]:
    boxes = [{"box": box, "player": table.player(nth, box), "mode": "open", "ante": ANTE} for box in BOXES]
    return [{"boxes": boxes}]


def _deal(table: Table, nth: int) -> list[dict[str, Any]]:
    return [{}]


def decision_bodies(table: Table, nth: int) -> list[dict[str, Any]]:
    """The same as requests say it."""
    return [{"box": box, "player": table.player(nth, box), "action": action} for box, action in DECISIONS]


class HttpReads:
    """Rounds read by id through the API: a connection for each list of ids."""

    def __init__(self, address: str, key: str, rounds: Sequence[Sequence[str]]) -> None:
        self._address, self._key, self._rounds = address, key, rounds
        self._lanes: list[Lane] = []
        self._requests: list[list[bytes]] = []

    def prepare(self) -> None:
        """New connections, and requests of which none was sent before."""
        self._lanes = _connect(self._address, self._lanes, len(self._rounds))
        self._requests = [
            [request(self._key, "GET", f"/v1/rounds/{name}", b"") for name in names] for names in self._rounds
        ]

    def play(self) -> Turn:
        """Every round once."""
        return exchange(self._lanes, self._requests)


def request(key: str, method: str, target: str, body: bytes) -> bytes:
    """A signed request as it goes over the wire."""
    headers = sign(key, method, target, int(time.time()), new_nonce(), body)
    headers |= {"Host": "bench"}
    if body:
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        headers |= {"Idempotency-Key": secrets.token_hex(16)}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body


class Lane:
    """A connection that sends its requests one after the other and keeps the answers."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        assert parts.hostname and parts.port
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers: list[bytes] = []
        self.seconds: list[float] = []
        self._left: Iterator[bytes] = iter(())
        self._received, self._sent = b"", 0.0

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def begin(self, requests: Sequence[bytes]) -> bool:
        """Send the first request; False where there is none."""
        self.answers, self.seconds, self._left = [], [], iter(requests)
        return self._send()

    def receive(self) -> bool:
        """Take what has come, and send the next request behind a whole answer; False when all are answered."""
        received = self.socket.recv(65_536)
        if not received:
            raise ConnectionError("the server hung up")
        self._received += received
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < _content_length(head):
            return True
        self.seconds.append(time.monotonic() - self._sent)
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise RuntimeError(f"{head.splitlines()[0].decode()}: {body.decode(errors='replace')}")
        self.answers.append(body)
        return self._send()

    def _send(self) -> bool:
        following = next(self._left, None)
        if following is None:
            return False
        self._received, self._sent = b"", time.monotonic()
        self.socket.sendall(following)
        return True


def _content_length(head: bytes) -> int:
    found = _LENGTH.search(head)
    if found is None:
        raise RuntimeError("an answer without a Content-Length")
    return int(found[1])


_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: *([0-9]+)")


def _connect(address: str, old: Sequence[Lane], count: int) -> list[Lane]:
    """New lanes for old ones, which a server may have closed meanwhile."""
    for lane in old:
        lane.close()
    return [Lane(address) for _ in range(count)]


def exchange(lanes: Sequence[Lane], requests: Sequence[Sequence[bytes]]) -> Turn:
    """Send each lane its requests, all lanes side by side, until everything is answered."""
    with selectors.DefaultSelector() as selector:
        began = time.monotonic()
        for lane, own in zip(lanes, requests, strict=True):
            if lane.begin(own):
                selector.register(lane.socket, selectors.EVENT_READ, lane)
        while selector.get_map():
            for key, _ in selector.select():
                if not key.data.receive():
                    selector.unregister(key.fileobj)
        return Turn(began, time.monotonic(), [seconds for lane in lanes for seconds in lane.seconds])


# -- processes


class LoadLost(Exception):
    """A load's process has ended; its own words are on stderr."""


class Load:
    """A player in a process of its own."""

    def __init__(self, make: Callable[[], Player]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(make, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join(10)
        self._process.kill()

    def prepare(self) -> None:
        """Have it prepare its next turn; `done` waits for the end of that."""
        self._pipe.send("prepare")

    def play(self) -> None:
        """Have it play what it prepared; `done` waits for the end of that."""
        self._pipe.send("play")

    def done(self) -> Turn | None:
        """Wait for what it was told: None behind `prepare`, a turn behind `play`.  Raises LoadLost."""
        try:
            answer: Turn | None = self._pipe.recv()
        except EOFError:
            raise LoadLost("the load has ended; its error stands above") from None
        return answer


def _serve(make: Callable[[], Player], pipe: Connection[Any, Any]) -> None:
    player = make()
    while True:
        try:
            told = pipe.recv()
        except EOFError:
            return
        turn = None
        if told == "play":
            turn = player.play()
        else:
            player.prepare()
        pipe.send(turn)
