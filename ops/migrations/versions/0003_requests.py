"""Signed requests at the door: who sends them, that each comes in once, and how many a minute.

What holds after this script: only `dealproof.admit_request` touches the table, only the app role may call it, and
nothing is written for a caller that did not present the right secret.

The table is unlogged: a request pays for no flush to the disk.  PostgreSQL empties it when it starts after a crash, not
after an orderly stop.  A request that was admitted before the crash could then be sent a second time for as long as its
timestamp holds (300 seconds), and the minute's count begins anew.  That moves no money: the second copy of a command
brings the same idempotency key along and gets the first one's reply; the second copy of a read changes nothing.

Not here: signature and timestamp (`ops.api_keys` checks both first, without the database), what a role may do.
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# A row says that a nonce is used, and which request of its key in its minute this was.  Rows are only inserted, so no
# count piles up old versions of itself while somebody reads the whole journal in one statement.
# Key and nonce are one column: with two, the planner might walk all nonces of a key to find its last in a minute.
ADMITTED = """
create unlogged table dealproof.admitted_request (
    nonce  text collate "C" primary key,
    minute bigint           not null,
    key_id text collate "C" not null,
    nth    integer          not null,
    ticket bigint           not null,
    constraint admitted_request_nth unique (minute, key_id, nth)
)
"""

# Admitting is one call, one transaction, one round trip.  Times are Unix seconds by the caller's clock.
#
# A minute is kept for twelve: a request may be signed 300 seconds ahead and come back 300 seconds late, which is a span
# of 600 seconds; the rest forgives servers whose clocks are up to a minute apart.
#
# p_ticket is drawn by each call: a call that is sent again because its answer was lost finds its own row.
#
# The hashes are compared as text, which takes longer the more of them agrees.  That tells nothing of use: they are
# hashes of 256 random bits, and who knows a hash is no nearer to what it was made from.
ADMIT_REQUEST = """
create function dealproof.admit_request(
    p_key_id text, p_secret_sha256 text, p_nonce text, p_ticket bigint, p_now bigint, p_per_minute integer,
    out verdict text, out role text, out person text, out label text
)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $body$
declare
    head     record;
    used     bigint;
    v_minute bigint  := p_now / 60;
    v_nonce  text    := concat(p_key_id, ' ', p_nonce);
    v_nth    integer;
begin
    select e.topic, convert_from(e.state, 'UTF8')::jsonb -> 'data' as data into head
    from dealproof.events e where e.originator_id = concat('key:', p_key_id)
    order by e.originator_version desc limit 1;

    -- No row and another secret are one answer.
    if (head.data ->> 'secret_sha256' = p_secret_sha256) is not true then
        verdict := 'key-unknown';
        return;
    elsif head.topic is distinct from 'key-created.v1' then
        verdict := 'key-revoked';
        return;
    end if;

    -- The requests of one key come in one by one (1684365678 stands beside the journal's own locks), to the commit.
    perform pg_advisory_xact_lock(1684365678, hashtext(p_key_id));

    select a.ticket into used from dealproof.admitted_request a where a.nonce = v_nonce;
    if used <> p_ticket then
        verdict := 'nonce-used';
        return;
    elsif used is null then
        select coalesce(max(a.nth), 0) + 1 into v_nth
        from dealproof.admitted_request a where a.minute = v_minute and a.key_id = p_key_id;
        if v_nth > p_per_minute then
            verdict := 'too-many-requests';   -- and the nonce stays unused
            return;
        end if;
        insert into dealproof.admitted_request (nonce, minute, key_id, nth, ticket)
        values (v_nonce, v_minute, p_key_id, v_nth, p_ticket);
        if mod(v_nth, 16) in (0, 1) then
            perform dealproof.forget_requests(v_minute, p_key_id, v_nth);
        end if;
    end if;

    verdict := 'admitted';
    role := head.data ->> 'role';
    person := head.data ->> 'person';
    label := head.data ->> 'label';
end
$body$
"""

# Every sixteenth request of a key deletes twice as many of its own, found by their numbers.  The first one of a minute
# deletes what is left of keys that send less than they did, or nothing any more.  So deleted rows that are still there
# for the sake of a long read are not walked through again and again.
FORGET_REQUESTS = """
create function dealproof.forget_requests(p_minute bigint, p_key_id text, p_nth integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $body$
begin
    if mod(p_nth, 16) = 0 then
        delete from dealproof.admitted_request a
        where a.minute = p_minute - 12 and a.key_id = p_key_id and a.nth between 2 * p_nth - 31 and 2 * p_nth;
    elsif p_nth = 1 then
        delete from dealproof.admitted_request a where a.ctid = any(array(
            select b.ctid from dealproof.admitted_request b where b.minute < p_minute - 12
            order by b.minute limit 1000 for update skip locked));
    end if;
end
$body$
"""

# Not even the app role reads the table; the function it calls runs as the owner.
RIGHTS = """
revoke all on function dealproof.admit_request from public;
revoke all on function dealproof.forget_requests from public;
grant execute on function dealproof.admit_request to dealproof_app
"""


def upgrade() -> None:
    """Only forward: a journal is never taken back."""
    for statement in (ADMITTED, FORGET_REQUESTS, ADMIT_REQUEST, *RIGHTS.split(";")):
        op.execute(statement)
