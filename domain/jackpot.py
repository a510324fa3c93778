"""A jackpot: a pot that bonus stakes feed, that some hands win, and that starts again from its seed amount.

One stream `jackpot:<id>`; several tables may feed it.  Each event carries the pot after it.  Source: docs/rules, clause
5.3; format: docs/formats/accounts.md.

A box's share follows from the pot as it stood at its deal (rule 5.3).  Where a box shows its hand later than another
round has taken from the pot, the pot pays what it has and the bank the rest: who was promised a pot gets it, and no pot
is ever paid out twice.

Not here: what a winning box is paid (`settlement`), the winner's account (`account`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec

from domain.account import is_name, name_refusal, unknown_currency
from domain.codec import Codec, Event
from domain.currency import EXPONENTS
from domain.hands import COMBINATION_BY_NAME
from domain.ledger import BANK, Line, jackpot_account, lines
from domain.money import LARGEST_POT, is_amount
from domain.round import events as e
from domain.round.refusals import Refusal, RefusalCode
from domain.ruleset import Ruleset

LARGEST_SEED_AMOUNT: Final = LARGEST_POT // 10
"""What is fed on top must not take a pot beyond the largest one, which no round may be dealt with."""


class JackpotState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The pot; currency and seed amount never change."""

    currency: str
    pot: int
    seed_amount: int


class JackpotEvent(Event, frozen=True):
    """Any fact of a jackpot, with the state after it."""

    after: JackpotState


class JackpotOpened(JackpotEvent, frozen=True, gc=False):
    """The bank put the seed amount into a new pot."""

    NAME: ClassVar[str] = "jackpot-opened.v1"

    by: str
    lines: list[Line]


class JackpotFed(JackpotEvent, frozen=True, gc=False):
    """A round was dealt: its shares follow from the pot before, its contributions went in (0 where all round down)."""

    NAME: ClassVar[str] = "jackpot-fed.v1"

    amount: int
    lines: list[Line]
    round: str


class JackpotPaid(JackpotEvent, frozen=True, gc=False):
    """A box won.  The winner's account has the lines; `from_bank` is what the pot no longer had."""

    NAME: ClassVar[str] = "jackpot-paid.v1"

    box: int
    from_bank: int
    from_pot: int
    round: str
    seq: int


class JackpotRestarted(JackpotEvent, frozen=True, gc=False):
    """The whole pot was won, and the bank filled it up to its seed amount."""

    NAME: ClassVar[str] = "jackpot-restarted.v1"

    amount: int
    lines: list[Line]
    round: str


class JackpotReversed(JackpotEvent, frozen=True, gc=False):
    """A round was voided: its contributions went back to the bank, what it had won came back into the pot.

    `winnings` moved with the winners' accounts, which have those lines.
    """

    NAME: ClassVar[str] = "jackpot-reversed.v1"

    contributions: int
    lines: list[Line]
    round: str
    winnings: int


JACKPOT_EVENTS: Final = (JackpotOpened, JackpotFed, JackpotPaid, JackpotRestarted, JackpotReversed)
CODEC: Final[Codec[JackpotEvent]] = Codec(JACKPOT_EVENTS)


def jackpot_stream(jackpot: str) -> str:
    """The stream of a jackpot."""
    return f"jackpot:{jackpot}"


def open_jackpot(
    state: JackpotState | None, *, jackpot: str, currency: str, seed_amount: int, by: str
) -> JackpotOpened | Refusal:
    """A new jackpot.  `state` is what stands under this name already."""
    if not is_name(jackpot):
        return name_refusal("jackpot's name")
    if currency not in EXPONENTS:
        return unknown_currency(currency)
    if not is_amount(seed_amount, LARGEST_SEED_AMOUNT):
        text = f"A seed amount is a whole number of minor units from 0 to {LARGEST_SEED_AMOUNT}, not {seed_amount!r}."
        return Refusal(RefusalCode.NOT_WHOLE, text)
    if state is not None:
        return Refusal(RefusalCode.JACKPOT_EXISTS, f"There is a jackpot {jackpot} already.")
    entry = lines({BANK: -seed_amount, jackpot_account(jackpot): seed_amount})
    return JackpotOpened(after=JackpotState(currency, seed_amount, seed_amount), by=by, lines=entry)


def follow(
    state: JackpotState, jackpot: str, round_id: str, events: Sequence[e.RoundEvent], first_seq: int, ruleset: Ruleset
) -> list[JackpotEvent]:
    """What these events of a round do to its table's jackpot."""
    found: list[JackpotEvent] = []
    for seq, event in enumerate(events, first_seq):
        made: JackpotEvent | None = None
        if isinstance(event, e.CardsDealt):
            contributed = sum(fact.amount for fact in events if isinstance(fact, e.JackpotContributed))
            made = _fed(state, jackpot, round_id, contributed)
        elif isinstance(event, e.JackpotWon):
            made = _paid(state, round_id, event, seq)
        if made is not None:
            found.append(made)
            state = made.after
    return found + _restarted(state, jackpot, round_id, events, ruleset)


def _fed(state: JackpotState, jackpot: str, round_id: str, amount: int) -> JackpotFed:
    entry = lines({BANK: -amount, jackpot_account(jackpot): amount})
    return JackpotFed(after=_with_pot(state, state.pot + amount), amount=amount, lines=entry, round=round_id)


def _paid(state: JackpotState, round_id: str, won: e.JackpotWon, seq: int) -> JackpotPaid:
    from_pot = min(won.amount, state.pot)
    return JackpotPaid(
        after=_with_pot(state, state.pot - from_pot),
        box=won.box,
        from_bank=won.amount - from_pot,
        from_pot=from_pot,
        round=round_id,
        seq=seq,
    )


def _restarted(
    state: JackpotState, jackpot: str, round_id: str, events: Sequence[e.RoundEvent], ruleset: Ruleset
) -> list[JackpotEvent]:
    """Rule 5.3: a pot that was won as a whole starts again from its seed amount."""
    missing = state.seed_amount - state.pot
    if missing <= 0 or not any(isinstance(event, e.JackpotWon) and _wins_all(event, ruleset) for event in events):
        return []
    entry = lines({BANK: -missing, jackpot_account(jackpot): missing})
    after = _with_pot(state, state.seed_amount)
    return [JackpotRestarted(after=after, amount=missing, lines=entry, round=round_id)]


def _wins_all(won: e.JackpotWon, ruleset: Ruleset) -> bool:
    # Replay brings a hand that can't win; the rung payout names it.
    combination = COMBINATION_BY_NAME.get(won.combination)
    share = None if combination is None else ruleset.jackpot_shares.get(combination)
    return share is not None and share[0] == share[1]


def reverse(
    state: JackpotState, jackpot: str, round_id: str, voided: e.RoundVoided, winnings: int
) -> JackpotReversed:
    """Rule 10.2: undo what a voided round did to the pot; `winnings` is what its boxes had won."""
    # Other rounds may have emptied the pot since; it never falls below nothing.
    contributions = min(voided.jackpot_reversed, state.pot + winnings)
    return JackpotReversed(
        after=_with_pot(state, state.pot + winnings - contributions),
        contributions=contributions,
        lines=lines({BANK: contributions, jackpot_account(jackpot): -contributions}),
        round=round_id,
        winnings=winnings,
    )


def _with_pot(state: JackpotState, pot: int) -> JackpotState:
    return JackpotState(state.currency, pot, state.seed_amount)
