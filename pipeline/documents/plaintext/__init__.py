"""Plain text and reStructuredText → page text."""
