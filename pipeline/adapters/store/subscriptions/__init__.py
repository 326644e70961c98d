"""Reading the events of a store as they are stored."""
