"""Development scripts; no part of the installed program."""
