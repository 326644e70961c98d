"""The catalogue of the last vault build. It can be deleted at any time."""
