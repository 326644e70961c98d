"""Markdown → page text."""
