"""The event store in PostgreSQL: the same sealed lines as in the files, in tables that several machines share."""
