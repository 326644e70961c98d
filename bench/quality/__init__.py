"""How good the answers are: questions with known answers over a documentation, and planted contradictions."""
