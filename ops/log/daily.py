"""Once a day: what must be done beside the log, after midnight UTC or when the program was started after it.

A duty is a function without arguments.  It may be done a second time on the same day, after a restart.

Not here: the duties themselves (`ops.duties`), the log (`ops.log.sequencer`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from ops import clock
from ops.logs import logger

PAUSE_SECONDS: Final = 60.0
"""Between two looks at the calendar; a duty that failed is tried again then."""

Duty = Callable[[], None]


def keep_daily(duties: Sequence[Duty], until: threading.Event, now: Callable[[], str] = clock.now) -> None:
    """Do each duty once a day (UTC) until the event is set.  What goes wrong is logged and tried again."""
    done: dict[int, str] = {}
    while not until.wait(PAUSE_SECONDS):
        today = now()[:10]
        for number, duty in enumerate(duties):
            if done.get(number) != today and not until.is_set() and _is_done(duty):
                done[number] = today


def _is_done(duty: Duty) -> bool:
    try:
        duty()
    except Exception as error:
        # One duty that fails, whatever the reason, must not keep the others from being done.
        logger().error("daily_duty_failed", duty=getattr(duty, "__name__", "duty"), reason=str(error))
        return False
    return True
