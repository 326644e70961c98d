"""Vectors of texts from an OpenAI-compatible server."""
