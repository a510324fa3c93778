"""Is the revealed seed the one that the house committed to, under the ruleset that it pinned?  Rule 4.4.

Not here: the cards that the seed deals (`deck`).
"""

from __future__ import annotations

from domain.deal.commitment import commitment
from domain.round import events as e
from replay.checks.common import rung
from replay.evidence import Evidence, round_id
from replay.verdict import Check, CheckName, Discrepancy


def check(evidence: Evidence) -> Check:
    """C = H("dp1/commit" || R || G || S) with the revealed S; the pinned digest is that of the pinned name."""
    opened, ruleset = evidence.opened, evidence.ruleset
    if opened is None:
        return rung(CheckName.COMMITMENT, [], "the record does not say how the round was opened")
    known = {known.name: digest for digest, known in evidence.rulesets.items()}
    if opened.ruleset in known and known[opened.ruleset] != opened.ruleset_digest:
        digest = known[opened.ruleset]
        wrong = Discrepancy(_seq(evidence), opened.NAME, "ruleset_digest", opened.ruleset_digest, digest)
        return rung(CheckName.COMMITMENT, [wrong])
    if ruleset is None:
        return rung(CheckName.COMMITMENT, [], f"the ruleset {opened.ruleset} is not known here")
    found = []
    if ruleset.name != opened.ruleset:
        found.append(Discrepancy(_seq(evidence), opened.NAME, "ruleset", opened.ruleset, ruleset.name))
    if not evidence.over:
        return rung(CheckName.COMMITMENT, found, "the round is still open: its seed is not revealed yet")
    identity, seed = round_id(evidence.stream), evidence.server_seed
    if identity is None:
        found.append(Discrepancy(None, None, "stream", evidence.stream, "round: and 32 digits of lower-case hex"))
        return rung(CheckName.COMMITMENT, found)
    if seed is None:
        found.append(Discrepancy(None, e.SeedRevealed.NAME, "server_seed", _recorded_seed(evidence), "32 bytes of hex"))
        return rung(CheckName.COMMITMENT, found)
    recomputed = commitment(identity, ruleset.digest, seed).hex()
    if recomputed != opened.commitment:
        found.append(Discrepancy(_seq(evidence), opened.NAME, "commitment", opened.commitment, recomputed))
    return rung(CheckName.COMMITMENT, found)


def _seq(evidence: Evidence) -> int:
    return next(place for place, record in evidence.placed if isinstance(record.data, e.RoundOpened))


def _recorded_seed(evidence: Evidence) -> str | None:
    revealed = (event for event in evidence.events if isinstance(event, e.SeedRevealed))
    return next((event.server_seed for event in revealed), None)
