"""Tables and rulesets: opened by two people's word, changed for later rounds, closed without hurting the running ones.

Not here: what the limits mean in a round (`tests/rules`), abandoned rounds (`test_abandoned_rounds`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from domain import activation as v
from domain import table as t
from domain.round.refusals import RefusalCode
from domain.rulesets import released_rulesets
from domain.table import LONGEST_WAIT
from ops.pit import TableDone
from ops.rulesets import publish
from tests.ops.floor.casino import (
    GAMES,
    JACKPOT,
    MULTIBOX,
    OPEN,
    RUSSIAN,
    Casino,
    all_at_once,
    box,
    done,
    house_version,
    limits,
    refused,
    settings,
)

Code = RefusalCode


def table_events(casino: Casino, table: str) -> list[Any]:
    """The facts of a table, in order."""
    return [t.CODEC.decode(stored.record.body).data for stored in casino.journal.read_stream(f"table:{table}")]


# -- rulesets


def test_two_people_activate_a_ruleset_and_their_reasons_are_kept(casino: Casino) -> None:
    pit, ruleset = casino.floor.pit, house_version(RUSSIAN, "spring")
    publish(casino.journal, ruleset)
    assert (published := pit.ruleset("spring@1")) is not None and not published.active

    done(pit.propose_ruleset(casino.command("olga"), "spring@1", "new season"))
    made = done(pit.approve_ruleset(casino.command("pavel"), "spring@1", "checked against the page"))

    stored = casino.journal.read_stream("ruleset:spring@1")
    facts = [v.CODEC.decode(event.record.body) for event in stored]
    assert [type(fact.data) for fact in facts] == [v.RulesetPublished, v.ActivationProposed, v.RulesetActivated]
    assert facts[1].data == v.ActivationProposed("olga", "new season")
    assert facts[2].data == v.RulesetActivated("pavel", "olga", "checked against the page")
    assert made.active and made.at == facts[2].at >= facts[1].at
    casino.open_table("spring", settings("spring@1"))


def test_nobody_activates_a_ruleset_alone(casino: Casino) -> None:
    """The one who proposed last is not the one who approves, whoever proposed before."""
    pit = casino.floor.pit
    publish(casino.journal, house_version(RUSSIAN, "spring"))

    refused(pit.approve_ruleset(casino.command("olga"), "spring@1", "r"), Code.NOT_PROPOSED)
    done(pit.propose_ruleset(casino.command("olga"), "spring@1", "r"))
    refused(pit.approve_ruleset(casino.command("olga"), "spring@1", "r"), Code.SAME_PERSON)
    done(pit.propose_ruleset(casino.command("pavel"), "spring@1", "r"))
    refused(pit.approve_ruleset(casino.command("pavel"), "spring@1", "r"), Code.SAME_PERSON)
    refused(
        pit.open_table(casino.command(), "spring", settings("spring@1"), "r"), Code.RULESET_NOT_ACTIVE
    )
    done(pit.approve_ruleset(casino.command("olga"), "spring@1", "r"))


def test_what_is_no_version_or_active_already_is_not_activated(casino: Casino) -> None:
    pit = casino.floor.pit
    for name in ("none@1", "", "\0", "\ud800", "russian-poker@2"):
        refused(pit.propose_ruleset(casino.command("olga"), name, "r"), Code.RULESET_UNKNOWN)
    for ask in (pit.propose_ruleset, pit.approve_ruleset):
        refused(ask(casino.command("olga"), "russian-poker@1", "r"), Code.RULESET_ACTIVE)
    publish(casino.journal, house_version(RUSSIAN, "spring"))
    refused(pit.propose_ruleset(casino.command("olga"), "spring@1", " "), Code.REASON_MISSING)
    refused(pit.propose_ruleset(casino.command("olga"), "spring@1", "\ud800"), Code.TEXT_INVALID)


# -- tables


def test_a_table_says_who_opened_changed_and_closed_it_and_why(casino: Casino) -> None:
    pit = casino.floor.pit
    wide = settings(RUSSIAN, limits=limits(ante_max=500))
    done(pit.open_table(casino.command("olga"), "vip", settings(RUSSIAN), "opening"))
    changed = done(pit.change_table(casino.command("pavel"), "vip", wide, "a quiet evening"))
    closed = done(pit.close_table(casino.command("olga"), "vip", "the season is over"))

    assert table_events(casino, "vip") == [
        t.TableOpened(t.TableState(False, 0, 0), "olga", "opening", settings(RUSSIAN)),
        t.TableChanged(t.TableState(False, 0, 1), "pavel", "a quiet evening", wide),
        t.TableClosed(t.TableState(True, 0, 1), "olga", "the season is over"),
    ]
    assert (changed.settings, closed.settings) == (wide, wide)
    assert pit.table("vip") == closed


REFUSED: dict[str, tuple[Code, str, Any]] = {
    "the name of another": (Code.TABLE_EXISTS, OPEN, settings(OPEN, JACKPOT)),
    "a name that is none": (Code.TEXT_INVALID, "a:b", settings(RUSSIAN)),
    "a NUL": (Code.TEXT_INVALID, "a\0", settings(RUSSIAN)),
    "half a pair": (Code.TEXT_INVALID, "\ud800", settings(RUSSIAN)),
    "no such ruleset": (Code.RULESET_UNKNOWN, "vip", settings("none@1")),
    "a ruleset of NULs": (Code.RULESET_UNKNOWN, "vip", settings("\0@1")),
    "no such currency": (Code.CURRENCY_UNKNOWN, "vip", settings(RUSSIAN, currency="XXX")),
    "limits upside down": (Code.LIMITS_INVALID, "vip", settings(RUSSIAN, limits=limits(ante_min=500, ante_max=100))),
    "no wait": (Code.TABLE_INVALID, "vip", settings(RUSSIAN, abandoned_after=0)),
    "too long a wait": (Code.TABLE_INVALID, "vip", settings(RUSSIAN, abandoned_after=LONGEST_WAIT + 1)),
    "a jackpot for nothing": (Code.TABLE_INVALID, "vip", settings(RUSSIAN, JACKPOT)),
    "no jackpot": (Code.TABLE_INVALID, "vip", settings(OPEN)),
    "no such jackpot": (Code.JACKPOT_UNKNOWN, "vip", settings(OPEN, "\ud800")),
    "a jackpot in euros": (Code.CURRENCY_OTHER, "vip", settings(OPEN, JACKPOT, currency="USD")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_table_that_could_not_be_played_is_not_opened(casino: Casino, case: str) -> None:
    code, table, given = REFUSED[case]
    before = casino.written()

    refused(casino.floor.pit.open_table(casino.command(), table, given, "r"), code)

    assert casino.written() == before


def test_a_change_is_held_to_the_same_and_keeps_the_currency(casino: Casino) -> None:
    pit = casino.floor.pit
    for case in REFUSED.values():
        code, table, given = case
        if table == "vip" and given.currency == "EUR":
            refused(pit.change_table(casino.command(), RUSSIAN, given, "r"), code)
    for currency, code in (("USD", Code.CURRENCY_OTHER), ("\ud800", Code.CURRENCY_UNKNOWN)):
        refused(pit.change_table(casino.command(), RUSSIAN, settings(RUSSIAN, currency=currency), "r"), code)
    for table in ("none", "\0", ""):
        refused(pit.change_table(casino.command(), table, settings(RUSSIAN), "r"), Code.TABLE_UNKNOWN)
        refused(pit.close_table(casino.command(), table, "r"), Code.TABLE_UNKNOWN)
        refused(casino.floor.open_round(casino.command(), table), Code.TABLE_UNKNOWN)
        assert pit.table(table) is None
    refused(pit.close_table(casino.command(), RUSSIAN, ""), Code.REASON_MISSING)


def test_a_change_that_did_not_see_the_last_one_is_refused(casino: Casino) -> None:
    """`expected` is the seq of the settings that the sender saw; rounds that were opened meanwhile don't matter."""
    pit = casino.floor.pit
    seen = pit.table(RUSSIAN)
    assert seen is not None
    casino.open(RUSSIAN)
    wide = settings(RUSSIAN, limits=limits(ante_max=500))

    done(pit.change_table(casino.command(), RUSSIAN, wide, "r", expected=seen.state.settings))
    answer = pit.change_table(casino.command(), RUSSIAN, wide, "r", expected=seen.state.settings)

    refused(answer, Code.TABLE_CHANGED)


def test_a_change_of_game_holds_for_the_next_round(casino: Casino) -> None:
    """A round is played out under the game, the limits and the jackpot that it was opened with."""
    before = casino.open(RUSSIAN)
    casino.change(RUSSIAN, settings(OPEN, JACKPOT))
    after = casino.open(RUSSIAN)

    assert (before.ruleset.name, after.ruleset.name) == ("russian-poker@1", "open-russian-poker@1")
    casino.place(before.stream, box(1, bonus=100))
    casino.place(after.stream, box(1, bonus=100), box(2, "boris"))
    for opened in (before, after):
        ended = casino.played_out(casino.deal(opened.stream), Random(1))
        assert casino.status(ended.stream).value == "verified"
    assert [type(event).__name__ for event in casino.jackpot_events()] == ["JackpotOpened", "JackpotFed"]


def test_the_numbers_of_a_table_are_dense_from_one(casino: Casino) -> None:
    for number in range(1, 4):
        opened = casino.open(RUSSIAN)
        assert opened.state.opened is not None and opened.state.opened.number == number
        casino.change(RUSSIAN, settings(RUSSIAN))
    assert casino.journal.stream_of(RUSSIAN, 3) == opened.stream


def test_a_table_goes_on_with_the_numbers_of_before_it_was_kept(casino: Casino) -> None:
    ruleset = released_rulesets()["russian-poker@1"]
    for number in (1, 2):
        done(casino.floor.house.open_round(ruleset, table="old", number=number, limits=limits(), currency="EUR"))

    casino.open_table("old", settings(RUSSIAN))

    opened = casino.open("old").state.opened
    assert opened is not None and opened.number == 3


def test_a_closed_table_finishes_its_rounds_and_opens_no_more(casino: Casino) -> None:
    waiting, dealt = casino.open(MULTIBOX), casino.dealt(MULTIBOX, box(1))
    done(casino.floor.pit.close_table(casino.command("olga"), MULTIBOX, "the season is over"))

    casino.place(waiting.stream, box(1, "boris"))
    for made in (casino.deal(waiting.stream), dealt):
        assert casino.status(casino.played_out(made, Random(1)).stream).value == "verified"
    refused(casino.floor.open_round(casino.command(), MULTIBOX), Code.TABLE_CLOSED)
    refused(casino.floor.pit.close_table(casino.command(), MULTIBOX, "r"), Code.TABLE_CLOSED)
    refused(casino.floor.pit.change_table(casino.command(), MULTIBOX, settings(MULTIBOX), "r"), Code.TABLE_CLOSED)
    refused(casino.floor.pit.open_table(casino.command(), MULTIBOX, settings(MULTIBOX), "r"), Code.TABLE_EXISTS)


def test_no_round_is_opened_behind_the_closing_of_its_table(casino: Casino) -> None:
    """Ten rounds are opened by two workers while the table is closed: each before it, or not at all."""
    with casino.another_worker() as other:
        commands = [casino.command() for _ in range(11)]
        opening: list[Callable[[], object]] = [
            partial(floor.open_round, command, RUSSIAN)
            for floor, command in zip([casino.floor, other] * 5, commands, strict=False)
        ]
        opening.insert(5, lambda: other.pit.close_table(commands[-1], RUSSIAN, "the season is over"))
        answers = all_at_once(*opening)

    facts = table_events(casino, RUSSIAN)
    assert isinstance(facts[-1], t.TableClosed)
    assert [fact.after.number for fact in facts[1:-1]] == list(range(1, len(facts) - 1))
    assert len(casino.journal.open_rounds()) == len(facts) - 2
    codes = [answer.code for answer in answers if hasattr(answer, "code")]
    assert codes == [Code.TABLE_CLOSED] * (12 - len(facts))
    assert sum(isinstance(answer, TableDone) for answer in answers) == 1


def test_tables_and_rulesets_are_listed_in_order(casino: Casino) -> None:
    pit = casino.floor.pit
    assert [each.table for each in pit.tables("", 2)] == sorted(GAMES)[:2]
    assert [each.table for each in pit.tables(sorted(GAMES)[1], 9)] == sorted(GAMES)[2:]
    assert [each.name for each in pit.rulesets("", 9)] == sorted(released_rulesets())
    assert [each.jackpot for each in pit.jackpots("", 9)] == [JACKPOT]
