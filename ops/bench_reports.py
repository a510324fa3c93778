"""How fast are projections and reports, in ratios measured in one run.

    dealproof bench reports [--events N] [--json]

What is measured and what it should be stands in `TARGETS`; figures of a run are kept in docs/benchmarks.md.  Server,
projections and reports are the real ones, in scratch databases that are removed afterwards.  What is compared takes
turns; a ratio is the median of the turns' ratios.

Not here: the journal that is read (`ops.bench_reports_journal`), the yardsticks (`ops.bench_reports_yardsticks`).
"""

from __future__ import annotations

import io
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from ops.bench_core import Measure, _high_water_mark, scratch_server
from ops.bench_reports_journal import MONTH, Template, fill, played
from ops.bench_reports_yardsticks import (
    Balances,
    Library,
    LibraryBalances,
    LibraryHearsAll,
    library_balances,
    sql_balances,
)
from ops.database import migrate
from ops.projecting import catch_up
from ops.reports.definitions import definition
from ops.reports.making import Asked, open_reading, open_report, report_at
from ops.reports.render import write_file, writer
from ops.reports.words import Words
from ops.settings import Settings
from projections.runner import drop_old

FORMATS: Final = ("text", "csv", "json", "xlsx", "parquet")
"""Those that are printed row by row; a PDF is laid out as a whole."""

TARGETS: Final = {
    "balances_over_library": "at least 200",
    "balances_over_sql": "at least 0.40",
    "all_over_balances": "at most 3",
    "revenue_large_over_small": "at most 3",
    **{f"{name}_memory_large_over_small": "flat (about 1)" for name in FORMATS},
}

REVENUE: Final = "gaming-revenue"
LONG: Final = "game-history"
"""A row for each round."""

GENERATED_AT: Final = "2026-11-30T00:00:00.000Z"


class Sizes(NamedTuple):
    """How much is measured.

    `events` of the large journal, the small one having a tenth; `rounds` that are played; `library`: events that the
    library's runner takes in; `turns` of what takes turns; `reports`: how often one is made of each journal.
    """

    events: int = 1_000_000
    rounds: int = 200
    library: int = 3000
    turns: int = 3
    reports: int = 7


def run(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Measure]:
    """Every ratio."""
    with scratch_server() as url:
        say(f"a journal of {sizes.events // 10:,} events")
        made = played(_database(url, "played"), sizes.rounds)
        small, small_events = _journal(url, "small", made, sizes.events // 10)
        say("catching up, the library and SQL")
        measures = catching_up(small, small_events, sizes)
        say(f"a journal of {sizes.events:,} events")
        large, large_events = _journal(url, "large", made, sizes.events)
        catch_up(large, sorted({*definition(REVENUE).NEEDS, *definition(LONG).NEEDS}))
        for each in (small, large):
            _tidy(each)
        journals = {small: small_events, large: large_events}
        say("a month's revenue")
        measures["revenue_large_over_small"] = revenue(journals, sizes.reports)
        say("memory of exports")
        measures |= memory(journals)
    return measures


def _database(url: str, name: str) -> str:
    """A database of this name on the same server, migrated."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    made = urlsplit(url)._replace(path=f"/{name}").geturl()
    migrate(made)
    return made


def _journal(url: str, name: str, made: Sequence[Template], events: int) -> tuple[str, int]:
    database = _database(url, name)
    return database, fill(database, made, events)


def _tidy(url: str) -> None:
    """What autovacuum would have done in the meantime."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze")


# -- catching up


class Turn(NamedTuple):
    """One of each, one behind the other: seconds of ours over all events, of SQL, and what the library did."""

    balances: float
    sql: float
    all: float
    topics: Library
    hears_all: Library


def catching_up(url: str, events: int, sizes: Sizes) -> dict[str, Measure]:
    """Ours against the library and SQL, from the first event on.  Raises AssertionError where balances differ."""
    position = _account_event_behind(url, min(sizes.library, events - 1))
    turns = [_turn(url, position) for _ in range(sizes.turns)]

    def rate(seconds: Callable[[Turn], float], count: int = events) -> float:
        return statistics.median(count / seconds(turn) for turn in turns)

    ours, all_of_them = rate(lambda turn: turn.balances), rate(lambda turn: turn.all)
    hears_all = rate(lambda turn: turn.hears_all.seconds, position)
    parts = {
        "balances_per_s": ours, "library_per_s": hears_all,
        "library_with_topics_per_s": rate(lambda turn: turn.topics.seconds, position), "events": float(events),
    }  # fmt: skip
    over_library = statistics.median(
        events / turn.balances / (position / turn.hears_all.seconds) for turn in turns
    )
    sql_rate = rate(lambda turn: turn.sql)
    return {
        "balances_over_library": Measure(over_library, parts),
        "balances_over_sql": Measure(
            statistics.median(turn.sql / turn.balances for turn in turns),
            {"balances_per_s": ours, "sql_per_s": sql_rate},
        ),
        "all_over_balances": Measure(
            statistics.median(turn.all / turn.balances for turn in turns),
            {"all_per_s": all_of_them, "balances_per_s": ours},
        ),
    }


def _turn(url: str, position: int) -> Turn:
    balances = _caught_up(url, ["balances"])
    sql_seconds, by_sql = sql_balances(url)
    if by_sql != _moved(url):
        raise AssertionError("the balances by SQL are not those of the projection")
    return Turn(
        balances, sql_seconds, _caught_up(url, None), library_balances(url, position, LibraryBalances),
        library_balances(url, position, LibraryHearsAll),
    )  # fmt: skip


def _caught_up(url: str, names: Sequence[str] | None) -> float:
    """Seconds of catching up from the first event on."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("delete from projections.state")
        drop_old(connection)
    start = time.perf_counter()
    step = catch_up(url, names)
    seconds = time.perf_counter() - start
    if step.stopped:
        raise AssertionError(step.stopped[0].reason)
    return seconds


def _moved(url: str) -> Balances:
    """The projection's balances of all accounts on which a line was ever posted."""
    query = """
        select currency, account, amount from projections.balance_1 as balance
        where account not like 'player:%' or exists (
            select from projections.ledger_entry_1 as entry
            where entry.currency = balance.currency and 'player:' || entry.player = account and to_player <> 0)
    """
    with psycopg.connect(url) as connection:
        return {(currency, account): amount for currency, account, amount in connection.execute(query)}


def _account_event_behind(url: str, position: int) -> int:
    """The position of an account's event, the last one up to here: the library stops at such."""
    query = """
        select max(notification_id) from dealproof.events
        where notification_id <= %s and originator_id like 'account:%%'
    """
    with psycopg.connect(url) as connection:
        [(found,)] = connection.execute(query, (position,)).fetchall()
    return int(found)


# -- reports


def revenue(journals: Mapping[str, int], repeats: int) -> Measure:
    """The month's revenue of the second journal over that of the first.  `rows`: those of `revenue` that it adds up."""
    times: dict[str, list[float]] = {url: [] for url in journals}
    with _settings() as settings:
        for _ in range(repeats):
            for url, taken in times.items():
                taken.append(_revenue_seconds(settings, url))
    small, large = journals
    ratio = statistics.median(two / one for one, two in zip(times[small], times[large], strict=True))
    parts = {
        "large_ms": 1000 * statistics.median(times[large]), "small_ms": 1000 * statistics.median(times[small]),
        "rows_large": _revenue_rows(large), "rows_small": _revenue_rows(small),
        "events_large": journals[large], "events_small": journals[small],
    }  # fmt: skip
    return Measure(ratio, parts)


def _revenue_seconds(settings: Settings, url: str) -> float:
    """Seconds of making and printing it, over a connection that is open.  Raises AssertionError for a residual."""
    made, words = definition(REVENUE), Words("en")
    with open_reading(url, made) as reading:
        reading.rows("select count(*) from {revenue}")  # the connection is warm, as a service's is
        start = time.perf_counter()
        report = report_at(settings, reading, made, _asked(REVENUE), reading.position, words)
        writer("text")(report, io.BytesIO(), words)
        seconds = time.perf_counter() - start
        identities = report.identities()
    if not identities or any(each.residual for each in identities):
        raise AssertionError(f"identities of {REVENUE}: {identities}")
    return seconds


def _revenue_rows(url: str) -> int:
    with psycopg.connect(url) as connection:
        [(count,)] = connection.execute("select count(*) from projections.revenue_1").fetchall()
    return int(count)


def _asked(name: str) -> Asked:
    return Asked(name, MONTH, MONTH, generated_at=GENERATED_AT, without_log=True)


@contextmanager
def _settings() -> Iterator[Settings]:
    with tempfile.TemporaryDirectory(prefix="dealproof-bench-") as folder:
        yield Settings(Path(folder), None, Path(folder, "keys"))


def memory(journals: Mapping[str, int]) -> dict[str, Measure]:
    """Peak memory of each export of a long report of the second journal over the first; a process of its own each."""
    measures = {}
    for name in FORMATS:
        small, large = (_export(url, name) for url in journals)
        parts: dict[str, float] = {
            "kib_large": large.kib, "kib_small": small.kib, "rows_large": large.rows, "rows_small": small.rows,
        }  # fmt: skip
        measures[f"{name}_memory_large_over_small"] = Measure(large.kib / small.kib, parts)
    return measures


class Export(NamedTuple):
    """Peak resident memory (KiB) of an export, and its rows."""

    kib: int
    rows: int


def _export(url: str, form: str) -> Export:
    program = "import sys; from ops.bench_reports import export_and_print_peak; export_and_print_peak(*sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", program, url, form], check=True, capture_output=True, text=True)
    return Export(*map(int, done.stdout.split()))


def export_and_print_peak(url: str, form: str) -> None:
    """What the subprocess of `_export` runs."""
    asked = _asked(LONG)
    with _settings() as settings, open_report(settings, url, asked) as report:
        write_file(report, form, settings.home / "report", Words("en"))
    peak = _high_water_mark()
    with psycopg.connect(url) as connection:
        [(rows,)] = connection.execute("select count(*) from projections.round_1").fetchall()
    print(peak, rows)
