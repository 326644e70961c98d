"""Questions with known answers, read and checked."""
