"""What each kind of page shows."""
