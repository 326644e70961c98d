"""What takes files out of the log for good."""
