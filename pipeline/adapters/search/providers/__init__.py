"""Web search providers, one file each, and what they share."""
