"""`dealproof evidence`: one round as a file that proves itself.

Not here: what stands in it (`ops.evidence_file`), checking one (`ops.cli.verify_file`).
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import click

from domain.log.checkpoint import Opened
from ops.cli.output import UsageError
from ops.files import write_whole
from ops.settings import Settings


@click.command()
@click.argument("round_name", metavar="ROUND")
@click.option(
    "--as", "level", type=click.Choice(["player", "adr", "regulator"]), default="regulator", show_default=True,
    help="For whom: a player gets no other player's account, a regulator also who looked at hidden cards.",
)  # fmt: skip
@click.option("--player", metavar="NAME", help="Whose file it is, with --as player.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Where to write it.")
@click.pass_obj
def evidence(settings: Settings, round_name: str, level: str, player: str | None, output: Path) -> int:
    """Write everything that proves a round into one file: stored bytes, proofs, checkpoint, ruleset, postings.

    `dealproof verify FILE --trust TRUST` checks it, on a machine that has nothing else.  A file of that name is
    replaced, once the new one is whole.  Exit status: 0 written; 2 no such round, or it has not ended: its seed and
    cards are still hidden.
    """
    from ops import clock
    from ops.cli.rounds import find_stream
    from ops.evidence_file import best_checkpoint, gather, logged, make_file
    from ops.log.store import LogStore
    from ops.log.trusting import read_trust
    from ops.site import read_journal
    from replay.evidence_file import Level
    from replay.logged import Unlogged, Untrusted

    if (level == "player") != (player is not None):
        raise UsageError("--player: names the player with --as player, and with nothing else")
    _require_place(output)
    with read_journal(settings) as (_, journal):
        stream = find_stream(journal, round_name)
        gathered = gather(journal, stream, Level(level), player)
        if not gathered.bodies:
            raise UsageError(f"round {round_name}: has no event left in the journal; `dealproof verify` says more")
        if not any(b'"type":"seed-revealed.v1"' in body for body in gathered.bodies):
            raise UsageError(f"round {round_name}: has not ended; until then its seed is hidden and nothing is proved")
        store = LogStore(settings.log_folder)
        # Where no log was ever kept there need not be a trust file either.
        opened: Opened | Unlogged | Untrusted = Unlogged("no log is kept here")
        watched = False
        if store.checkpoint() is not None:
            trust = read_trust(settings.trust_file)
            opened, watched = best_checkpoint(store, trust, gathered), bool(trust.witness_keys)
        log = logged(gathered, opened, store.nodes)
        file = make_file(
            journal, gathered, log, Level(level), player, made_at=clock.now(), software=version("dealproof")
        )
    try:
        write_whole(output, file.to_bytes())
    except OSError as error:
        raise UsageError(f"-o: {output}: {error.strerror or type(error).__name__}") from None
    if not isinstance(opened, Opened):
        print(f"dealproof: the file has no proof of the log: {opened.reason}", file=sys.stderr)
    elif any(event.proof is None for event in file.events):
        print("dealproof: the log has not got so far; a file that is made later proves more", file=sys.stderr)
    elif watched and not opened.cosigned:
        print("dealproof: no witness has signed as far as this round yet", file=sys.stderr)
    return 0


def _require_place(output: Path) -> None:
    """Before the work: the name is free, or that of a file.  A device or a pipe would be replaced, not written to."""
    if output.exists() and not output.is_file():
        raise UsageError(f"-o: {output}: is no file")
    if not output.parent.is_dir():
        raise UsageError(f"-o: {output}: there is no folder {output.parent}")
