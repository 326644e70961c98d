"""The commands of research, grouped by what they work on."""
