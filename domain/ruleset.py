"""A ruleset: one game as data.  The engine reads parameters and never asks for a game's name.

A document (domain/rulesets/*.json) gives every parameter a value, its provenance (`text`: the game's source text says
so; `house`: a decision that a casino may set otherwise in a version of its own) and the clause of docs/rules that
explains it.  Its digest is the SHA-256 of its canonical JSON; a round pins id, version and digest.

Not here: what the parameters do (`round`, `settlement`), which documents exist (`rulesets`).
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Final, Generic, TypeVar

import msgspec

from domain.hands import COMBINATION_BY_NAME, COMBINATION_NAMES, Combination, Hand
from domain.money import LARGEST_POT, LARGEST_STAKE, is_amount
from domain.record import LARGEST_INTEGER, BodyError, canonical_json
from domain.strict_json import StrictJsonError, require_strict_json

Value = TypeVar("Value")

Share = tuple[int, int]
"""A part of an amount as numerator and denominator; the result is rounded down."""


class RulesetError(ValueError):
    """A ruleset document that can't be used; the message names the field and the reason."""


class Source(StrEnum):
    """Where a parameter comes from."""

    TEXT = "text"
    HOUSE = "house"


class OpenAntes(StrEnum):
    EQUAL = "equal"
    FREE = "free"


class DealOrder(StrEnum):
    PACKETS = "packets"
    ONE_BY_ONE = "one-by-one"


class Upcard(StrEnum):
    FIRST = "first"
    LAST = "last"


class HandsShown(StrEnum):
    AT_DEAL = "at-deal"
    IN_TURN = "in-turn"


class BonusStake(StrEnum):
    UP_TO_ANTE = "up-to-ante"
    TABLE_LIMITS = "table-limits"


class DrawTiming(StrEnum):
    AT_ONCE = "at-once"
    AFTER_ALL_DECIDED = "after-all-decided"


class DoubledStraight(StrEnum):
    TWO_STRAIGHTS = "two-straights"
    STRAIGHT_AND_PAIR = "straight-and-pair"


class InsuranceLoss(StrEnum):
    ALWAYS = "always"
    IF_PLAYER_HIGHER = "if-player-higher"


class AnteOnWin(StrEnum):
    RETURNED = "returned"
    PAID = "paid"


class PayoutMaxCovers(StrEnum):
    NOTHING = "nothing"
    BET = "bet"
    BET_AND_INSURANCE = "bet-and-insurance"


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a table allows, in the order of the stored bytes.  Minor units; a `payout_max` of null is no limit."""

    ante_max: int
    ante_min: int
    ante_step: int
    bonus_max: int
    bonus_min: int
    payout_max: int | None


class Parameter(msgspec.Struct, Generic[Value], frozen=True, forbid_unknown_fields=True):
    """One value with where it comes from and the clause that explains it (number without the page's prefix)."""

    value: Value
    source: Source
    clause: str


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that the engine can be told about a game.  Prices are counted in half antes, shares are fractions."""

    qualifier: Parameter[str]
    second_combination: Parameter[bool]
    doubled_straight: Parameter[DoubledStraight]
    boxes_on_table: Parameter[int]
    boxes_per_player: Parameter[int]
    boxes_adjacent: Parameter[bool]
    open_boxes_per_player: Parameter[int]
    dark_boxes_per_player: Parameter[int]
    open_antes: Parameter[OpenAntes]
    table_defaults: Parameter[Limits]
    bonus_stake: Parameter[BonusStake | None]
    funds_at_deal_half_antes: Parameter[int]
    funds_after_draw_half_antes: Parameter[int]
    deal_order: Parameter[DealOrder]
    upcard: Parameter[Upcard]
    hands_shown: Parameter[HandsShown]
    bonus_odds: Parameter[dict[str, int]]
    jackpot_shares: Parameter[dict[str, Share]]
    jackpot_contribution: Parameter[Share]
    jackpot_seed_amount: Parameter[int]
    bonus_needs_announcement: Parameter[bool]
    bet_antes: Parameter[int]
    exchange_half_antes: Parameter[list[int]]
    sixth_card_half_antes: Parameter[int | None]
    draw_timing: Parameter[DrawTiming]
    dark_sixth_card: Parameter[bool]
    insurance_from: Parameter[str | None]
    insurance_share: Parameter[Share]
    insurance_within_payout_max: Parameter[bool]
    insurance_loss: Parameter[InsuranceLoss]
    dealer_game_half_antes: Parameter[int | None]
    dealer_game_free_repeat: Parameter[bool]
    bet_odds: Parameter[dict[str, int]]
    ante_on_win: Parameter[AnteOnWin]
    payout_max_covers: Parameter[PayoutMaxCovers]


class Title(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    en: str
    ru: str


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ruleset document as it is stored and published."""

    format: str
    id: str
    version: int
    title: Title
    clauses: str
    parameters: Parameters


DOCUMENT_FORMAT: Final = "dp1/ruleset"


class Ruleset:
    """A validated document in the shape the engine reads: plain values, odds by combination.

    Slots, because a class with more than thirty attributes is slow to read otherwise.
    """

    __slots__ = (
        "_seconds", "ante_paid_on_win", "antes_must_be_even", "bet_antes", "bet_odds", "bonus_needs_announcement",
        "bonus_odds", "bonus_stake", "boxes_adjacent", "boxes_on_table", "boxes_per_player", "caps_bet",
        "caps_insurance", "dark_boxes_per_player", "dark_sixth_card", "dealer_game_free_repeat",
        "dealer_game_half_antes", "digest", "document", "draws_after_all", "equal_open_antes", "exchange_half_antes",
        "funds_after_draw_half_antes", "funds_at_deal_half_antes", "hands_in_turn", "has_second",
        "insurance_always_lost", "insurance_from", "insurance_share", "insurance_within_payout_max",
        "jackpot_contribution", "jackpot_seed_amount", "jackpot_shares", "name", "one_by_one",
        "open_boxes_per_player", "qualifier", "single_straight", "sixth_card_half_antes", "table_defaults",
        "upcard_index",
    )  # fmt: skip

    def __init__(self, document: Document, digest: bytes) -> None:
        self.document = document
        self.digest = digest
        self.name = f"{document.id}@{document.version}"
        values = {name: getattr(document.parameters, name).value for name in Parameters.__struct_fields__}
        self.qualifier = COMBINATION_BY_NAME[values["qualifier"]]
        self.boxes_on_table: int = values["boxes_on_table"]
        self.boxes_per_player: int = values["boxes_per_player"]
        self.boxes_adjacent: bool = values["boxes_adjacent"]
        self.open_boxes_per_player: int = values["open_boxes_per_player"]
        self.dark_boxes_per_player: int = values["dark_boxes_per_player"]
        self.equal_open_antes = values["open_antes"] is OpenAntes.EQUAL
        self.table_defaults: Limits = values["table_defaults"]
        self.bonus_stake: BonusStake | None = values["bonus_stake"]
        self.funds_at_deal_half_antes: int = values["funds_at_deal_half_antes"]
        self.funds_after_draw_half_antes: int = values["funds_after_draw_half_antes"]
        self.one_by_one = values["deal_order"] is DealOrder.ONE_BY_ONE
        self.upcard_index = 0 if values["upcard"] is Upcard.FIRST else 4
        self.hands_in_turn = values["hands_shown"] is HandsShown.IN_TURN
        self.bonus_odds = _odds_table(values["bonus_odds"])
        self.jackpot_shares: dict[Combination, Share] = {
            COMBINATION_BY_NAME[name]: share for name, share in values["jackpot_shares"].items()
        }
        self.jackpot_contribution: Share = values["jackpot_contribution"]
        self.jackpot_seed_amount: int = values["jackpot_seed_amount"]
        self.bonus_needs_announcement: bool = values["bonus_needs_announcement"]
        self.bet_antes: int = values["bet_antes"]
        self.exchange_half_antes: tuple[int, ...] = tuple(values["exchange_half_antes"])
        self.sixth_card_half_antes: int | None = values["sixth_card_half_antes"]
        self.draws_after_all = values["draw_timing"] is DrawTiming.AFTER_ALL_DECIDED
        self.dark_sixth_card: bool = values["dark_sixth_card"]
        insurance_from = values["insurance_from"]
        self.insurance_from = None if insurance_from is None else COMBINATION_BY_NAME[insurance_from]
        self.insurance_share: Share = values["insurance_share"]
        self.insurance_within_payout_max: bool = values["insurance_within_payout_max"]
        self.insurance_always_lost = values["insurance_loss"] is InsuranceLoss.ALWAYS
        self.dealer_game_half_antes: int | None = values["dealer_game_half_antes"]
        self.dealer_game_free_repeat: bool = values["dealer_game_free_repeat"]
        self.bet_odds = tuple(odds or 0 for odds in _odds_table(values["bet_odds"]))
        self.ante_paid_on_win = values["ante_on_win"] is AnteOnWin.PAID
        self.caps_bet = values["payout_max_covers"] is not PayoutMaxCovers.NOTHING
        self.caps_insurance = values["payout_max_covers"] is PayoutMaxCovers.BET_AND_INSURANCE
        self.has_second: bool = values["second_combination"]
        self.single_straight = values["doubled_straight"] is DoubledStraight.STRAIGHT_AND_PAIR
        self._seconds: dict[int, Combination | None] = {0: None}
        # Rule 3.4: whether some price of this game is an odd number of half antes.
        prices = [*self.exchange_half_antes, self.sixth_card_half_antes or 0, self.dealer_game_half_antes or 0]
        self.antes_must_be_even = any(price % 2 for price in prices)

    def second(self, hand: Hand) -> Combination | None:
        """Rule 2.3: the second combination that pays most, the higher one on equal odds; None if there is none."""
        if not self.has_second:
            return None
        mask = hand.seconds_single_straight if self.single_straight else hand.seconds
        if mask not in self._seconds:
            candidates = [combination for combination in Combination if mask >> combination & 1]
            self._seconds[mask] = max(candidates, key=lambda c: (self.bet_odds[c], c))
        return self._seconds[mask]

    def clause(self, number: str) -> str:
        """The clause's id on this game's rule page, as in RP-7.1."""
        return f"{self.document.clauses}-{number}"


def load_ruleset(data: bytes) -> Ruleset:
    """Read and validate a document completely.  Raises RulesetError that names the field and the reason."""
    try:
        require_strict_json(data)
        document = _DOCUMENT.decode(data)
        canonical = canonical_json(msgspec.json.decode(data))
    except (StrictJsonError, msgspec.DecodeError, BodyError) as error:
        raise RulesetError(f"ruleset document: {error}") from None
    problems = _problems(document)
    if problems:
        raise RulesetError("ruleset document: " + "; ".join(problems))
    return Ruleset(document, hashlib.sha256(canonical).digest())


_DOCUMENT: Final = msgspec.json.Decoder(Document)


def _odds_table(odds: dict[str, int]) -> tuple[int | None, ...]:
    return tuple(odds.get(name) for name in COMBINATION_NAMES)


def _problems(document: Document) -> list[str]:
    """Everything in a document that its types alone don't rule out."""
    problems = [] if document.format == DOCUMENT_FORMAT else [f"format: must be {DOCUMENT_FORMAT!r}"]
    if not (document.id and all(c.islower() or c.isdigit() or c == "-" for c in document.id) and document.id.isascii()):
        problems.append(f"id: {document.id!r} must be lower-case letters, digits and hyphens")
    if document.version < 1:
        problems.append("version: must be 1 or more")
    if not (document.clauses.isascii() and document.clauses.isupper()):
        problems.append("clauses: must be the upper-case prefix of the rule page")
    parameters = document.parameters
    for name in Parameters.__struct_fields__:
        clause: str = getattr(parameters, name).clause
        if not all(part.isdigit() for part in clause.split(".")) or clause.count(".") != 1:
            problems.append(f"parameters.{name}.clause: {clause!r} is not a clause number as 7.1")
    problems += _box_problems(parameters) + _odds_problems(parameters) + _price_problems(parameters)
    return problems or _size_problems(parameters)


def _box_problems(parameters: Parameters) -> list[str]:
    boxes = parameters.boxes_on_table.value
    problems = []
    if not 1 <= boxes <= 7:
        problems.append("parameters.boxes_on_table: must be from 1 to 7 (more can't be dealt from 52 cards)")
    if not 1 <= parameters.boxes_per_player.value <= boxes:
        problems.append("parameters.boxes_per_player: must be from 1 to the boxes on the table")
    open_boxes, dark_boxes = parameters.open_boxes_per_player.value, parameters.dark_boxes_per_player.value
    for name, count in (("open", open_boxes), ("dark", dark_boxes)):
        if not 0 <= count <= parameters.boxes_per_player.value:
            problems.append(f"parameters.{name}_boxes_per_player: must be from 0 to the boxes of a player")
    if open_boxes == dark_boxes == 0:
        problems.append("parameters.open_boxes_per_player: a game needs open or dark boxes")
    if 5 * (boxes + 1) + 5 * boxes + 2 > 52 and parameters.exchange_half_antes.value and boxes > 4:
        problems.append("parameters.boxes_on_table: the deck is too small for so many boxes that may all draw")
    return problems + limits_problems(parameters.table_defaults.value, "parameters.table_defaults")


def limits_problems(limits: Limits, where: str) -> list[str]:
    """What is wrong with a table's limits: one line a field, each with its reason."""
    problems = []
    for name in ("ante_min", "ante_max", "ante_step", "bonus_min", "bonus_max"):
        if not is_amount(getattr(limits, name)) or getattr(limits, name) < 1:
            problems.append(f"{where}.{name}: must be from 1 to {LARGEST_STAKE}")
    if limits.payout_max is not None and not (is_amount(limits.payout_max, LARGEST_POT) and limits.payout_max >= 1):
        problems.append(f"{where}.payout_max: must be null or from 1 to {LARGEST_POT}")
    if problems:
        return problems
    if limits.ante_min > limits.ante_max:
        problems.append(f"{where}.ante_min: is above ante_max")
    if limits.bonus_min > limits.bonus_max:
        problems.append(f"{where}.bonus_min: is above bonus_max")
    return problems


def _odds_problems(parameters: Parameters) -> list[str]:
    problems = []
    for field in ("bet_odds", "bonus_odds", "jackpot_shares"):
        for name in getattr(parameters, field).value:
            if name not in COMBINATION_BY_NAME:
                problems.append(f"parameters.{field}: {name!r} is not a combination")
    for field in ("bet_odds", "bonus_odds"):
        for name, odds in getattr(parameters, field).value.items():
            if not 0 <= odds <= 10_000:
                problems.append(f"parameters.{field}.{name}: odds must be from 0 to 10000")
    missing = [name for name in COMBINATION_NAMES[1:] if name not in parameters.bet_odds.value]
    if missing:
        problems.append(f"parameters.bet_odds: no odds for {', '.join(missing)}")
    both = set(parameters.bonus_odds.value) & set(parameters.jackpot_shares.value)
    if both:
        problems.append(f"parameters.jackpot_shares: {', '.join(sorted(both))} also stands in bonus_odds")
    for field in ("qualifier", "insurance_from"):
        name = getattr(parameters, field).value
        if name is not None and name not in COMBINATION_BY_NAME:
            problems.append(f"parameters.{field}: {name!r} is not a combination")
    shares = {f"jackpot_shares.{name}": share for name, share in parameters.jackpot_shares.value.items()}
    shares |= {field: getattr(parameters, field).value for field in ("jackpot_contribution", "insurance_share")}
    for field, (numerator, denominator) in shares.items():
        if not 0 <= numerator <= denominator or denominator == 0:
            problems.append(f"parameters.{field}: must be a fraction from 0 to 1")
    return problems


def _size_problems(parameters: Parameters) -> list[str]:
    """No amount of a round may pass the largest whole number of the record, whatever is staked."""
    bet = parameters.bet_antes.value * (1 + 2 * max(parameters.bet_odds.value.values()))
    bonus = 1 + max(parameters.bonus_odds.value.values(), default=0)
    fees = max([0, *parameters.exchange_half_antes.value, parameters.sixth_card_half_antes.value or 0])
    a_box = LARGEST_STAKE * (2 + 2 * bet + bonus + fees + (parameters.dealer_game_half_antes.value or 0))
    if parameters.boxes_on_table.value * a_box > LARGEST_INTEGER:
        return ["parameters.bet_odds: with these boxes, odds and prices an amount could pass 2^53 - 1"]
    return []


def _price_problems(parameters: Parameters) -> list[str]:
    problems = []
    if not 1 <= parameters.bet_antes.value <= 10:
        problems.append("parameters.bet_antes: must be from 1 to 10")
    prices = [(f"exchange_half_antes[{i}]", price) for i, price in enumerate(parameters.exchange_half_antes.value)]
    for field in ("sixth_card_half_antes", "dealer_game_half_antes"):
        if getattr(parameters, field).value is not None:
            prices.append((field, getattr(parameters, field).value))
    for field in ("funds_at_deal_half_antes", "funds_after_draw_half_antes"):
        prices.append((field, getattr(parameters, field).value))
    problems += [f"parameters.{field}: must be from 0 to 100" for field, price in prices if not 0 <= price <= 100]
    if len(parameters.exchange_half_antes.value) > 5:
        problems.append("parameters.exchange_half_antes: a hand has five cards to exchange at most")
    if parameters.dark_sixth_card.value and parameters.sixth_card_half_antes.value is None:
        problems.append("parameters.dark_sixth_card: there is no sixth card to buy")
    if parameters.dark_sixth_card.value and parameters.draw_timing.value is not DrawTiming.AFTER_ALL_DECIDED:
        problems.append("parameters.dark_sixth_card: needs draw_timing after-all-decided")
    if not 0 <= parameters.jackpot_seed_amount.value <= LARGEST_POT:
        problems.append(f"parameters.jackpot_seed_amount: must be from 0 to {LARGEST_POT}")
    return problems
