"""What the checks share: turning findings into a rung, and lining recorded events up with recomputed ones.

Which field of which event is the business of which rung stands here, in one place.

Not here: any question of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from domain.round import events as e
from replay.evidence import Evidence
from replay.redecide import Redecided, redecide
from replay.verdict import Check, CheckName, Discrepancy, Status


def rung(name: CheckName, discrepancies: Iterable[Discrepancy], reason: str | None = None) -> Check:
    """Discrepancies decide first, then a reason why something could not be checked."""
    found = tuple(discrepancies)
    if found:
        return Check(name, Status.DISCREPANCY, found, reason)
    return Check(name, Status.VERIFIED if reason is None else Status.NOT_CHECKABLE, (), reason)


def why_not_recomputable(evidence: Evidence) -> str | None:
    """Why the round can't be decided again, None if it can."""
    if evidence.opened is None:
        return "the record does not say how the round was opened"
    if evidence.ruleset is None:
        return f"the ruleset {evidence.opened.ruleset} with digest {evidence.opened.ruleset_digest} is not known here"
    if not evidence.over:
        return "the round is still open: its seed is not revealed yet"
    if evidence.server_seed is None:
        return "the revealed server seed is missing or is not 32 bytes of hex"
    if evidence.deck is None:
        return "the deck can't be recomputed: the stream's name or a client seed is not as it must be"
    return None


def recomputed(evidence: Evidence) -> Redecided | None:
    """The round decided again, None where that can't be done."""
    if evidence.ruleset is None or evidence.deck is None or evidence.server_seed is None:
        return None
    return redecide(evidence.events, evidence.ruleset, evidence.deck, evidence.server_seed)


def held_against(
    evidence: Evidence,
    again: Redecided,
    *,
    concerns: Callable[[e.RoundEvent], bool],
    fields: Callable[[e.RoundEvent], Iterable[str]],
    words: Callable[[e.RoundEvent], object],
) -> Iterator[Discrepancy]:
    """Recorded events against recomputed ones, for one rung.

    `concerns`: whether an event that is missing or added is this rung's business; `words` names it then.  `fields`: the
    fields of an event that are.  After a refused choice nothing was decided, so only what is before it is compared.
    """
    recorded = evidence.events if again.refused_at is None else evidence.events[: again.refused_at]
    for index, ours, expected in _lined_up(recorded, again.events):
        if ours is None or index is None:
            if expected is not None and concerns(expected):
                yield Discrepancy(None, expected.NAME, "event", "missing", words(expected))
        elif expected is None:
            if concerns(ours):
                yield Discrepancy(evidence.placed[index][0], ours.NAME, "event", words(ours), "not to be here")
        else:
            for field in fields(ours):
                theirs, recomputed_value = getattr(ours, field), getattr(expected, field)
                if theirs != recomputed_value:
                    yield Discrepancy(evidence.placed[index][0], ours.NAME, field, theirs, recomputed_value)


Pair = tuple[int | None, e.RoundEvent | None, e.RoundEvent | None]


def _lined_up(recorded: Sequence[e.RoundEvent], expected: Sequence[e.RoundEvent]) -> Iterator[Pair]:
    """(index of the recorded event, recorded, expected), None on the side where there is no such event."""
    same = 0
    while same < min(len(recorded), len(expected)) and recorded[same] == expected[same]:
        same += 1  # so that of an event and its double the second one is named
    ours, theirs = recorded[same:], expected[same:]
    matcher = SequenceMatcher(None, [_key(event) for event in ours], [_key(event) for event in theirs], False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(range(same + a, same + b), ours[a:b], theirs[c:d], strict=True)
            continue
        for index in range(a, b):
            yield same + index, ours[index], None
        for event in theirs[c:d]:
            yield None, None, event


def _key(event: e.RoundEvent) -> tuple[str, int | None]:
    return event.NAME, getattr(event, "box", None)


CARD_FIELDS: dict[type[e.RoundEvent], tuple[str, ...]] = {
    e.CardsDealt: ("upcard",),
    e.HandShown: ("cards",),
    e.CardsDrawn: ("cards",),
    e.DealerRevealed: ("cards",),
    e.DealerCardReplaced: ("new",),
}
"""Fields that the deck decides (rung `deck`)."""

MONEY_EVENTS: frozenset[type[e.RoundEvent]] = frozenset(
    {e.JackpotContributed, e.BonusSettled, e.JackpotWon, e.InsuranceSettled, e.BoxSettled, e.RoundClosed}
)
MONEY_FIELDS: dict[type[e.RoundEvent], tuple[str, ...]] = {
    e.DealerRevealed: ("combination",),
    e.DealerCardReplaced: ("combination",),
    e.RoundVoided: ("jackpot_reversed", "refunds"),
    **{event: tuple(name for name in event.__struct_fields__ if name != "box") for event in MONEY_EVENTS},
}
"""Fields that the settlement decides (rung `payout`); a whole event of MONEY_EVENTS that is missing is one too."""
