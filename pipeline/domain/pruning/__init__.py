"""What is kept of a session when its log is pruned. Pure."""
