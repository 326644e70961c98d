"""Records what was read from another program, each session in a stream of its own; a second time, only what is new."""
