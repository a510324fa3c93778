"""How commands write: data on stdout, progress on stderr, one line for an error.

Not here: what is written (the commands), exit statuses of errors (`main`).
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

import msgspec

if TYPE_CHECKING:
    from rich.console import Console


class UsageError(Exception):
    """A command can't do what it is asked to; one line that names the field and the reason.  Exit status 2."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def printable(text: str) -> str:
    """A text from outside on one line, without the control characters that could steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode("ascii") for c in text)


def write_json_line(value: object) -> None:
    """One compact JSON value on a line of stdout."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")


def data_console() -> Console:
    """Where data for people goes: stdout."""
    return _console(sys.stdout)


def progress_console() -> Console:
    """Where progress goes: stderr."""
    return _console(sys.stderr)


class ReaderLeft(Exception):
    """Who read our output closed it early (`| head`): nobody may take a cut run for a verdict."""


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Write to stdout; a reader that closes the pipe early ends it without a word.  Raises ReaderLeft."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes stdout once more when it ends; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ReaderLeft from None


def _console(stream: TextIO) -> Console:
    """A console that never fails on a sign, and colours nothing but a terminal (nor that under NO_COLOR)."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich would leave with 1, which is the status of a discrepancy.
            raise BrokenPipeError

    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=_SPELLED)
    terminal = stream.isatty()
    return PipeConsole(
        file=stream, color_system="auto" if terminal else None, force_terminal=terminal, highlight=False, markup=False,
        emoji=False,
    )  # fmt: skip


_SPELLED: Final = "dealproof-spelled"
_SPELLING: Final = {"♣": "c", "♦": "d", "♥": "h", "♠": "s", "—": "-", "−": "-", "…": "~"}


def _spell(error: UnicodeError) -> tuple[str, int]:
    """What a terminal without the sign gets: the suit's letter, else the character's number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_SPELLING.get(c) or c.encode("ascii", "backslashreplace").decode() for c in signs), error.end


codecs.register_error(_SPELLED, _spell)
