"""Readers of what other programs recorded: each yields sessions as drafts, and says of everything that it leaves out why."""
