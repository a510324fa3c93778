"""`dealproof log`: the transparency log: its name and keys, the sequencer at work, how far it has come.

Not here: how the log is built (`ops.log.sequencer`), what a witness does (`ops.cli.witness`).
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from domain.log.events import KeyUse
from ops.cli.output import UsageError, data_console, printable, write_json_line
from ops.cli.persons import by_option, login_name, reason_option
from ops.settings import Settings

if TYPE_CHECKING:
    from domain.log.events import LogKeyEvent
    from ops.journal import Journal


@click.group()
def log() -> None:
    """Build the transparency log; see how far it is; name its keys."""


@log.command()
@click.option("--origin", metavar="NAME", help="The log's name, as play.example.org/log; else a random one.")
@click.pass_obj
def init(settings: Settings, origin: str | None) -> None:
    """Make the log's keys and the trust file that pins them, once; a log keeps its name."""
    from ops.log.keys import make_keys

    keys = make_keys(settings, origin)
    data_console().print(f"The log {keys.origin} is pinned in {settings.trust_file}", soft_wrap=True)


@log.command()
@click.option("--companion-of", "parent", type=int, hidden=True, help="End when this process is our parent no more.")
@click.option("--embedded", is_flag=True, hidden=True, help="The database is the embedded one, whatever its address.")
@click.pass_obj
def run(settings: Settings, parent: int | None, embedded: bool) -> int:
    """Follow the journal and publish checkpoints until it is interrupted.  `serve` does it by itself.

    Exit status: 0 interrupted, 1 what is stored differs from what was written or from the journal, 2 it can't work.
    """
    from ops.duties import daily_duties
    from ops.log.daily import keep_daily
    from ops.log.store import LogDamaged
    from ops.parent import end_with_parent
    from ops.site import read_journal

    if parent is not None:
        end_with_parent(parent)
    until = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: until.set())
    with read_journal(settings) as (url, journal):
        site = replace(settings, database_url=None) if embedded else settings
        duties = daily_duties(site, url, journal, until)
        daily = threading.Thread(target=keep_daily, args=(duties, until), daemon=True)
        daily.start()
        try:
            _follow(settings, journal, until)
        except LogDamaged as error:
            print(f"dealproof: log: {printable(str(error))}", file=sys.stderr)
            return 1
        finally:
            until.set()
            daily.join()
    return 0


def _follow(settings: Settings, journal: Journal, until: threading.Event) -> None:
    from ops.journal import JournalUnavailable
    from ops.log.sequencer import open_sequencer

    with open_sequencer(settings, journal, by=login_name()) as sequencer:
        sequencer.run(until)
        with suppress(JournalUnavailable):  # what is left is taken in by the next start
            sequencer.catch_up()


@log.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def status(settings: Settings, as_json: bool) -> int:
    """Say how far the log is, what it waits for and who has signed it.

    Exit status: 1 if the journal has lost events that the log has, else 0.
    """
    from ops.log.status import read_status
    from ops.site import read_journal

    with read_journal(settings) as (_, journal):
        found = read_status(settings, journal)
    if as_json:
        write_json_line(found.as_json())
    else:
        for line in found.lines():
            data_console().print(line, soft_wrap=True)
    return 1 if found.lost else 0


@log.command(name="key")
@click.pass_obj
def key_command(settings: Settings) -> None:
    """Print the keys that others check the log and its receipts with, and where this site pins them."""
    from ops.log.keys import site_keys

    keys = site_keys(settings)
    for name, key in (("log", keys.log), ("receipt", keys.receipt)):
        data_console().print(f"{name:8}{key.verifier.to_text()}", soft_wrap=True)
    data_console().print(f"{'trust':8}{settings.trust_file}", soft_wrap=True)


# -- what happens to keys


@log.group(name="keys")
def keys_group() -> None:
    """Record that a key was added, retired or compromised; trust files are changed by hand.

    docs/runbooks/log.md has the whole procedure.
    """


@keys_group.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object an event.")
@click.pass_obj
def list_command(settings: Settings, as_json: bool) -> None:
    """List what happened to keys."""
    from ops.log.keys import read_key_events
    from ops.site import read_journal

    with read_journal(settings) as (_, journal):
        events = [_as_json(event) for event in read_key_events(journal)]
    for event in events:
        if as_json:
            write_json_line(event)
            continue
        size = event.get("first_size", event.get("last_size"))
        what = event["type"].removeprefix("log-key-").removesuffix(".v1")
        use = f" for {event['use']}" if "use" in event else ""
        line = f"{what}{use} from" if what == "added" else f"{what} after"
        text = f"{line} size {size}: {event['key']} by {event['by']}: {event['reason']}"
        data_console().print(printable(text), soft_wrap=True)


def _as_json(event: LogKeyEvent) -> dict[str, Any]:
    import msgspec

    return {"type": event.NAME, **msgspec.to_builtins(event)}


@keys_group.command()
@click.argument("key", metavar="[KEY]", required=False)
@click.option("--use", required=True, type=click.Choice([use.value for use in KeyUse]), help="What it signs.")
@click.option("--first-size", type=click.IntRange(0), help="From which size on; else after the newest checkpoint.")
@reason_option
@by_option
@click.pass_obj
def add(settings: Settings, key: str | None, use: str, first_size: int | None, reason: str, by: str) -> None:
    """Record that KEY (<name>+<hash>+<base64>) signs from now on; print it.

    Without KEY it is that of the key file of this use, which is made where it is missing.
    """
    from domain.log import events as e
    from ops.log.keys import file_key
    from ops.log.trusting import read_trust

    origin = read_trust(settings.trust_file).origin
    if key is None:
        if use == KeyUse.WITNESS:
            raise UsageError("KEY: is missing; a witness brings its own, as `dealproof witness` prints it")
        key = file_key(settings, KeyUse(use), origin).verifier.to_text()
    first = _next_size(settings) if first_size is None else first_size
    event = _changed(
        settings, by, lambda events: e.add(
            events, origin=origin, use=KeyUse(use), key=key, first_size=first, by=by, reason=reason
        ),
    )  # fmt: skip
    print(f"Recorded from size {first} on; now add it to the trust files of all who shall believe it:", file=sys.stderr)
    print(event.key)


@keys_group.command()
@click.argument("key", metavar="KEY")
@click.option("--last-size", type=click.IntRange(0), help="Up to which size it signs; else the newest checkpoint.")
@reason_option
@by_option
@click.pass_obj
def retire(settings: Settings, key: str, last_size: int | None, reason: str, by: str) -> None:
    """Record the orderly end of KEY: what it signed stays good."""
    from domain.log import events as e

    last = _newest_size(settings) if last_size is None else last_size
    _changed(settings, by, lambda events: e.retire(events, key=key, last_size=last, by=by, reason=reason))
    _say_ended(last)


@keys_group.command()
@click.argument("key", metavar="KEY")
@click.option("--last-size", type=click.IntRange(0), required=True, help="Up to which size it is believed.")
@reason_option
@by_option
@click.pass_obj
def compromised(settings: Settings, key: str, last_size: int, reason: str, by: str) -> None:
    """Record that somebody else may sign with KEY: nothing above a size is believed."""
    from domain.log import events as e

    newest = _newest_size(settings)
    if last_size > newest:
        raise UsageError(f"--last-size: {last_size} limits nothing: the newest checkpoint has {newest} events")
    _changed(settings, by, lambda events: e.compromise(events, key=key, last_size=last_size, by=by, reason=reason))
    _say_ended(last_size)


def _say_ended(last: int) -> None:
    print(f"Recorded; now write \"last_size\": {last} into the trust files of all who believed it.", file=sys.stderr)


def _changed(settings: Settings, by: str, decide: Callable[[list[LogKeyEvent]], LogKeyEvent]) -> LogKeyEvent:
    from ops.log.keys import change_keys
    from ops.site import read_journal

    with read_journal(settings) as (_, journal):
        return change_keys(journal, by, decide)


def _newest_size(settings: Settings) -> int:
    from ops.log.store import LogStore

    return LogStore(settings.log_folder).size()


def _next_size(settings: Settings) -> int:
    size = _newest_size(settings)
    return size + 1 if size else 0
