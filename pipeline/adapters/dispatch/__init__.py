"""The queue of jobs and the shared budget of a distributed batch, in PostgreSQL."""
