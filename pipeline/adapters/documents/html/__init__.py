"""HTML → page text."""
