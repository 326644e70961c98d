"""What answers a question in short, and what is lacking for it."""
