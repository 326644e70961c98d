"""Passages and their ranking for a question, used by local search, the extractive reasoner and the evidence gate. No I/O."""
