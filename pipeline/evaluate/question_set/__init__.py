"""Question sets with known answers: reading, checking, and conversion from public formats."""
