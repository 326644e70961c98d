"""The loop of one session: take steps from the agenda, perform them, record their results."""
