"""HTML into page text."""
