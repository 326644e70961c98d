"""Web search providers, one file each, with their registry, rate limits and reply parsing."""
