"""The loop of one session: ask the agenda, perform the steps, record what they answered."""
