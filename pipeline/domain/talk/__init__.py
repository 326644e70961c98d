"""Talks: questions on stored pages, their state, and what to do next. Pure."""
