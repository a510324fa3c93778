"""A house that has seen all that reports tell of: real and test accounts, two currencies, corrections, voids, a jackpot
won, interventions, an open round, verifications.

Not here: what the reports say of it (`test_definitions_*`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any, Final

import msgspec
import psycopg

from domain.account import Against
from domain.hands import Combination
from domain.record import read_envelope
from domain.round import choices as c
from domain.round.events import Mode
from domain.rulesets import released_rulesets
from domain.verification import CODEC, ENDED, VERIFICATION, WHOLE, Finding, RoundsVerified
from ops import clock, database
from ops.cashier import Cashier
from ops.commands import carry_out_one
from ops.floor import Floor
from ops.journal import Journal
from ops.play import Table, allowed, furnish, new_command, play
from ops.projecting import catch_up
from ops.reports.building import Body, Filters, Period, Request
from ops.reports.definitions import definition
from ops.reports.model import Row, Section
from ops.reports.words import Words
from ops.rulesets import publish
from projections.catalogue import VERSIONS
from projections.reading import read_projections
from tests.conftest import _database as new_database
from tests.ops.floor.casino import JACKPOT, KEY, Casino, Hands, box, done, house_version, settings
from tests.ops.played_days import BEGUN, Clock, slow_clock

FIRST_DAY: Final = datetime.fromtimestamp(BEGUN // 1000, UTC).replace(hour=0, minute=0, second=0)
STEP: Final = 90_000
"""Milliseconds between two looks at the clock."""

DAY: Final = 86_400_000

Reader = psycopg.Connection[tuple[Any, ...]]

ROUNDS: Final = 36
RULESETS: Final = tuple(released_rulesets().values())

VISITOR: Final = "visitor"
"""A real player with an account in two currencies, who plays one round, which is left open."""


ALL: Final = Filters()


class PlayedHouse:
    """Where it lies, and what a test asks it for."""

    def __init__(self, url: str, reader: Reader, head: int) -> None:
        self.url, self.reader, self.head = url, reader, head
        self.times = _times(reader)
        """(position, time) of every event but those of games."""
        self.borders = [
            position for (position, at), (_, following) in pairwise([*self.times, (0, "")]) if at != following
        ]
        """The last positions of all appends: each looked at the clock."""

    def body(
        self, name: str, begin: str, end: str, position: int | None = None, filters: Filters = ALL,
        large_win: int | None = None, language: str | Words = "en",
    ) -> Shown:  # fmt: skip
        """A report with all its rows."""
        made, words = definition(name), language if isinstance(language, Words) else Words(language)
        asked = Request(
            name, Period(begin, end, "UTC"), filters, self.head if position is None else position, words,
            large_win,
        )  # fmt: skip
        with read_projections(self.reader, made.NEEDS, VERSIONS) as reading:
            return Shown(made.build(reading, asked))

    @property
    def whole(self) -> tuple[str, str]:
        """A period with everything in it."""
        return day(0), day(30)


class Shown:
    """A report as it was read, rows and all."""

    def __init__(self, body: Body) -> None:
        self.sections: list[tuple[Section, list[Row]]] = [(each, list(each.rows())) for each in body.sections]
        self.identities = body.identities()
        self.charts = body.charts

    def rows(self, name: str, currency: str | None) -> list[dict[str, object]]:
        """The rows of a section, by names of columns."""
        for section, rows in self.sections:
            if (section.name, section.currency) == (name, currency):
                return [dict(zip([column.name for column in section.columns], row.cells, strict=True)) for row in rows]
        raise AssertionError(f"no section {name} in {currency}: {[(s.name, s.currency) for s, _ in self.sections]}")

    def total(self, name: str, currency: str | None) -> dict[str, object]:
        return self.rows(name, currency)[-1]

    @property
    def residuals(self) -> list[str]:
        return [f"{each.sentence}: {each.left} - {each.right}" for each in self.identities if each.residual]

    @property
    def plain(self) -> list[object]:
        """All that is printed."""
        rows = [(section.name, section.title, section.currency, [row.cells for row in rows])
                for section, rows in self.sections]  # fmt: skip
        return [rows, self.identities]


def day(number: int) -> str:
    """The beginning of a day, as in the record."""
    return _record_time(FIRST_DAY + timedelta(days=number))


def quarter(number: int) -> str:
    """A quarter of an hour since the house opened."""
    opened = datetime.fromtimestamp(BEGUN // 1000, UTC)
    return _record_time(opened + timedelta(minutes=15 * number))


def _record_time(moment: datetime) -> str:
    return clock.as_text(int(moment.timestamp()) * 1000)


def _times(reader: Reader) -> list[tuple[int, str]]:
    # Who publishes a game looks at another clock.
    rows = reader.execute(
        "select notification_id, state from dealproof.events "
        "where not starts_with(originator_id, 'ruleset:') order by notification_id"
    ).fetchall()
    return [(position, read_envelope(state).at) for position, state in rows]


@contextmanager
def played_house(server_url: str, template: str) -> Iterator[PlayedHouse]:
    """Played, and its projections run."""
    with new_database(server_url, template) as url:
        with Journal.open(url) as journal:
            with slow_clock(step=STEP) as slow:
                _live(url, journal, slow)
            head = journal.head_position()
        catch_up(url)
        with database.connect(url, database.READER_ROLE) as reader:
            yield PlayedHouse(url, reader, head)


def _live(url: str, journal: Journal, slow: Clock) -> None:
    """Rounds on the first day, the desk and rounds again on the second, a jackpot on the third, then what is left."""
    for ruleset in RULESETS:
        publish(journal, ruleset)
    floor, cashier = Floor(journal, KEY), Cashier(journal)
    for ruleset in RULESETS:
        # Opened here so that it is a real account: those of the simulation's own are for tests.
        allowed(cashier.open_account(new_command("desk"), "EUR", f"{ruleset.document.id}-1.player-1"))
    tables = furnish(floor, RULESETS, 1)
    for table in tables:
        allowed(cashier.deposit(new_command("desk"), "EUR", table.players[0], 10**11, "slip"))
    play(floor, tables, ROUNDS, Random(3), lambda: None)
    slow.milliseconds = BEGUN + DAY
    _at_the_desk(cashier, tables[0].players[1])
    verified(journal, WHOLE, 36, 1, first_round(journal))
    play(floor, tables, 6, Random(4), lambda: None)
    verified(journal, ENDED, 6, 0)
    slow.milliseconds = BEGUN + 2 * DAY
    _jackpot_won(Casino(url, journal))
    slow.milliseconds = BEGUN + 3 * DAY
    _intervened(floor, tables)
    ante = tables[0].limits.ante_min
    _left_open(floor, tables[0], c.PlaceBox(1, VISITOR, Mode.OPEN, ante), _box(tables[0], 3))
    _left_open(floor, tables[1], _box(tables[1], 1))
    known = floor.pit.table(tables[1].name)
    assert known is not None
    changed = msgspec.structs.replace(known.settings, abandoned_after=90)
    allowed(floor.pit.change_table(new_command("manager"), tables[1].name, changed, "more patience"))


def _at_the_desk(cashier: Cashier, tester: str) -> None:
    """Every movement, of a real account in two currencies and of one for tests."""
    for currency in ("EUR", "JPY"):
        allowed(cashier.open_account(new_command("desk"), currency, VISITOR))
        taken = allowed(cashier.deposit(new_command("desk"), currency, VISITOR, 500_000, "slip 1"))
        allowed(cashier.withdraw(new_command("desk"), currency, VISITOR, 1_234, "slip 2"))
        allowed(cashier.adjust(
            new_command("desk"), currency, VISITOR, 777, against=Against.BONUS, approver="manager", reason="birthday",
            reference="gift 1",
        ))  # fmt: skip
        again = allowed(cashier.deposit(new_command("desk"), currency, VISITOR, 500_000, "slip 1"))
        allowed(cashier.reverse(
            new_command("desk"), currency, VISITOR, again.seq, approver="manager", reason="booked twice",
            reference="slip 3",
        ))  # fmt: skip
        assert taken.seq != again.seq
    allowed(cashier.adjust(
        new_command("desk"), "EUR", tester, -55, against=Against.BANK, approver="manager", reason="a test",
        reference="test 1",
    ))  # fmt: skip


def _intervened(floor: Floor, tables: list[Table]) -> None:
    """A round that the house voids from outside."""
    table = tables[0]
    opened = allowed(floor.open_round(new_command("floor"), table.name))
    ante = table.limits.ante_min
    allowed(floor.choose(new_command("floor"), opened.stream, c.PlaceBox(1, table.players[0], Mode.OPEN, ante)))
    allowed(floor.deal(new_command("floor"), opened.stream))
    allowed(floor.void_before_reveal(new_command("manager"), opened.stream, "a card fell down"))


def _jackpot_won(casino: Casino) -> None:
    """Two rounds in which a box takes the pot, of which the house voids the second one."""
    game = house_version("frequent-jackpot", "pairs", jackpot_shares={"pair": [1, 1]}, hands_shown="at-deal")
    casino.activate(game)
    done(casino.floor.pit.open_jackpot(casino.command(), JACKPOT, "EUR", 100_000))
    casino.open_table("pairs-1", settings(game.name, JACKPOT))
    for player in ("anna", "boris"):
        casino.welcome(player)
    for void in (False, True):
        boxes = box(1, bonus=300), box(2, "boris", bonus=30)
        made = casino.dealt("pairs-1", *boxes, wanted=_first_box_wins)
        if void:
            casino.choose(made.stream, c.Void("a card fell down"))
        else:
            casino.played_out(made, Random(1))


def _first_box_wins(hands: Hands) -> bool:
    return hands.main(1) == Combination.PAIR and hands.main(2) < Combination.PAIR


def _box(table: Table, number: int) -> c.PlaceBox:
    """Of a test account."""
    return c.PlaceBox(number, table.players[1], Mode.OPEN, table.limits.ante_min)


def _left_open(floor: Floor, table: Table, *boxes: c.PlaceBox) -> None:
    """Dealt and not decided."""
    opened = allowed(floor.open_round(new_command("floor"), table.name))
    allowed(floor.choose(new_command("floor"), opened.stream, *boxes))
    allowed(floor.deal(new_command("floor"), opened.stream))


def verified(
    journal: Journal, scope: str, rounds: int, discrepancies: int, *found: str, not_checkable: int = 0
) -> int:
    """Record a run over what there is, with a finding in each of some rounds; the position of the record."""
    findings = [Finding("payouts", "returned", "event 7 box-settled.v1", "300", "200", each) for each in found]
    event = RoundsVerified(
        by="auditor", discrepancies=discrepancies, findings=findings, found=discrepancies, not_checkable=not_checkable,
        rounds=rounds, scope=scope, software="0", to_position=journal.head_position(),
        verified=rounds - discrepancies - not_checkable, whole=scope == WHOLE,
    )  # fmt: skip
    carry_out_one(journal, new_command("auditor"), CODEC, VERIFICATION, lambda _: event)
    return journal.head_position()


def first_round(journal: Journal) -> str:
    """Its id, in hex."""
    [(stream,)] = journal.application.recorder.datastore.rows(
        "select originator_id from dealproof.events where topic = 'round-opened.v1' order by notification_id limit 1"
    )
    return str(stream).removeprefix("round:")
