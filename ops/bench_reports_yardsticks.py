"""What catching up is held against: the library's runner, an event at a time, and one statement of pure SQL.

Both compute the balances alone, from the same journal as `projections.balances` does, and without its ledger.

Not here: our own side, and what the ratios should be (`ops.bench_reports`).
"""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple, cast

import psycopg
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresDatastore, PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from domain.account import ACCOUNT_EVENTS
from domain.jackpot import JACKPOT_EVENTS
from domain.ledger import PLAYER
from domain.streams import DECODERS
from ops.journal import JournalApplication, JournalEvent

Balances = dict[tuple[str, str], int]
"""(currency, account) -> minor units."""

_SECONDS: Final = 600.0
"""After which the library is waited for no longer."""


# -- one statement


def sql_balances(url: str) -> tuple[float, Balances]:
    """Seconds of one INSERT … SELECT over all events, and what it came to."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop table if exists public.bench_balance")
        connection.execute(_TABLE)
        start = time.perf_counter()
        connection.execute(_BALANCES)
        seconds = time.perf_counter() - start
        rows = connection.execute("select currency, account, amount from public.bench_balance").fetchall()
    return seconds, {(currency, account): amount for currency, account, amount in rows}


_TABLE: Final = """
create table public.bench_balance (
    currency text collate "C", account text collate "C", amount bigint not null, primary key (currency, account))
"""

_BALANCES: Final = """
insert into public.bench_balance (currency, account, amount)
select coalesce(fact.data -> 'after' ->> 'currency', split_part(fact.stream, ':', 2)),
    case line ->> 'account' when 'player' then 'player:' || split_part(fact.stream, ':', 3) else line ->> 'account' end,
    sum((line ->> 'amount')::bigint)
from (select originator_id as stream, convert_from(state, 'UTF8')::jsonb -> 'data' as data from dealproof.events
      where originator_id like 'account:%' or originator_id like 'jackpot:%') as fact,
    jsonb_array_elements(fact.data -> 'lines') as line
group by 1, 2
"""


# -- the library


class BalanceView(PostgresTrackingRecorder):
    """The library's recorder of positions, with a table of balances beside it."""

    def __init__(self, datastore: PostgresDatastore, **kwargs: Any) -> None:
        super().__init__(datastore, **kwargs)
        self.table = Identifier(datastore.schema, f"{self.tracking_table_name}_view")
        self.sql_create_statements.append(SQL(_VIEW).format(self.table))
        self._post = SQL(_POST).format(self.table)

    def post(self, amounts: Balances, tracking: Tracking) -> None:
        """Balances and position in one transaction."""
        with self.datastore.transaction(commit=True) as cursor:
            for (currency, account), amount in amounts.items():
                cursor.execute(self._post, (currency, account, amount), prepare=True)
            self._insert_tracking(cursor, tracking)

    def balances(self) -> Balances:
        """As they are now."""
        with self.datastore.transaction() as cursor:
            rows = cursor.execute(SQL("select * from {}").format(self.table)).fetchall()
        return {(row["currency"], row["account"]): row["amount"] for row in rows}


class LibraryBalances(Projection[BalanceView]):
    """Balances as the library has somebody write them; hears of accounts and jackpots only."""

    name = "bench_balances"
    topics = tuple(event.NAME for event in (*ACCOUNT_EVENTS, *JACKPOT_EVENTS))

    def __init__(self, view: BalanceView) -> None:
        super().__init__(view)
        self.times: list[float] = []
        """Before the first event and behind each."""

    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        """One event, one transaction."""
        if not self.times:
            self.times.append(time.perf_counter())
        self.view.post(_amounts(cast(JournalEvent, domain_event)), tracking)
        self.times.append(time.perf_counter())


class LibraryHearsAll(LibraryBalances):
    """The same, told every event of the journal, as a projection is that names no topics."""

    name = "bench_hears_all"
    topics = ()


class Library(NamedTuple):
    """Seconds from the first event to the last, how many were taken in, and the balances then."""

    seconds: float
    events: int
    balances: Balances


def library_balances(url: str, position: int, kind: type[LibraryBalances] = LibraryBalances) -> Library:
    """The library's runner from the first event to one behind or at the position, which must be of an account."""

    class House(JournalApplication):
        name = "bench"

        def __init__(self, env: Any = None) -> None:
            super().__init__(url)

    with psycopg.connect(url, autocommit=True) as connection:
        for table in (f"{kind.name}_tracking", f"{kind.name}_tracking_view"):
            connection.execute(SQL("drop table if exists {}").format(Identifier("public", table)))
    with ProjectionRunner(
        application_class=House, projection_class=kind, view_class=BalanceView, env=_environment(url)
    ) as runner:
        runner.wait(position, timeout=_SECONDS)
        times = cast(LibraryBalances, runner.projection).times[:]
        return Library(times[-1] - times[0], len(times) - 1, runner.view.balances())


def _environment(url: str) -> dict[str, str]:
    parts = {key: str(value) for key, value in conninfo_to_dict(url).items()}
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres", "POSTGRES_DBNAME": parts["dbname"],
        "POSTGRES_HOST": parts.get("host", ""), "POSTGRES_PORT": parts.get("port", "5432"),
        "POSTGRES_USER": parts.get("user", ""), "POSTGRES_PASSWORD": parts.get("password", ""),
        "POSTGRES_SCHEMA": "public",
    }  # fmt: skip


def _amounts(event: JournalEvent) -> Balances:
    """What the event of an account or a jackpot moves; of another one nothing, and it isn't even decoded."""
    stream, _, _, body = event.record
    kind, _, rest = stream.partition(":")
    if kind not in ("account", "jackpot"):
        return {}
    data: Any = DECODERS[kind](body).data
    currency, _, player = rest.partition(":")
    if kind == "jackpot":
        currency = data.after.currency
    found: Balances = {}
    for line in getattr(data, "lines", ()):
        account = f"player:{player}" if line.account == PLAYER else line.account
        found[currency, account] = found.get((currency, account), 0) + line.amount
    return found


_VIEW: Final = """
create table if not exists {} (
    currency text collate "C", account text collate "C", amount bigint not null, primary key (currency, account))
"""

_POST: Final = """
insert into {} as kept values (%s, %s, %s)
on conflict (currency, account) do update set amount = kept.amount + excluded.amount
"""
