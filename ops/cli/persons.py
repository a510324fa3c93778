"""Options of commands that leave a trace: who does it, and why.

Not here: what is done with them (the commands).
"""

from __future__ import annotations

import getpass
import os

import click

from domain.record import is_record_text


def login_name() -> str:
    """Who is logged in, as far as the system knows."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"  # a container without a name for its user


def record_text(_: click.Context, __: click.Parameter, text: str) -> str:
    """Text that a record can hold, or none at all."""
    if text and not is_record_text(text):
        raise click.BadParameter("must be text in Unicode form NFC, not blank, of at most 1,000 characters")
    return text


def required_text(context: click.Context, option: click.Parameter, text: str) -> str:
    """Text that a record can hold."""
    if not text:
        raise click.BadParameter("must not be empty")
    return record_text(context, option, text)


by_option = click.option(
    "--by", metavar="NAME", default=login_name, callback=required_text, help="Who does this; else the login name."
)
reason_option = click.option(
    "--reason", metavar="TEXT", required=True, callback=required_text, help="Why; it stands in the record."
)
