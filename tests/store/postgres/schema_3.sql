create table store_migrations (version int primary key, name text not null, at timestamptz default now());
insert into store_migrations values (1, 'one'), (2, 'two'), (3, 'three');
CREATE TABLE streams (
    stream  text COLLATE "C" PRIMARY KEY,
    kind    text NOT NULL,
    version int NOT NULL DEFAULT 0,
    head    bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    bytes   bigint NOT NULL DEFAULT 0,
    fence   bigint NOT NULL DEFAULT 0,
    owner   int,
    writer  text NOT NULL DEFAULT ''
) WITH (fillfactor = 80);
CREATE INDEX streams_by_kind ON streams (kind, stream);
CREATE TABLE events (
    stream  text COLLATE "C" NOT NULL,
    version int NOT NULL,
    id      text COLLATE "C" NOT NULL,
    type    text NOT NULL,
    segment text COLLATE "C" NOT NULL,
    line    bytea NOT NULL,
    hash    bytea NOT NULL,
    prev    bytea NOT NULL,
    xid     xid8 NOT NULL DEFAULT pg_current_xact_id(),
    pos     bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (stream, version),
    CONSTRAINT events_id UNIQUE (stream, id)
);
CREATE INDEX events_by_position ON events (xid, pos);
CREATE TABLE branch_events (
    stream  text COLLATE "C" NOT NULL,
    segment text COLLATE "C" NOT NULL,
    version int NOT NULL,
    line    bytea NOT NULL,
    hash    bytea NOT NULL,
    PRIMARY KEY (stream, segment, version)
);
CREATE TABLE objects (
    sha  bytea PRIMARY KEY,
    body bytea NOT NULL
);
ALTER TABLE objects ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE written_off (
    session text COLLATE "C" PRIMARY KEY
);
CREATE SEQUENCE store_connections AS int CYCLE;
create table nights (
    batch text primary key,
    ends_at timestamptz,
    writing_s double precision not null,
    cap_nano bigint, cap_tokens bigint, cap_calls bigint,
    reserved_nano bigint not null default 0, reserved_tokens bigint not null default 0, reserved_calls bigint not null default 0,
    spent_nano bigint not null default 0, spent_tokens bigint not null default 0, spent_calls bigint not null default 0
);
create table night_shares (
    batch text not null, session text not null,
    turn bigint not null default 0,
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
    worker text, leased_until timestamptz,
    worker_machine text not null default '',
    stop text not null default '',
    refused jsonb not null default '{}',
    taken integer not null default 0,
    result jsonb
);
create index jobs_open on jobs (place) where result is null;
create index jobs_of_batch on jobs (batch, place);
create table workers (
    id text primary key,
    machine text not null, sessions integer not null, documents text not null,
    lease interval not null, seen timestamptz not null
);
drop table jobs, workers, night_shares, nights;
create table nights (
    day text primary key,
    batch text not null unique,
    ends_at timestamptz,
    writing_s double precision not null,
    cap_nano bigint, cap_tokens bigint, cap_calls bigint,
    max_failures integer not null,
    halt_cause text not null default '', halt text not null default '',
    state text not null default 'open'
);
create table night_jobs (
    batch text not null, session text not null, entry text not null, place integer not null,
    turn integer not null default 0,
    version integer not null default 0, fruitless integer not null default 0,
    before_nano bigint, before_tokens bigint, before_calls bigint,
    reserved_nano bigint not null default 0, reserved_tokens bigint not null default 0, reserved_calls bigint not null default 0,
    spent_nano bigint not null default 0, spent_tokens bigint not null default 0, spent_calls bigint not null default 0,
    refused jsonb not null default '{}',
    result jsonb,
    primary key (batch, session)
);
create table pace (
    name text primary key,
    next_at timestamptz not null
);
