"""A table: under which ruleset, limits, currency and jackpot its rounds are opened, and how many were.

One stream `table:<name>`.  Each event carries the state after it.  A change holds for rounds opened afterwards: a round
pins its ruleset's digest and its limits when it is opened.  Every round is numbered here, so a table's numbers are
dense, and a table that is closed or changed at the same moment can't open a round by the way.  Format:
docs/formats/accounts.md.

Not here: the rounds themselves (`round`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

import msgspec

from domain.account import is_name, name_refusal, text_refusal, unknown_currency
from domain.codec import Codec, Event
from domain.currency import EXPONENTS
from domain.jackpot import JackpotState
from domain.round.refusals import Refusal, RefusalCode
from domain.ruleset import Limits, Ruleset, limits_problems

LONGEST_WAIT: Final = 30 * 24 * 3600
"""Seconds: a table may call a round abandoned after thirty days at the latest."""


class Abandoned(StrEnum):
    """The table's published policy for a round whose player has left (rule 10.1)."""

    FOLD = "fold"
    """Each box that must choose folds; where it may not, it bets.  It buys nothing and takes the ante."""

    BET = "bet"
    """Each box that must choose bets on the cards it has, or folds where its player's funds don't reach."""

    VOID = "void"
    """The round is voided."""


class TableSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What holds for rounds that are opened.  `jackpot` names one where the ruleset's bonus may win it."""

    abandoned: Abandoned
    abandoned_after: int
    currency: str
    jackpot: str | None
    limits: Limits
    ruleset: str


class TableState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """`number`: of the last round, 0 before the first; `settings`: the seq of the event that has them."""

    closed: bool
    number: int
    settings: int


class TableEvent(Event, frozen=True):
    """Any fact of a table, with the state after it."""

    after: TableState


class TableOpened(TableEvent, frozen=True, gc=False):
    """A table was opened."""

    NAME: ClassVar[str] = "table-opened.v1"

    by: str
    reason: str
    settings: TableSettings


class TableChanged(TableEvent, frozen=True, gc=False):
    """Rounds opened from now on are played under these settings."""

    NAME: ClassVar[str] = "table-changed.v1"

    by: str
    reason: str
    settings: TableSettings


class TableClosed(TableEvent, frozen=True, gc=False):
    """No round is opened here any more; those that run are finished."""

    NAME: ClassVar[str] = "table-closed.v1"

    by: str
    reason: str


class RoundNumbered(TableEvent, frozen=True, gc=False):
    """A round was opened under the table's next number."""

    NAME: ClassVar[str] = "round-numbered.v1"

    round: str


TABLE_EVENTS: Final = (TableOpened, TableChanged, TableClosed, RoundNumbered)
CODEC: Final[Codec[TableEvent]] = Codec(TABLE_EVENTS)


def table_stream(table: str) -> str:
    """The stream of a table."""
    return f"table:{table}"


def open_table(
    state: TableState | None,
    settings: TableSettings,
    *,
    table: str,
    ruleset: Ruleset,
    jackpot: JackpotState | None,
    by: str,
    reason: str,
    number: int = 0,
) -> TableOpened | Refusal:
    """A new table.  `state`: what stands under this name; `ruleset` and `jackpot` are those that the settings name.

    `number`: of the last round that was opened under this name before the table was kept.
    """
    if not is_name(table):
        return name_refusal("table's name")
    if state is not None:
        return Refusal(RefusalCode.TABLE_EXISTS, f"There is a table {table} already.")
    refusal = _reason_refusal(reason) or settings_refusal(settings, ruleset, jackpot)
    if refusal is not None:
        return refusal
    return TableOpened(after=TableState(False, number, 0), by=by, reason=reason, settings=settings)


def change_table(
    state: TableState,
    seq: int,
    old: TableSettings,
    settings: TableSettings,
    *,
    table: str,
    ruleset: Ruleset,
    jackpot: JackpotState | None,
    by: str,
    reason: str,
) -> TableChanged | Refusal:
    """New settings from the next round on; `seq` is that of the event."""
    if state.closed:
        return closed_refusal(table)
    if settings.currency not in EXPONENTS:
        return unknown_currency(settings.currency)
    if settings.currency != old.currency:
        text = f"Table {table} is played in {old.currency}; open another table for {settings.currency}."
        return Refusal(RefusalCode.CURRENCY_OTHER, text)
    refusal = _reason_refusal(reason) or settings_refusal(settings, ruleset, jackpot)
    if refusal is not None:
        return refusal
    return TableChanged(after=TableState(False, state.number, seq), by=by, reason=reason, settings=settings)


def close_table(state: TableState, *, table: str, by: str, reason: str) -> TableClosed | Refusal:
    """No more rounds."""
    if state.closed:
        return closed_refusal(table)
    return _reason_refusal(reason) or TableClosed(
        after=TableState(True, state.number, state.settings), by=by, reason=reason
    )


def number_round(state: TableState, *, table: str, round_id: str) -> RoundNumbered | Refusal:
    """The next round's number is `after.number`."""
    if state.closed:
        return closed_refusal(table)
    return RoundNumbered(after=TableState(False, state.number + 1, state.settings), round=round_id)


def closed_refusal(table: str) -> Refusal:
    """Nothing begins at a closed table."""
    return Refusal(RefusalCode.TABLE_CLOSED, f"Table {table} is closed.")


def settings_refusal(settings: TableSettings, ruleset: Ruleset, jackpot: JackpotState | None) -> Refusal | None:
    """What is wrong with settings: the first thing that is."""
    if settings.currency not in EXPONENTS:
        return unknown_currency(settings.currency)
    problems = limits_problems(settings.limits, "limits")
    if problems:
        return Refusal(RefusalCode.LIMITS_INVALID, f"{problems[0]}.")
    if not 1 <= settings.abandoned_after <= LONGEST_WAIT:
        text = f"A round is called abandoned after 1 to {LONGEST_WAIT} seconds, not {settings.abandoned_after}."
        return Refusal(RefusalCode.TABLE_INVALID, text)
    return _jackpot_refusal(settings, ruleset, jackpot)


def _jackpot_refusal(settings: TableSettings, ruleset: Ruleset, jackpot: JackpotState | None) -> Refusal | None:
    if settings.jackpot is None:
        if not ruleset.jackpot_shares:
            return None
        text = f"The bonus of {ruleset.name} can win a jackpot, so the table needs one."
        return Refusal(RefusalCode.TABLE_INVALID, text)
    if not ruleset.jackpot_shares:
        return Refusal(RefusalCode.TABLE_INVALID, f"No bonus of {ruleset.name} wins a jackpot; leave it out.")
    if jackpot is None:
        return Refusal(RefusalCode.JACKPOT_UNKNOWN, f"There is no jackpot {settings.jackpot!r}.")
    if jackpot.currency != settings.currency:
        text = f"Jackpot {settings.jackpot} is kept in {jackpot.currency}, not in {settings.currency}."
        return Refusal(RefusalCode.CURRENCY_OTHER, text)
    return None


def _reason_refusal(reason: str) -> Refusal | None:
    if not reason.strip():
        return Refusal(RefusalCode.REASON_MISSING, "A table is opened, changed or closed for a reason.")
    return text_refusal("reason", reason)
