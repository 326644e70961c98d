"""Search: the index of passages, ranking by words and by meaning, providers on the web, and their combinations."""
