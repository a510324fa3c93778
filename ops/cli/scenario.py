"""`dealproof scenario`: play given decks and print what every box gets.  Format: docs/formats/scenario.md.

A hundred thousand rounds may come through a pipe, so a line costs here what the engine takes and little more, and no
more than one scenario is held at a time.

Not here: reading a scenario's fields, playing it (`replay.scenario`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from ops.cli.output import UsageError, reader_may_leave, write_json_line

if TYPE_CHECKING:
    from replay.scenario import Played

LARGEST_SCENARIO: Final = 1 << 20
"""Bytes of one scenario; a legal one has a few thousand."""

NUL_OR_BREAK: Final = re.compile(r" at line (\d+) column (\d+)$")


@click.command("scenario")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="One compact JSON outcome a line, in the order of the input.")
def scenario_command(file: str, as_json: bool) -> None:
    """Play scenarios: rounds with a given deck.

    FILE holds one JSON object or JSON Lines of them; - is standard input.  Exit status: 0 all were played, 1 a decision
    was refused, 2 the input can't be read (what stands before was still played and printed; 2 goes before 1).
    """
    refused = False
    with _opened(file) as (source, name), reader_may_leave():
        try:
            for line, text in _scenarios(source):
                refused |= _answer(line, text, as_json)
        except _Malformed as malformed:
            sys.stdout.flush()
            raise UsageError(f"{name}: {malformed}") from None
    if refused:
        click.get_current_context().exit(1)


class _Malformed(Exception):
    """Input that is no scenario: line, field, reason."""
