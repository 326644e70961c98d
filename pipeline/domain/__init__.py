"""What can happen in a research session, and what follows from it. Pure: no input or output, no clock."""
