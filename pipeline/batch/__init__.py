"""One run over the queue: which questions are due, their sessions side by side, and what it all adds up to."""
