"""What the last build knew and left. It can be deleted at any time."""
