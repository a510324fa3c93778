"""Accounts: commands that were refused, rounds that are open, and no balance below zero.

A refused command is kept with its answer, so that a retry gets the same one even when it would be allowed by now.  The
list of open rounds follows from the events; it is kept because a journal of a million rounds can't be searched for the
few that run.

Not here: what a balance is (`domain.account`), tables of the request path (`0003_requests.py`).
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

REFUSALS = """
create table dealproof.refusals (
    command_id   text collate "C" primary key check (command_id <> ''),
    request_hash bytea       not null check (octet_length(request_hash) = 32),
    reply        bytea       not null,
    recorded_at  timestamptz not null default clock_timestamp()
)
"""

OPEN_ROUNDS = """
create table dealproof.open_rounds (
    stream text collate "C" primary key
)
"""

# Rounds of before this script.
FILL_OPEN_ROUNDS = """
insert into dealproof.open_rounds
select identity.stream from dealproof.round_identity as identity
where not exists (
    select from dealproof.events as event
    where event.originator_id = identity.stream and event.topic = 'seed-revealed.v1'
)
"""

# What a player's statement is searched for: cash, and rounds that ended.
HISTORY = """
create index events_cash on dealproof.events (originator_id, originator_version)
    where topic in ('funds-deposited.v1', 'funds-withdrawn.v1', 'funds-adjusted.v1', 'funds-reversed.v1');
create index events_round_finished on dealproof.events (originator_id, originator_version)
    where topic = 'round-finished.v1'
"""

GUARD = """
create trigger refuse_change before update or delete on dealproof.refusals
    for each row execute function dealproof.refuse_change();
create trigger refuse_truncate before truncate on dealproof.refusals
    for each statement execute function dealproof.refuse_change();
alter table dealproof.refusals enable always trigger refuse_change;
alter table dealproof.refusals enable always trigger refuse_truncate
"""

# As in 0001, and: a refused command stays refused; no state that an event carries is below zero (a body is canonical,
# so the bytes tell); a round that is opened is noted as open, one whose seed is revealed no more.
APPEND_EVENTS = """
create or replace function dealproof.append_events(
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
    if exists (select from dealproof.refusals r where r.command_id = p_command_id) then
        raise exception using errcode = 'DP006', message = concat('command ', p_command_id, ' was refused before');
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
        if starts_with(p_streams[i], 'account:') and position('"balance":-'::bytea in p_bodies[i]) > 0
            or starts_with(p_streams[i], 'jackpot:') and position('"pot":-'::bytea in p_bodies[i]) > 0 then
            raise exception using errcode = 'DP005',
                message = concat('stream ', p_streams[i], ' seq ', p_seqs[i], ': would fall below zero');
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

    if p_round_streams is not null then
        insert into dealproof.open_rounds (stream) select * from unnest(p_round_streams);
    end if;
    if 'seed-revealed.v1' = any (p_types) then
        delete from dealproof.open_rounds o
        using unnest(p_streams, p_types) as g (stream, type)
        where g.type = 'seed-revealed.v1' and o.stream = g.stream;
    end if;

    insert into dealproof.commands (command_id, request_hash, first_position, event_count)
    values (p_command_id, p_request_hash, first_position, event_count);
end
$body$
"""

# The answer that stands: ours, or an earlier one; null when the command was carried out meanwhile.
REFUSE_COMMAND = """
create function dealproof.refuse_command(p_command_id text, p_request_hash bytea, p_reply bytea) returns bytea
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
    known record;
begin
    perform pg_advisory_xact_lock(1684365676);

    select c.request_hash, null::bytea as reply into known
    from dealproof.commands c where c.command_id = p_command_id
    union all
    select r.request_hash, r.reply from dealproof.refusals r where r.command_id = p_command_id;
    if not found then
        insert into dealproof.refusals (command_id, request_hash, reply)
        values (p_command_id, p_request_hash, p_reply);
        return p_reply;
    end if;
    if known.request_hash is distinct from p_request_hash then
        raise exception using errcode = 'DP002',
            message = concat('command ', p_command_id, ' was used before for another request');
    end if;
    return known.reply;
end
$body$
"""

RIGHTS = """
revoke all on function dealproof.refuse_command from public;
grant execute on function dealproof.refuse_command to dealproof_app;
grant select on dealproof.refusals, dealproof.open_rounds to dealproof_app, dealproof_reader
"""


def upgrade() -> None:
    """Only forward: a journal is never taken back."""
    for statement in (REFUSALS, OPEN_ROUNDS, FILL_OPEN_ROUNDS, APPEND_EVENTS, REFUSE_COMMAND):
        op.execute(statement)
    for statements in (HISTORY, GUARD, RIGHTS):
        for statement in statements.split(";"):
            op.execute(statement)
