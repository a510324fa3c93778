"""`dealproof rounds` and `dealproof show`: find a round, and read it as a person does.

Not here: how a round is written out (`ops.cli.show`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from ops.cli.columns import print_columns
from ops.cli.output import UsageError, data_console, write_json_line
from ops.settings import Settings

if TYPE_CHECKING:
    from ops.journal import Journal


@click.command()
@click.option("--last", type=click.IntRange(1, 100_000), default=10, show_default=True, help="How many, newest first.")
@click.option("--table", help="Rounds of this table.")
@click.option("--open", "open_only", is_flag=True, help="Rounds that have not ended, oldest first, with the next step.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a round.")
@click.pass_obj
def rounds(settings: Settings, last: int, table: str | None, open_only: bool, as_json: bool) -> None:
    """List the newest rounds, or those that are still open."""
    from ops.site import read_journal

    with read_journal(settings) as (_, journal):
        found = _open_rounds(journal, table) if open_only else _newest(journal, last, table)
    if as_json:
        for summary in found:
            write_json_line(summary)
    elif found:
        headings = _OPEN_HEADINGS if open_only else _HEADINGS
        rows = [tuple(str(value) for value in summary.values()) for summary in found]
        print_columns([headings, *rows], left=len(headings))
    else:
        print("No open rounds." if open_only else "No rounds.")


_HEADINGS = ("round", "table", "number", "ruleset", "opened (UTC)", "boxes", "state")
_OPEN_HEADINGS = ("round", "table", "number", "opened (UTC)", "idle seconds", "abandoned", "next step")


def _newest(journal: Journal, last: int, table: str | None) -> list[dict[str, object]]:
    return [_summary(journal, identity.stream) for identity in journal.last_rounds(last, table)]


def _open_rounds(journal: Journal, table: str | None) -> list[dict[str, object]]:
    """Every open round of one table or of all: since when nothing has happened in it, and what may happen next."""
    from ops.stuck import open_rounds

    return [
        {
            "round": found.round_id,
            "table": found.table,
            "number": found.number,
            "opened": found.opened_at,
            "idle_seconds": found.idle_seconds,
            "abandoned": found.abandoned,
            "next": found.next_step,
        }
        for found in open_rounds(journal)
        if table in (None, found.table)
    ]


def _summary(journal: Journal, stream: str) -> dict[str, object]:
    from domain.record import BodyError
    from domain.round.codec import decode
    from domain.round.state import fold

    summary: dict[str, object] = {"round": stream.removeprefix("round:")}
    try:
        records = [decode(body) for _, rows in journal.read_rounds(stream, stream) for body in rows]
        state = fold(record.data for record in records)
    except (BodyError, ValueError) as error:
        return summary | {"table": "", "number": "", "ruleset": "", "opened": "", "boxes": "", "state": str(error)}
    if not records:
        return summary | {"table": "", "number": "", "ruleset": "", "opened": "", "boxes": "", "state": "no event left"}
    opened = state.opened
    return summary | {
        "table": opened.table if opened else "",
        "number": opened.number if opened else "",
        "ruleset": opened.ruleset if opened else "",
        "opened": records[0].at,
        "boxes": len(state.boxes),
        "state": "voided" if state.voided else state.phase,
    }


@click.command()
@click.argument("round_name", metavar="ROUND")
@click.pass_obj
def show(settings: Settings, round_name: str) -> None:
    """Show a round step by step, with the derivation of every payment.

    ROUND is a round id (32 hex digits, dashes allowed) or TABLE/NUMBER.
    """
    from ops.site import read_journal

    with read_journal(settings) as (_, journal):
        print_round(journal, find_stream(journal, round_name))


def print_round(journal: Journal, stream: str) -> None:
    """A stored round on stdout."""
    from domain.record import BodyError
    from domain.round.codec import decode
    from ops.cli.show import render_round
    from ops.rulesets import known_rulesets

    bodies = [body for _, rows in journal.read_rounds(stream, stream) for body in rows]
    if not bodies:
        name = stream.removeprefix("round:")
        raise UsageError(f"round {name}: was opened but has no event left (see dealproof verify --all)")
    try:
        records = [decode(body) for body in bodies]
    except BodyError as error:
        name = stream.removeprefix("round:")
        raise UsageError(f"round {name}: can't be read: {error} (see dealproof verify {name})") from None
    digest = getattr(records[0].data, "ruleset_digest", None)
    ruleset = next((known for known in known_rulesets(journal) if known.digest.hex() == digest), None)
    data_console().print(render_round(stream, records, ruleset))


def find_stream(journal: Journal, name: str) -> str:
    """The stream of a round named by its id or by TABLE/NUMBER.  Raises UsageError."""
    plain = name.removeprefix("round:").replace("-", "").lower()
    if re.fullmatch("[0-9a-f]{32}", plain):
        stream = f"round:{plain}"
        if journal.stream_head(stream) is None and not journal.missing_rounds(stream, stream):
            raise UsageError(f"round {plain}: there is no such round")
        return stream
    table, slash, number = name.rpartition("/")
    if not slash or not re.fullmatch("[1-9][0-9]{0,14}", number):
        raise UsageError(f"round {name!r}: is neither an id of 32 hex digits nor TABLE/NUMBER as in russian-poker-1/7")
    found = journal.stream_of(table, int(number))
    if found is None:
        raise UsageError(f"round {name}: table {table!r} has no round {number}")
    return found
