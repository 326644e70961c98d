"""What the user set up: queries.yaml, keys, the environment, and what a fresh workspace begins with."""
