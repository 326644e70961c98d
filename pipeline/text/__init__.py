"""Text alone: cleaned, compared, brought to word stems, cut into sentences. Nothing here reads or writes a file."""
