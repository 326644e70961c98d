"""Everything that can happen, as frozen models, and the JSON they are stored in."""
