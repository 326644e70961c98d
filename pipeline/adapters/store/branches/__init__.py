"""Streams that several machines continued: their branches, and the log of another machine."""
