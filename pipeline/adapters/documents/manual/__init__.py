"""Manual pages (man and mdoc) into page text."""
