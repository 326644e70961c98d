"""Plain text and reStructuredText into page text."""
