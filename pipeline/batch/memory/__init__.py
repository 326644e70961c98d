"""Memory at work: reading it, and consolidating the sessions of the log into it."""
