"""Scoring of one question's session: answers, documents, refusals, contradictions, trust, readability and cost."""
