"""How an event of an account, a jackpot or a table must follow from the state before it: it is decided again.

Deposits, withdrawals, corrections and openings are decided again by the same functions that decided them.  Money of a
round is counted again from the event's own postings; whether the round moved just that is asked by who knows the round.

Not here: what a round moves (`checks.ledger` for one round, `accounts` for all of them).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from domain import account as a
from domain import jackpot as j
from domain import table as t
from domain.codec import Event
from domain.ledger import BANK, PLAYER, Entry, Line, Move, jackpot_account, lines
from domain.round.refusals import Refusal, RefusalCode


class Difference(NamedTuple):
    """One field of an event that is not as it should be."""

    field: str
    recorded: object
    recomputed: object


ENTRY_OF: Final = {kind: entry for entry, kind in a.ENTRIES.items()}
"""Which way money went, by the kind of account event."""


def differences(recorded: Event, expected: Event | Refusal) -> Iterator[Difference]:
    """Field by field; a state after an event is looked into."""
    if isinstance(expected, Refusal):
        yield Difference("choice", "done", f"refused ({expected.code}): {expected.text}")
    elif type(recorded) is not type(expected):
        yield Difference("type", recorded.NAME, expected.NAME)
    else:
        for field in recorded.__struct_fields__:
            yield from _between(field, getattr(recorded, field), getattr(expected, field))


def _between(field: str, recorded: object, expected: object) -> Iterator[Difference]:
    if recorded == expected:
        return
    if field == "after" and isinstance(recorded, msgspec.Struct):
        for name in recorded.__struct_fields__:
            yield from _between(f"after.{name}", getattr(recorded, name), getattr(expected, name))
        return
    yield Difference(field, recorded, expected)


def unbalanced(entry: list[Line]) -> Iterator[Difference]:
    """The lines of an entry sum to zero, each ledger account at most once, in the order of their names."""
    total = sum(line.amount for line in entry)
    if total:
        yield Difference("lines", total, 0)
    names = [line.account for line in entry]
    if names != sorted(set(names)):
        yield Difference("lines", names, sorted(set(names)))


# -- accounts


def account_again(
    stream: str, before: a.AccountState | None, seq: int, event: a.AccountEvent, undone: a.AccountEvent | None
) -> a.AccountEvent | Refusal:
    """The event as it should be after `before` (None: a new stream); `undone` is what a reversal names, if known."""
    if isinstance(event, a.AccountOpened):
        currency, _, player = stream.partition(":")[2].partition(":")
        return a.open_account(before, player=player, currency=currency, by=event.by, test=event.test)
    state = a.NEW_ACCOUNT if before is None else before
    match event:
        case a.FundsDeposited():
            return a.deposit(state, amount=event.amount, by=event.by, reference=event.reference)
        case a.FundsWithdrawn():
            return a.withdraw(state, amount=event.amount, by=event.by, reference=event.reference)
        case a.FundsAdjusted():
            return _adjusted_again(state, event)
        case a.FundsReversed():
            return _reversed_again(state, event, undone)
        case a.RoundFinished():
            round_ = a.Round(event.round, event.table, event.number, None)
            return a.post(state, seq, round_, [], reserved=0, ending=event.ending)[-1]
        case a.RoundEntry():
            return _entry_again(state, seq, event)
    return event


def _adjusted_again(state: a.AccountState, event: a.FundsAdjusted) -> a.AccountEvent | Refusal:
    return a.adjust(
        state,
        amount=event.amount,
        against=event.against,
        by=event.by,
        approver=event.approver,
        reason=event.reason,
        reference=event.reference,
    )


def _reversed_again(
    state: a.AccountState, event: a.FundsReversed, undone: a.AccountEvent | None
) -> a.AccountEvent | Refusal:
    if undone is None or not _may_be_undone(undone):
        # What it undoes lies outside of what the caller reads, or is named itself: the amount is the event's own.
        after = a.AccountState(state.balance + event.amount, state.in_play)
        return msgspec.structs.replace(event, after=after)
    return a.reverse(
        state,
        event.reverses,
        undone,
        by=event.by,
        approver=event.approver,
        reason=event.reason,
        reference=event.reference,
    )


def _may_be_undone(event: a.AccountEvent) -> bool:
    """Whether its lines can be turned round; those of a forged event may be anything."""
    if not isinstance(event, a.CashEvent):
        return True  # it is refused before its lines are looked at
    return not list(unbalanced(event.lines)) and any(line.account == PLAYER for line in event.lines)


def _entry_again(state: a.AccountState, seq: int, event: a.RoundEntry) -> a.AccountEvent:
    """Counted again from its own postings; which house accounts stand against the player is not known here."""
    entry = ENTRY_OF[type(event)]
    moved = [Move(each.seq, each.box, "", entry, each.wager, each.amount) for each in event.postings]
    playing = event.after.playing(event.round)
    reserved = 0 if playing is None else playing.reserved
    if not moved:
        return msgspec.structs.replace(event, after=state)
    again = a.post(state, seq, a.Round(event.round, "", 0, None), moved, reserved=reserved, ending=None)[0]
    if player_amount(event.lines) == total_of(event):
        return msgspec.structs.replace(again, lines=event.lines)
    return again


def total_of(event: a.RoundEntry) -> int:
    """What the player got by an entry of a round."""
    total = sum(posting.amount for posting in event.postings)
    return total if ENTRY_OF[type(event)] in (Entry.RETURNED, Entry.WON) else -total


def player_amount(entry: list[Line]) -> int:
    """What the player got by the lines of an entry."""
    return sum(line.amount for line in entry if line.account == PLAYER)


# -- jackpots


def jackpot_again(stream: str, before: j.JackpotState | None, event: j.JackpotEvent) -> j.JackpotEvent | Refusal:
    """The event as it should be after `before`, counted again from its own amounts."""
    name = stream.partition(":")[2]
    if isinstance(event, j.JackpotOpened):
        after = event.after
        return j.open_jackpot(
            before, jackpot=name, currency=after.currency, seed_amount=after.seed_amount, by=event.by
        )
    state = event.after if before is None else before
    pot = jackpot_account(name)
    match event:
        case j.JackpotFed():
            entry = lines({BANK: -event.amount, pot: event.amount})
            return msgspec.structs.replace(event, after=_with_pot(state, event.amount), lines=entry)
        case j.JackpotPaid():
            return msgspec.structs.replace(event, after=_with_pot(state, -event.from_pot))
        case j.JackpotRestarted():
            return restarted(state, name, event.round)
        case j.JackpotReversed():
            after = _with_pot(state, event.winnings - event.contributions)
            entry = lines({BANK: event.contributions, pot: -event.contributions})
            return msgspec.structs.replace(event, after=after, lines=entry)
    return event


def restarted(state: j.JackpotState, name: str, round_id: str) -> j.JackpotRestarted:
    """Rule 5.3: the pot filled up to its seed amount."""
    missing = state.seed_amount - state.pot
    entry = lines({BANK: -missing, jackpot_account(name): missing})
    return j.JackpotRestarted(after=_with_pot(state, missing), amount=missing, lines=entry, round=round_id)


def _with_pot(state: j.JackpotState, more: int) -> j.JackpotState:
    return j.JackpotState(state.currency, state.pot + more, state.seed_amount)


# -- tables


def table_again(before: t.TableState | None, seq: int, event: t.TableEvent, number: int) -> t.TableEvent | Refusal:
    """The event as it should be after `before`; what its settings say was decided with what stood then.

    `number`: of the last round that was opened under the table's name before the table was kept.
    """
    if isinstance(event, t.TableOpened):
        after = t.TableState(False, number, 0)
        return msgspec.structs.replace(event, after=after) if before is None else _opened_twice()
    state = event.after if before is None else before
    if state.closed and before is not None:
        return Refusal(RefusalCode.TABLE_CLOSED, "The table is closed.")
    after = {
        t.TableChanged: t.TableState(False, state.number, seq),
        t.TableClosed: t.TableState(True, state.number, state.settings),
        t.RoundNumbered: t.TableState(False, state.number + (before is not None), state.settings),
    }[type(event)]
    return msgspec.structs.replace(event, after=after)


def _opened_twice() -> Refusal:
    return Refusal(RefusalCode.TABLE_EXISTS, "The table was opened before.")
