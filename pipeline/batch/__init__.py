"""One run over the queue: decide which queries are due, run their sessions at the same time, and compute the totals."""
