"""Rulesets in the journal: published as events, and read back for a verification.

Stream `ruleset:<id>@<version>`, one event `ruleset-published.v1` with the whole document (docs/formats/ruleset.md).

Not here: what a document says (`domain.ruleset`).
"""

from __future__ import annotations

import msgspec

from domain.activation import RulesetPublished, ruleset_stream
from domain.record import CHAIN_START, FORMAT_VERSION, Record, canonical_json
from domain.ruleset import Ruleset, RulesetError, load_ruleset
from domain.rulesets import released_rulesets
from ops.clock import now
from ops.journal import Journal, StreamConflict


def publish(journal: Journal, ruleset: Ruleset) -> None:
    """Write a ruleset's document into the journal, once."""
    stream = ruleset_stream(ruleset.name)
    if journal.stream_head(stream) is not None:
        return
    body = canonical_json(
        {
            "at": now(),
            "data": {"digest": ruleset.digest.hex(), "document": msgspec.to_builtins(ruleset.document)},
            "prev": CHAIN_START,
            "seq": 0,
            "stream": stream,
            "type": RulesetPublished.NAME,
            "v": FORMAT_VERSION,
        }
    )
    try:
        # The same command whoever begins first: the second one gets the first answer, whatever its clock says.
        journal.append(f"publish {ruleset.name}", ruleset.digest, [Record(stream, 0, RulesetPublished.NAME, body)])
    except StreamConflict:
        return  # somebody else has published it at the same moment


def known_rulesets(journal: Journal) -> list[Ruleset]:
    """The released rulesets of this program, and those that only the journal has (a casino's own versions).

    For a released name the program's document stands, whatever the journal says.  A published document that can't be
    read here (of a newer program, say) or names another stream is left out: its rounds are not checkable, and say so.
    """
    released = released_rulesets()
    rulesets = list(released.values())
    for stream, body in journal.published_rulesets():
        if stream.removeprefix("ruleset:") in released:
            continue
        try:
            ruleset = load_ruleset(bytes(msgspec.json.decode(body, type=_Published).data["document"]))
        except (RulesetError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError):
            continue
        if ruleset_stream(ruleset.name) == stream:
            rulesets.append(ruleset)
    return rulesets


class _Published(msgspec.Struct):
    data: dict[str, msgspec.Raw]
