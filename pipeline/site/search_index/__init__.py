"""The search index, as small files that a page loads when needed."""
