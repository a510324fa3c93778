"""Why the rules forbid a request: a closed list, each with a sentence that a player understands.

Not here: the checks that lead to a refusal (`decisions`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RefusalCode(StrEnum):
    """Every reason there is; codes are stable, callers may store them."""

    NOT_WHOLE = "not-whole"
    LIMITS_INVALID = "limits-invalid"
    TEXT_INVALID = "text-invalid"
    BOX_UNKNOWN = "box-unknown"
    BOX_TAKEN = "box-taken"
    PLAYER_MISSING = "player-missing"
    TOO_MANY_BOXES = "too-many-boxes"
    TOO_MANY_OPEN_BOXES = "too-many-open-boxes"
    TOO_MANY_DARK_BOXES = "too-many-dark-boxes"
    BOXES_NOT_ADJACENT = "boxes-not-adjacent"
    ANTES_NOT_EQUAL = "antes-not-equal"
    ANTE_OFF_LIMITS = "ante-off-limits"
    ANTE_NOT_DIVISIBLE = "ante-not-divisible"
    BONUS_NOT_OFFERED = "bonus-not-offered"
    BONUS_OFF_LIMITS = "bonus-off-limits"
    CLIENT_SEED_TOO_LONG = "client-seed-too-long"
    FUNDS_TOO_LOW = "funds-too-low"
    BETS_CLOSED = "bets-closed"
    NO_BOXES = "no-boxes"
    JACKPOT_INVALID = "jackpot-invalid"
    BEACON_INVALID = "beacon-invalid"
    NOT_DEALT = "not-dealt"
    NOT_YOUR_BOX = "not-your-box"
    OUT_OF_TURN = "out-of-turn"
    ALREADY_DECIDED = "already-decided"
    NOT_OFFERED = "not-offered"
    DARK_BOX = "dark-box"
    ALREADY_DREW = "already-drew"
    DISCARD_INVALID = "discard-invalid"
    TOO_MANY_CARDS = "too-many-cards"
    INSURED = "insured"
    HAND_TOO_LOW = "hand-too-low"
    INSURANCE_OFF_LIMITS = "insurance-off-limits"
    DEALER_GAME_NOT_FOR_SALE = "dealer-game-not-for-sale"
    ROUND_ENDED = "round-ended"
    TOO_LATE_TO_VOID = "too-late-to-void"
    REASON_MISSING = "reason-missing"
    DECISION_MISSING = "decision-missing"

    # Of the casino floor: accounts, tables, jackpots, rulesets.
    CURRENCY_UNKNOWN = "currency-unknown"
    CURRENCY_OTHER = "currency-other"
    ACCOUNT_EXISTS = "account-exists"
    ACCOUNT_UNKNOWN = "account-unknown"
    BALANCE_TOO_LARGE = "balance-too-large"
    SAME_PERSON = "same-person"
    NO_APPROVER = "no-approver"
    NOT_REVERSIBLE = "not-reversible"
    ALREADY_REVERSED = "already-reversed"
    TABLE_EXISTS = "table-exists"
    TABLE_UNKNOWN = "table-unknown"
    TABLE_CLOSED = "table-closed"
    TABLE_INVALID = "table-invalid"
    TABLE_CHANGED = "table-changed"
    RULESET_UNKNOWN = "ruleset-unknown"
    RULESET_NOT_ACTIVE = "ruleset-not-active"
    RULESET_ACTIVE = "ruleset-active"
    NOT_PROPOSED = "not-proposed"
    JACKPOT_EXISTS = "jackpot-exists"
    JACKPOT_UNKNOWN = "jackpot-unknown"
    ROUND_UNKNOWN = "round-unknown"
    NOT_ABANDONED = "not-abandoned"

    # Of the key custodian's desk.
    KEY_UNKNOWN = "key-unknown"
    KEY_REVOKED = "key-revoked"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that the rules forbid: its code, a sentence with the figures of the case, and the clause behind it."""

    code: RefusalCode
    text: str
    clause: str | None = None
