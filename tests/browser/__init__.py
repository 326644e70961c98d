"""Checks of the site and the vault in a real browser, and by tools that others wrote. Skipped where these are missing."""
