"""Search over the stored pages of sessions: the index of what was read, and nothing else."""
