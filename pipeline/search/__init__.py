"""Search by meaning: the vectors of passages, from a model in this process or from a server, and the nearest to a question."""
