"""What a note is known by: its id, where a person put it, and what of two versions of it is kept."""
