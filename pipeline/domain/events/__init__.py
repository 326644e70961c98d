"""Event models of sessions and batches, and their JSON encoding."""
