"""`dealproof keys`: API keys for game servers and staff, and a new data key for the seeds of coming rounds.

A secret is printed once, when its key is made, on stdout alone; no other command can show it.

Not here: what is stored of a key (`ops.api_keys`), how seeds are sealed (`ops.keys`).
"""

from __future__ import annotations

import re
import sys

import click
import msgspec

from domain.access import Role
from ops.cli.columns import print_columns
from ops.cli.output import UsageError, data_console, printable, write_json_line
from ops.cli.persons import by_option, reason_option, record_text, required_text
from ops.settings import Settings


def _key_id(_: click.Context, __: click.Parameter, text: str) -> str:
    if not re.fullmatch("[0-9a-f]{16}", text):
        # Not quoted: somebody may have given the whole key.
        raise click.BadParameter("must be the 16 hex digits after dpk_, as `dealproof keys list` shows them")
    return text


@click.group()
def keys() -> None:
    """Create, list and revoke API keys; rotate the data key."""


@keys.command()
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]), help="What the key is for.")
@click.option("--person", metavar="NAME", required=True, callback=required_text, help="Who holds it.")
@click.option("--label", metavar="TEXT", default="", callback=record_text, help="Where it is used.")
@by_option
@click.pass_obj
def create(settings: Settings, role: str, person: str, label: str, by: str) -> None:
    """Make an API key and print it, once."""
    from ops.api_keys import create_key
    from ops.site import open_journal

    with open_journal(settings) as (_, journal):
        key = create_key(journal, role=Role(role), person=person, label=label, by=by)
    print(f"Key {key.id} for {printable(person)}, role {role}.  It is shown this once:", file=sys.stderr)
    print(key.text)


@keys.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a key.")
@click.pass_obj
def list_command(settings: Settings, as_json: bool) -> None:
    """List all API keys, also those that are revoked."""
    from ops.api_keys import list_keys
    from ops.site import read_journal

    with read_journal(settings) as (_, journal):
        entries = [msgspec.to_builtins(entry) for entry in list_keys(journal)]
    if as_json:
        for entry in entries:
            write_json_line(entry)
    elif entries:
        headings = ("key", "role", "person", "label", "created (UTC)", "by", "revoked (UTC)", "by", "reason")
        rows = [tuple(printable(value or "") for value in entry.values()) for entry in entries]
        print_columns([headings, *rows], left=len(headings))
    else:
        print("No keys.")


@keys.command()
@click.argument("key_id", metavar="KEY_ID", callback=_key_id)
@reason_option
@by_option
@click.pass_obj
def revoke(settings: Settings, key_id: str, reason: str, by: str) -> None:
    """End an API key, at once and for good."""
    from ops.api_keys import UnknownKey, revoke_key
    from ops.site import read_journal

    with read_journal(settings) as (_, journal):
        try:
            entry = revoke_key(journal, key_id, by=by, reason=reason)
        except UnknownKey as error:
            raise UsageError(str(error)) from None
    who, why = printable(entry.revoked_by or ""), printable(entry.reason or "")
    line = f"Key {entry.key_id} is revoked since {entry.revoked_at} by {who}: {why}"
    data_console().print(line, soft_wrap=True)


@keys.command()
@reason_option
@by_option
@click.pass_obj
def rotate(settings: Settings, reason: str, by: str) -> None:
    """Make a new data key for the seeds of rounds opened from now on; print its id.

    Rounds that are open stay sealed under the key they were opened with.
    """
    from ops.site import read_journal, rotate_data_key

    with read_journal(settings) as (url, journal):
        key_id = rotate_data_key(url, settings, journal, by=by, reason=reason)
    print("Rounds opened from now on are sealed under data key:", file=sys.stderr)
    print(key_id)
