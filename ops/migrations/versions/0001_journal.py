"""The journal: events, the commands that wrote them, the identity of every round, the wrapped data keys.

What holds after this script, whoever asks: an event is only inserted, only by `dealproof.append_events`, only next
in its stream, and gets the next position.  Nothing is changed or deleted afterwards.

Not here: roles and schema (`migrations/roles.py`; they must be there before Alembic's own table is).
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# The names and the order of the columns are those of the library's recorder, which reads this table as its own.
# Collation "C" compares bytes: it keeps UUIDv7 rounds in the order of their time, and is the fastest.
EVENTS = """
create table dealproof.events (
    originator_id      text collate "C" not null check (originator_id <> ''),
    originator_version bigint           not null check (originator_version >= 0),
    topic              text collate "C" not null check (topic <> ''),
    state              bytea            not null,
    notification_id    bigint           not null check (notification_id > 0),
    constraint events_stream_seq primary key (originator_id, originator_version),
    constraint events_position unique (notification_id)
)
"""

COMMANDS = """
create table dealproof.commands (
    command_id     text collate "C" primary key check (command_id <> ''),
    request_hash   bytea       not null check (octet_length(request_hash) = 32),
    first_position bigint      not null,
    event_count    integer     not null,
    recorded_at    timestamptz not null default clock_timestamp()
)
"""

# A round's outcome is generated once: neither its number at the table nor its commitment comes a second time.
ROUND_IDENTITY = """
create table dealproof.round_identity (
    table_id   text collate "C" not null check (table_id <> ''),
    number     bigint           not null check (number > 0),
    commitment bytea            not null check (octet_length(commitment) = 32),
    stream     text collate "C" not null,
    constraint round_identity_number primary key (table_id, number),
    constraint round_identity_commitment unique (commitment),
    constraint round_identity_stream unique (stream)
)
"""

DATA_KEY = """
create table dealproof.data_key (
    key_id     text collate "C" primary key,
    wrapped    bytea       not null,
    created_at timestamptz not null default clock_timestamp()
)
"""

REFUSE_CHANGE = """
create function dealproof.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $body$
begin
    raise exception using errcode = 'DP004',
        message = concat('events are append-only: ', lower(tg_op), ' of dealproof.', tg_table_name, ' is refused');
end
$body$
"""

# Always: a session that plays a replica (session_replication_role) doesn't get around them.
GUARD = """
create trigger refuse_change before update or delete on dealproof.{table}
    for each row execute function dealproof.refuse_change();
create trigger refuse_truncate before truncate on dealproof.{table}
    for each statement execute function dealproof.refuse_change();
alter table dealproof.{table} enable always trigger refuse_change;
alter table dealproof.{table} enable always trigger refuse_truncate
"""

# One call is one transaction is one round trip.  The lock is held until the commit can be seen, so positions come in
# commit order and without a gap: a reader that has seen position n has seen all before it.
# enable_seqscan: the plans of a long connection may have been made when the table was nearly empty.
APPEND_EVENTS = """
create function dealproof.append_events(
    p_command_id text, p_request_hash bytea,
    p_streams text[], p_seqs bigint[], p_types text[], p_bodies bytea[],
    p_round_tables text[], p_round_numbers bigint[], p_round_commitments bytea[], p_round_streams text[],
    out first_position bigint, out event_count integer, out repeated boolean
)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $body$
declare
    known    record;
    expected bigint;
begin
    perform pg_advisory_xact_lock(1684365676);  -- the bytes 'deal': one writer at a time in this database

    select c.request_hash, c.first_position, c.event_count into known
    from dealproof.commands c where c.command_id = p_command_id;
    if found then
        if known.request_hash is distinct from p_request_hash then
            raise exception using errcode = 'DP002',
                message = concat('command ', p_command_id, ' was used before for another request');
        end if;
        first_position := known.first_position;
        event_count := known.event_count;
        repeated := true;
        return;
    end if;

    -- A stream is dense: each event comes right after the last one stored and those before it in this append.
    for i in 1 .. cardinality(p_streams) loop
        if p_streams[i] = p_streams[i - 1] then
            expected := expected + 1;
        else
            select coalesce(max(e.originator_version), -1) + 1
                   + cardinality(array_positions(p_streams[1:i - 1], p_streams[i])) into expected
            from dealproof.events e where e.originator_id = p_streams[i];
        end if;
        if p_seqs[i] is distinct from expected then
            raise exception using errcode = 'DP001', detail = concat_ws(' ', expected, p_seqs[i], p_streams[i]),
                message = concat('stream ', p_streams[i], ': expected seq ', expected, ', given ', p_seqs[i]);
        end if;
    end loop;

    select coalesce(max(e.notification_id), 0) + 1 into first_position from dealproof.events e;
    event_count := cardinality(p_streams);
    repeated := false;

    insert into dealproof.events (originator_id, originator_version, topic, state, notification_id)
    select g.stream, g.seq, g.type, g.body, first_position + g.nth - 1
    from unnest(p_streams, p_seqs, p_types, p_bodies) with ordinality as g (stream, seq, type, body, nth);

    insert into dealproof.round_identity (table_id, number, commitment, stream)
    select * from unnest(p_round_tables, p_round_numbers, p_round_commitments, p_round_streams);

    insert into dealproof.commands (command_id, request_hash, first_position, event_count)
    values (p_command_id, p_request_hash, first_position, event_count);
end
$body$
"""

# PostgreSQL lets everybody execute a new function; nobody but the app role may have this one.
RIGHTS = """
revoke all on all functions in schema dealproof from public;
grant usage on schema dealproof to dealproof_app, dealproof_reader;
grant select on all tables in schema dealproof to dealproof_app, dealproof_reader;
grant execute on function dealproof.append_events to dealproof_app;
grant insert on dealproof.data_key to dealproof_app
"""


def upgrade() -> None:
    """Only forward: a journal is never taken back."""
    for statement in (EVENTS, COMMANDS, ROUND_IDENTITY, DATA_KEY, REFUSE_CHANGE, APPEND_EVENTS):
        op.execute(statement)
    for table in ("events", "commands", "round_identity", "data_key"):
        _execute_each(GUARD.format(table=table))
    _execute_each(RIGHTS)


def _execute_each(statements: str) -> None:
    for statement in statements.split(";"):
        op.execute(statement)
