"""`dealproof project`: bring the projections up to the journal, see how far they are, build one anew.

Not here: what a projection is (`projections`), what is read from them (`ops.cli.report`).
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import click

from ops.cli.columns import print_columns
from ops.cli.output import UsageError, data_console, write_json_line
from ops.cli.progress import progress
from ops.settings import Settings

if TYPE_CHECKING:
    from projections.runner import Step
    from projections.status import Hole, Standing, Status


@click.group()
def project() -> None:
    """Balances, histories and sums, computed from the journal: bring them up to it, see how far they are."""


@project.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--once", is_flag=True, help="Stop when all there is now has been taken in.")
@click.option("--companion-of", "parent", type=int, hidden=True, help="End when this process is our parent no more.")
@click.pass_obj
def run(settings: Settings, names: tuple[str, ...], once: bool, parent: int | None) -> int:
    """Follow the journal until it is interrupted; all projections, or those that are named.  `serve` does it by itself.

    Exit status: 0 interrupted, or (--once) caught up; 1 a projection stopped, or there is a hole; 2 it can't work.
    """
    from ops.parent import end_with_parent
    from ops.projecting import keep_up
    from ops.site import read_journal

    if parent is not None:
        end_with_parent(parent)
    chosen = _known(names)
    with read_journal(settings) as (url, _):
        if once:
            return _once(url, chosen)
        until = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: until.set())
        signal.signal(signal.SIGINT, lambda *_: until.set())
        keep_up(url, until, chosen)
    return 0


def _once(url: str, names: list[str]) -> int:
    from ops.projecting import catch_up

    before = _status(url, names)
    done = 0
    with progress("taking in events", sum(each.waiting for each in before.standings)) as advance:

        def told(step: Step) -> None:
            nonlocal done
            advance(step.read)
            done += step.read

        catch_up(url, names, told)
    status = _status(url, names)
    _print(status)
    return 0 if status.caught_up else 1


@project.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def status(settings: Settings, names: tuple[str, ...], as_json: bool) -> int:
    """How far each projection is, and what stands in its way.

    Exit status: 0 all caught up, 1 one is behind or has stopped, or a position of the journal is missing.
    """
    from ops.site import read_journal

    chosen = _known(names)
    with read_journal(settings) as (url, _):
        found = _status(url, chosen)
    if as_json:
        write_json_line(_as_json(found))
    else:
        _print(found)
    return 0 if found.caught_up else 1


@project.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "every", is_flag=True, help="Every projection, one after the other.")
@click.option("--compare", is_flag=True, help="Count the rows that differ from those that were there.")
@click.pass_obj
def rebuild(settings: Settings, names: tuple[str, ...], every: bool, compare: bool) -> int:
    """Build tables anew from the first event on, beside those that are read; then they are read in their place.

    Readers never wait; the projector does, at the end.  Exit status: 0 done, 1 --compare found rows that differ.
    """
    from ops import database
    from ops.projecting import catch_up, projector, some
    from ops.site import read_journal
    from projections import runner
    from projections.feed import Unreadable

    if bool(names) == every:
        raise UsageError("project rebuild: name the projections to rebuild, or say --all")
    chosen, differ = _known(names), False
    with read_journal(settings) as (url, _):
        for projection in some(chosen):
            with projector(url) as connection, database.explained(url), progress(projection.NAME, 0) as advance:
                if _make_first(connection, projection):
                    data_console().print(f"{projection.NAME}: was never run; it is built for the first time")
                    continue
                try:
                    built = runner.rebuild(connection, projection, _teller(advance), compare=compare)
                except Unreadable as error:
                    raise UsageError(f"project rebuild {projection.NAME}: {error}; the old tables stay") from None
            differ |= _tell_rebuilt(projection.NAME, built, compare)
        catch_up(url, chosen)
    return 1 if differ else 0


def _make_first(connection: Any, projection: Any) -> bool:
    """Whether there was nothing to rebuild."""
    from projections.runner import VersionOther, make_ready

    try:
        return make_ready(connection, projection)
    except VersionOther:
        return False  # which is why it is rebuilt


def _teller(advance: Any) -> Any:
    reached = 0

    def told(position: int, target: int) -> None:
        nonlocal reached
        advance(position - reached, total=target)
        reached = position

    return told


def _tell_rebuilt(name: str, built: Any, compare: bool) -> bool:
    """Print what came out; whether rows differ."""
    console = data_console()
    different = {table: count for table, count in (built.different or {}).items() if count}
    if different:
        words = ", ".join(f"{count:,} in {table}" for table, count in different.items())
        console.print(f"{name}: rebuilt up to position {built.position}; rows that differ: {words}", soft_wrap=True)
        return True
    same = "; not one row differs" if built.different is not None else ""
    if compare and built.different is None:
        same = "; not compared: the old tables were of another definition"
    console.print(f"{name}: rebuilt up to position {built.position}{same}", soft_wrap=True)
    return False


# -- status


def _known(names: tuple[str, ...]) -> list[str]:
    from projections.catalogue import PROJECTIONS

    for name in names:
        if name not in PROJECTIONS:
            raise UsageError(f"projection {name!r}: there is none; there are {', '.join(PROJECTIONS)}")
    return list(names or PROJECTIONS)


def _status(url: str, names: list[str]) -> Status:
    from ops import database
    from projections.status import read_status

    with database.connect(url, database.READER_ROLE) as connection, database.explained(url):
        return read_status(connection, names)


def _print(status: Status) -> None:
    rows = [["projection", "position", "events behind", "oldest waits", "state"]]
    rows += [_row(each) for each in status.standings]
    print_columns(rows, left=1)
    console = data_console()
    console.print(f"The journal ends at position {status.head:,}.", soft_wrap=True)
    for each in status.standings:
        if each.state.error is not None:
            console.print(f"{each.state.name} has stopped: {each.state.error}", soft_wrap=True)
    for hole in status.holes:
        console.print(_hole_words(hole), soft_wrap=True)


def _row(each: Standing) -> list[str]:
    age = "" if each.since is None else _age(each.since)
    if each.state.error is not None:
        word = "stopped"
    elif each.state.generation == 0:
        word = "never run"
    else:
        word = "behind" if each.waiting else "caught up"
    return [each.state.name, f"{each.state.position:,}", f"{each.waiting:,}", age, word]


def _hole_words(hole: Hole) -> str:
    count = hole.last - hole.first + 1
    where = f"Position {hole.first} is" if count == 1 else f"Positions {hole.first} to {hole.last} are"
    age = "of an unreadable time" if hole.at is None else f"{_age(hole.at)} old"
    cause = (
        "a transaction that is still open may fill it"
        if hole.may_be_filled
        else "no open transaction can fill it: what was there has been removed, or was never written"
    )
    return f"{where} missing, before the event at {hole.behind}, which is {age}: {cause}."


def _age(at: str) -> str:
    from ops import clock

    seconds = max(clock.milliseconds(clock.now()) - clock.milliseconds(at), 0) // 1000
    minutes, hours = seconds // 60, seconds // 3600
    if seconds < 120:
        return f"{seconds} s"
    return f"{minutes} min" if minutes < 120 else f"{hours} h" if hours < 48 else f"{hours // 24} d"


def _as_json(status: Status) -> dict[str, object]:
    return {
        "head": status.head,
        "caught_up": status.caught_up,
        "projections": [
            {
                "name": each.state.name, "position": each.state.position, "waiting": each.waiting,
                "waiting_since": each.since, "caught_up": each.caught_up, "generation": each.state.generation,
                "definition": each.state.version, "error_position": each.state.error_position,
                "error": each.state.error,
            }
            for each in status.standings
        ],
        "holes": [hole._asdict() for hole in status.holes],
    }  # fmt: skip
