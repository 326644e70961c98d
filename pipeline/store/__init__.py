"""The event store: event streams, stored pages, snapshots and session summaries as files."""
