"""`dealproof witness`: a regulator's own program, on his own machine: it signs a log's checkpoints while it only grows.

It needs its folder, a trust file and the log's address; no database, and none of the server's packages.

Not here: what is signed and refused (`ops.log.witness`), the house's side (`ops.api.log`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from domain.log.checkpoint import Checkpoint
from ops.cli.output import data_console, printable
from ops.clock import as_text
from ops.log.remote import LogUnavailable, RemoteLog
from ops.log.trusting import read_trust
from ops.log.witness import (
    Behind,
    Did,
    Fork,
    Look,
    Refused,
    Unproved,
    Witness,
    forks,
    make_witness,
    open_witness,
    read_held,
    read_public_key,
)
from ops.settings import Settings

EVERY: Final = 60
"""Seconds between two looks."""


@click.group()
def witness() -> None:
    """Sign the checkpoints of somebody's log, as long as it only grows.

    docs/runbooks/witness.md has the whole procedure.
    """


def _address(_: click.Context, __: click.Parameter, url: str) -> RemoteLog:
    try:
        return RemoteLog(url)
    except ValueError as error:
        raise click.BadParameter(f"{url!r}: {error}") from None


_folder_option: Final[Callable[[Callable[..., Any]], Callable[..., Any]]] = click.option(
    "--folder", type=click.Path(path_type=Path), help="The witness's own folder; else `witness` below the home."
)
_trust_option: Final[Callable[[Callable[..., Any]], Callable[..., Any]]] = click.option(
    "--trust", "trust_path", metavar="FILE", type=click.Path(path_type=Path), help="The log's name and keys."
)


def _folder(settings: Settings, given: Path | None) -> Path:
    return (given or settings.home / "witness").expanduser().absolute()


@witness.command()
@click.option("--name", metavar="NAME", required=True, help="How the witness is called, as regulator.example/w1.")
@_folder_option
@click.pass_obj
def init(settings: Settings, name: str, folder: Path | None) -> None:
    """Make the witness's key, once, and print what others check its signatures with."""
    _say(make_witness(_folder(settings, folder), name).to_text())


@witness.command()
@click.option("--log", "log", metavar="URL", required=True, callback=_address, help="As https://play.example.org.")
@_trust_option
@_folder_option
@click.option("--once", is_flag=True, help="Look once and say what was found.")
@click.option("--every", type=click.IntRange(1, 86_400), default=EVERY, show_default=True, help="Seconds to wait.")
@click.pass_obj
def run(
    settings: Settings, log: RemoteLog, trust_path: Path | None, folder: Path | None, once: bool, every: int
) -> int:
    """Look at the log's newest checkpoint again and again; sign it if the log has only grown since the last one.

    Exit status: 0 signed, or nothing new; 1 the log is behind, is no continuation or has forked; 2 something can't be
    read or reached.  Without --once only a fork and what is wrong on this machine end it.
    """
    trust = read_trust(trust_path or settings.trust_file)
    with open_witness(_folder(settings, folder), trust, lambda: int(time.time())) as found:
        try:
            if once:
                _say(_sentence(found.look(log)))
            else:
                _follow(found, log, every)
        except Refused as refused:
            _print_refusal(refused)
            return 1
    return 0


@witness.command()
@_trust_option
@_folder_option
@click.pass_obj
def show(settings: Settings, trust_path: Path | None, folder: Path | None) -> int:
    """Print the witness's key and the checkpoint that it holds.  Exit status 1 if a fork was found."""
    path = _folder(settings, folder)
    own = read_public_key(path)
    _say(f"key      {own.to_text()}")
    if (path / "held").exists():
        held = read_held(path, own, read_trust(trust_path or settings.trust_file))
        if held is not None:
            _say(f"log      {held.checkpoint.origin}")
            _say(f"held     {_words(held.checkpoint)}")
            _say(f"signed   {as_text(1000 * held.opened.cosigned[0].time)}")
    else:
        _say("held     nothing yet")
    found = forks(path)
    for fork in found:
        _say(f"fork     {fork}")
    return 1 if found else 0


def _follow(found: Witness, log: RemoteLog, every: int) -> None:
    """Look until there is a fork; what stands in the way is told once."""
    told = ""
    while True:
        state = ""
        try:
            look = found.look(log)
            if look.did not in (Did.NOTHING_NEW, Did.EMPTY):
                _say(_sentence(look))
        except (LogUnavailable, Behind, Unproved) as error:
            state = str(error)
        if state != told:
            print(f"dealproof: {printable(state or 'the log answers as it should again')}", file=sys.stderr, flush=True)
        told = state
        time.sleep(every)


# -- words


def _sentence(look: Look) -> str:
    if look.checkpoint is None:
        return "The log is empty: nothing to sign"
    words = _words(look.checkpoint)
    if look.first_contact:
        return f"First contact, nothing was held: {words} believed as it is and cosigned (trust on first use)"
    return _SENTENCES[look.did].format(words)


_SENTENCES: Final = {
    Did.COSIGNED: "Cosigned: {}",
    Did.BROUGHT_AGAIN: "Brought again what the log had not kept: {}",
    Did.NOTHING_NEW: "Nothing new: {}",
}


def _words(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.size:,} events, root {checkpoint.root.hex()}"


def _print_refusal(refused: Refused) -> None:
    if not isinstance(refused, Fork):
        _say(f"Not signed: {refused}")
        return
    _say(f"FORK: {refused}")
    for side in refused.sides:
        _say(f"\n{side.where}:")
        for line in side.data.decode().splitlines():
            _say(f"  {line}".rstrip())
    _say(f"\nBoth sides are kept in {refused.path}; nothing more is signed until a person has removed it")


def _say(text: str) -> None:
    lines = "\n".join(printable(line) for line in text.split("\n"))
    data_console().print(lines, soft_wrap=True)
