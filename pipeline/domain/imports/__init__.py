"""What was imported from other programs: its events and its state. It is no evidence: it has no quote and no stored page."""
