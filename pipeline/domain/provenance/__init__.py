"""Where a session's sentences come from: a graph computed from its state, and paths in it. Pure."""
