"""Is a record just what the house would have recorded?  A slow, obvious second opinion on `replay.verify_round`.

It opens the round and makes every recorded choice through `domain.round.decisions`, as the house does, and writes the
bodies with its own encoder.  Of the record it believes only what somebody chose, the texts and limits of the opening,
and the times.

Not here: what is wrong with a record; that is the ladder's work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from domain.deal.commitment import client_entropy, commitment
from domain.deal.shuffle import NO_BEACON, SeededDeck
from domain.record import BodyError
from domain.round import choices as c
from domain.round import events as e
from domain.round.codec import decode
from domain.round.decisions import decide, open_round, reveal_seed
from domain.round.phases import Phase
from domain.round.refusals import Refusal
from domain.round.state import RoundState, apply
from replay.evidence import Rulesets
from tests.golden.files import Plain, chained

STREAM: Final = re.compile(r"round:([0-9a-f]{32})")
TIME: Final = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}\.[0-9]{3}Z"
)


def honest(stream: str, bodies: Sequence[bytes], rulesets: Rulesets) -> bool:
    """Whether opening and playing the round again gives these very bodies, to its end."""
    try:
        recorded = [decode(body) for body in bodies]
    except (BodyError, RecursionError):
        return False
    times = [record.at for record in recorded]
    if times != sorted(times) or not all(TIME.fullmatch(at) for at in times):
        return False
    follows = [_follows(record.data) for record in recorded]
    if any(times[place] != times[place - 1] for place in range(1, len(times)) if follows[place]):
        return False  # the house stores what follows from a choice together with it
    try:
        expected = _played(stream, [record.data for record in recorded], rulesets)
    except (ValueError, LookupError):
        return False
    if len(expected) != len(bodies):
        return False
    plain: list[Plain] = [
        {"at": at, "data": msgspec.to_builtins(event), "stream": stream, "type": event.NAME, "v": 1}
        for at, event in zip(times, expected, strict=True)
    ]
    return chained(plain) == list(bodies) and _in_profile(plain)


def _played(stream: str, recorded: Sequence[e.RoundEvent], rulesets: Rulesets) -> list[e.RoundEvent]:
    """The events of the recorded choices.  ValueError or LookupError where the house would not get so far."""
    opened, revealed, identity = recorded[0], recorded[-1], STREAM.fullmatch(stream)
    if not isinstance(opened, e.RoundOpened) or not isinstance(revealed, e.SeedRevealed) or identity is None:
        raise LookupError("no beginning or no end")
    server_seed, round_id = bytes.fromhex(revealed.server_seed), bytes.fromhex(identity[1])
    ruleset = rulesets[opened.ruleset_digest]
    again = open_round(
        ruleset,
        table=opened.table,
        number=opened.number,
        currency=opened.currency,
        limits=opened.limits,
        commitment=commitment(round_id, ruleset.digest, server_seed),
        sealed_seed=opened.sealed_seed,
    )
    if isinstance(again, Refusal):
        raise ValueError(again.text)
    made: list[e.RoundEvent] = [again]
    state, deck = RoundState(), None
    apply(state, again)
    for event in recorded:
        choice = _choice(event)
        if choice is None:
            continue
        if isinstance(choice, c.Deal):
            entropy = client_entropy([(box.box, bytes.fromhex(box.client_seed)) for box in state.boxes])
            deck = SeededDeck(server_seed, round_id, ruleset.digest, entropy, choice.beacon or NO_BEACON)
        decided = decide(state, ruleset, deck, choice)
        if isinstance(decided, Refusal):
            raise ValueError(decided.text)
        made += decided
        for fact in decided:
            apply(state, fact)
    if state.phase not in (Phase.CLOSED, Phase.VOIDED):
        raise ValueError("the round is not over")
    return [*made, reveal_seed(server_seed)]


def _follows(event: e.RoundEvent) -> bool:
    """Whether a fact comes by itself, from a choice before it."""
    try:
        return _choice(event) is None
    except ValueError:
        return False  # a choice, of text that is no hex


def _choice(event: e.RoundEvent) -> c.Choice | None:
    """What somebody chose, None for a fact that follows by itself."""
    match event:
        case e.BoxPlaced():
            seed = bytes.fromhex(event.client_seed)
            return c.PlaceBox(event.box, event.player, event.mode, event.ante, event.bonus, seed)
        case e.CardsDealt():
            return c.Deal(event.jackpot, None if event.beacon is None else bytes.fromhex(event.beacon))
        case e.ExchangeBought():
            return c.Exchange(box=event.box, by=event.by, discard=tuple(event.discard))
        case e.InsuranceBought():
            return c.Insure(box=event.box, by=event.by, stake=event.stake)
        case e.RoundVoided():
            return c.Void(event.reason)
    kind = _PLAIN_CHOICES.get(type(event))
    return None if kind is None else kind(box=event.box, by=event.by)  # type: ignore[union-attr]  # all of these have both


_PLAIN_CHOICES: Final[dict[type[e.RoundEvent], Callable[..., c.Choice]]] = {
    e.SixthCardBought: c.SixthCard,
    e.SixthCardDeclined: c.DeclineSixthCard,
    e.BetMade: c.Bet,
    e.BoxFolded: c.Fold,
    e.DealerGameBought: c.BuyDealerGame,
    e.AnteTaken: c.TakeAnte,
}


def _in_profile(value: object) -> bool:
    """Whole numbers below 2^53 only."""
    if isinstance(value, dict):
        return all(map(_in_profile, value.values()))
    if isinstance(value, list):
        return all(map(_in_profile, value))
    return not isinstance(value, int) or abs(value) < 2**53
