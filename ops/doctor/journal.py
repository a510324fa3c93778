"""Whether the journal's tables agree in number: a quick look, not a proof.

Not here: the proof that they agree in all (`ops.accounts_proof`), what the log says of each event (`ops.log.audit`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ops.doctor.patient import Found, Patient
from ops.log.store import LogStore, StoreError


def examine_journal(patient: Patient) -> Found:
    """Positions, commands, open rounds, and the end against the log's."""
    log = _behind_the_log(patient)
    return Found([*_positions(patient), *_commands(patient), *_open_rounds(patient), *log.findings], [], log.unchecked)


def _behind_the_log(patient: Patient) -> Found:
    """What the log has, the journal had: a restore that is too old is missing its end."""
    try:
        size = LogStore(patient.settings.log_folder).size()
    except (StoreError, OSError) as error:
        return Found(unchecked=[f"the end of the journal against the log: {error}"])
    # The log was looked at first, so one that grows meanwhile is never ahead.
    head = patient.journal.head_position()
    if size <= head:
        return Found()
    gone = f"the log has {size:,} events, the journal ends at position {head:,}: its last {size - head:,} are gone"
    return Found([gone])


def _positions(patient: Patient) -> Iterator[str]:
    [(count, first, last)] = patient.rows(_POSITIONS)
    if count and first != 1:
        yield f"the first position is {first}, should be 1"
    if count != last:
        yield f"{count:,} events stand at positions up to {last:,}: {last - count:,} are missing"


def _commands(patient: Patient) -> Iterator[str]:
    [(commanded, events)] = patient.rows(_COMMANDS)
    if commanded != events:
        yield f"the commands have {commanded:,} events, the journal {events:,}"


def _open_rounds(patient: Patient) -> Iterator[str]:
    [(count, first)] = patient.rows(_NEVER_OPENED)
    if count:
        yield f"{count:,} open rounds were never opened, the first is {first}"


_POSITIONS: Final = """
select count(*), coalesce(min(notification_id), 0), coalesce(max(notification_id), 0) from dealproof.events
"""

_COMMANDS: Final = """
select (select coalesce(sum(event_count), 0) from dealproof.commands), (select count(*) from dealproof.events)
"""

_NEVER_OPENED: Final = """
select count(*), min(stream) from dealproof.open_rounds
where not exists (select from dealproof.round_identity as identity where identity.stream = open_rounds.stream)
"""
