-- The event store's tables and the functions that write them. All of it may be run again: it makes what is missing, and brings
-- tables of earlier versions up to date.

create table if not exists store_migrations (version int primary key, name text not null, at timestamptz default now());

-- Everything that an append checks is in the stream's row, so that one call checks and moves it.
create table if not exists streams (
    stream  text collate "C" primary key,
    kind    text not null,                         -- session, batch, memory, talk, vault, prune, import
    version int not null default 0,                -- of the last event; 0 until the first append
    head    bytea not null default decode(repeat('00', 32), 'hex'),  -- the last event's hash
    fence   bigint not null default 0,             -- raised whenever a writer takes the stream up; an append must know it
    owner   int,                                   -- number of the connection that writes it, null if none does
    writer  text not null default ''               -- host and process of the last writer, for messages
) with (fillfactor = 80);                          -- room for updates in place
create index if not exists streams_by_kind on streams (kind, stream);

-- `line` is the exact sealed line without its line end.
create table if not exists events (
    stream  text collate "C" not null,
    version int not null,
    id      text collate "C" not null,
    segment text collate "C" not null,             -- the name that the segment has as a file
    line    bytea not null,
    primary key (stream, version),
    constraint events_id unique (stream, id)
);

-- Lines of segments that are not in the chain of their stream: branches that a merge joined, and second copies of records.
-- Only a copy from files brings them; with a fence there are no branches.
create table if not exists branch_events (
    stream  text collate "C" not null,
    segment text collate "C" not null,
    version int not null,
    line    bytea not null,
    primary key (stream, segment, version)
);

-- Pages and exchanges under their SHA-256. `body` is the same gzip file that the file store keeps.
create table if not exists objects (
    sha  bytea primary key,
    body bytea not null
);
alter table objects alter column body set storage external;  -- it is compressed

-- Sessions whose log is missing, and whose loss the user has accepted.
create table if not exists written_off (
    session text collate "C" primary key
);

-- Each connection that writes takes a number and holds an advisory lock on it, so others see whether it still lives.
create sequence if not exists store_connections as int cycle;

-- What earlier versions had and nothing needs now. A night that is under way ends with them; the next goes on with its sessions.
drop function if exists append_events;
alter table streams drop column if exists bytes;
alter table events drop column if exists type, drop column if exists prev, drop column if exists xid, drop column if exists pos,
    drop column if exists hash;
alter table branch_events drop column if exists hash;
drop table if exists jobs, workers, night_shares;
do $$ begin
    if to_regclass('nights') is not null and not exists (
        select from pg_attribute where attrelid = to_regclass('nights') and attname = 'spent_nano'
    ) then
        drop table nights;
        drop table if exists night_jobs;
        if to_regclass('pgqueuer') is not null then
            delete from pgqueuer;
        end if;
    end if;
end $$;

-- A night is a row, so that it outlives whoever began it. Its jobs are given to workers by pgqueuer, whose tables are made beside
-- these. All times are this server's, so that the clocks of the machines do not matter.
create table if not exists nights (
    day text primary key,                      -- from noon to noon, named for the day on which it ends
    batch text not null unique,                -- the night's latest batch
    ends_at timestamptz,                       -- null: without a limit
    writing_s double precision not null,       -- the gathering ends so long before
    cap_nano bigint, cap_tokens bigint, cap_calls bigint,   -- null: no cap
    spent_nano bigint not null default 0, spent_tokens bigint not null default 0, spent_calls bigint not null default 0,  -- or reserved
    max_failures integer not null,
    halt_cause text not null default '', halt text not null default '',   -- why nothing more may start
    state text not null default 'open'         -- closed: its outcome is in the log; built: so are vault and site
);
alter table nights drop column if exists reserved_nano, drop column if exists reserved_tokens, drop column if exists reserved_calls;

create table if not exists night_jobs (        -- the sessions of a batch
    batch text not null, place integer not null, session text not null, query_id text not null, query text not null,
    entry text not null,
    turn integer not null default 0,           -- counts the take-overs
    version integer not null default 0, fruitless integer not null default 0,   -- take-overs since something was recorded
    refused jsonb not null default '{}',       -- machine: why it is not set up for the session
    result jsonb,                              -- null: it has not ended
    primary key (batch, place)
);

create table if not exists pace (              -- when the next request to a host or provider may begin
    name text primary key,
    next_at timestamptz not null
);

-- Which advisory locks are those of this store's connections.
create or replace function connection_locks() returns int language sql stable as
$$ select hashtext('night-research ' || current_schema()) $$;

-- Make the connection of number `the_owner` the writer of a stream, unless a living one is and it is not to be taken over: then
-- no row is returned. A tombstone takes sessions away from readers, so only who may remove them may write one.
create or replace function take_up(
    the_stream text, the_kind text, the_owner int, the_writer text, is_forced boolean,
    out version int, out head text, out fence bigint
) returns setof record language plpgsql security definer as $$
begin
    if 'prune' in (the_kind, split_part(the_stream, '-', 1)) and not has_table_privilege(session_user, 'events', 'DELETE') then
        raise insufficient_privilege using message = format('the role %s may not remove anything', session_user);
    end if;
    return query
        insert into streams as s (stream, kind, fence, owner, writer) values (the_stream, the_kind, 1, the_owner, the_writer)
        on conflict (stream) do update set fence = s.fence + 1, owner = the_owner, writer = the_writer
        where is_forced or s.owner is null or pg_try_advisory_xact_lock(connection_locks(), s.owner)
        returning s.version, encode(s.head, 'hex'), s.fence;
end $$;

-- Own streams by another number, none if it is null: those that are still as this process left them.
create or replace function hand_on(the_streams text[], the_fences bigint[], the_owner int) returns void
language sql security definer as $$
    update streams s set owner = the_owner
    from unnest(the_streams, the_fences) as held (stream, fence) where s.stream = held.stream and s.fence = held.fence
$$;

-- Remove all rows of a stream. A session's id contains words of its question, so it must not stay in the queue either. The caller
-- needs the rights.
create or replace function remove_stream(the_stream text) returns void language sql as $$
    delete from events where stream = the_stream;
    delete from branch_events where stream = the_stream;
    delete from night_jobs where session = the_stream;
    delete from streams where stream = the_stream;
$$;

-- The one way in which a stream grows: by an event after its last one, from the writer that took it up last. The line is made and
-- sealed here, of the event's JSON without its last brace, so none can be stored that does not continue the stream.
--
-- It works with the rights of the tables' owner and is called for every event, and to set a search path in each call would take as
-- long as a third of an insert. So every table, function, operator and type in its body is qualified: whatever the caller's search
-- path has, and whatever it made in its temporary schema, nothing of it is looked at.
do $make$ begin execute format($sql$
create or replace function append_event(
    the_stream text, the_fence bigint, the_segment text, the_version int, the_head bytea, the_id text, the_data bytea
) returns void language plpgsql security definer as $$
declare
    body pg_catalog.bytea := pg_catalog.byteacat(
        the_data, pg_catalog.convert_to(pg_catalog.concat(',"prev":"', pg_catalog.encode(the_head, 'hex'), '"'), 'UTF8'));
    digest pg_catalog.bytea := pg_catalog.sha256(body);
begin
    update %1$I.streams set version = the_version, head = digest
        where stream operator(pg_catalog.=) the_stream and fence operator(pg_catalog.=) the_fence
        and version operator(pg_catalog.=) (the_version operator(pg_catalog.-) 1) and head operator(pg_catalog.=) the_head;
    if not found then
        raise exception 'the event does not continue the stream' using errcode = 'integrity_constraint_violation';
    end if;
    insert into %1$I.events (stream, version, id, segment, line) values (
        the_stream, the_version, the_id, the_segment, pg_catalog.byteacat(
            body, pg_catalog.convert_to(pg_catalog.concat(',"hash":"', pg_catalog.encode(digest, 'hex'), '"}'), 'UTF8')));
end $$
$sql$, current_schema()); end $make$;

-- The other functions that work with the owner's rights are called once a session: they have a search path of their own, in which a
-- caller's temporary tables come last.
do $$
declare
    name text;
begin
    foreach name in array array['take_up', 'hand_on'] loop
        execute format('alter function %I set search_path = %I, pg_temp', name, current_schema());
    end loop;
    foreach name in array array['append_event', 'take_up', 'hand_on'] loop
        execute format('revoke execute on function %I from public', name);
    end loop;
end $$;
