"""Commands that answer from what is stored: questions on pages, and why a report says something."""
