"""A player's account in one currency: what was paid in and out, and what every round did to it.

One stream `account:<currency>:<player>`.  Each event carries the state after it, so the newest event alone tells the
balance, however old the account is; replay proves that each follows from the one before.  Format:
docs/formats/accounts.md.

What a round has paid out before its end (a bonus, an insurance) beyond its stakes so far stays with the round: its
player may stake it in that round, but neither withdraw it nor stake it elsewhere, so that a void can always take it
back (rule 10.2).

Not here: who moves money in a round and why (`ledger`), the appends (`ops.floor`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import ClassVar, Final

import msgspec

from domain.access import same_person
from domain.codec import Codec, Event
from domain.currency import EXPONENTS
from domain.ledger import BANK, BONUS, CASH, PLAYER, Entry, Line, Move, Wager, jackpot_account, lines
from domain.money import is_amount
from domain.record import is_record_text
from domain.round.refusals import Refusal, RefusalCode

LARGEST_BALANCE: Final = 10**15
"""No deposit goes beyond it and no box is staked from a larger one: what a round can win more stays below 2^53."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


class InPlay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a player has in one open round.

    `before`: the balance before its first stake; `since`: the seq of that stake's event; `reserved`: BETs that insured
    boxes still owe; `staked` and `returned`: so far.
    """

    before: int
    reserved: int
    returned: int
    round: str
    since: int
    staked: int


class AccountState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A balance, and the open rounds in the order of their ids."""

    balance: int
    in_play: list[InPlay]

    def available(self, round_id: str | None = None) -> int:
        """What may be withdrawn, or be staked in a round: less what other open rounds hold; never below zero.

        A round holds what its void would take, or the BETs that it must still get if they are more.
        """
        plays = [play for play in self.in_play if play.round != round_id]
        return self.balance - sum(max(play.returned - play.staked, play.reserved) for play in plays)

    def playing(self, round_id: str) -> InPlay | None:
        """What is in a round, None if nothing is."""
        return next((play for play in self.in_play if play.round == round_id), None)

    @property
    def funds_in_play(self) -> int:
        """Stakes and fees in open rounds."""
        return sum(play.staked for play in self.in_play)


NEW_ACCOUNT: Final = AccountState(0, [])


class AccountEvent(Event, frozen=True):
    """Any fact of an account, with the state after it."""

    after: AccountState


class AccountOpened(AccountEvent, frozen=True, gc=False):
    """An account was opened; a `test` account is counted apart in reports."""

    NAME: ClassVar[str] = "account-opened.v1"

    by: str
    currency: str
    player: str
    test: bool


class FundsDeposited(AccountEvent, frozen=True, gc=False):
    """Money came in at the cashier's desk."""

    NAME: ClassVar[str] = "funds-deposited.v1"

    amount: int
    by: str
    lines: list[Line]
    reference: str


class FundsWithdrawn(AccountEvent, frozen=True, gc=False):
    """Money went out at the cashier's desk."""

    NAME: ClassVar[str] = "funds-withdrawn.v1"

    amount: int
    by: str
    lines: list[Line]
    reference: str


class Against(StrEnum):
    """Which account of the house stands against an adjustment."""

    BANK = BANK
    BONUS = BONUS


class FundsAdjusted(AccountEvent, frozen=True, gc=False):
    """The house added to an account or took from it (a negative amount), for a reason that a second person approved."""

    NAME: ClassVar[str] = "funds-adjusted.v1"

    against: Against
    amount: int
    approver: str
    by: str
    lines: list[Line]
    reason: str
    reference: str


class FundsReversed(AccountEvent, frozen=True, gc=False):
    """An earlier deposit, withdrawal or adjustment (its seq) was undone; `amount` is what the player got by that."""

    NAME: ClassVar[str] = "funds-reversed.v1"

    amount: int
    approver: str
    by: str
    lines: list[Line]
    reason: str
    reference: str
    reverses: int


class Posting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Money of one box and the seq of the round's fact that moved it."""

    amount: int
    box: int
    seq: int
    wager: Wager


class RoundEntry(AccountEvent, frozen=True):
    """Money that a round moved; the kind of event says which way."""

    lines: list[Line]
    postings: list[Posting]
    round: str


class FundsStaked(RoundEntry, frozen=True, gc=False):
    """Stakes and fees went into a round."""

    NAME: ClassVar[str] = "funds-staked.v1"


class FundsReturned(RoundEntry, frozen=True, gc=False):
    """Stakes came back from a round; from a voided one fees as well."""

    NAME: ClassVar[str] = "funds-returned.v1"


class FundsWon(RoundEntry, frozen=True, gc=False):
    """A round paid above the stakes."""

    NAME: ClassVar[str] = "funds-won.v1"


class FundsTakenBack(RoundEntry, frozen=True, gc=False):
    """A round that was voided took back what it had paid before (rule 10.2)."""

    NAME: ClassVar[str] = "funds-taken-back.v1"


class Ending(StrEnum):
    CLOSED = "closed"
    VOIDED = "voided"


class RoundFinished(AccountEvent, frozen=True, gc=False):
    """A player's round has ended: the sums, and the balance before its first stake."""

    NAME: ClassVar[str] = "round-finished.v1"

    before: int
    ending: Ending
    net: int
    number: int
    returned: int
    round: str
    since: int
    staked: int
    table: str


ACCOUNT_EVENTS: Final = (
    AccountOpened, FundsDeposited, FundsWithdrawn, FundsAdjusted, FundsReversed,
    FundsStaked, FundsReturned, FundsWon, FundsTakenBack, RoundFinished,
)  # fmt: skip
CODEC: Final[Codec[AccountEvent]] = Codec(ACCOUNT_EVENTS)

CASH_EVENTS: Final = (FundsDeposited, FundsWithdrawn, FundsAdjusted, FundsReversed)
CashEvent = FundsDeposited | FundsWithdrawn | FundsAdjusted | FundsReversed

ENTRIES: Final[dict[Entry, type[RoundEntry]]] = {
    Entry.STAKED: FundsStaked,
    Entry.RETURNED: FundsReturned,
    Entry.WON: FundsWon,
    Entry.TAKEN_BACK: FundsTakenBack,
}


def account_stream(currency: str, player: str) -> str:
    """The stream of a player's account."""
    return f"account:{currency}:{player}"


def is_name(text: str) -> bool:
    """Whether a text may name a player, a table or a jackpot: 1 to 64 of A-Z a-z 0-9 . _ - , the first no sign."""
    return _NAME.fullmatch(text) is not None


# -- decisions: each gives the event, or why not


def open_account(
    state: AccountState | None, *, player: str, currency: str, by: str, test: bool
) -> AccountOpened | Refusal:
    """A new account.  `state` is what stands under this name already."""
    if not is_name(player):
        return name_refusal("player's name")
    if currency not in EXPONENTS:
        return unknown_currency(currency)
    if state is not None:
        return Refusal(RefusalCode.ACCOUNT_EXISTS, f"Player {player} has an account in {currency}.")
    return AccountOpened(after=NEW_ACCOUNT, by=by, currency=currency, player=player, test=test)


def deposit(state: AccountState, *, amount: int, by: str, reference: str) -> FundsDeposited | Refusal:
    """Money paid in.  `reference` is the cashier's own name for it."""
    refusal = _amount_refusal(amount) or text_refusal("reference", reference)
    refusal = refusal or _balance_refusal(state, amount)
    if refusal is not None:
        return refusal
    entry = lines({PLAYER: amount, CASH: -amount})
    return FundsDeposited(after=_moved(state, amount), amount=amount, by=by, lines=entry, reference=reference)


def withdraw(state: AccountState, *, amount: int, by: str, reference: str) -> FundsWithdrawn | Refusal:
    """Money paid out; what open rounds hold stays."""
    refusal = _amount_refusal(amount) or text_refusal("reference", reference) or _balance_refusal(state, -amount)
    if refusal is not None:
        return refusal
    entry = lines({PLAYER: -amount, CASH: amount})
    return FundsWithdrawn(after=_moved(state, -amount), amount=amount, by=by, lines=entry, reference=reference)


def adjust(
    state: AccountState, *, amount: int, against: Against, by: str, approver: str, reason: str, reference: str
) -> FundsAdjusted | Refusal:
    """A gift (positive) or a charge (negative) that a second person has approved."""
    # What is no whole number has no size; it is refused as it came.
    size = abs(amount) if type(amount) is int else amount
    refusal = _amount_refusal(size) or _approval_refusal(by, approver, reason, reference)
    refusal = refusal or _balance_refusal(state, amount)
    if refusal is not None:
        return refusal
    return FundsAdjusted(
        after=_moved(state, amount),
        against=against,
        amount=amount,
        approver=approver,
        by=by,
        lines=lines({PLAYER: amount, against.value: -amount}),
        reason=reason,
        reference=reference,
    )


def reverse(
    state: AccountState, seq: int, event: AccountEvent | None, *, by: str, approver: str, reason: str, reference: str
) -> FundsReversed | Refusal:
    """Undo the cash event at `seq`, which the caller has found to be undone by none yet."""
    refusal = _approval_refusal(by, approver, reason, reference)
    if refusal is not None:
        return refusal
    if not isinstance(event, CashEvent) or isinstance(event, FundsReversed):
        text = f"Event {seq} of this account is no deposit, withdrawal or adjustment, so it can't be reversed."
        return Refusal(RefusalCode.NOT_REVERSIBLE, text)
    amount = event.amount if isinstance(event, FundsWithdrawn) else -event.amount
    refusal = _balance_refusal(state, amount)
    if refusal is not None:
        return refusal
    against = event.against.value if isinstance(event, FundsAdjusted) else CASH
    return FundsReversed(
        after=_moved(state, amount),
        amount=amount,
        approver=approver,
        by=by,
        lines=lines({PLAYER: amount, against: -amount}),
        reason=reason,
        reference=reference,
        reverses=seq,
    )


def _moved(state: AccountState, amount: int) -> AccountState:
    return AccountState(state.balance + amount, state.in_play)


def _amount_refusal(amount: int) -> Refusal | None:
    if is_amount(amount, LARGEST_BALANCE) and amount > 0:
        return None
    text = f"An amount is a whole number of minor units from 1 to {LARGEST_BALANCE}, not {amount!r}."
    return Refusal(RefusalCode.NOT_WHOLE, text)


def _balance_refusal(state: AccountState, amount: int) -> Refusal | None:
    if amount > 0 and state.balance + amount > LARGEST_BALANCE:
        text = f"A balance of {state.balance} can't grow by {amount}: the most that is kept is {LARGEST_BALANCE}."
        return Refusal(RefusalCode.BALANCE_TOO_LARGE, text)
    if amount < 0 and state.available() + amount < 0:
        held = state.balance - state.available()
        in_rounds = f" ({held} more is held by open rounds)" if held else ""
        text = f"There is {max(state.available(), 0)} available{in_rounds}; {-amount} can't be taken."
        return Refusal(RefusalCode.FUNDS_TOO_LOW, text)
    return None


def _approval_refusal(by: str, approver: str, reason: str, reference: str) -> Refusal | None:
    for what, text in (("approver", approver), ("reference", reference)):
        refusal = text_refusal(what, text)
        if refusal is not None:
            return refusal
    if not reason.strip():
        return Refusal(RefusalCode.REASON_MISSING, "A correction needs its reason.")
    if same_person(approver, by):
        return Refusal(RefusalCode.SAME_PERSON, f"A correction can't be approved by {by}, who makes it.")
    return text_refusal("reason", reason)


def text_refusal(what: str, text: str) -> Refusal | None:
    """Why a text can't stand in a record, None if it can."""
    if is_record_text(text):
        return None
    words = f"A {what} is text in its composed (NFC) form, not blank and of at most 1,000 characters."
    return Refusal(RefusalCode.TEXT_INVALID, words)


def unknown_currency(currency: str) -> Refusal:
    """Why money can't be kept in a currency."""
    return Refusal(RefusalCode.CURRENCY_UNKNOWN, f"Currency {currency!r} is no code of ISO 4217 that is known here.")


def name_refusal(what: str) -> Refusal:
    """Why a text can't be a name."""
    words = f"A {what} has 1 to 64 letters, digits and . _ - (ASCII), the first a letter or a digit."
    return Refusal(RefusalCode.TEXT_INVALID, words)


# -- rounds


class Round(msgspec.Struct, frozen=True, gc=False):
    """What an account notes of a round: its id in hex, its table and number, the table's jackpot."""

    id: str
    table: str
    number: int
    jackpot: str | None


def post(
    state: AccountState,
    seq: int,
    round_: Round,
    moved: Sequence[Move],
    *,
    reserved: int,
    ending: Ending | None,
    from_bank: Mapping[int, int] | None = None,
) -> list[AccountEvent]:
    """What these moves of a round, all of one player, do to the account; `seq` is that of its next event.

    `reserved`: BETs that are owed after them.  `ending`: how the round has ended, None if it goes on.  `from_bank`: by
    box, how much of its jackpot the bank pays, because other rounds have emptied the pot since the deal.  A balance may
    not fall below zero: that is asked before (`available`), and again by the store.
    """
    events: list[AccountEvent] = []
    playing = state.playing(round_.id) or InPlay(state.balance, 0, 0, round_.id, seq, 0)
    balance, others = state.balance, [play for play in state.in_play if play.round != round_.id]
    for entry, chosen in _entries(moved):
        total = sum(move.amount for move in chosen)
        sign = 1 if entry in (Entry.RETURNED, Entry.WON) else -1
        balance += sign * total
        playing = _played(playing, entry, total)
        after = AccountState(balance, _sorted([*others, _with_reserve(playing, reserved)]))
        postings = [Posting(move.amount, move.box, move.seq, move.wager) for move in chosen]
        entry_lines = _lines(chosen, sign, round_, from_bank or {})
        events.append(ENTRIES[entry](after=after, lines=entry_lines, postings=postings, round=round_.id))
    if ending is not None:
        events.append(_finished(AccountState(balance, others), playing, round_, ending))
    return events


def _entries(moved: Sequence[Move]) -> Iterator[tuple[Entry, list[Move]]]:
    """Moves of one way together.  What is staked after a payment comes after it, for it may be paid with it."""
    turns: list[list[Move]] = []
    last: Move | None = None
    for move in moved:
        if last is None or (move.entry is Entry.STAKED and last.entry is not Entry.STAKED):
            turns.append([])
        turns[-1].append(move)
        last = move
    for turn in turns:
        for entry in ENTRIES:
            chosen = [move for move in turn if move.entry is entry]
            if chosen:
                yield entry, chosen


def _played(playing: InPlay, entry: Entry, total: int) -> InPlay:
    staked = playing.staked + (total if entry is Entry.STAKED else 0)
    returned = playing.returned + (total if entry in (Entry.RETURNED, Entry.WON) else 0)
    returned -= total if entry is Entry.TAKEN_BACK else 0
    return InPlay(playing.before, playing.reserved, returned, playing.round, playing.since, staked)


def _with_reserve(play: InPlay, reserved: int) -> InPlay:
    return InPlay(play.before, reserved, play.returned, play.round, play.since, play.staked)


def _sorted(plays: list[InPlay]) -> list[InPlay]:
    return sorted(plays, key=lambda play: play.round)


def _lines(moved: Sequence[Move], sign: int, round_: Round, from_bank: Mapping[int, int]) -> list[Line]:
    amounts = {PLAYER: 0, BANK: 0}
    for move in moved:
        amounts[PLAYER] += sign * move.amount
        of_bank = move.amount
        if move.wager is Wager.JACKPOT and round_.jackpot is not None:
            # Rule 5.3; in a void the whole amount goes to the pot (rule 10.2).
            of_bank = from_bank.get(move.box, 0) if move.entry is Entry.WON else 0
            pool = jackpot_account(round_.jackpot)
            amounts[pool] = amounts.get(pool, 0) - sign * (move.amount - of_bank)
        amounts[BANK] -= sign * of_bank
    return lines(amounts)


def _finished(after: AccountState, playing: InPlay, round_: Round, ending: Ending) -> RoundFinished:
    return RoundFinished(
        after=after,
        before=playing.before,
        ending=ending,
        net=playing.returned - playing.staked,
        number=round_.number,
        returned=playing.returned,
        round=round_.id,
        since=playing.since,
        staked=playing.staked,
        table=round_.table,
    )
