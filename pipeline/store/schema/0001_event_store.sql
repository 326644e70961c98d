-- One row a stream. Everything that an append checks is here, so that one statement checks and moves it.
CREATE TABLE streams (
    stream  text COLLATE "C" PRIMARY KEY,
    kind    text NOT NULL,                         -- session, batch, memory, talk, vault, prune
    version int NOT NULL DEFAULT 0,                -- of the last event; 0 until the first append
    head    bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),  -- the last event's hash
    bytes   bigint NOT NULL DEFAULT 0,             -- of all lines with their line ends
    fence   bigint NOT NULL DEFAULT 0,             -- raised whenever a writer takes the stream up; an append must know it
    owner   int,                                   -- number of the connection that writes it, NULL if none does
    writer  text NOT NULL DEFAULT ''               -- host and process of the last writer, for messages
) WITH (fillfactor = 80);                          -- room for updates in place
CREATE INDEX streams_by_kind ON streams (kind, stream);

-- Append-only. `line` is the exact sealed line without its line end; the client computes the hashes.
CREATE TABLE events (
    stream  text COLLATE "C" NOT NULL,
    version int NOT NULL,
    id      text COLLATE "C" NOT NULL,
    type    text NOT NULL,
    segment text COLLATE "C" NOT NULL,             -- the name that the segment has as a file
    line    bytea NOT NULL,
    hash    bytea NOT NULL,
    prev    bytea NOT NULL,
    -- The order in which a subscriber reads is (xid, pos), and only rows with xid < pg_snapshot_xmin(pg_current_snapshot()):
    -- an earlier number may still be uncommitted, and then it would be passed over for good.
    xid     xid8 NOT NULL DEFAULT pg_current_xact_id(),
    pos     bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (stream, version),
    CONSTRAINT events_id UNIQUE (stream, id)
);
CREATE INDEX events_by_position ON events (xid, pos);

-- Lines of segments that are not in the chain of their stream: branches that a merge joined, and second copies of records.
-- Only a copy from files brings them; with a fence there are no branches.
CREATE TABLE branch_events (
    stream  text COLLATE "C" NOT NULL,
    segment text COLLATE "C" NOT NULL,
    version int NOT NULL,
    line    bytea NOT NULL,
    hash    bytea NOT NULL,
    PRIMARY KEY (stream, segment, version)
);

-- Pages and exchanges under their SHA-256. `body` is the same gzip file that the file store keeps.
CREATE TABLE objects (
    sha  bytea PRIMARY KEY,
    body bytea NOT NULL
);
ALTER TABLE objects ALTER COLUMN body SET STORAGE EXTERNAL;  -- it is compressed

-- Sessions whose log is missing, and whose loss the user has accepted.
CREATE TABLE written_off (
    session text COLLATE "C" PRIMARY KEY
);

-- Each connection that writes takes a number and holds an advisory lock on it, so others see whether it still lives.
CREATE SEQUENCE store_connections AS int CYCLE;
