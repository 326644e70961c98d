"""The workflows of a distributed run: the one that makes the jobs, and the workers."""
