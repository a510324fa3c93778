"""`dealproof void` and `dealproof finish`: end a round that was left open (clauses 10.1 and 10.2).

Both post what the end means in money, as the game server's commands do; the seed is revealed.

Not here: what a table's policy decides (`ops.floor`).
"""

from __future__ import annotations

import getpass
import secrets
from typing import TYPE_CHECKING

import click

from ops.cli.output import UsageError, data_console
from ops.settings import Settings

if TYPE_CHECKING:
    from domain.round.refusals import Refusal
    from ops.commands import Command
    from ops.floor import Floor, RoundDone


@click.command()
@click.argument("round_name", metavar="ROUND")
@click.option("--reason", required=True, help="Why; it stands in the record.")
@click.option("--by", "person", help="Who; the login name if it is left out.  It stands beside the record.")
@click.pass_obj
def void(settings: Settings, round_name: str, reason: str, person: str | None) -> None:
    """Void an open round: every stake and fee goes back, the reason is recorded, the seed is revealed.

    ROUND is a round id (32 hex digits, dashes allowed) or TABLE/NUMBER.
    """
    from domain.round.choices import Void
    from ops.cli.rounds import find_stream
    from ops.site import open_floor

    with open_floor(settings, make_ready=False) as (_, floor):
        stream = find_stream(floor.journal, round_name)
        _require_done(round_name, floor.choose(_command(stream, person), stream, Void(reason)))
    data_console().print(f"Round {stream.removeprefix('round:')} is voided; see dealproof show.", soft_wrap=True)


@click.command()
@click.argument("round_name", metavar="[ROUND]", required=False)
@click.option("--abandoned", is_flag=True, help="Every round that its table calls abandoned.")
@click.option("--by", "person", help="Who; the login name if it is left out.  It stands beside the record.")
@click.pass_obj
def finish(settings: Settings, round_name: str | None, abandoned: bool, person: str | None) -> None:
    """End abandoned rounds by their tables' published policy; each decision is recorded as the house's.

    ROUND is a round id (32 hex digits, dashes allowed) or TABLE/NUMBER.  A round whose last decision is younger than
    its table's policy says is left alone.
    """
    from ops.cli.rounds import find_stream
    from ops.site import open_floor

    if (round_name is None) == (not abandoned):
        raise UsageError("finish: name one ROUND, or --abandoned")
    with open_floor(settings, make_ready=False) as (_, floor):
        if round_name is not None:
            stream = find_stream(floor.journal, round_name)
            _print_ended(_require_done(round_name, floor.finish(_command(stream, person), stream)))
            return
        ended = _finish_all(floor, person)
    data_console().print(f"{ended:,} abandoned rounds were finished.")


def _finish_all(floor: Floor, person: str | None) -> int:
    """Finish what may be finished, oldest first; a round that is not abandoned yet stays."""
    from domain.round.refusals import Refusal, RefusalCode

    ended, after = 0, ""
    while streams := floor.journal.open_rounds(after):
        for after in streams:
            made = floor.finish(_command(after, person), after)
            if not isinstance(made, Refusal):
                _print_ended(made)
                ended += 1
            elif made.code not in (RefusalCode.NOT_ABANDONED, RefusalCode.ROUND_ENDED):
                data_console().print(f"Round {after.removeprefix('round:')} is left: {made.text}", soft_wrap=True)
    return ended


def _print_ended(made: RoundDone) -> None:
    how = "voided" if made.state.voided else "finished"
    data_console().print(f"Round {made.round_id} is {how} by its table's policy.", soft_wrap=True)


def _require_done(name: str, made: RoundDone | Refusal) -> RoundDone:
    from domain.round.refusals import Refusal

    if isinstance(made, Refusal):
        raise UsageError(f"round {name}: {made.text}")
    return made


def _command(stream: str, person: str | None) -> Command:
    from domain.access import is_person
    from ops.commands import Command

    by = f"{_login()} at the command line" if person is None else person
    if not is_person(by):
        raise UsageError(f"--by: {by!r} is no person's name")
    return Command(f"cli {stream} {secrets.token_hex(16)}", stream.encode(), by)


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"  # a user without a name, as in some containers
