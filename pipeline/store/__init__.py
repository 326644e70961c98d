"""The event store: event streams, stored pages and session summaries as files."""
