"""`dealproof void`: end an open round without a result (rule 10.2), its reason recorded and its seed revealed.

Not here: who may do so (roles come with the accounts).
"""

from __future__ import annotations

import click

from ops.cli.output import UsageError, data_console
from ops.settings import Settings


@click.command()
@click.argument("round_name", metavar="ROUND")
@click.option("--reason", required=True, help="Why; it stands in the record.")
@click.pass_obj
def void(settings: Settings, round_name: str, reason: str) -> None:
    """Void an open round: every stake and fee goes back, the reason is recorded, the seed is revealed.

    ROUND is a round id (32 hex digits, dashes allowed) or TABLE/NUMBER.
    """
    from domain.round.choices import Void
    from domain.round.refusals import Refusal
    from ops.cli.rounds import find_stream
    from ops.house import House
    from ops.rulesets import known_rulesets
    from ops.site import current_data_key, data_key, read_journal
    from replay.evidence import by_digest

    with read_journal(settings) as (url, journal):
        stream = find_stream(journal, round_name)
        house = House(journal, current_data_key(url, settings), lambda key_id: data_key(url, settings, key_id))
        live = house.load(stream, by_digest(known_rulesets(journal)))
        made = house.choose(live, Void(reason))
    if isinstance(made, Refusal):
        raise UsageError(f"round {round_name}: {made.text}")
    data_console().print(f"Round {stream.removeprefix('round:')} is voided; see dealproof show.", soft_wrap=True)
