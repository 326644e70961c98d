-- The queue of a distributed batch. A job is the id of a session; what is to be done in it follows from its events.
-- All times are this server's, so that the clocks of the machines do not matter.

create table nights (
    batch text primary key,
    ends_at timestamptz,                       -- null: without a limit
    writing_s double precision not null,       -- the gathering ends so long before
    cap_nano bigint, cap_tokens bigint, cap_calls bigint,   -- null: no cap
    reserved_nano bigint not null default 0, reserved_tokens bigint not null default 0, reserved_calls bigint not null default 0,
    spent_nano bigint not null default 0, spent_tokens bigint not null default 0, spent_calls bigint not null default 0
);

create table night_shares (                    -- what each session has of these sums
    batch text not null, session text not null,
    turn bigint not null default 0,            -- counts the take-overs
    before_nano bigint not null, before_tokens bigint not null, before_calls bigint not null,
    reserved_nano bigint not null default 0, reserved_tokens bigint not null default 0, reserved_calls bigint not null default 0,
    spent_nano bigint not null default 0, spent_tokens bigint not null default 0, spent_calls bigint not null default 0,
    primary key (batch, session)
);

create table jobs (
    session text primary key,
    batch text not null,
    place bigint generated always as identity,
    documents text not null, machine text not null,
    worker text, leased_until timestamptz,     -- null: it waits, or has ended
    worker_machine text not null default '',
    stop text not null default '',             -- why its worker is to stop
    refused jsonb not null default '{}',       -- worker: why it cannot take the job
    taken integer not null default 0,
    result jsonb                               -- null: it has not ended
);
create index jobs_open on jobs (place) where result is null;
create index jobs_of_batch on jobs (batch, place);

create table workers (
    id text primary key,
    machine text not null, sessions integer not null, documents text not null,
    lease interval not null, seen timestamptz not null
);
