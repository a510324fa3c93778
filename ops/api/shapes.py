"""The shape of every reply, for the OpenAPI document: each field that may stand in it, and which ones always do.

Replies are made by plain functions (`views` and the resources), which is fast and always the same bytes; the tests hold
every reply against these shapes.

Not here: what a request may say (`fields` and the resources).
"""

from __future__ import annotations

from typing import Any, Final

from marshmallow import Schema, fields

from domain.cards import CARD_TEXTS
from domain.hands import COMBINATION_NAMES
from domain.record import LARGEST_INTEGER, TIME_PATTERN
from domain.round.events import Mode, Outcome
from domain.round.phases import Phase
from ops.api.fields import CURRENCY, KEY, NAME, ROUND, RULESET


def _text(pattern: str | None = None, **kwargs: Any) -> fields.Field[Any]:
    shape = {"type": "string"} if pattern is None else {"type": "string", "pattern": f"^{pattern}$"}
    return fields.Raw(metadata=shape, **kwargs)


def _word(*words: str, **kwargs: Any) -> fields.Field[Any]:
    if kwargs.get("allow_none"):
        return fields.Raw(metadata={"type": "string", "enum": [*words, None]}, **kwargs)
    return fields.Raw(metadata={"type": "string", "enum": [*words]}, **kwargs)


def _amount(least: int = 0, **kwargs: Any) -> fields.Field[Any]:
    return fields.Raw(metadata={"type": "integer", "minimum": least, "maximum": LARGEST_INTEGER}, **kwargs)


def _flag(**kwargs: Any) -> fields.Field[Any]:
    return fields.Raw(metadata={"type": "boolean"}, **kwargs)


def _list(items: dict[str, Any], **kwargs: Any) -> fields.Field[Any]:
    return fields.Raw(metadata={"type": "array", "items": items}, **kwargs)


def _anything(**kwargs: Any) -> fields.Field[Any]:
    """An object whose fields another document lists."""
    return fields.Raw(metadata={"type": "object", "additionalProperties": True}, **kwargs)


ALWAYS: Final[dict[str, Any]] = {"required": True}
NULL: Final[dict[str, Any]] = {"required": True, "allow_none": True}
_SIGNED: Final = -LARGEST_INTEGER
_TIME: Final = TIME_PATTERN.pattern
_HASH: Final = "[0-9a-f]{64}"
_CARD: Final = {"type": "string", "enum": [*CARD_TEXTS]}
_POSTINGS: Final = {"type": "object", "additionalProperties": True}


class Problem(Schema):
    """What was refused and why (RFC 9457)."""

    type = _text(**ALWAYS)
    title = _text(**ALWAYS)
    status = fields.Raw(metadata={"type": "integer", "minimum": 400, "maximum": 599}, required=True)
    detail = _text(**ALWAYS)
    code = _text("[a-z0-9-]+", **ALWAYS)
    instance = _text(**ALWAYS)
    clause = _text()
    pointer = _text()
    errors = _list(
        {
            "type": "object",
            "properties": {"pointer": {"type": "string"}, "reason": {"type": "string"}},
            "required": ["pointer", "reason"],
            "additionalProperties": False,
        }
    )


class Health(Schema):
    """The server is up and reaches its journal."""

    status = _word("ok", **ALWAYS)


# -- accounts


class Funds(Schema):
    """A balance; what of it is free; what is staked in open rounds."""

    balance = _amount(**ALWAYS)
    available = _amount(_SIGNED, **ALWAYS)
    funds_in_play = _amount(**ALWAYS)


class InPlay(Schema):
    """What a player has in one open round."""

    round = _text(ROUND, **ALWAYS)
    before = _amount(**ALWAYS)
    since = _amount(**ALWAYS)
    staked = _amount(**ALWAYS)
    returned = _amount(**ALWAYS)
    reserved = _amount(**ALWAYS)


class Account(Funds):
    """An account after an event of its own."""

    currency = _text(CURRENCY, **ALWAYS)
    player = _text(NAME, **ALWAYS)
    in_play = fields.List(fields.Nested(InPlay), **ALWAYS)
    seq = _amount(**ALWAYS)
    at = _text(_TIME, **ALWAYS)


class AccountEntry(Funds):
    """One event of an account: its kind, the state after it, what the kind tells besides."""

    seq = _amount(**ALWAYS)
    at = _text(_TIME, **ALWAYS)
    type = _text(**ALWAYS)
    against = _word("bank", "bonus")
    amount = _amount(_SIGNED)
    approver = _text()
    before = _amount()
    by = _text()
    currency = _text(CURRENCY)
    ending = _word("closed", "voided")
    lines = _list({
        "type": "object",
        "properties": {"account": {"type": "string"}, "amount": {"type": "integer"}},
        "required": ["account", "amount"],
        "additionalProperties": False,
    })  # fmt: skip
    net = _amount(_SIGNED)
    number = _amount(1)
    player = _text(NAME)
    postings = _list(_POSTINGS)
    reason = _text()
    reference = _text()
    returned = _amount()
    reverses = _amount()
    round = _text(ROUND)
    since = _amount()
    staked = _amount()
    table = _text()
    test = _flag()


class AccountPage(Schema):
    """Events of an account, newest first; `next` is what `after` must be for the page behind."""

    items = fields.List(fields.Nested(AccountEntry), **ALWAYS)
    next = _amount(**NULL)


# -- jackpots, rulesets, tables


class Jackpot(Schema):
    """A pot as it stands."""

    jackpot = _text(NAME, **ALWAYS)
    currency = _text(CURRENCY, **ALWAYS)
    pot = _amount(**ALWAYS)
    seed_amount = _amount(**ALWAYS)
    seq = _amount(**ALWAYS)
    at = _text(_TIME, **ALWAYS)


class JackpotPage(Schema):
    """Jackpots in the order of their names."""

    items = fields.List(fields.Nested(Jackpot), **ALWAYS)
    next = _text(NAME, **NULL)


class RulesetSummary(Schema):
    """A ruleset version: published, proposed, or active once a second person has approved."""

    ruleset = _text(RULESET, **ALWAYS)
    digest = _text(_HASH, **NULL)
    state = _word("published", "proposed", "active", **ALWAYS)
    proposed_by = _text(**NULL)
    approved_by = _text(**NULL)
    reason = _text(**NULL)
    seq = _amount(**ALWAYS)
    at = _text(_TIME, **ALWAYS)


class Ruleset(RulesetSummary):
    """A ruleset version with its document (docs/formats/ruleset.md)."""

    document = fields.Raw(metadata={"type": ["object", "null"], "additionalProperties": True}, required=True)


class RulesetPage(Schema):
    """Ruleset versions in the order of their names."""

    items = fields.List(fields.Nested(RulesetSummary), **ALWAYS)
    next = _text(RULESET, **NULL)


class Limits(Schema):
    """What a table allows."""

    ante_max = _amount(1, **ALWAYS)
    ante_min = _amount(1, **ALWAYS)
    ante_step = _amount(1, **ALWAYS)
    bonus_max = _amount(1, **ALWAYS)
    bonus_min = _amount(1, **ALWAYS)
    payout_max = _amount(1, **NULL)


class Table(Schema):
    """A table with the settings under which its next round is opened."""

    table = _text(NAME, **ALWAYS)
    closed = _flag(**ALWAYS)
    settings_seq = _amount(**ALWAYS)
    ruleset = _text(RULESET, **ALWAYS)
    currency = _text(CURRENCY, **ALWAYS)
    limits = fields.Nested(Limits, **ALWAYS)
    jackpot = _text(NAME, **NULL)
    abandoned = _word("fold", "bet", "void", **ALWAYS)
    abandoned_after = _amount(1, **ALWAYS)


class TablePage(Schema):
    """Tables in the order of their names."""

    items = fields.List(fields.Nested(Table), **ALWAYS)
    next = _text(NAME, **NULL)


# -- rounds


class Dealer(Schema):
    """The dealer's opened hand."""

    cards = _list(_CARD, **ALWAYS)
    combination = _word(*COMBINATION_NAMES, **ALWAYS)
    replaced = _list({
        "type": "object",
        "properties": {"old": _CARD, "new": _CARD, "free": {"type": "boolean"}},
        "required": ["old", "new", "free"],
        "additionalProperties": False,
    }, **ALWAYS)  # fmt: skip


class Box(Schema):
    """A box.  Cards are left out for readers who may not see them, money for other players."""

    box = _amount(1, **ALWAYS)
    player = _text(**ALWAYS)
    mode = _word(*Mode, **ALWAYS)
    decided = _flag(**ALWAYS)
    folded = _flag(**ALWAYS)
    drew = _flag(**ALWAYS)
    outcome = _word(*Outcome, **NULL)
    cards = _list(_CARD)
    combination = _word(*COMBINATION_NAMES, allow_none=True)
    second = _word(*COMBINATION_NAMES, allow_none=True)
    ante = _amount()
    bet = _amount()
    bonus = _amount()
    insurance = _amount()
    fees = _amount()
    jackpot = _amount()
    staked = _amount()
    returned = _amount()
    net = _amount(_SIGNED, allow_none=True)


class Insurance(Schema):
    """Between which stakes a hand can be insured."""

    min = _amount(**ALWAYS)
    max = _amount(**ALWAYS)


class Prices(Schema):
    """What each offer costs; `exchange` by the number of cards."""

    bet = _amount()
    sixth_card = _amount()
    exchange = _list({"type": "integer", "minimum": 0, "maximum": LARGEST_INTEGER})
    buy_dealer_game = _amount()


STEPS: Final = (
    "place_boxes", "deal", "bet", "fold", "exchange", "sixth_card", "decline_sixth_card", "insure", "buy_dealer_game",
    "take_ante",
)  # fmt: skip


class NextStep(Schema):
    """What may be done next; `box` is null before the deal."""

    box = _amount(1, **NULL)
    actions = _list({"type": "string", "enum": [*STEPS]}, **ALWAYS)
    prices = fields.Nested(Prices, **ALWAYS)
    insurance = fields.Nested(Insurance, **NULL)


class Totals(Schema):
    """The sums over all boxes."""

    staked = _amount(**ALWAYS)
    returned = _amount(**ALWAYS)
    net = _amount(_SIGNED, **ALWAYS)


class Existence(Schema):
    """That there is a round."""

    round = _text(ROUND, **ALWAYS)
    table = _text(**ALWAYS)
    number = _amount(1, **ALWAYS)
    ruleset = _text(**ALWAYS)
    ruleset_digest = _text(_HASH, **ALWAYS)
    currency = _text(**ALWAYS)
    commitment = _text(_HASH, **ALWAYS)
    phase = _word(*Phase, **ALWAYS)
    at = _text(_TIME, **ALWAYS)
    seq = _amount(**ALWAYS)
    opened_at = _text(_TIME)


class Round(Existence):
    """A round as its reader may see it: what he may not see is left out or null."""

    limits = fields.Nested(Limits)
    jackpot = _amount(allow_none=True)
    upcard = _word(*CARD_TEXTS, allow_none=True)
    dealer = fields.Nested(Dealer, allow_none=True)
    boxes = fields.List(fields.Nested(Box))
    next = fields.Nested(NextStep, allow_none=True)
    totals = fields.Nested(Totals, allow_none=True)
    voided = _text(allow_none=True)


class RoundAfter(Round):
    """A round after a command: with the command's events, the accounts that they moved, receipts for its wagers."""

    events = _list({"type": "string"}, **ALWAYS)
    receipts = _list(
        {
            "type": "object",
            "properties": {"box": {"type": "integer", "minimum": 1}, "token": {"type": "string"}},
            "required": ["box", "token"],
            "additionalProperties": False,
        },
        **ALWAYS,
    )
    accounts = fields.Dict(keys=fields.String(), values=fields.Nested(Funds), **ALWAYS)


class RoundSummary(Existence):
    """A round in a list; `age`, in seconds, and `next` where open rounds were asked for."""

    boxes = _amount()
    voided = _text(allow_none=True)
    age = _amount()
    next = fields.Nested(NextStep, allow_none=True)


class RoundPage(Schema):
    """Rounds, newest first; open ones oldest first."""

    items = fields.List(fields.Nested(RoundSummary), **ALWAYS)
    next = _text(ROUND, **NULL)


class RoundEvent(Schema):
    """One fact of a round (docs/round.md), without seeds."""

    seq = _amount(**ALWAYS)
    at = _text(_TIME, **ALWAYS)
    type = _text(**ALWAYS)
    data = _anything(**ALWAYS)


class RoundEvents(Schema):
    """All facts of a round."""

    round = _text(ROUND, **ALWAYS)
    events = fields.List(fields.Nested(RoundEvent), **ALWAYS)


class Seed(Schema):
    """The seed of a round that has ended, and what it was committed to by (docs/formats/deal.md)."""

    round = _text(ROUND, **ALWAYS)
    server_seed = _text(_HASH, **ALWAYS)
    commitment = _text(_HASH, **ALWAYS)
    ruleset_digest = _text(_HASH, **ALWAYS)


class Deck(Schema):
    """The deck of a round that has ended, in the order of the deal; null where it was never shuffled."""

    round = _text(ROUND, **ALWAYS)
    cards = fields.Raw(metadata={"type": ["array", "null"], "items": _CARD}, required=True)


class StoredEvent(Schema):
    """The bytes of one event as they are stored, and their leaf hash."""

    seq = _amount(**ALWAYS)
    position = _amount(1, **ALWAYS)
    body = _text(**ALWAYS)
    leaf_hash = _text(_HASH, **ALWAYS)


class StoredRecord(Schema):
    """The record of a round, byte for byte (docs/formats/event-record.md)."""

    round = _text(ROUND, **ALWAYS)
    record = fields.List(fields.Nested(StoredEvent), **ALWAYS)


class Verdict(Schema):
    """What replay says of a round (docs/formats/verdict.md)."""

    round = _text(ROUND, **ALWAYS)
    verdict = _word("verified", "discrepancy", "not-checkable", **ALWAYS)
    checks = _list({"type": "object", "additionalProperties": True}, **ALWAYS)


# -- keys


class Key(Schema):
    """An API key, without its secret."""

    key_id = _text(KEY, **ALWAYS)
    role = _text(**ALWAYS)
    person = _text(**ALWAYS)
    label = _text(**ALWAYS)
    created_at = _text(_TIME, **ALWAYS)
    created_by = _text(**ALWAYS)
    revoked_at = _text(_TIME, **NULL)
    revoked_by = _text(**NULL)
    reason = _text(**NULL)


class NewKey(Key):
    """A new key.  `key` is shown this once: null when the request is sent again."""

    key = _text("dpk_[0-9a-f]{16}_[0-9a-f]{64}", **NULL)


class Keys(Schema):
    """Every key there ever was."""

    items = fields.List(fields.Nested(Key), **ALWAYS)


class DataKey(Schema):
    """The data key that seals the seeds of rounds from now on."""

    data_key = _text(KEY, **ALWAYS)
