"""The cashier's desk: accounts are opened, money comes in and goes out, mistakes are set right.

    cashier = Cashier(journal)
    cashier.deposit(Command("req-7", body, "anna"), "EUR", "player-1", 10_000, "receipt 118")

Not here: what may be done (`domain.account`), money that rounds move (`ops.floor`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from domain import account as a
from domain.account import AccountEvent, AccountState, account_stream, is_name, name_refusal, unknown_currency
from domain.currency import EXPONENTS
from domain.record import LARGEST_INTEGER
from domain.round.refusals import Refusal, RefusalCode
from ops.commands import Command, carry_out_one, newest
from ops.journal import Journal, Stored


@dataclass(frozen=True)
class AccountDone:
    """An account after an event of its own: the state, the event, its place and time."""

    currency: str
    player: str
    seq: int
    at: str
    event: AccountEvent

    @property
    def state(self) -> AccountState:
        """Balance and what is in play."""
        return self.event.after


def _anybody(_: str) -> bool:
    return True


class Cashier:
    """Works on a journal; safe to share among threads."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    # -- reading

    def account(self, currency: str, player: str) -> AccountDone | None:
        """An account as it stands, None if there is none.  One lookup, however old the account is."""
        stored = newest(self.journal, account_stream(currency, player))
        return None if stored is None else read_account(stored)

    def statement(
        self,
        currency: str,
        player: str,
        limit: int,
        before: int | None = None,
        kinds: tuple[type[AccountEvent], ...] = (),
    ) -> list[AccountDone]:
        """Events of an account, newest first, below the seq `before`; of some kinds only, if any are named."""
        stream = account_stream(currency, player)
        types = [kind.NAME for kind in kinds]
        return [read_account(stored) for stored in self.journal.read_page(stream, limit, before=before, types=types)]

    # -- commands

    def open_account(
        self, command: Command, currency: str, player: str, *, test: bool = False
    ) -> AccountDone | Refusal:
        """A new account; `test` accounts are counted apart in reports."""

        def decide(head: AccountDone | None) -> AccountEvent | Refusal:
            state = None if head is None else head.state
            return a.open_account(state, player=player, currency=currency, by=command.by, test=test)

        return self._carry_out(command, currency, player, decide)

    def deposit(
        self, command: Command, currency: str, player: str, amount: int, reference: str
    ) -> AccountDone | Refusal:
        """Money paid in, in minor units."""
        return self._on_account(
            command,
            currency,
            player,
            lambda state: a.deposit(state, amount=amount, by=command.by, reference=reference),
        )

    def withdraw(
        self, command: Command, currency: str, player: str, amount: int, reference: str
    ) -> AccountDone | Refusal:
        """Money paid out, in minor units."""
        return self._on_account(
            command,
            currency,
            player,
            lambda state: a.withdraw(state, amount=amount, by=command.by, reference=reference),
        )

    def adjust(
        self,
        command: Command,
        currency: str,
        player: str,
        amount: int,
        *,
        against: a.Against,
        approver: str,
        reason: str,
        reference: str,
        may_approve: Callable[[str], bool] = _anybody,
    ) -> AccountDone | Refusal:
        """Money given (positive) or taken (negative), approved by another person."""

        def decide(state: AccountState) -> AccountEvent | Refusal:
            if not may_approve(approver):
                return _no_approver(approver)
            return a.adjust(
                state,
                amount=amount,
                against=against,
                by=command.by,
                approver=approver,
                reason=reason,
                reference=reference,
            )

        return self._on_account(command, currency, player, decide)

    def reverse(
        self,
        command: Command,
        currency: str,
        player: str,
        seq: int,
        *,
        approver: str,
        reason: str,
        reference: str,
        may_approve: Callable[[str], bool] = _anybody,
    ) -> AccountDone | Refusal:
        """Undo the deposit, withdrawal or adjustment at `seq`, once."""
        stream = account_stream(currency, player)

        def decide(state: AccountState) -> AccountEvent | Refusal:
            if not may_approve(approver):
                return _no_approver(approver)
            stored = self.journal.read_event(stream, seq) if 0 <= seq <= LARGEST_INTEGER else None
            event = None if stored is None else a.CODEC.decode(stored.record.body).data
            if self._is_reversed(stream, seq):
                return Refusal(RefusalCode.ALREADY_REVERSED, f"Event {seq} of this account is reversed already.")
            by = command.by
            return a.reverse(state, seq, event, by=by, approver=approver, reason=reason, reference=reference)

        return self._on_account(command, currency, player, decide)

    def _is_reversed(self, stream: str, seq: int) -> bool:
        """Whether a later event undoes this one.  Reads the account's cash events behind it, newest first."""
        before: int | None = None
        types = [kind.NAME for kind in a.CASH_EVENTS]
        while page := self.journal.read_page(stream, 200, before=before, types=types):
            for stored in page:
                if stored.record.seq <= seq:
                    return False
                event = a.CODEC.decode(stored.record.body).data
                if isinstance(event, a.FundsReversed) and event.reverses == seq:
                    return True
            before = page[-1].record.seq
        return False

    def _on_account(
        self, command: Command, currency: str, player: str, decide: Callable[[AccountState], AccountEvent | Refusal]
    ) -> AccountDone | Refusal:
        def on_known(head: AccountDone | None) -> AccountEvent | Refusal:
            return unknown_account(currency, player) if head is None else decide(head.state)

        return self._carry_out(command, currency, player, on_known)

    def _carry_out(
        self,
        command: Command,
        currency: str,
        player: str,
        decide: Callable[[AccountDone | None], AccountEvent | Refusal],
    ) -> AccountDone | Refusal:
        def decide_here(stored: Stored | None) -> AccountEvent | Refusal:
            if not is_name(player):
                return name_refusal("player's name")
            if currency not in EXPONENTS:
                return unknown_currency(currency)
            return decide(None if stored is None else read_account(stored))

        stream = account_stream(currency, player)
        carried = carry_out_one(self.journal, command, a.CODEC, stream, decide_here)
        return carried if isinstance(carried, Refusal) else read_account(carried.last)


def _no_approver(person: str) -> Refusal:
    text = f"Whoever approves a correction has a key of the cashier's or the back office's; {person!r} has none."
    return Refusal(RefusalCode.NO_APPROVER, text)


def read_account(stored: Stored) -> AccountDone:
    """An event of an account as a value."""
    record = a.CODEC.decode(stored.record.body)
    _, currency, player = stored.record.stream.split(":", 2)
    return AccountDone(currency, player, stored.record.seq, record.at, record.data)


def unknown_account(currency: str, player: str) -> Refusal:
    """There is no such account."""
    return Refusal(RefusalCode.ACCOUNT_UNKNOWN, f"Player {player} has no account in {currency}.")
