"""The notes of the morning, and those of what was researched."""
