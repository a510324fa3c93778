"""Projections: who makes and fills their tables, how far each has come, and a bell that rings at every append.

What holds after this script: the projector reads the journal and the state, and makes tables of its own in a schema
that holds nothing else; it changes nothing of the journal.  Tables of projections are made when one is first run
(`projections.runner`), not here: each can be dropped and made again.

Not here: what is projected (`projections`).
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# `tables`: their names, `generation`: which of them are read, as round_3; `building`: those of a rebuild that goes on
# beside them.
STATE = """
create table projections.state (
    name           text collate "C" primary key,
    generation     integer not null,
    version        integer not null,
    tables         text[]  not null,
    position       bigint  not null check (position >= 0),
    building       integer,
    error_position bigint,
    error          text
)
"""

# Every append writes one command.  A bell that nobody hears is lost; whoever listens looks by himself as well.
RING = """
create function dealproof.ring() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $body$
begin
    perform pg_notify('dealproof_journal', '');
    return null;
end
$body$
"""

BELL = """
create trigger ring after insert on dealproof.commands for each statement execute function dealproof.ring()
"""

# For who counts refusals of late, and not all there ever were.
REFUSALS_OF_LATE = "create index refusals_recorded_at on dealproof.refusals (recorded_at)"

RIGHTS = """
revoke all on function dealproof.ring from public;
grant usage on schema dealproof to dealproof_projector;
grant select on dealproof.events, dealproof.alembic_version to dealproof_projector;
grant usage, create on schema projections to dealproof_projector;
grant usage on schema projections to dealproof_app, dealproof_reader;
grant select, insert, update on projections.state to dealproof_projector;
grant select on projections.state to dealproof_app, dealproof_reader
"""


def upgrade() -> None:
    """Only forward: a journal is never taken back."""
    for statement in (STATE, RING, BELL, REFUSALS_OF_LATE, *RIGHTS.split(";")):
        op.execute(statement)
