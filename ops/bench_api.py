"""How fast is the HTTP API, in ratios measured in one run.

    dealproof bench api [--json]

What is measured and what it should be stands in `TARGETS`; figures of a run are kept in docs/benchmarks.md.
PostgreSQL, `dealproof serve` and the load are processes of their own, in a scratch folder that is removed afterwards.
What is compared takes turns, and the median of the turns' ratios counts: a neighbour's noise falls on both sides.

Not here: the load (`ops.bench_api_load`), where a request's time goes (`ops.bench_api_shares`), the core
(`ops.bench_core`).
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import psycopg

from domain.access import Role
from domain.rulesets import released_rulesets
from domain.table import Abandoned, TableSettings
from ops.api_keys import create_key
from ops.bench_api_load import BOXES, DirectTables, HttpReads, HttpTables, Load, Table
from ops.bench_api_shares import shares
from ops.bench_core import Measure, fill, scratch_server
from ops.floor import Floor
from ops.play import CURRENCY, DEPOSIT, MANAGERS, allowed, new_command
from ops.serving_process import api_server
from ops.settings import Settings
from ops.site import open_floor

TARGETS: Final = {
    "http_over_direct": "at least 0.50",
    "p99_over_median": "at most 5",
    "open_rounds_rate": "0.75 to 1.25",
    "open_rounds_latency": "0.75 to 1.25",
    "read_large_over_small": "0.80 to 1.25",
    "append_share": "(none)",
}

WORKERS: Final = 2
TABLES: Final = 8
RULESET: Final = "multibox-russian-poker@1"
"""Several boxes, and nothing for sale at the reveal: a round ends with the last box's bet, whatever the cards."""


class Sizes(NamedTuple):
    """How much is measured; `at_once` is how many rounds a table has between two preparations."""

    rounds: int = 10_000
    open_rounds: int = 100_000
    large: int = 100_000
    turns: int = 9
    at_once: int = 12


QUICK: Final = Sizes(rounds=1000, open_rounds=2000, large=5000, turns=3, at_once=3)


class Casino(NamedTuple):
    """A database with tables, players with money, and the key of a game server."""

    settings: Settings
    url: str
    tables: list[Table]
    key: str


def run(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Measure]:
    """Every ratio, and where the time of a decision goes."""
    with scratch_server() as server, tempfile.TemporaryDirectory(prefix="dealproof-bench-") as home:
        say(f"{sizes.rounds:,} rounds")
        few = furnished(_create(server, "few", "template0"), Path(home), sizes)
        many, large = copied(few, "many"), copied(few, "large")
        say("where the time of a decision goes")
        measures = {"append_share": shares(few.settings, few.key, few.tables)}
        say(f"{sizes.open_rounds:,} open rounds")
        open_rounds(many, sizes.open_rounds)
        say("decisions")
        measures |= decisions(few, many, sizes.turns)
        say(f"{sizes.large:,} rounds to read among")
        multiply(large.url, sizes.large // sizes.rounds)
        say("reads")
        measures["read_large_over_small"] = reads(few, large, sizes)
    return {name: measures[name] for name in TARGETS}


# -- decisions


class Pace(NamedTuple):
    """What a turn came to: answers a second, milliseconds of the median and of the slowest hundredth."""

    rate: float
    median: float
    p99: float


Paces = dict[str, list[Pace]]


def decisions(few: Casino, many: Casino, turns: int) -> dict[str, Measure]:
    """Decisions over HTTP against the same without it, and against those beside many open rounds."""
    halves = [few.tables[nth::WORKERS] for nth in range(WORKERS)]
    with ExitStack() as stack:
        direct = [stack.enter_context(Load(partial(DirectTables.at, few.settings, half))) for half in halves]
        over_http = []
        for casino in (few, many):
            address = stack.enter_context(api_server(casino.settings, casino.url, WORKERS, log=False))
            over_http.append(stack.enter_context(Load(partial(HttpTables, address, casino.key, casino.tables))))
        http, beside = over_http
        paces = _take_turns({"direct": direct, "http": [http], "beside": [beside]}, turns)
    tails = [pace.p99 / pace.median for pace in paces["http"]]
    times = {"median_ms": _median(paces["http"], "median"), "p99_ms": _median(paces["http"], "p99")}
    return {
        "http_over_direct": _compare(paces, "http", "direct", "rate"),
        "p99_over_median": Measure(statistics.median(tails), times),
        "open_rounds_rate": _compare(paces, "beside", "http", "rate"),
        "open_rounds_latency": _compare(paces, "beside", "http", "median"),
    }


def _take_turns(loads: dict[str, list[Load]], turns: int) -> Paces:
    paces: Paces = {name: [] for name in loads}
    for turn in range(turns + 1):
        for name in list(loads)[:: -1 if turn % 2 else 1]:
            pace = _pace(loads[name])
            if turn:  # the first one warms connections, prepared statements and caches
                paces[name].append(pace)
    return paces


def _pace(loads: Sequence[Load]) -> Pace:
    """One turn of loads that play side by side."""
    for told in (Load.prepare, Load.play):
        for load in loads:
            told(load)
        done = [load.done() for load in loads]
    turns = [turn for turn in done if turn is not None]
    seconds = sorted(each for turn in turns for each in turn.seconds)
    span = max(turn.ended for turn in turns) - min(turn.began for turn in turns)
    slow = seconds[99 * len(seconds) // 100]
    return Pace(len(seconds) / span, 1000 * statistics.median(seconds), 1000 * slow)


def _compare(paces: Paces, one: str, other: str, what: str) -> Measure:
    """The median of the turns' ratios, and the medians of both sides."""
    pairs = zip(paces[one], paces[other], strict=True)
    ratios = [getattr(mine, what) / getattr(theirs, what) for mine, theirs in pairs]
    unit = "per_s" if what == "rate" else "ms"
    parts = {f"{name}_{unit}": _median(paces[name], what) for name in (one, other)}
    return Measure(statistics.median(ratios), parts | {"lowest_ratio": min(ratios), "highest_ratio": max(ratios)})


def _median(paces: Sequence[Pace], what: str) -> float:
    return float(statistics.median(getattr(pace, what) for pace in paces))


# -- reads


def reads(few: Casino, large: Casino, sizes: Sizes) -> Measure:
    """A round read by its id among many rounds against the same among few: how much longer it takes."""
    with ExitStack() as stack:
        loads = {}
        for name, casino in {"small": few, "large": large}.items():
            ids = _some_rounds(casino.url, 40 * sizes.at_once)
            lanes = [ids[nth::TABLES] for nth in range(TABLES)]
            address = stack.enter_context(api_server(casino.settings, casino.url, WORKERS, log=False))
            loads[name] = [stack.enter_context(Load(partial(HttpReads, address, casino.key, lanes)))]
        compared = _compare(_take_turns(loads, sizes.turns), "small", "large", "rate")
    rounds = {f"rounds_{name}": float(_count(casino.url)) for name, casino in {"small": few, "large": large}.items()}
    return Measure(compared.ratio, rounds | compared.parts)


def _some_rounds(url: str, count: int) -> list[str]:
    """Ids of rounds of simulated players, all over the journal."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(_SOME_ROUNDS, (count,)).fetchall()
    return [str(stream).removeprefix("round:") for (stream,) in rows]


def _count(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("select count(*) from dealproof.round_identity").fetchone()
    return 0 if row is None else int(row[0])


_SOME_ROUNDS: Final = """
select stream from dealproof.round_identity where table_id in ('bench', 'copy') order by random() limit %s
"""


# -- databases


def furnished(url: str, home: Path, sizes: Sizes) -> Casino:
    """Tables, players, a key and some rounds, in an empty database."""
    settings = Settings(home, url, home / "keys" / "dealproof.key")
    tables = [Table(f"table-{number}", sizes.at_once) for number in range(1, TABLES + 1)]
    with open_floor(settings) as (_, floor):
        allowed(floor.pit.propose_ruleset(new_command(MANAGERS[0]), RULESET, "benchmark"))
        allowed(floor.pit.approve_ruleset(new_command(MANAGERS[1]), RULESET, "benchmark"))
        for table in tables:
            _furnish(floor, table)
        key = create_key(floor.journal, role=Role.GAME_SERVER, person="benchmark", label="", by="benchmark")
    fill(url, sizes.rounds)
    return Casino(settings, url, tables, key.text)


def _furnish(floor: Floor, table: Table) -> None:
    limits = released_rulesets()[RULESET].table_defaults
    settings = TableSettings(Abandoned.FOLD, 60, CURRENCY, None, limits, RULESET)
    allowed(floor.pit.open_table(new_command(MANAGERS[0]), table.name, settings, "benchmark"))
    for player in [table.player(nth, box) for nth in range(table.rounds) for box in BOXES]:
        allowed(floor.cashier.open_account(new_command("benchmark"), CURRENCY, player, test=True))
        allowed(floor.cashier.deposit(new_command("benchmark"), CURRENCY, player, DEPOSIT, "benchmark"))


def copied(casino: Casino, name: str) -> Casino:
    """The same in a copy of the database, which nobody may use meanwhile."""
    url = _create(casino.url, name, urlsplit(casino.url).path.removeprefix("/"))
    return casino._replace(settings=replace(casino.settings, database_url=url), url=url)


def _create(url: str, name: str, template: str) -> str:
    """A database on the same server."""
    maintenance = urlsplit(url)._replace(path="/postgres").geturl()
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f"create database {name} template {template}".encode())
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def open_rounds(casino: Casino, rounds: int) -> None:
    """Open so many rounds at a table that no event tells of: a table that numbers them opens one at a time."""
    ruleset = released_rulesets()[RULESET]
    with open_floor(casino.settings) as (_, floor):
        for first in range(1, rounds + 1, OPENED_AT_ONCE):
            records, identities = [], []
            for number in range(first, min(first + OPENED_AT_ONCE, rounds + 1)):
                made = floor.house.make_round(
                    ruleset, table="left", number=number, limits=ruleset.table_defaults, currency=CURRENCY
                )
                _, opened, identity = allowed(made)
                records += opened
                identities.append(identity)
            floor.journal.append(f"open from {first}", b"", records, identities)
    _vacuum(casino.url)


OPENED_AT_ONCE: Final = 500


def multiply(url: str, times: int) -> None:
    """Copy the rounds of `fill` under ids of earlier days, until there are so many times as many.

    A copy is good for being read: its bodies name their new stream, but its chain of hashes is broken.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set synchronous_commit = off")
        connection.execute(_STREAM_OF_COPY)
        row = connection.execute("select max(notification_id) from dealproof.events").fetchone()
        for nth in range(1, times):
            copy = {"nth": nth, "last": row and row[0]}
            connection.execute(_COPY_EVENTS, copy)
            connection.execute(_COPY_IDENTITIES, copy)
    _vacuum(url)


def _vacuum(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze")


# The first 48 bits of an id are milliseconds.  A copy lies nearly three hours before the last one.
_STREAM_OF_COPY: Final = """
create function pg_temp.copied(stream text, nth bigint) returns text language sql immutable as $body$
    select 'round:' || lpad(to_hex(('x' || substr(stream, 7, 12))::bit(48)::bigint - nth * 10000000), 12, '0')
           || substr(stream, 19)
$body$
"""

_COPY_EVENTS: Final = """
with round as materialized (
    select stream, pg_temp.copied(stream, %(nth)s::bigint) as copy
    from dealproof.round_identity where table_id = 'bench'
)
insert into dealproof.events (originator_id, originator_version, topic, state, notification_id)
select copy, originator_version, topic, convert_to(replace(convert_from(state, 'UTF8'), stream, copy), 'UTF8'),
       notification_id + %(nth)s::bigint * %(last)s::bigint
from round join dealproof.events on originator_id = stream
order by originator_id, originator_version
"""

_COPY_IDENTITIES: Final = """
insert into dealproof.round_identity (table_id, number, commitment, stream)
select 'copy', number + %(nth)s::bigint * 10000000, sha256(commitment || int8send(%(nth)s::bigint)),
       pg_temp.copied(stream, %(nth)s::bigint)
from dealproof.round_identity where table_id = 'bench'
"""
