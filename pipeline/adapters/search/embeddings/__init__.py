"""Search by meaning: vectors of passages from an OpenAI-compatible server, kept in a local cache and compared here."""
