"""What is behind the ports of the event store and of the jobs of several machines."""
