"""A ruleset version in the house: published once, then activated by two different people.

Stream `ruleset:<id>@<version>`: first `ruleset-published.v1` with the document (docs/formats/ruleset.md), then who
proposed to play it, and who approved.  Only an active ruleset may be set at a table.

Not here: what a document says (`ruleset`), where it is published (`ops.rulesets`).
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from domain.access import same_person
from domain.account import text_refusal
from domain.codec import Codec, Event
from domain.round.refusals import Refusal, RefusalCode


class RulesetPublished(Event, frozen=True, gc=False):
    """A version's document is in the journal, for good."""

    NAME: ClassVar[str] = "ruleset-published.v1"

    digest: str
    document: dict[str, Any]


class ActivationProposed(Event, frozen=True, gc=False):
    """One person wants the version to be played."""

    NAME: ClassVar[str] = "activation-proposed.v1"

    by: str
    reason: str


class RulesetActivated(Event, frozen=True, gc=False):
    """Another person approved: tables may be set to the version."""

    NAME: ClassVar[str] = "ruleset-activated.v1"

    by: str
    proposed_by: str
    reason: str


RulesetEvent = RulesetPublished | ActivationProposed | RulesetActivated
CODEC: Final[Codec[RulesetEvent]] = Codec((RulesetPublished, ActivationProposed, RulesetActivated))


def ruleset_stream(name: str) -> str:
    """The stream of a ruleset version, named as in russian-poker@1."""
    return f"ruleset:{name}"


def propose(head: RulesetEvent | None, *, name: str, by: str, reason: str) -> ActivationProposed | Refusal:
    """`head` is the newest event of the version's stream."""
    refusal = _refusal(head, name, reason)
    return refusal or ActivationProposed(by=by, reason=reason)


def approve(head: RulesetEvent | None, *, name: str, by: str, reason: str) -> RulesetActivated | Refusal:
    """Approve the newest proposal, which must be somebody else's."""
    refusal = _refusal(head, name, reason)
    if refusal is not None:
        return refusal
    if not isinstance(head, ActivationProposed):
        return Refusal(RefusalCode.NOT_PROPOSED, f"Nobody has proposed to activate {name}.")
    if same_person(head.by, by):
        return Refusal(RefusalCode.SAME_PERSON, f"Ruleset {name} was proposed by {by}; another person must approve it.")
    return RulesetActivated(by=by, proposed_by=head.by, reason=reason)


def _refusal(head: RulesetEvent | None, name: str, reason: str) -> Refusal | None:
    if head is None:
        return unknown_ruleset(name)
    if isinstance(head, RulesetActivated):
        return Refusal(RefusalCode.RULESET_ACTIVE, f"Ruleset {name} is active already.")
    if not reason.strip():
        return Refusal(RefusalCode.REASON_MISSING, "An activation needs its reason.")
    return text_refusal("reason", reason)


def unknown_ruleset(name: str) -> Refusal:
    """No version of this name was published."""
    return Refusal(RefusalCode.RULESET_UNKNOWN, f"There is no ruleset {name!r}.")
