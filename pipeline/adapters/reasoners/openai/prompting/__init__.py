"""Building of prompts: templates, their values, citation keys, delimiters around fetched text."""
