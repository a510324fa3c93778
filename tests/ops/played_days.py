"""A casino that was open for some days: its clock runs on whenever somebody looks at it.

Not here: the playing (`tests.ops.played`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from domain.day import day_of
from ops import clock
from ops.journal import Journal
from tests.ops.played import play_rounds

BEGUN = 1_796_122_800_000
"""2026-12-01T11:00:00Z"""


class Clock:
    """Minutes go by with each look at it."""

    def __init__(self, milliseconds: int = BEGUN, step: int = 2_700_000) -> None:
        self.milliseconds = milliseconds
        self.step = step
        self.random = Random(7)

    def now(self) -> str:
        self.milliseconds += self.step
        return clock.as_text(self.milliseconds)

    def new_round_id(self) -> bytes:
        return clock.round_id_at(self.milliseconds, self.random.randbytes(10))

    @property
    def day(self) -> str:
        """Without looking at it."""
        return day_of(clock.as_text(self.milliseconds))


@contextmanager
def slow_clock(milliseconds: int = BEGUN, step: int = 2_700_000) -> Iterator[Clock]:
    """The house's clock until the end of the block."""
    slow = Clock(milliseconds, step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now", slow.now)
        patch.setattr(clock, "new_round_id", slow.new_round_id)
        yield slow


def play_days(journal: Journal, rounds: int, seed: int = 1) -> Clock:
    """Rounds over several days; gives the clock as it stands afterwards."""
    with slow_clock() as slow:
        play_rounds(journal, rounds, seed, tables_each=1)
    return slow
