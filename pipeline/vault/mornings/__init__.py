"""What a night found, as its reader meets it in the morning: answers in short, the history of a question, the digest."""
