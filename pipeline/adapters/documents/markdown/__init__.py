"""Markdown into page text."""
