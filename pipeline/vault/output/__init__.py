"""Notes as text and files: templates, escaping, the user's own text, safe writing."""
