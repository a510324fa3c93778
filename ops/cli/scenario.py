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
from itertools import count
from typing import BinaryIO, Final

import click
import msgspec

from domain.rulesets import released_rulesets
from ops.cli.output import UsageError, data_console, printable, reader_may_leave, write_json_line
from replay.scenario import Played, ScenarioError, outcome, play_scenario, read_scenario

LARGEST_SCENARIO: Final = 1 << 20
"""Bytes of one scenario; a legal one has a few thousand."""


@click.command("scenario")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="One compact JSON outcome a line, in the order of the input.")
def scenario(file: str, as_json: bool) -> None:
    """Play rounds with a given deck ("what if") and print what every box gets.

    FILE holds one JSON object, or JSON Lines of them; - is standard input.

    Exit status: 0 all were played, 1 a decision was refused, 2 the input can't be read. What stands before an
    unreadable line is still played and printed; 2 goes before 1.
    """
    refused = False
    malformed: ScenarioError | None = None
    with _opened(file) as source, reader_may_leave():
        try:
            for played in _played(source):
                refused |= played.refusal is not None
                (_print_json if as_json else _print_readable)(played)
        except ScenarioError as error:
            malformed = error
    if malformed is not None:
        raise UsageError(f"{_name(file)}: {malformed}")
    if refused:
        click.get_current_context().exit(1)


def _played(source: BinaryIO) -> Iterator[Played]:
    """Every scenario of the input, played.  Raises ScenarioError with line, field and reason."""
    rulesets = released_rulesets()
    for line, text in _scenarios(source):
        try:
            # Without its line break, so that a line cut short is told by its own number.
            played = play_scenario(read_scenario(text.rstrip()), rulesets)
        except ScenarioError as error:
            raise ScenarioError(_located(line, str(error))) from None
        yield played


def _print_json(played: Played) -> None:
    write_json_line(outcome(played))


# -- input


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        source = open(file, "rb")  # noqa: SIM115 - closed below; the command's own errors must not be taken for this one
    except (OSError, ValueError) as error:  # a ValueError is a zero byte in the name
        raise UsageError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    with source:
        yield source


def _name(file: str) -> str:
    return "standard input" if file == "-" else file


def _scenarios(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Each scenario's text with the number of the line where it begins."""
    lines = _lines(source)
    line, text = next(lines, (0, b""))
    if not line:
        raise ScenarioError("holds no scenario")
    if _is_json(text):
        yield line, text
        yield from lines
    else:
        yield line, _one_object(line, text, source)


def _one_object(line: int, first: bytes, source: BinaryIO) -> bytes:
    """The object that begins with a line that is no JSON by itself; or that line, if it is a bad one of several."""
    text = first + source.read(LARGEST_SCENARIO + 1 - len(first))
    if _is_json(text):
        return text
    second = text[len(first) :].lstrip().split(b"\n", 1)[0]
    if _is_json(second):
        return first
    if len(text) > LARGEST_SCENARIO:
        raise ScenarioError(f"line {line}: no JSON by itself, and no object of at most {LARGEST_SCENARIO} bytes")
    return text


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _lines(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that aren't blank, numbered from 1."""
    for line in count(1):
        text = _line(source, line)
        if not text:
            return
        if not text.isspace():
            yield line, text


def _line(source: BinaryIO, line: int) -> bytes:
    try:
        text = source.readline(LARGEST_SCENARIO + 1)
    except OSError as error:
        raise ScenarioError(f"line {line}: {error.strerror}") from None
    if len(text) > LARGEST_SCENARIO:
        raise ScenarioError(f"line {line}: longer than {LARGEST_SCENARIO} bytes")
    return text


# -- errors: the field first, then the reason


_JSON_PLACE: Final = re.compile(r" at line (\d+) column (\d+)$")
_FIELD: Final = re.compile(r"(.*) - at `(?:key in )?\$\.?(.*)`$", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(\w+)`$")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)


def _located(line: int, reason: str) -> str:
    """`line N: field: reason` of what a reader said about the scenario that begins in this line."""
    place = _JSON_PLACE.search(reason)
    if place is not None:
        return f"line {line + int(place[1]) - 1}: {reason[: place.start()]} at column {place[2]}"
    field = _FIELD.match(reason)
    path, reason = ("", reason) if field is None else (field[2], field[1])
    for pattern, words in ((_MISSING, "is missing"), (_UNKNOWN, "is no field of a scenario")):
        named = pattern.match(reason)
        if named is not None:
            path, reason = f"{path}.{named[1]}".lstrip("."), words
    return f"line {line}: {path}: {reason}" if path else f"line {line}: {reason}"


# -- output for people


def _print_readable(played: Played) -> None:
    # Slow to import, and the pipe with --json doesn't need it.
    from rich.console import Group
    from rich.text import Text

    from ops.cli.show import render_boxes

    console = data_console()
    if played.refusal is not None:
        where = "" if played.refused_at is None else f" decision {played.refused_at}"
        clause = "" if played.refusal.clause is None else f" ({played.refusal.clause})"
        console.print(Text(f"REFUSED{where}: {printable(played.refusal.text)}{clause}\n"))
        return
    title = Text(f"{played.ruleset.name}, given deck; amounts in minor units", style="bold")
    console.print(Group(title, *render_boxes(played.ruleset, played.state)), "")
