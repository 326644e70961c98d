"""Night research: questions in, checked and linked notes out."""

__version__ = "1.0.0"
