"""Talks on stored pages: which sessions a talk is about, and the talks there are."""
