-- A night is a row, so that it outlives whoever began it. Its jobs are given to workers by pgqueuer, whose tables are made beside
-- these. All times are this server's, so that the clocks of the machines do not matter.
drop table jobs, workers, night_shares, nights;

create table nights (
    day text primary key,                      -- from noon to noon, named for the day on which it ends
    batch text not null unique,                -- the night's latest batch
    ends_at timestamptz,                       -- null: without a limit
    writing_s double precision not null,       -- the gathering ends so long before
    cap_nano bigint, cap_tokens bigint, cap_calls bigint,   -- null: no cap
    max_failures integer not null,
    halt_cause text not null default '', halt text not null default '',   -- why nothing more may start
    state text not null default 'open'         -- closed: its outcome is in the log; built: so are vault and site
);

create table night_jobs (                      -- the sessions of a batch, and what each has of the night's money
    batch text not null, session text not null, entry text not null, place integer not null,
    turn integer not null default 0,           -- counts the take-overs
    version integer not null default 0, fruitless integer not null default 0,   -- take-overs since something was recorded
    before_nano bigint, before_tokens bigint, before_calls bigint,               -- what it had cost before this batch
    reserved_nano bigint not null default 0, reserved_tokens bigint not null default 0, reserved_calls bigint not null default 0,
    spent_nano bigint not null default 0, spent_tokens bigint not null default 0, spent_calls bigint not null default 0,
    refused jsonb not null default '{}',       -- machine: why it is not set up for the session
    result jsonb,                              -- null: it has not ended
    primary key (batch, session)
);

create table pace (                            -- when the next request to a host or provider may begin
    name text primary key,
    next_at timestamptz not null
);
