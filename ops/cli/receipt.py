"""`dealproof receipt`: what a player was given when his wager was accepted, checked offline.

Not here: the token's format (`domain.log.receipt`), what it is held against (`replay.receipts`), the words
(`ops.portable.receipt`, which a player's lawyer has without all this).
"""

from __future__ import annotations

from pathlib import Path

import click

from domain.log.receipt import Receipt
from ops.cli.output import UsageError
from ops.portable.receipt import Placed, check_receipt, read_receipt, tell
from ops.settings import Settings


@click.group()
def receipt() -> None:
    """Receipts that players are given for their wagers."""


@receipt.command()
@click.argument("token", metavar="TOKEN|FILE")
@click.option("--trust", "trust_path", type=click.Path(path_type=Path), help="The keys that you believe.")
@click.option("--evidence", "evidence_path", type=click.Path(path_type=Path), help="Hold it against an evidence file.")
@click.option("--journal", "in_journal", is_flag=True, help="Hold it against this installation's journal.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_obj
def check(
    settings: Settings, token: str, trust_path: Path | None, evidence_path: Path | None, in_journal: bool, as_json: bool
) -> int:
    """Check a receipt's signature, and (if asked) whether a record has its wager.

    A good receipt whose wager the record doesn't have shows that the record was changed, or that a round is missing.
    Exit status: 0 good; 1 the record says something else, or nothing; 2 no receipt that the house has signed.
    """
    if evidence_path is not None and in_journal:
        raise UsageError("receipt: --evidence or --journal, not both")
    trust_file = trust_path or settings.trust_file
    if not in_journal:
        return check_receipt(token, trust_file, evidence_path, as_json=as_json)
    opened = read_receipt(token, trust_file)
    return tell(opened, "the journal", _of_journal(settings, opened), as_json=as_json)


def _of_journal(settings: Settings, opened: Receipt) -> Placed:
    """What the journal has of the receipt's round."""
    from ops.evidence_file import gather
    from ops.site import read_journal

    with read_journal(settings) as (_, journal):
        return gather(journal, f"round:{opened.round}").placed
