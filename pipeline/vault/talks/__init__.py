"""The notes of talks, and the questions that people write into their own blocks of notes."""
