"""Hold the drill: mutate the copy, ask the verification, put everything back, count; so many times.

Not here: the copy (`ops.drill.copy`), the mutations (`ops.drill.kinds`), what is printed (`ops.cli.drill`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from ops.drill.copy import Copy, DrillError
from ops.drill.kinds import KINDS, Kind, Mutation, mutation
from ops.drill.original import Zone
from ops.drill.verifier import RUNGS, Found, Verifier
from ops.recorder import JournalUnavailable

LOOK_EVERY: Final = 500
"""Mutations between two looks at whether the copy is as it was."""


LIMITS: Final = """\
What this says, and what not:
- Below the last cosignature the log finds every change of an event, also one that agrees with everything else in the
  house: the witness keeps a root of its own.
- What the log has signed and no witness has yet is held by the log key alone.  Whoever steals it and writes the log
  anew is found only by somebody who kept the older checkpoint, or a player's receipt; the next cosignature would be on
  the forged one.  A witness that looks once a minute makes that a minute.
- What is not in the log yet (about a second) is held by the rules of the game and the books alone: a text, a deposit,
  the end of the journal can be changed there so that everything agrees.
- Tables beside the events are not in the log.  They are held against the events; what a caller's request was is not.
- A drill says what verification finds, not who verifies, nor how soon."""


class DrillBroken(Exception):
    """The verification or the drill itself failed on a mutation: a bug of ours, never a finding."""


@dataclass
class Score:
    """How one kind of mutation fared in one zone; `rungs`: how often each was the lowest that found it."""

    tried: int = 0
    caught: int = 0
    by_log: int = 0
    rungs: Counter[str] = field(default_factory=Counter)

    def add(self, found: Found) -> None:
        """Count one mutation."""
        self.tried += 1
        self.by_log += found.by_log
        if found.lowest is not None:
            self.caught += 1
            self.rungs[found.lowest] += 1

    def ordered(self) -> list[tuple[str, int]]:
        """Rungs and counts, in the order in which they are asked."""
        return [(rung, self.rungs[rung]) for rung in RUNGS if self.rungs[rung]]

    def __iadd__(self, other: Score) -> Score:
        self.tried += other.tried
        self.caught += other.caught
        self.by_log += other.by_log
        self.rungs += other.rungs
        return self


@dataclass
class Outcome:
    """What a drill came to: scores by kind and zone, and every mutation that nobody found."""

    seed: int
    events: int
    cosigned: int
    signed: int
    scores: dict[tuple[str, Zone], Score] = field(default_factory=dict)
    missed: list[Mutation] = field(default_factory=list)

    def add(self, made: Mutation, found: Found) -> None:
        """Count one mutation."""
        self.scores.setdefault((made.kind, made.zone), Score()).add(found)
        if found.lowest is None:
            self.missed.append(made)

    def total(self, zone: Zone) -> Score:
        """All kinds together."""
        total = Score()
        for (_, where), score in self.scores.items():
            if where is zone:
                total += score
        return total

    @property
    def holds(self) -> bool:
        """Whether everything below the last cosignature was found."""
        below = self.total(Zone.BELOW)
        return below.caught == below.tried

    def as_json(self) -> dict[str, Any]:
        """One object (docs/runbooks/drill.md)."""
        return {
            "seed": self.seed,
            "events": self.events,
            "cosigned": self.cosigned,
            "signed": self.signed,
            "holds": self.holds,
            "zones": {zone: _as_json(self.total(zone)) for zone in Zone},
            "kinds": [
                {"kind": kind, "zone": zone, **_as_json(self.scores[kind, zone])} for kind, zone in sorted(self.scores)
            ],
            "missed": [
                {"number": made.number, "kind": made.kind, "zone": made.zone, "place": made.change.place}
                for made in self.missed
            ],
        }


def _as_json(score: Score) -> dict[str, Any]:
    return {"tried": score.tried, "caught": score.caught, "by_log": score.by_log, "rungs": dict(score.ordered())}


def hold_drill(
    copy: Copy, seed: int, numbers: Iterable[int], done: Callable[[], None], kinds: Iterable[Kind] = KINDS
) -> Outcome:
    """Make the mutations of these numbers, each on the copy as it was.

    Raises DrillError where the copy does not verify before anybody has touched it, DrillBroken, JournalUnavailable.
    """
    verifier, original, known = Verifier(copy), copy.original, tuple(kinds)
    if not verifier.is_clean():
        text = "the journal does not verify as it is; `dealproof verify --all` and `--accounts` say where"
        raise DrillError(f"drill: {text}")
    outcome = Outcome(seed, len(original.events), original.cosigned, original.signed)
    for count, number in enumerate(numbers, 1):
        made = mutation(seed, number, original, known)
        outcome.add(made, _tried(copy, verifier, made, seed))
        if count % LOOK_EVERY == 0:
            _require_as_it_was(copy, made, seed)
        done()
    _require_as_it_was(copy, None, seed)
    return outcome


def _tried(copy: Copy, verifier: Verifier, made: Mutation, seed: int) -> Found:
    try:
        copy.carry_out(made.change)
        found = verifier.look(made.change, made.zone)
        copy.undo(made.change)
    except JournalUnavailable:
        raise
    except Exception as error:
        raise DrillBroken(f"seed {seed}, {made}: {type(error).__name__}: {error}") from error
    return found


def _require_as_it_was(copy: Copy, made: Mutation | None, seed: int) -> None:
    if not copy.is_as_it_was():
        raise DrillBroken(f"seed {seed}, {made or 'the end'}: the copy is not as it was before the mutations")
