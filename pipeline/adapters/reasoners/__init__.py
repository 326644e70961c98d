"""Adapters of the port ``Reasoner``: language models, and what answers when a budget is spent."""
