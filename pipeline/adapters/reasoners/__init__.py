"""Whatever answers the typed questions."""
