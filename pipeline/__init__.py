"""Night research: questions in, checked and linked notes out."""

__version__ = "0.1.0"
