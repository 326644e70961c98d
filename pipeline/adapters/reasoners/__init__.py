"""Adapters of the port ``Reasoner``: the extractive reasoner and language models."""
