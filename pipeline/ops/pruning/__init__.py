"""Pruning by age, and forgetting at a person's wish: what may go, and how it goes without anything being missing unexplained."""
