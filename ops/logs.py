"""Logs: JSON lines on stderr, one snake_case event name with values as keys, never a seed.

Quiet unless `DEALPROOF_LOG` asks for more (`debug`, `info`; default `warning`).  Exceptions are logged without the
local variables of their frames: a dictionary of locals once printed a server seed.

Not here: what a command prints for its user (`ops.cli`).
"""

from __future__ import annotations

import logging
import sys
from functools import cache
from typing import TYPE_CHECKING

from ops.cli.output import UsageError

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_level = "warning"


def set_level(level: str) -> None:
    """Choose how much this process logs.  Raises UsageError for a level that isn't one."""
    global _level
    if level not in _LEVELS:
        raise UsageError(f"DEALPROOF_LOG: {level!r} is not one of {', '.join(_LEVELS)}")
    _level = level


@cache
def logger() -> FilteringBoundLogger:
    """The process's logger, made on first use: a command that logs nothing does not import structlog."""
    import structlog

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(sort_keys=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[_level]),
        # One write a line, so that lines of several threads and processes stay whole.
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )
    log: FilteringBoundLogger = structlog.get_logger()
    return log
