"""What is wrong with bytes that can't be decoded.  The names and the tree of classes are msgspec's.

Not here: finding it (`scanning`, `shapes`).
"""

from __future__ import annotations


class MsgspecError(ValueError):
    """Any of the errors below."""


class DecodeError(MsgspecError):
    """Bytes that are no JSON."""


class ValidationError(DecodeError):
    """JSON that is not of the type that was asked for."""


class Misfit(Exception):
    """A value that its type doesn't take; whoever reads around it adds the steps that lead there, innermost first."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.steps: list[str] = []

    def as_validation_error(self) -> ValidationError:
        """The error as a caller gets it."""
        where = f" - at `${''.join(reversed(self.steps))}`" if self.steps else ""
        return ValidationError(self.reason + where)
