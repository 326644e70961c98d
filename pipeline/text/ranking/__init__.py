"""Passages and how they are ranked for a question: shared by search, the offline reasoner and the evidence gate. No I/O."""
