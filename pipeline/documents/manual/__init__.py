"""Manual pages (man and mdoc) → page text."""
