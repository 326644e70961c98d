"""Notes as HTML."""
