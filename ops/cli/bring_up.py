"""Bring the projections up before something is read from them, and say on stderr what stands in the way.

Not here: the projector that does it all the time (`ops.cli.project`, `ops.cli.serve`).
"""

from __future__ import annotations

import sys

from ops.projecting import catch_up, may_project


def bring_up(url: str) -> None:
    """Take in what is new.  A login that only reads gets what others have taken in.  Raises DatabaseUnavailable."""
    if not may_project(url):
        _say("this login may not bring the projections up; they are read as far as they are (dealproof project status)")
        return
    step = catch_up(url)
    for stop in step.stopped:
        _say(f"projection {stop.name} has stopped: {stop.reason}")
    if step.gap is not None:
        _say(f"position {step.gap} of the journal is missing; nothing behind it is counted (dealproof project status)")


def _say(text: str) -> None:
    print(f"dealproof: {text}", file=sys.stderr)
