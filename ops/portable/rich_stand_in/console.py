"""`rich.console`: a console that prints lines as they are.

Not here: everything else that rich does.
"""

from __future__ import annotations

from typing import TextIO


class Console:
    """Prints to a file; how it would look on a terminal is left aside."""

    def __init__(self, *, file: TextIO, **_: object) -> None:
        self._file = file

    def print(self, text: object = "", *, soft_wrap: bool = True) -> None:
        """A line; a long one is not broken."""
        print(text, file=self._file)
