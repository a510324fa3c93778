"""The journal: events, the commands that wrote them, the identity of every round, the wrapped data keys.

What holds after this script, whoever asks: an event is only inserted, only by `dealproof.append_events`, only next
in its stream, and gets the next position.  Nothing is changed or deleted afterwards.

Not here: roles and schema (`migrations/env.py`, they must exist before Alembic's own table does).
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
    raise exception 'events are append-only: % of dealproof.% is refused', lower(tg_op), tg_table_name
        using errcode = 'DP004';
end
$body$
"""

# One call is one transaction is one round trip.  The lock is held until the commit is visible, so positions come in
# commit order and without a gap: a reader that has seen position n has seen all before it.
APPEND_EVENTS = """
create function dealproof.append_events(
    p_command_id text, p_request_hash bytea,
    p_streams text[], p_seqs bigint[], p_types text[], p_bodies bytea[],
    p_round_tables text[], p_round_numbers bigint[], p_round_commitments bytea[], p_round_streams text[],
    out first_position bigint, out repeated boolean
)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $body$
declare
    count    constant integer := cardinality(p_streams);
    known    record;
    conflict record;
begin
    perform pg_advisory_xact_lock(1146113105, 1);  -- 'DPAQ': one writer at a time in this database

    select c.request_hash, c.first_position into known from dealproof.commands c where c.command_id = p_command_id;
    if found then
        if known.request_hash <> p_request_hash then
            raise exception 'command % was used before for another request', p_command_id using errcode = 'DP002';
        end if;
        first_position := known.first_position;
        repeated := true;
        return;
    end if;

    select given.stream, given.seq, given.expected into conflict
    from (
        select g.stream, g.seq, g.nth,
               row_number() over (partition by g.stream order by g.nth) + coalesce(
                   (select max(e.originator_version) from dealproof.events e where e.originator_id = g.stream), -1
               ) as expected
        from unnest(p_streams, p_seqs) with ordinality as g (stream, seq, nth)
    ) given
    where given.seq is distinct from given.expected
    order by given.nth
    limit 1;
    if found then
        raise exception 'stream %: expected seq %, given %', conflict.stream, conflict.expected, conflict.seq
            using errcode = 'DP001', detail = conflict.expected || ' ' || conflict.seq || ' ' || conflict.stream;
    end if;

    select coalesce(max(e.notification_id), 0) + 1 into first_position from dealproof.events e;
    repeated := false;

    insert into dealproof.events (originator_id, originator_version, topic, state, notification_id)
    select g.stream, g.seq, g.type, g.body, first_position + g.nth - 1
    from unnest(p_streams, p_seqs, p_types, p_bodies) with ordinality as g (stream, seq, type, body, nth);

    if cardinality(p_round_tables) > 0 then
        insert into dealproof.round_identity (table_id, number, commitment, stream)
        select * from unnest(p_round_tables, p_round_numbers, p_round_commitments, p_round_streams);
    end if;

    insert into dealproof.commands (command_id, request_hash, first_position, event_count)
    values (p_command_id, p_request_hash, first_position, count);
end
$body$
"""
